"""Shares of the variance of those targets that vary."""

import copy
from dataclasses import dataclass, replace

import numpy as np

from torusgp.engine.statistics import SufficientStatistics
from torusgp.views.analysis import sobol_indices

_DRAWS = 400  # as many as summaries of table models take, so that intervals are the same


def shares_of_variance(model):
    """Sobol indices, and which targets have none since their prediction is constant.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.

    Returns
    -------
    indices : SobolIndices or None
        Those of constant targets mean nothing. None if all are constant.
    constant : ndarray of bool, shape (n_outputs,)
    """
    weights = model.coef_.reshape(model.index_set_.n_components, -1)
    center = model.statistics_.linear(model.index_set_, model.intercept)[1]
    constant = np.sum(weights[1:] ** 2, axis=0) / 2 <= (1e-12 * np.abs(center)) ** 2
    if constant.all():
        return None, constant
    if constant.any():  # the analysis would refuse all of them
        varying = np.where(constant, np.argmin(constant), np.arange(len(constant)))
        model = copy.copy(model)
        model.statistics_ = _Replaced(model.statistics_, varying)
    return sobol_indices(model, n_samples=_DRAWS), constant


@dataclass(frozen=True)
class _Replaced:
    """Statistics in which some targets have the sums of others."""

    statistics: SufficientStatistics
    outputs: np.ndarray

    def linear(self, index_set, center):
        linear, taken_off = self.statistics.linear(index_set, center)
        moments, squares = linear.moments[:, self.outputs], linear.squares[self.outputs]
        return replace(linear, moments=moments, squares=squares), taken_off[self.outputs]
