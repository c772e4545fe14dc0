r"""Columns of the Fourier basis, and the feature maps built from them.

For phases :math:`\theta` and the frequencies :math:`0, k_1, k_2, \dots` of an index set the columns are

.. math:: F(x) = [1, \cos k_1 \cdot \theta, \sin k_1 \cdot \theta, \cos k_2 \cdot \theta, \sin k_2 \cdot \theta, \dots]

A cosine and a sine stand side by side, so the columns of the first frequencies of a set are the first columns.
:func:`reference_columns` is the definition; :func:`columns` gives the same several times faster.
"""

from itertools import product

import numpy as np

_CHUNK_BYTES = 2**20  # exponentials of a chunk of rows: small enough to stay in a core's cache
_BABY_STEPS = 32


def reference_columns(phases, frequencies):
    """Columns of the basis by definition: cosines and sines of a matrix product.

    Parameters
    ----------
    phases : ndarray of shape (n_samples, dimension)
        Phases in radians.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of an index set, the zero vector first.

    Returns
    -------
    ndarray of shape (n_samples, 2 * n_frequencies - 1)
    """
    angles = phases @ frequencies[1:].T
    pairs = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.column_stack([np.ones(len(phases)), pairs.reshape(len(phases), 2 * angles.shape[1])])


def columns(phases, frequencies, scale=None, dtype=np.float64, out=None):
    """Columns of the basis, each multiplied by a scale, from products of one-dimensional exponentials.

    Rows are worked on in chunks of bounded size, so beyond the result memory does not depend on their number.

    Parameters
    ----------
    phases : ndarray of shape (n_samples, dimension)
        Phases in radians, float64.
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of an index set, the zero vector first.
    scale : ndarray of shape (n_frequencies,), optional
        Factor of the constant and of each pair of columns.
    dtype : dtype, default=float64
        Type of the result, float64 or float32.
    out : ndarray of shape (n_samples, 2 * n_frequencies - 1), optional
        Where to write the result, of this type and C-contiguous.

    Returns
    -------
    ndarray of shape (n_samples, 2 * n_frequencies - 1)
    """
    phases = np.asarray(phases, dtype=np.float64)
    result = np.empty((len(phases), 2 * len(frequencies) - 1), dtype=dtype) if out is None else out
    return ColumnPlan(frequencies, len(phases), dtype).write(phases, result, scale)


