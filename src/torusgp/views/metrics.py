"""Losses that judge a predicted distribution, not only its mean."""

import numpy as np


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
    y_true, y_mean, y_std = (np.asarray(values, dtype=float) for values in (y_true, y_mean, y_std))
    if not y_true.shape == y_mean.shape == y_std.shape:
        raise ValueError(f"Shapes must agree, got y_true {y_true.shape}, y_mean {y_mean.shape}, y_std {y_std.shape}.")
    if not (y_std > 0).all():
        raise ValueError(f"y_std must be positive, its smallest value is {y_std.min()!r}.")
    return float(np.mean(0.5 * np.log(2 * np.pi * y_std**2) + (y_true - y_mean) ** 2 / (2 * y_std**2)))


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
    mean, std = estimator.predict(X, return_std=True)
    return -mean_negative_log_loss(np.reshape(y, np.shape(mean)), mean, std)
