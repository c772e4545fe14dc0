"""The index set itself, and the expansion of non-negative vectors over their signs."""

from dataclasses import dataclass
from itertools import product

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class IndexSet:
    """Integer frequencies of a Fourier series, one of each pair of opposite vectors.

    Build it with the functions of this module, or with :func:`from_frequencies`.

    Attributes
    ----------
    frequencies : ndarray of shape (n_frequencies, dimension)
        The zero vector first, then vectors whose first non-zero entry is positive.
    indices : ndarray of shape (n_indices, dimension) or None
        The non-negative vectors whose sign changes make up the set, if it is closed under sign changes of
        single coordinates, else None.
    name : str
        What built the set, for people to read.
    max_interaction : int or None
        Limit on the number of non-zero entries under which the set was built.
    """

    frequencies: np.ndarray
    indices: np.ndarray | None
    name: str = "custom"
    max_interaction: int | None = None

    def __post_init__(self):
        for name in ("frequencies", "indices"):
            array = getattr(self, name)
            if array is None and name == "indices":
                continue
            if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "iu":
                raise TypeError(f"{name} must be a matrix of integers, got {array!r}: build sets by from_frequencies.")
            array.flags.writeable = False
        if not isinstance(self.name, str):
            raise TypeError(f"name must be text that says what built the set, got {self.name!r}.")

    @property
    def dimension(self):
        """Number of periodic inputs."""
        return self.frequencies.shape[1]

    @property
    def n_components(self):
        """Number of components: a constant, and a cosine and a sine for each pair of frequencies."""
        return 2 * len(self.frequencies) - 1

    @property
    def n_components_full(self):
        """Number of components of the paper's full construction, or None for a set without orthant."""
        return None if self.indices is None else len(self.indices) * 2**self.dimension

    def __len__(self):
        return len(self.frequencies if self.indices is None else self.indices)

    def __eq__(self, other):
        return isinstance(other, IndexSet) and np.array_equal(self.frequencies, other.frequencies)

    def __hash__(self):
        return hash((self.frequencies.shape, self.frequencies.tobytes()))

    def __repr__(self):
        return f"IndexSet({self.name}, dimension={self.dimension}, n_components={self.n_components})"


def from_frequencies(frequencies):
    """Index set of the given signed frequencies, completed by the zero vector.

    Parameters
    ----------
    frequencies : array-like of int, shape (n_frequencies, dimension)
        In any order and sign; opposite vectors and repetitions count once. The order is kept.

    Returns
    -------
    IndexSet

    Examples
    --------
    >>> from_frequencies([[1, 0], [-1, 0], [0, -2]]).frequencies.tolist()
    [[0, 0], [1, 0], [0, 2]]
    """
    given = np.asarray(frequencies)
    if given.ndim != 2 or given.shape[1] == 0 or given.dtype.kind not in "iuf":
        raise ValueError(f"frequencies must be a table of integers with one row each, got {frequencies!r}.")
    if not np.array_equal(given, np.rint(given)):
        raise ValueError("frequencies must be integers: fractions are a matter of the period.")
    signed = np.vstack([np.zeros((1, given.shape[1]), np.int64), half_space(given.astype(np.int64))])
    _, first = np.unique(signed, axis=0, return_index=True)
    signed = signed[np.sort(first)]
    indices = np.unique(np.abs(signed), axis=0)
    symmetric = np.sum(2.0 ** np.count_nonzero(indices, axis=1)) == 2 * len(signed) - 1
    return IndexSet(signed, indices if symmetric else None)


def half_space(frequencies):
    """Flip signs so that the first non-zero entry of each row is positive."""
    leading = np.take_along_axis(frequencies, (frequencies != 0).argmax(axis=1)[:, None], axis=1)
    return np.where(leading < 0, -frequencies, frequencies)


def expand_signs(indices):
    """Every sign change of non-negative vectors, one of each pair of opposite ones, in the order of the indices."""
    n_nonzero = np.count_nonzero(indices, axis=1)
    signed, origin = [], []
    for order in np.unique(n_nonzero):
        rows = np.flatnonzero(n_nonzero == order)
        signs = _sign_patterns(int(order))
        where = np.nonzero(indices[rows])[1].reshape(len(rows), order)
        block = np.repeat(indices[rows], len(signs), axis=0)
        columns = np.repeat(where, len(signs), axis=0)
        values = np.take_along_axis(block, columns, axis=1) * np.tile(signs, (len(rows), 1))
        np.put_along_axis(block, columns, values, axis=1)
        signed.append(block)
        origin.append(np.repeat(rows, len(signs)))
    return np.concatenate(signed)[np.argsort(np.concatenate(origin), kind="stable")]


def _sign_patterns(order):
    """All sign patterns of a number of entries, of which the first stays positive: shape (n_patterns, order)."""
    return np.array([(1, *rest) for rest in product((1, -1), repeat=order - 1)] if order else [()], dtype=np.int64)
