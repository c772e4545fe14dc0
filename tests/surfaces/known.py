"""Surfaces whose stationary points are known to as many digits as are wanted."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import approx_fprime, root


@dataclass
class Known:
    """A function of inputs, and where its stationary points are looked for: from -180 to 180, or in a range."""

    function: object
    dimension: int
    low: float = -180.0
    high: float = 180.0
    is_periodic: bool = True

    def grid(self, n):
        ticks = np.linspace(self.low, self.high, n, endpoint=not self.is_periodic)
        return np.stack(np.meshgrid(*[ticks] * self.dimension, indexing="ij"), axis=-1).reshape(-1, self.dimension)

    def difference(self, one, other):
        step = np.asarray(one) - other
        period = self.high - self.low
        return (step + period / 2) % period - period / 2 if self.is_periodic else step

    def stationary(self):
        """Positions and numbers of falling directions, from Newton's method on differences, many times over."""
        scale = (self.high - self.low) / 6

        def slope(x):
            steps = 1e-5 * scale * np.eye(self.dimension)
            both = np.vstack([x + steps, x - steps])
            values = self.function(both)
            return (values[: self.dimension] - values[self.dimension :]) / (2e-5)

        found = []
        for start in product(np.linspace(self.low, self.high, 13), repeat=self.dimension):
            result = root(slope, start, tol=1e-10)
            inside = self.is_periodic or ((result.x > self.low) & (result.x < self.high)).all()
            if not inside or np.abs(slope(result.x)).max() > 1e-6:
                continue
            if all(np.abs(self.difference(result.x, other)).max() > 1e-2 * scale for other, _ in found):
                curves = np.stack(
                    [approx_fprime(result.x, lambda x, d=d: slope(x)[d], 1e-3 * scale) for d in range(self.dimension)]
                )
                position = self.low + (result.x - self.low) % (self.high - self.low) if self.is_periodic else result.x
                found.append((position, int((np.linalg.eigvalsh((curves + curves.T) / 2) < 0).sum())))
        return found


def dihedrals(X):
    a, b = np.radians(X.T)
    return 1.5 * np.cos(a) + np.cos(2 * b) + 0.6 * np.cos(a - b) + 0.3 * np.sin(2 * a + b)


def torsion(X):
    a = np.radians(X[:, 0])
    return 1.5 * np.cos(a) + 0.3 * np.cos(2 * a) + 2 * np.cos(3 * a)


def double_well(X):
    return 3 * (X[:, 0] ** 2 - 1) ** 2 + 0.5 * X[:, 0]


DIHEDRALS, TORSION = Known(dihedrals, 2), Known(torsion, 1)
DOUBLE_WELL = Known(double_well, 1, -1.6, 1.6, is_periodic=False)
