"""Gaussian-process regression for data that repeats in several directions at once."""

from torusgp import analysis, datasets, index_sets, plotting, sources, spectra
from torusgp.calendar import CalendarPhases
from torusgp.feature_regression import BayesianFeatureRegressor
from torusgp.features import IndexSetFourierFeatures
from torusgp.kernel import TorusKernel
from torusgp.metrics import mean_negative_log_loss, mean_negative_log_loss_scorer
from torusgp.periods import find_period
from torusgp.regression import TorusGPRegressor
from torusgp.statistics import SufficientStatistics
from torusgp.table_models import TableModel
from torusgp.warped_features import WarpedFourierFeatures

__all__ = [
    "BayesianFeatureRegressor",
    "CalendarPhases",
    "IndexSetFourierFeatures",
    "SufficientStatistics",
    "TableModel",
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
