"""Standard errors of what was learned, from the curvature of the evidence."""

import numpy as np

from torusgp.fitting.learning import Hyperparameters, KernelTemplate, log_evidence_and_gradient

_STEP = 1e-3  # of the logarithms
_AT_BOUND = 1.01  # how near a length scale is to a bound that it has run into
_NAMES = ("length_scale", "signal_variance", "noise_variance")


def bounds_reached(model):
    """Which learned length scales have run into a bound.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.

    Returns
    -------
    list of {"lower", "upper", None}
        Of each dimension. At the lower bound a model follows single rows; at the upper one the dimension has no effect.
    """
    scales = np.atleast_1d(np.asarray(model.kernel_.length_scale, dtype=float))
    if "length_scale" not in model.learn:
        return [None] * len(scales)
    low, high = model.length_scale_bounds
    return ["lower" if one <= low * _AT_BOUND else "upper" if one >= high / _AT_BOUND else None for one in scales]


def length_scale_errors(model):
    """Standard errors of the learned length scales of a regressor of one target.

    Signal and noise variance are taken to be learned along with them. The evidence is that of the rows as they were
    counted.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.

    Returns
    -------
    ndarray of shape (dimension,)
        Not a number where a length scale has run into a bound, or the evidence has no maximum.
    """
    scales = np.atleast_1d(np.asarray(model.kernel_.length_scale, dtype=float))
    result = np.full(len(scales), np.nan)
    if "length_scale" not in model.learn:
        return result
    free = np.append([bound is None for bound in bounds_reached(model)], [True, True])
    frequencies = model.index_set_.frequencies
    linear, _ = model.statistics_.linear(model.index_set_, model.intercept)
    template = KernelTemplate(model.kernel_.family, frequencies.shape[1], model.kernel_.max_interaction)
    here = Hyperparameters(
        scales,
        np.array([model.signal_variance_]),
        np.array([model.noise_variance_]),
        model.kernel_.period,
        np.array([model.intercept_variance_]),
    )
    vector = here.to_vector(_NAMES)

    def slope(point):
        _, gradient = log_evidence_and_gradient(linear, template, frequencies, here.with_vector(point, _NAMES))
        return np.concatenate([np.atleast_1d(gradient[name]) for name in _NAMES])

    steps = _STEP * np.eye(len(vector))[free]
    curvature = np.array([slope(vector - step) - slope(vector + step) for step in steps])[:, free] / (2 * _STEP)
    curvature = (curvature + curvature.T) / 2
    if np.linalg.eigvalsh(curvature)[0] <= 0:
        return result
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))[:-2]
    result[free[:-2]] = scales[free[:-2]] * errors  # those of the logarithms, times the values
    return result
