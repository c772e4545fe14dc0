r"""Change that no period explains: a constant, a line, and sinusoids on a box of twice the data's extent.

The sinusoids are those with fewer than two turns over the data, the fewest that may be called a repetition; their prior
variance falls like :math:`|m|^{-(D+1)}`, the spectrum of a random walk.
"""

from dataclasses import dataclass

import numpy as np

FEWEST_TURNS = 2.0  # of a period over the data
_SLOWER = {
    1: 2.0,
    2: 2.0,
    3: 1.25,
}  # turns of the sinusoids of a trend are fewer; in three dimensions two would be many sinusoids
_BROAD = 100.0  # prior variance of constant and line, relative to that of the targets


def box_modes(dimension, largest):
    """Integer vectors shorter than this, one of each pair, shortest first, without the zero vector."""
    reach = int(np.ceil(largest))
    grid = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * dimension, indexing="ij"), axis=-1)
    half = grid.reshape(-1, dimension)[grid[..., 0].size // 2 + 1 :]
    length = np.linalg.norm(half, axis=1)
    order = np.argsort(length, kind="stable")
    return half[order][length[order] < largest]


@dataclass(frozen=True)
class TrendColumns:
    """Columns of slow change, of inputs scaled to [-1/2, 1/2].

    Attributes
    ----------
    modes : ndarray of int, shape (n_modes, dimension)
        Half turns of the sinusoids over the data.
    """

    modes: np.ndarray

    @classmethod
    def slow(cls, dimension):
        """Constant, line and all sinusoids with fewer than two turns; in three dimensions, little more than one."""
        return cls(box_modes(dimension, 2 * _SLOWER[dimension]))

    @property
    def n_columns(self):
        """Number of components."""
        return 1 + self.modes.shape[1] + 2 * len(self.modes)

    def __call__(self, scaled):
        """Columns of points, shape (n, n_columns)."""
        angles = np.pi * scaled @ self.modes.T
        return np.hstack([np.ones((len(scaled), 1)), scaled, np.cos(angles), np.sin(angles)])

    def derivative(self, scaled, axis):
        """Derivatives of the columns along one of the scaled inputs."""
        angles = np.pi * scaled @ self.modes.T
        sinusoid = np.pi * self.modes[:, axis]
        line = np.zeros((len(scaled), 1 + scaled.shape[1]))
        line[:, 1 + axis] = 1.0
        return np.hstack([line, -sinusoid * np.sin(angles), sinusoid * np.cos(angles)])

    def log_prior(self, log_amplitude):
        """Logarithms of the prior variances for targets of variance one, and their derivatives in the amplitude's."""
        dimension = self.modes.shape[1]
        fall = -(dimension + 1) * np.log(np.linalg.norm(self.modes, axis=1))
        line = np.full(1 + dimension, np.log(_BROAD))
        values = np.concatenate([line, fall + log_amplitude, fall + log_amplitude])
        return values, (np.arange(self.n_columns) > dimension).astype(float)


class Trend:
    """Slow change of fitted targets: a Gaussian over the weights of trend columns.

    Parameters
    ----------
    columns : TrendColumns
        The columns.
    middle, extent : ndarray of shape (dimension,)
        Inputs are scaled as ``(X - middle) / extent``.
    weights : ndarray of shape (n_columns, n_outputs)
        Mean of the weights.
    covariances : ndarray of shape (n_outputs, n_columns, n_columns)
        Their covariances.
    """

    def __init__(self, columns, middle, extent, weights, covariances):
        self.columns, self.middle, self.extent = columns, middle, extent
        self.weights, self.covariances = weights, covariances

    def _columns(self, X):
        return self.columns((X - self.middle) / self.extent)

    def mean(self, X):
        """Mean at inputs, shape (n, n_outputs)."""
        return self._columns(X) @ self.weights

    def covariance(self, X, output):
        """Covariance of one output between all inputs."""
        columns = self._columns(X)
        return columns @ self.covariances[output] @ columns.T

    def variance(self, X, output):
        """Variance of one output at inputs."""
        columns = self._columns(X)
        return np.einsum("ni,ij,nj->n", columns, self.covariances[output], columns, optimize=True)

    def sample(self, X, n_samples, random_state):
        """Draws, shape (n, n_outputs, n_samples)."""
        draws = np.empty((*self.weights.shape, n_samples))
        for output, covariance in enumerate(self.covariances):
            values, vectors = np.linalg.eigh(covariance)
            noise = random_state.standard_normal((len(values), n_samples))
            draws[:, output] = self.weights[:, [output]] + vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * noise)
        return np.einsum("nt,tqs->nqs", self._columns(X), draws)

    def gradient(self, X):
        """Derivatives along the inputs, shape (n, dimension, n_outputs)."""
        scaled = (X - self.middle) / self.extent
        return np.stack(
            [self.columns.derivative(scaled, d) @ self.weights / self.extent[d] for d in range(len(self.extent))],
            axis=1,
        )

    def gradient_variance(self, X, output):
        """Variances of the derivatives of one output, shape (n, dimension)."""
        scaled = (X - self.middle) / self.extent
        result = np.empty(X.shape)
        for d in range(len(self.extent)):
            columns = self.columns.derivative(scaled, d) / self.extent[d]
            result[:, d] = np.einsum("ni,ij,nj->n", columns, self.covariances[output], columns, optimize=True)
        return result

    def to_arrays(self):
        """Arrays that hold the trend, by name."""
        return {
            "modes": self.columns.modes,
            "middle": self.middle,
            "extent": self.extent,
            "weights": self.weights,
            "covariances": self.covariances,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Trend from what :meth:`to_arrays` gave."""
        return cls(TrendColumns(arrays["modes"]), *(arrays[n] for n in ("middle", "extent", "weights", "covariances")))
