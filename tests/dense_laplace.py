"""Laplace's approximation of a Gaussian process with an n x n kernel matrix, in the function itself.

Log densities are written out here, and their derivatives are exact in the textbook form; nothing is of the package.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import expit

DENSITIES = {
    "poisson": lambda y, f, scale: stats.poisson.logpmf(y, scale * np.exp(f)),
    "negative_binomial": lambda y, f, scale, dispersion: stats.nbinom.logpmf(
        y, 1 / dispersion, 1 / (1 + dispersion * scale * np.exp(f))
    ),
    "gamma": lambda y, f, scale, shape: stats.gamma.logpdf(y, shape, scale=np.exp(f) / shape),
    "bernoulli": lambda y, f, scale: stats.bernoulli.logpmf(y, expit(f)),
    "student_t": lambda y, f, scale, noise_variance, dof: stats.t.logpdf(
        y, dof, loc=f, scale=np.sqrt(noise_variance) * scale
    ),
}


def slopes(y, f, scale, name, **own):
    """First and second derivatives of the log density."""
    if name == "student_t":
        a, r = own["dof"] * own["noise_variance"] * scale**2, y - f
        return (own["dof"] + 1) * r / (a + r**2), (own["dof"] + 1) * (r**2 - a) / (a + r**2) ** 2
    if name == "bernoulli":
        return y - expit(f), -expit(f) * (1 - expit(f))
    if name == "gamma":
        return own["shape"] * (y * np.exp(-f) - 1), -own["shape"] * y * np.exp(-f)
    mean = scale * np.exp(f)
    if name == "poisson":
        return y - mean, -mean
    r = 1 / own["dispersion"]
    return r * (y - mean) / (r + mean), -(y + r) * r * mean / (r + mean) ** 2


@dataclass
class DenseLaplace:
    """The mode by damped Newton's method, with the kernel matrix alone."""

    kernel: object  # of two sets of points
    name: str
    own: dict
    offset: float = 0.0

    def fit(self, X, y, scale=1.0, start=None):
        self.X, self.K = X, self.kernel(X, X)
        n = len(y)
        alpha = np.zeros(n) if start is None else np.linalg.solve(self.K + 1e-10 * np.eye(n), start - self.offset)

        def objective(alpha):
            f = self.offset + self.K @ alpha
            with np.errstate(over="ignore"):
                return DENSITIES[self.name](y, f, scale, **self.own).sum() - alpha @ self.K @ alpha / 2

        for _ in range(200):
            f = self.offset + self.K @ alpha
            first, second = slopes(y, f, scale, self.name, **self.own)
            weights = -second
            target = np.linalg.solve(np.eye(n) + weights[:, None] * self.K, weights * (f - self.offset) + first)
            step, here = target - alpha, objective(alpha)
            while not objective(alpha + step) >= here - 1e-10 and np.abs(step).max() > 1e-14:
                step /= 2
            alpha = alpha + step
            if np.abs(self.K @ step).max() < 1e-11:
                break
        self.f = self.offset + self.K @ alpha
        self.first, second = slopes(y, self.f, scale, self.name, **self.own)
        self.weights = -second
        self.log_evidence = objective(alpha) - np.linalg.slogdet(np.eye(n) + self.weights[:, None] * self.K)[1] / 2
        return self

    def predict(self, X):
        """Mean and covariance of the function."""
        cross = self.kernel(X, self.X)
        through = np.linalg.solve(np.eye(len(self.K)) + self.weights[:, None] * self.K, self.weights[:, None] * cross.T)
        return self.offset + cross @ self.first, self.kernel(X, X) - cross @ through
