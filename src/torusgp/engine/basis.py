r"""Columns of the Fourier basis, and the feature maps built from them.

For phases :math:`\theta` and the frequencies :math:`0, k_1, k_2, \dots` of an index set the columns are

.. math:: F(x) = [1, \cos k_1 \cdot \theta, \sin k_1 \cdot \theta, \cos k_2 \cdot \theta, \sin k_2 \cdot \theta, \dots]

A cosine and a sine stand side by side, so the columns of the first frequencies of a set are the first columns.
:func:`reference_columns` is the definition; :func:`columns` gives the same several times faster.
"""

from itertools import product

import numpy as np

_CHUNK_BYTES = 2**21  # working memory of a chunk of rows: small enough to stay in a core's cache
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
    return np.column_stack([np.ones(len(phases)), pairs.reshape(len(phases), -1)])


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
    result[:, 0] = 1.0 if scale is None else scale[0]
    pair_scale = None if scale is None else np.asarray(scale, dtype=dtype)[1:]
    if len(frequencies) == 1 or len(phases) == 0:
        return result
    complex_type = np.result_type(dtype, np.complex64)
    step = max(16, _CHUNK_BYTES // (16 * len(frequencies)))
    plan = _ProductPlan(frequencies[1:], min(step, len(phases)), complex_type)
    for start in range(0, len(phases), step):
        rows = slice(start, start + step)
        # A complex number is a cosine and a sine side by side. The copy from (n_frequencies, n_rows), where products
        # run over contiguous memory, to the rows of the result applies the scale at the same time.
        values, own = plan.evaluate(phases[rows].T).T, result[rows, 1:].view(complex_type)
        if pair_scale is None:
            np.copyto(own, values)
        else:
            np.multiply(values, pair_scale, out=own)
    return result


class _ProductPlan:
    r"""Evaluation of :math:`e^{i k \cdot \theta}` along the tree of the entries of the frequencies that are not zero.

    The exponentials of one entry come from a table. Every distinct prefix of two or more costs one complex product per
    row, so a set costs at most about one product per frequency. Working memory is allocated once.
    """

    def __init__(self, frequencies, max_rows, complex_type):
        self.complex_type = complex_type
        n_frequencies, dimension = frequencies.shape
        self._values = [np.unique(column[column != 0]) for column in frequencies.T]
        starts = np.cumsum([0, *map(len, self._values)])
        node = np.full(n_frequencies, -1)  # of the prefix so far; none while all entries are zero
        self._levels = []  # for each node of the tree its parent and the row of the table that extends it
        self._n_nodes = int(starts[-1])
        for d in range(dimension):
            here = frequencies[:, d] != 0
            entry = starts[d] + np.searchsorted(self._values[d], frequencies[:, d])
            longer = here & (node >= 0)
            node = np.where(here & (node < 0), entry, node)
            if longer.any():
                size = int(starts[-1])
                keys, which = np.unique(node[longer] * size + entry[longer], return_inverse=True)
                parent, own = np.divmod(keys, size)
                self._levels.append((slice(self._n_nodes, self._n_nodes + len(keys)), parent, own))
                node[longer] = self._n_nodes + which
                self._n_nodes += len(keys)
        self._where = node
        self._nodes = np.empty((self._n_nodes, max_rows), dtype=complex_type)
        self._factors = [np.empty((n_frequencies, max_rows), dtype=complex_type) for _ in range(2)]

    def evaluate(self, phases):
        """Exponentials of shape (n_frequencies, n_rows), valid until the next call, for phases (dimension, n_rows)."""
        n_rows = phases.shape[1]
        nodes, left, right = (buffer[:, :n_rows] for buffer in (self._nodes, *self._factors))
        start = 0
        for values, phase in zip(self._values, phases, strict=True):
            _write_powers(phase, values, nodes[start : start + len(values)])
            start += len(values)
        for segment, parent, own in self._levels:
            for which, factor in ((parent, left), (own, right)):
                np.take(nodes, which, axis=0, out=factor[: len(own)], mode="clip")  # "clip" writes without a copy
            np.multiply(left[: len(own)], right[: len(own)], out=nodes[segment])
        return np.take(nodes, self._where, axis=0, out=left, mode="clip")


def _write_powers(phase, values, out):
    """Rows exp(i k phase) for integers k in rising order, none of them zero; many of them as products of few."""
    n_negative = int(np.searchsorted(values, 0))
    positive, n_positive = out[n_negative:], len(values) - n_negative
    if (
        not n_positive
        or n_negative > n_positive
        or values[-1] != n_positive
        or (n_negative and values[0] != -n_negative)
    ):
        out[:] = _powers(phase, values, out.dtype)  # with gaps
        return
    # All powers by doubling. Like the rounding of an angle, that of the first grows with the power.
    positive[0].real, positive[0].imag = np.cos(phase), np.sin(phase)
    size = 1
    while size < n_positive:
        more = min(size, n_positive - size)
        np.multiply(positive[:more], positive[size - 1], out=positive[size : size + more])
        size += more
    np.conj(positive[:n_negative][::-1], out=out[:n_negative])


def _powers(phase, values, complex_type):
    if len(values) <= 2 * _BABY_STEPS:
        return np.exp(1j * np.multiply.outer(values, phase)).astype(complex_type, copy=False)
    giant, baby = np.divmod(values, _BABY_STEPS)
    giants, giant_of = np.unique(giant * _BABY_STEPS, return_inverse=True)
    steps = np.exp(1j * np.multiply.outer(np.arange(_BABY_STEPS), phase)).astype(complex_type, copy=False)
    strides = np.exp(1j * np.multiply.outer(giants, phase)).astype(complex_type, copy=False)
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
