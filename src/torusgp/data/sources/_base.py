"""Base class of sources: chunks in a fixed order, and samples."""

from abc import ABC, abstractmethod

import numpy as np


class Source(ABC):
    """Rows that are read chunk by chunk, always in the same order.

    Attributes
    ----------
    names : tuple of str or None
        Names of the inputs, where they have some.
    n_inputs, n_outputs : int
        Number of inputs and of targets.
    n_rows : int or None
        Number of rows, where it is known beforehand.
    y_ndim : int
        1 if the targets are a vector, 2 if they are the columns of a matrix.
    """

    names: tuple[str, ...] | None = None
    n_inputs: int
    n_outputs: int
    n_rows: int | None = None
    y_ndim: int

    @abstractmethod
    def chunks(self, skip=0):
        """Iterate over the chunks, except the first few."""

    @abstractmethod
    def sample(self, n_rows):
        """Some rows, as one chunk: up to about n, from all over the source where that can be had."""

    @abstractmethod
    def layout(self):
        """Parts of a row, as JSON can hold them: rows of another layout are other rows."""

    def stamps(self, n_chunks):
        """Evidence, without reading them, that the first chunks are still the same; None if there is none.

        Of files it is the state they were in when the source was made, before anything was read: a change while they
        are being read does not go unnoticed.

        Returns
        -------
        object that JSON can hold, or None
        """
        return None


def choose_rows(n_rows, size):
    """Some of the rows, always the same, in order."""
    if n_rows <= size:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, size, replace=False))


def spread_parts(sizes, n_rows, n_parts=32):
    """Parts of a source to draw a sample from, always the same.

    Returns how many rows to draw from each part that is chosen, in proportion to its size.
    """
    sizes = np.asarray(sizes)
    lots = np.random.default_rng(0).exponential(size=len(sizes)) / np.maximum(sizes, 1e-9)
    order = np.argsort(lots)
    enough = np.searchsorted(np.cumsum(sizes[order]), n_rows) + 1
    chosen = np.sort(order[: max(n_parts, enough)])
    chosen = chosen[sizes[chosen] > 0]
    share = min(1.0, n_rows / sizes[chosen].sum())
    return {int(part): int(np.ceil(share * sizes[part])) for part in chosen}
