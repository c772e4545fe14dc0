"""Losses that evaluate a predicted distribution, not only its mean."""

import numpy as np
from scipy.special import ndtr

from torusgp.checks import to_floats

_WITH_DEVIANCE = ("poisson", "negative_binomial", "gamma")


def mean_negative_log_loss(y_true, y_mean, y_std):
    r"""Mean negative log density of observations under normal predictions.

    .. math:: \frac{1}{n} \sum_i \tfrac12 \log(2 \pi \sigma_i^2) + \frac{(y_i - \mu_i)^2}{2 \sigma_i^2}

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Observations.
    y_mean, y_std : array-like of the same shape
        Means and standard deviations of the predictions of observations.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> bool(np.isclose(mean_negative_log_loss([0.0], [0.0], [1.0]), 0.5 * np.log(2 * np.pi)))
    True
    """
    given = {"y_true": y_true, "y_mean": y_mean, "y_std": y_std}
    y_true, y_mean, y_std = (_to_numbers(values, name) for name, values in given.items())
    if not y_true.shape == y_mean.shape == y_std.shape:
        raise ValueError(f"Shapes must agree, got y_true {y_true.shape}, y_mean {y_mean.shape}, y_std {y_std.shape}.")
    if not (y_std > 0).all():
        raise ValueError(f"y_std must be positive, its smallest value is {y_std.min()!r}.")
    for name, array in {"y_true": y_true, "y_mean": y_mean, "y_std": y_std}.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must hold finite numbers, got {array!r}.")
    return float(np.mean(0.5 * np.log(2 * np.pi * y_std**2) + (y_true - y_mean) ** 2 / (2 * y_std**2)))


def _to_numbers(values, name):
    """An array of numbers, of which there is one at least; else raise."""
    array = to_floats(values, name)
    if not array.size:
        raise ValueError(f"{name} must hold one number at least, got {values!r}.")
    return array


def mean_negative_log_loss_scorer(estimator, X, y):
    """Scorer for scikit-learn's model selection: minus the loss, so that greater is better.

    Parameters
    ----------
    estimator : regressor
        Its ``predict`` takes ``return_std=True``.
    X, y : array-like
        Inputs and observations.

    Returns
    -------
    float
    """
    if hasattr(estimator, "log_predictive_density"):  # of whatever likelihood
        return float(np.mean(estimator.log_predictive_density(X, y)))
    mean, std = estimator.predict(X, return_std=True)
    return -mean_negative_log_loss(np.reshape(y, np.shape(mean)), mean, std)


def pinball_loss(y_true, quantiles, levels):
    """Mean loss of predicted quantiles: what is missed costs the level above, and one minus the level below.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    quantiles : array-like of shape (n_samples, n_levels)
        Predicted quantiles.
    levels : array-like of shape (n_levels,)
        Their probabilities.

    Returns
    -------
    ndarray of shape (n_levels,)

    Examples
    --------
    >>> pinball_loss([1.0], [[0.0, 3.0]], [0.25, 0.75]).tolist()
    [0.25, 0.5]
    """
    y_true, quantiles, levels = (np.asarray(values, dtype=float) for values in (y_true, quantiles, levels))
    missed = y_true[:, None] - quantiles
    return np.mean(np.maximum(levels * missed, (levels - 1) * missed), axis=0)


def crps(y_true, quantiles, levels):
    """Continuous ranked probability score: twice the pinball loss, on average over levels that cover (0, 1) evenly.

    Parameters
    ----------
    y_true, quantiles, levels
        See :func:`pinball_loss`.

    Returns
    -------
    float
        In the units of the observations; of a certain prediction the absolute error.
    """
    return float(2 * np.mean(pinball_loss(y_true, quantiles, levels)))


def normal_crps(y_true, y_mean, y_std):
    """Continuous ranked probability score of normal predictions, exactly.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    y_mean, y_std : array-like of the same shape
        Means and standard deviations of the predictions of observations.

    Returns
    -------
    float

    Examples
    --------
    >>> round(normal_crps([0.0], [0.0], [1.0]), 4)  # (sqrt(2) - 1) / sqrt(pi)
    0.2337
    """
    y_true, y_mean, y_std = (np.asarray(values, dtype=float) for values in (y_true, y_mean, y_std))
    z = (y_true - y_mean) / y_std
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    return float(np.mean(y_std * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))))


def deviances(likelihood, y_true, mean, scale=1.0):
    """Deviances of counts, or of positive targets: twice the log density that the best mean of each would add.

    Parameters
    ----------
    likelihood : Likelihood
        Poisson, negative binomial or Gamma, with what it has learned.
    y_true, mean : array-like of shape (n_samples,)
        Observations and their predicted means.
    scale : float or ndarray, default=1.0
        Exposures.

    Returns
    -------
    ndarray of shape (n_samples,), or None for another likelihood
    """
    if likelihood.name not in _WITH_DEVIANCE:
        return None
    y_true, mean = np.asarray(y_true, dtype=float), np.asarray(mean, dtype=float)
    exposure = scale if likelihood.takes == "exposure" else 1.0
    best, found = (
        likelihood.derivatives(y_true, np.log(np.maximum(value, 1e-300) / exposure), exposure).log_density
        for value in (y_true, mean)
    )
    return 2 * (best - found)
