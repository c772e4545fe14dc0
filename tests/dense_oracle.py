"""A dense Gaussian process for sums of products of circles, lines and categories with plain columns.

Written from the formulas of the kernels, without anything of the package: lines are lines, not circles.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve


def squared_exponential(distance):
    return np.exp(-(distance**2) / 2)


def matern12(distance):
    return np.exp(-distance)


def matern32(distance):
    return (1 + np.sqrt(3) * distance) * np.exp(-np.sqrt(3) * distance)


def matern52(distance):
    return (1 + np.sqrt(5) * distance + 5 * distance**2 / 3) * np.exp(-np.sqrt(5) * distance)


FAMILIES = {one.__name__: one for one in (squared_exponential, matern12, matern32, matern52)}


def circle(column, period, length_scale, family="squared_exponential"):
    """A kernel of the plane on the circle of radius one, at the chord between two points."""

    def kernel(X, Y):
        difference = np.subtract.outer(X[:, column].astype(float), Y[:, column].astype(float))
        return FAMILIES[family](2 * np.abs(np.sin(np.pi * difference / period)) / length_scale)

    return kernel


def line(column, length_scale, family="squared_exponential"):
    def kernel(X, Y):
        difference = np.subtract.outer(X[:, column].astype(float), Y[:, column].astype(float))
        return FAMILIES[family](np.abs(difference) / length_scale)

    return kernel


def category(column, correlation):
    def kernel(X, Y):
        return correlation + (1 - correlation) * (X[:, column, None] == Y[None, :, column])

    return kernel


def product(variance, *factors):
    def kernel(X, Y):
        return variance * np.prod([factor(X, Y) for factor in factors], axis=0)

    return kernel


@dataclass
class DenseGP:
    """Exact regression with an n x n matrix.

    Attributes
    ----------
    terms : list of callable
        Kernels of the terms.
    slopes : list of (column, variance)
        Plain columns: centred and divided by their standard deviation over the training rows.
    intercept_variance : float
        Variance of the constant beside the mean of the targets, which is its prior mean; zero for no intercept.
    """

    terms: list
    noise: float
    slopes: tuple = ()
    intercept_variance: float = 0.0

    def fit(self, X, y):
        self.X, self.offset = X, y.mean() if self.intercept_variance else 0.0
        self.y = y - self.offset
        self.units = [(X[:, c].astype(float).mean(), X[:, c].astype(float).std()) for c, _ in self.slopes]
        self.covariance = self.kernel(X, X) + self.noise * np.eye(len(X))
        self.factor = cho_factor(self.covariance)
        return self

    def parts(self, X, Y):
        """Kernels of all terms, plain columns last."""
        return [term(X, Y) for term in self.terms] + [
            variance * np.multiply.outer(self._unit(X, i), self._unit(Y, i))
            for i, (_, variance) in enumerate(self.slopes)
        ]

    def _unit(self, X, i):
        mean, spread = self.units[i]
        return (X[:, self.slopes[i][0]].astype(float) - mean) / spread

    def kernel(self, X, Y):
        return sum(self.parts(X, Y)) + self.intercept_variance

    def predict(self, X):
        cross = self.kernel(X, self.X)
        mean = self.offset + cross @ cho_solve(self.factor, self.y)
        return mean, self.kernel(X, X) - cross @ cho_solve(self.factor, cross.T)

    def centred_parts(self, X):
        """Means of the terms less their averages over the training rows, and their covariances at each point."""
        n = len(self.X)
        both = np.vstack([X, self.X])
        center = np.hstack([np.eye(len(X)), np.full((len(X), n), -1 / n)])
        to_rows = [part @ np.eye(n) for part in self.parts(both, self.X)]
        prior = self.parts(both, both)
        means = [center @ one @ cho_solve(self.factor, self.y) for one in to_rows]
        covariances = np.empty((len(X), len(prior), len(prior)))
        for i in range(len(prior)):
            for j in range(len(prior)):
                joint = (prior[i] if i == j else 0.0) - to_rows[i] @ cho_solve(self.factor, to_rows[j].T)
                covariances[:, i, j] = np.einsum("ij,jk,ik->i", center, joint, center)
        return np.stack(means, axis=1), covariances

    @property
    def log_evidence(self):
        log_determinant = 2 * np.log(np.diag(self.factor[0])).sum()
        return -0.5 * (self.y @ cho_solve(self.factor, self.y) + log_determinant + len(self.y) * np.log(2 * np.pi))
