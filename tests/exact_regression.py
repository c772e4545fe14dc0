"""Gaussian-process regression from the exact n x n kernel matrix, in the textbook form: what the engine must equal."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

HEXAGONAL = [[1.0, 0.0], [0.5, 0.75**0.5]]


def exact_posterior(kernel, X, y, points, signal_variance, noise_variance, intercept_variance=0.0):
    """Mean and covariance of the function at points; the noise may differ by row, and a constant kernel be added."""
    factor = cho_factor(_covariance(kernel, X, signal_variance, noise_variance, intercept_variance))
    cross = signal_variance * kernel(points, X) + intercept_variance
    prior = signal_variance * kernel(points) + intercept_variance
    return cross @ cho_solve(factor, y), prior - cross @ cho_solve(factor, cross.T)


def exact_log_evidence(kernel, X, y, signal_variance, noise_variance, intercept_variance=0.0):
    return normal_log_density(_covariance(kernel, X, signal_variance, noise_variance, intercept_variance), y)


def normal_log_density(covariance, y):
    """Log density of a normal vector of mean zero."""
    factor = cho_factor(covariance)
    log_determinant = 2 * np.log(np.diag(factor[0])).sum()
    return float(-0.5 * (y @ cho_solve(factor, y) + log_determinant + len(y) * np.log(2 * np.pi)))


def _covariance(kernel, X, signal_variance, noise_variance, intercept_variance):
    return signal_variance * kernel(X) + intercept_variance + np.diag(np.broadcast_to(noise_variance, len(X)))


def exact_optimum(make_kernel, X, y, starts):
    """Logarithms of the length scales, signal and noise variance of greatest exact evidence, from several starts."""

    def loss(vector):
        values = np.exp(vector)
        return -exact_log_evidence(make_kernel(values[:-2]), X, y, values[-2], values[-1])

    found = [minimize(loss, np.log(start), jac="3-point", method="L-BFGS-B") for start in starts]
    return min(found, key=lambda one: one.fun).x


def central_differences(function, vector, step=1e-5):
    """Gradient of a function of a vector, by central differences."""
    steps = step * np.eye(len(vector))
    return np.array([(function(vector + one) - function(vector - one)) / (2 * step) for one in steps])


def columns_by_definition(X, frequencies, period):
    """The constant, cosine and sine columns of an index set, term by term."""
    cell = np.array(period) if np.ndim(period) == 2 else np.diag(np.broadcast_to(period, X.shape[1]).astype(float))
    angles = 2 * np.pi * (X @ np.linalg.inv(cell)) @ frequencies.T
    both = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(X), -1)
    return np.delete(both, 1, axis=1)  # the sine of the zero frequency
