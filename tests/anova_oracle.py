"""Centred kernels and a dense Gaussian process for ANOVA sums, from the formulas alone."""

import numpy as np


def periodic_heat(difference, period, length_scale):
    """A Gaussian of the phase, summed over images: length scales are in radians."""
    phase = 2 * np.pi * np.asarray(difference)[..., None] / period + 2 * np.pi * np.arange(-8, 9)
    return np.exp(-((phase / length_scale) ** 2) / 2).sum(axis=-1)


def circle(period, length_scale):
    return lambda x, y: periodic_heat(np.subtract.outer(x, y), period, length_scale)


def walk(low):
    return lambda x, y: np.minimum.outer(x - low, y - low)


def levels():
    return lambda x, y: (np.asarray(x)[:, None] == np.asarray(y)).astype(float)


def centred(kernel, rows):
    """The kernel of a function less its average over rows, with a variance of one on average over these."""

    def raw(x, y):
        return kernel(x, y) - kernel(x, rows).mean(1)[:, None] - kernel(rows, y).mean(0) + kernel(rows, rows).mean()

    size = np.mean(np.diagonal(raw(rows, rows)))
    return lambda x, y: raw(x, y) / size


class DenseProcess:
    """Gaussian process with a covariance matrix for each term, a broad intercept and noise with any covariance."""

    def __init__(self, terms, intercept, noise, y):
        self.terms, self.intercept = terms, intercept
        n = len(y)
        self.covariance = sum(terms) + intercept * np.ones((n, n)) + noise
        self.weights = np.linalg.solve(self.covariance, y)
        self.y = y

    def log_evidence(self):
        sign, log_determinant = np.linalg.slogdet(self.covariance)
        assert sign > 0
        return -0.5 * (self.y @ self.weights + log_determinant + len(self.y) * np.log(2 * np.pi))

    def posterior(self, across, among):
        """Mean and covariance at points, from covariances with the rows and among themselves."""
        return across @ self.weights, among - across @ np.linalg.solve(self.covariance, across.T)
