"""The readable reference: every sum over rows is a matrix product with the columns of the basis.

Rows pass in chunks of bounded size, so memory does not depend on their number. The sums take ``8 n_columns ** 2``
bytes, and so does the Gram matrix that they give out.
"""

import numpy as np
from scipy.linalg.blas import dsyrk

from torusgp.engine.adjoint import column_sums
from torusgp.engine.basis import ColumnPlan, columns
from torusgp.kernels.product import to_phases

_CHUNK_BYTES = 2**23  # columns of a chunk of rows, which a cache of the processor holds,
_MOST_BYTES = 2**25  # or, of many columns, enough that the Gram matrix is not read and written for few rows
_BLOCK_ENTRIES = 2**22  # entries of the Gram matrix that are gathered at once
_FEW_FUNCTIONS = 16  # whose sums take less time than their columns


def row_chunks(n_rows, n_columns):
    step = max(64, min(max(_CHUNK_BYTES // (8 * n_columns), n_columns), _MOST_BYTES // (8 * n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def stored_count(arrays):
    """Number of rows of stored sums."""
    return int(arrays["n_rows"])


class RowSums:
    """Sums over rows, which implementations add with ``add_weighted``."""

    def add_chunk(self, phases, precision, targets):
        """Add rows: phases (n, dimension), precision (n,), targets (n, n_outputs)."""
        self.add_weighted(phases, precision, precision[:, None] * targets)

    def add_weighted(self, phases, precision, weighted):
        """The same with targets times their precision, which may then be zero or negative."""
        raise NotImplementedError


class ColumnSums(RowSums):
    """Sums that are kept for each pair of columns of a fixed list of frequencies."""

    locate = staticmethod(to_phases)

    def __init__(self, frequencies):
        self.frequencies, self.n_rows = frequencies, 0

    def holds(self, frequencies):
        """True if the sums determine those of these frequencies."""
        return self._positions(frequencies) is not None

    def covered(self):
        """All frequencies that the sums cover."""
        return self.frequencies

    def _positions(self, frequencies):
        if frequencies is self.frequencies or np.array_equal(frequencies, self.frequencies):
            return np.arange(len(frequencies))
        where = {tuple(row): i for i, row in enumerate(self.frequencies.tolist())}
        found = [where.get(tuple(row)) for row in frequencies.tolist()]
        return None if None in found else np.array(found)

    def _columns(self, frequencies):
        """Numbers of the columns of frequencies, whose first is the zero vector."""
        pairs = self._positions(frequencies)
        return np.column_stack([2 * pairs - 1, 2 * pairs]).ravel()[1:]


class GramSums(ColumnSums):
    """Sums of products of columns with each other and with the targets, for a fixed list of frequencies."""

    name = "dense"

    def __init__(self, frequencies, n_outputs):
        super().__init__(frequencies)
        n_columns = 2 * len(frequencies) - 1
        self._gram = np.zeros((n_columns, n_columns), order="F")  # the upper triangle is kept
        self._moments = np.zeros((n_columns, n_outputs))
        self.rounding = 4 * np.finfo(float).eps

    def add_weighted(self, phases, precision, weighted):
        """Add rows: phases (n, dimension), precision (n,), which may be negative, weighted targets (n, n_outputs)."""
        scale = np.sqrt(np.maximum(precision, 0.0))[:, None]
        plan, buffer = ColumnPlan(self.frequencies, len(phases)), np.empty((0, 0))
        for rows in row_chunks(len(phases), len(self._gram)):
            size = rows.stop - rows.start
            if len(buffer) < size:
                buffer = np.empty((size, len(self._gram)))
            features = plan.write(phases[rows], buffer[:size])
            self._moments += features.T @ weighted[rows]
            negative = precision[rows] < 0
            # the transpose of a C-ordered array is what the Fortran routine wants: no copy is made
            if negative.any():
                below = features[negative] * np.sqrt(-precision[rows][negative])[:, None]
                self._gram = dsyrk(-1.0, below.T, beta=1.0, c=self._gram, overwrite_c=True)
            self.n_rows += size
            if not precision[rows].any():
                continue
            if (precision[rows] != 1).any():
                features *= scale[rows]
            self._gram = dsyrk(1.0, features.T, beta=1.0, c=self._gram, overwrite_c=True)

    def add(self, other, factor=1.0, offset=0.0):
        """Add the sums of other rows, whose targets become ``factor * target + offset``."""
        self._moments += factor * other._moments + offset * other._gram[:1].T  # the first row is F'1
        self._gram += other._gram
        self.n_rows += other.n_rows

    def constant_sums(self):
        """Sum of the precisions, and of their products with the targets."""
        return self._gram[0, 0], self._moments[0]

    def gram(self, frequencies):
        """Matrix of the sums of products of the columns of these frequencies."""
        chosen = self._columns(frequencies)
        if len(chosen) == len(self._gram) and (np.diff(chosen) == 1).all():  # nothing is to be gathered
            result = np.tril(self._gram.T)
            result += np.tril(result, -1).T
            return result
        result = np.empty((len(chosen), len(chosen)))
        step = max(1, _BLOCK_ENTRIES // len(chosen))
        for start in range(0, len(chosen), step):
            block = result[start : start + step]
            where = np.ix_(chosen[start : start + step], chosen)
            np.add(self._gram[where], self._gram.T[where], out=block)
        # one of the two triangles is zero, but the diagonal is counted twice
        result[np.diag_indices_from(result)] /= 2
        return result

    def moments(self, frequencies):
        """Sums of products of the columns with the targets, shape (n_columns, n_outputs)."""
        return self._moments[self._columns(frequencies)]

    def subset(self, frequencies):
        """Sums of these frequencies alone."""
        result = GramSums(frequencies, self._moments.shape[1])
        result._gram = self.gram(frequencies).T  # symmetric, so this is only another order in memory
        for column in range(len(result._gram)):
            result._gram[column + 1 :, column] = 0.0
        result._moments[:] = self.moments(frequencies)
        result.n_rows = self.n_rows
        return result

    def to_arrays(self):
        """Arrays that hold the sums, by name."""
        return {"gram": self._gram, "moments": self._moments, "n_rows": np.array(self.n_rows)}

    def set_arrays(self, arrays):
        """Take sums over from arrays of the same names and shapes."""
        self._gram[:], self._moments[:] = arrays["gram"], arrays["moments"]
        self.n_rows = stored_count(arrays)


class DensePredictor:
    """Mean, variance and gradients of the posterior at points, through the columns of the basis."""

    name = "dense"
    locate = staticmethod(to_phases)

    def __init__(self, frequencies, posterior):
        self.frequencies, self.posterior = frequencies, posterior

    def mean(self, phases, weights):
        """Values of functions with these weights, shape (n, n_functions)."""
        result = np.empty((len(phases), weights.shape[1]))
        for rows in row_chunks(len(phases), len(weights)):
            result[rows] = columns(phases[rows], self.frequencies) @ weights
        return result

    def adjoint(self, phases, values):
        """Sums over points of the columns times values, shape (n_columns, n_functions): the transpose of `mean`."""
        if values.shape[1] <= _FEW_FUNCTIONS:
            return column_sums(phases, self.frequencies, values)
        result = np.zeros((2 * len(self.frequencies) - 1, values.shape[1]))
        for rows in row_chunks(len(phases), len(result)):
            result += columns(phases[rows], self.frequencies).T @ values[rows]
        return result

    def variance(self, phases, output):
        """Posterior variance of one output: the squared norm of L^-1 R phi, which never cancels."""
        result = np.empty(len(phases))
        for rows in row_chunks(len(phases), 2 * len(self.frequencies)):
            result[rows] = (self._whitened(columns(phases[rows], self.frequencies), output) ** 2).sum(axis=0)
        return result

    def mean_and_variance(self, phases, output):
        """Posterior mean and variance of one output."""
        return self.mean(phases, self.posterior.weights[:, [output]])[:, 0], self.variance(phases, output)

    def _whitened(self, features, output):
        return self.posterior.whiten(features, output)

    def covariance(self, phases, output):
        """Posterior covariance of one output between all points."""
        whitened = self._whitened(columns(phases, self.frequencies), output)
        return whitened.T @ whitened

    def gradient(self, phases, weights, waves):
        """Derivatives along inputs: ``waves`` (n_inputs, n_frequencies) are the wave numbers along each of them."""
        result = np.empty((len(phases), len(waves), weights.shape[1]))
        for rows in row_chunks(len(phases), len(weights)):
            derivative = self._derivative(phases[rows])
            for i, wave in enumerate(waves):
                result[rows, i] = derivative @ (weights * per_column(wave)[:, None])
        return result

    def gradient_variance(self, phases, waves, output):
        """Posterior variances of the derivatives along inputs."""
        result = np.empty((len(phases), len(waves)))
        for rows in row_chunks(len(phases), 2 * len(self.frequencies)):
            derivative = self._derivative(phases[rows])
            for i, wave in enumerate(waves):
                result[rows, i] = (self._whitened(derivative * per_column(wave), output) ** 2).sum(axis=0)
        return result

    def phase_gradient(self, phases, targets, quadratic, weights):
        r"""Derivatives of :math:`\sum_q y_q \phi' w_q - \phi' A \phi / 2` in the phases of every point.

        Parameters
        ----------
        phases : ndarray of shape (n, dimension)
            The points.
        targets : ndarray of shape (n, n_outputs)
            The factors :math:`y_q`.
        quadratic : ndarray of shape (n_columns, n_columns)
            Symmetric matrix A.
        weights : ndarray of shape (n_columns, n_outputs)
            The weights :math:`w_q`.

        Returns
        -------
        ndarray of shape (n, dimension)
        """
        result = np.empty(phases.shape)
        for rows in row_chunks(len(phases), 2 * len(weights)):
            features = columns(phases[rows], self.frequencies)
            slope = targets[rows] @ weights.T - features @ quadratic  # in the columns
            by_angle = features[:, 1::2] * slope[:, 2::2] - features[:, 2::2] * slope[:, 1::2]
            result[rows] = by_angle @ self.frequencies[1:]
        return result

    def cell_gradient(self, X, period, precision, targets, quadratic, weights):
        r"""Derivatives of the same form, summed over rows by precision, in the entries of the inverse cell.

        Parameters
        ----------
        X : ndarray of shape (n, dimension)
            Coordinates on the axes, of which :math:`2 \pi X W` are the phases with the inverse cell :math:`W`.
        period : ndarray of shape (dimension,) or (dimension, dimension)
            Periods or cell.
        precision : ndarray of shape (n,)
            Precisions of the rows.
        targets, quadratic, weights
            See :meth:`phase_gradient`.

        Returns
        -------
        ndarray of shape (dimension, dimension)
        """
        by_phase = self.phase_gradient(self.locate(X, period), targets, quadratic, weights)
        by_phase *= precision[:, None]
        return 2 * np.pi * centred(X).T @ by_phase

    def _derivative(self, phases):
        """Derivatives of the columns with respect to their angle."""
        features = columns(phases, self.frequencies)
        derivative = np.empty_like(features)
        derivative[:, 0] = 0.0
        derivative[:, 1::2] = -features[:, 2::2]
        derivative[:, 2::2] = features[:, 1::2]
        return derivative


def centred(X):
    """Coordinates less their means, far from the origin, too; a shift of it changes no evidence."""
    near = X - X[:1]
    return near - near.mean(axis=0)


def per_column(wave):
    """Wave numbers of frequencies, for each of their columns."""
    return np.repeat(wave, 2)[1:]
