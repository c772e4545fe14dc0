"""A dense Gaussian process for values and partial derivatives, written from the formulas of the kernels."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve


def squared_exponential(square):
    """A function of the squared distance over the squared length scale, and its two derivatives."""
    value = np.exp(-square / 2)
    return value, -value / 2, value / 4


def matern52(square):
    distance = np.sqrt(5 * square)
    decay = np.exp(-distance)
    return (1 + distance + distance**2 / 3) * decay, -5 / 6 * (1 + distance) * decay, 25 / 12 * decay


FAMILIES = {one.__name__: one for one in (squared_exponential, matern52)}


@dataclass
class Factor:
    """A circle of this period, at the chord of the circle of radius one, or a line."""

    length_scale: float
    period: float | None = None
    family: str = "squared_exponential"

    def derivatives(self, difference):
        """The kernel as a function of the difference of its arguments, and its two derivatives in it."""
        if self.period is None:
            square, first, second = difference**2, 2 * difference, np.full_like(difference, 2.0)
        else:
            wave = 2 * np.pi / self.period
            square = 4 * np.sin(wave * difference / 2) ** 2
            first, second = 2 * wave * np.sin(wave * difference), 2 * wave**2 * np.cos(wave * difference)
        scale = self.length_scale**-2.0
        value, slope, curve = FAMILIES[self.family](square * scale)
        return value, slope * first * scale, curve * (first * scale) ** 2 + slope * second * scale


@dataclass
class DenseDerivativeGP:
    """Exact regression on values and derivatives, one product of factors, with a matrix of all observations."""

    factors: list
    variance: float
    noise: float
    gradient_noise: np.ndarray  # along each input
    intercept_variance: float = 0.0

    def kernel(self, X, along, Y, beside):
        """Covariances of derivatives along inputs, -1 for values, at points."""
        columns = [factor.derivatives(np.subtract.outer(X[:, d], Y[:, d])) for d, factor in enumerate(self.factors)]
        result = np.full((len(X), len(Y)), self.variance)
        for d, (value, first, second) in enumerate(columns):
            left, right = (along == d)[:, None], (beside == d)[None]
            result = result * np.where(left & right, -second, np.where(left, first, np.where(right, -first, value)))
        return result + self.intercept_variance * ((along < 0)[:, None] & (beside < 0)[None])

    def fit(self, X, y, X_gradient, gradient):
        dimension = len(self.factors)
        self.offset = y.mean() if self.intercept_variance and len(y) else 0.0
        points, along, observed = [X], [np.full(len(X), -1)], [y - self.offset]
        for d in range(dimension):
            seen = ~np.isnan(gradient[:, d])
            points.append(X_gradient[seen])
            along.append(np.full(seen.sum(), d))
            observed.append(gradient[seen, d])
        self.X, self.along, self.observed = np.concatenate(points), np.concatenate(along), np.concatenate(observed)
        noise = np.append(self.gradient_noise, self.noise)[self.along]
        self.factor = cho_factor(self.kernel(self.X, self.along, self.X, self.along) + np.diag(noise))
        return self

    def predict(self, X, d=-1):
        """Mean and variance of the values at points, or of the derivatives along an input."""
        which = np.full(len(X), d)
        cross = self.kernel(X, which, self.X, self.along)
        mean = cross @ cho_solve(self.factor, self.observed) + (self.offset if d < 0 else 0.0)
        own = np.array([self.kernel(X[[i]], which[:1], X[[i]], which[:1])[0, 0] for i in range(len(X))])
        return mean, own - np.einsum("ij,ji->i", cross, cho_solve(self.factor, cross.T))

    @property
    def log_evidence(self):
        log_determinant = 2 * np.log(np.diag(self.factor[0])).sum()
        square = self.observed @ cho_solve(self.factor, self.observed)
        return -0.5 * (square + log_determinant + len(self.observed) * np.log(2 * np.pi))


@dataclass
class TruncatedKernelGP(DenseDerivativeGP):
    """The same with a kernel that is a finite sum of cosines: for spectra that decay too slowly to be summed up."""

    frequencies: np.ndarray = None  # (n_frequencies, dimension), the zero vector first
    coefficients: np.ndarray = None  # variances of the pairs
    periods: np.ndarray = None

    def kernel(self, X, along, Y, beside):
        waves = np.hstack([2 * np.pi * self.frequencies / self.periods, np.ones((len(self.frequencies), 1))])
        angles = np.einsum("nmd,kd->nmk", X[:, None] - Y[None], waves[:, :-1])
        # a derivative in the first argument turns by a quarter, one in the second by a quarter back
        turns = np.pi / 2 * ((along >= 0).astype(float)[:, None] - (beside >= 0))
        factors = self.coefficients * waves.T[along][:, None] * waves.T[beside][None]
        return (factors * np.cos(angles + turns[..., None])).sum(axis=-1)