class ColumnPlan:
    r"""Plan for the columns of given frequencies, for any number of rows; working memory is allocated once.

    The exponentials :math:`e^{i k \cdot \theta}` follow the tree of the entries of the frequencies that are not zero.
    Those of one entry come from a table. Every distinct prefix of two or more costs one complex product per row, so a
    set costs at most about one product per frequency.

    Parameters
    ----------
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of an index set, the zero vector first.
    max_rows : int
        Rows that are given at once, if they are few.
    dtype : dtype, default=float64
        Type of the columns, float64 or float32.
    chunk_bytes : int, optional
        Size of the exponentials of a chunk of rows.
    """

    def __init__(self, frequencies, max_rows, dtype=np.float64, chunk_bytes=_CHUNK_BYTES):
        self.dtype, self._type = dtype, np.result_type(dtype, np.complex64)
        frequencies = frequencies[1:]
        n_frequencies, dimension = frequencies.shape
        values = [np.unique(column[column != 0]) for column in frequencies.T]
        # axes with the same entries stand side by side, so that one operation serves them all
        groups: dict[tuple[int, ...], list[int]] = {}
        for d, own in enumerate(values):
            groups.setdefault(tuple(own.tolist()), []).append(d)
        starts, strides = np.zeros((2, dimension), dtype=np.int64)
        size, self._tables = 0, []  # of each group: its axes, entries and nodes, those of an entry side by side
        for entries, axes in groups.items():
            starts[axes], strides[axes] = size + np.arange(len(axes)), len(axes)
            segment = slice(size, size + len(entries) * len(axes))
            self._tables.append((axes, np.array(entries, dtype=np.int64), segment))
            size = segment.stop
        node = np.full(n_frequencies, -1)  # of the prefix so far; none while all entries are zero
        self._levels = []  # for each node of the tree its parent and the row of the table that extends it
        n_nodes = size
        for d in range(dimension):
            here = frequencies[:, d] != 0
            entry = starts[d] + strides[d] * np.searchsorted(values[d], frequencies[:, d])
            longer = here & (node >= 0)
            node = np.where(here & (node < 0), entry, node)
            if longer.any():
                keys, which = np.unique(node[longer] * size + entry[longer], return_inverse=True)
                parent, own = np.divmod(keys, size)
                self._levels.append((slice(n_nodes, n_nodes + len(keys)), parent, own))
                node[longer] = n_nodes + which
                n_nodes += len(keys)
        self._where = node
        self._step = min(max(16, chunk_bytes // (16 * max(n_nodes, 1))), max(max_rows, 1))
        self._nodes = np.empty((n_nodes, self._step), dtype=self._type)
        self._factors = np.empty((n_frequencies, self._step), dtype=self._type)

    def write(self, phases, out, scale=None):
        """Columns at phases (n, dimension), written to ``out``; a scale is a factor of the constant and each pair."""
        out[:, 0] = 1.0 if scale is None else scale[0]
        if not len(self._where):
            return out
        pair_scale = None if scale is None else np.asarray(scale, dtype=self.dtype)[1:]
        for rows, exponentials in self.exponentials(phases):
            # A complex number is a cosine and a sine side by side. The copy from (n_frequencies, n_rows), where
            # products run over contiguous memory, to the rows of the result applies the scale at the same time.
            values, own = exponentials.T, out[rows, 1:].view(self._type)
            if pair_scale is None:
                np.copyto(own, values)
            else:
                np.multiply(values, pair_scale, out=own)
        return out

    def exponentials(self, phases):
        """Chunks of rows, and their exponentials (n_frequencies - 1, n_rows), which are valid until the next chunk."""
        for start in range(0, len(phases), self._step):
            rows = slice(start, start + self._step)
            yield rows, self._evaluate(phases[rows].T)

    def _evaluate(self, phases):
        """Exponentials of shape (n_frequencies, n_rows), valid until the next call, for phases (dimension, n_rows)."""
        nodes, factors = self._nodes[:, : phases.shape[1]], self._factors[:, : phases.shape[1]]
        for axes, values, segment in self._tables:
            _write_powers(phases[axes], values, nodes[segment].reshape(len(values), *phases[axes].shape))
        for segment, parent, own in self._levels:
            # "clip" writes without a copy, as do parts of the nodes that do not overlap
            before, product, factor = nodes[: segment.start], nodes[segment], factors[: len(own)]
            np.take(before, own, axis=0, out=product, mode="clip")
            np.multiply(product, np.take(before, parent, axis=0, out=factor, mode="clip"), out=product)
        return np.take(nodes, self._where, axis=0, out=factors, mode="clip")


def _write_powers(phases, values, out):
    """Exponentials exp(i k phase), k first, of phases (n_axes, n_rows) and integers k, which rise and are not zero."""
    n_negative = int(np.searchsorted(values, 0))
    n_positive = len(values) - n_negative
    if (
        not n_positive
        or n_negative > n_positive
        or values[-1] != n_positive
        or (n_negative and values[0] != -n_negative)
    ):
        out[:] = _powers(phases, values, out.dtype)  # with gaps
        return
    # All powers by doubling. Like the rounding of an angle, that of the first grows with the power.
    positive = out[n_negative:]
    positive[0] = _exponentials(phases)
    size = 1
    while size < n_positive:
        more = min(size, n_positive - size)
        np.multiply(positive[:more], positive[size - 1], out=positive[size : size + more])
        size += more
    np.conj(positive[:n_negative][::-1], out=out[:n_negative])


def _exponentials(phase):
    """exp(i phase) through the tangent of half of it: one function that processors have in vectors, instead of two."""
    tangent = np.tan(phase / 2)
    scale = 2 / (1 + tangent * tangent)
    result = np.empty(phase.shape, dtype=complex)
    np.subtract(scale, 1, out=result.real)
    np.multiply(scale, tangent, out=result.imag)
    return result


def _powers(phase, values, complex_type):
    if len(values) <= 2 * _BABY_STEPS:
        return _exponentials(np.multiply.outer(values, phase)).astype(complex_type, copy=False)
    giant, baby = np.divmod(values, _BABY_STEPS)
    giants, giant_of = np.unique(giant * _BABY_STEPS, return_inverse=True)
    steps = _exponentials(np.multiply.outer(np.arange(_BABY_STEPS), phase)).astype(complex_type, copy=False)
    strides = _exponentials(np.multiply.outer(giants, phase)).astype(complex_type, copy=False)
    return strides[giant_of] * steps[baby]


def full_feature_map(kernel, X, indices):
    r"""Feature map of the paper's full construction, before terms with zero entries are merged.

    .. math:: \sqrt{\rho / 2^{D-1}} \, [\cos(a \odot \Xi_j \cdot x), \sin(a \odot \Xi_j \cdot x)],
              \quad j = 0, \dots, 2^{D-1} - 1

    for every non-negative index, :math:`\rho = \prod_d q_{i_d}^2` with :math:`q_0^2 = c_0`, :math:`q_k^2 = 2 c_k`.
    It has :math:`2^D` columns for each index (the paper's first lemma), repetitions and zeros among them, and the
    same products as the sparse map. It is kept as a reference; use :class:`~torusgp.IndexSetFourierFeatures`.

    Parameters
    ----------
    kernel : TorusKernel
        Product kernel.
    X : ndarray of shape (n_samples, dimension)
        Inputs.
    indices : ndarray of int, shape (n_indices, dimension)
        Non-negative vectors.

    Returns
    -------
    ndarray of shape (n_samples, n_indices * 2 ** dimension)
    """
    dimension = indices.shape[1]
    signs = np.array([(1, *rest) for rest in product((1, -1), repeat=dimension - 1)])
    rho = kernel.coefficients(indices) * 2.0 ** np.count_nonzero(indices, axis=1)
    angles = kernel.phases(X) @ (indices[:, None] * signs).reshape(-1, dimension).T
    amplitude = np.repeat(np.sqrt(rho / 2 ** (dimension - 1)), len(signs))
    return np.hstack([amplitude * np.cos(angles), amplitude * np.sin(angles)])
