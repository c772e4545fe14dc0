"""Gaussian-process regression for data that repeats in several directions at once."""

from importlib.metadata import PackageNotFoundError, version

from torusgp.data import datasets, sources
from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.classifier import TorusGPClassifier
from torusgp.estimators.feature_regression import BayesianFeatureRegressor
from torusgp.estimators.features import IndexSetFourierFeatures
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.estimators.settings import Torch
from torusgp.estimators.warped_features import WarpedFourierFeatures
from torusgp.fitting.periods import find_period
from torusgp.kernels import index_sets, spectra
from torusgp.kernels.axes import Category, Circle, Lattice, Line, Slope
from torusgp.kernels.kernel import TorusKernel
from torusgp.tables.calendar import CalendarPhases
from torusgp.tables.models import TableModel
from torusgp.views import analysis, plotting
from torusgp.views.metrics import mean_negative_log_loss, mean_negative_log_loss_scorer

__all__ = [
    "BayesianFeatureRegressor",
    "CalendarPhases",
    "Category",
    "Circle",
    "IndexSetFourierFeatures",
    "Lattice",
    "Line",
    "Slope",
    "SufficientStatistics",
    "TableModel",
    "Torch",
    "TorusGPClassifier",
    "TorusGPRegressor",
    "TorusKernel",
    "WarpedFourierFeatures",
    "analysis",
    "datasets",
    "find_period",
    "index_sets",
    "mean_negative_log_loss",
    "mean_negative_log_loss_scorer",
    "plotting",
    "sources",
    "spectra",
]

try:
    __version__ = version("torusgp")
except PackageNotFoundError:  # the source without an installation
    __version__ = "unknown"


def __dir__():
    return sorted([*__all__, "__version__"])
