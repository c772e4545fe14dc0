# The public names and where they live: __init__.py imports each of them on first use.

from torusgp import surfaces
from torusgp.data import crystals, datasets, sources
from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.classifier import TorusGPClassifier
from torusgp.estimators.feature_regression import BayesianFeatureRegressor
from torusgp.estimators.features import IndexSetFourierFeatures
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.estimators.settings import Torch
from torusgp.estimators.warped_features import WarpedFourierFeatures
from torusgp.fitting.noise_models import ARNoise, CorrelatedNoise, WhiteNoise
from torusgp.fitting.periods import find_period
from torusgp.images.lattices import find_lattice
from torusgp.kernels import index_sets, spectra
from torusgp.kernels.axes import Category, Circle, Lattice, Line, Slope
from torusgp.kernels.interactions import Anova, Walk
from torusgp.kernels.kernel import TorusKernel
from torusgp.tables.clock import CalendarPhases
from torusgp.tables.model import TableModel
from torusgp.tables.panel import PanelModel
from torusgp.views import analysis, plotting
from torusgp.views.metrics import mean_negative_log_loss, mean_negative_log_loss_scorer
from torusgp.views.report import write_report

__all__ = [
    "ARNoise",
    "Anova",
    "BayesianFeatureRegressor",
    "CalendarPhases",
    "Category",
    "Circle",
    "CorrelatedNoise",
    "IndexSetFourierFeatures",
    "Lattice",
    "Line",
    "PanelModel",
    "Slope",
    "SufficientStatistics",
    "TableModel",
    "Torch",
    "TorusGPClassifier",
    "TorusGPRegressor",
    "TorusKernel",
    "Walk",
    "WarpedFourierFeatures",
    "WhiteNoise",
    "analysis",
    "crystals",
    "datasets",
    "find_lattice",
    "find_period",
    "index_sets",
    "mean_negative_log_loss",
    "mean_negative_log_loss_scorer",
    "plotting",
    "sources",
    "spectra",
    "surfaces",
    "write_report",
]

__version__: str
