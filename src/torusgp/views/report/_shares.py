"""Shares of the variance of those targets that vary."""

import numpy as np

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
        Those of constant targets are not a number. None if all are constant.
    constant : ndarray of bool, shape (n_outputs,)
    """
    fitted = model.fitted_
    # but for rounding, as in the analysis
    scale = np.maximum(1e-12 * np.abs(fitted.offset), np.finfo(float).tiny)
    if (np.abs(fitted.posterior.weights[1:]).max(axis=0, initial=0.0) <= scale).all():
        return None, np.ones(fitted.n_outputs, dtype=bool)
    indices = sobol_indices(model, n_samples=_DRAWS)
    return indices, np.isnan(indices.share.reshape(len(indices.share), -1)[0])
