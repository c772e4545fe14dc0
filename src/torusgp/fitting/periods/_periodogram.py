"""Periodograms of scattered data, and the sinusoids they are made of."""

from dataclasses import dataclass

import finufft
import numpy as np

_OVERSAMPLING = {1: 8, 2: 4, 3: 2}  # points of the grid per turn over the data
_LARGEST_GRID = 2**25  # frequencies
_TOLERANCE = 1e-6
_OWN = 0.1  # least part of a cosine or sine that no other column explains
_TOGETHER = 2**21  # numbers of an array of sinusoids that are held at a time
FEW_ROWS = 50  # up to which powers are exact: cosine and sine, and slow change, are far from orthogonal there


def explained_beside(inputs, root, basis, residual, frequencies):
    """Sums of squares that single sinusoids explain beside other columns.

    Parameters
    ----------
    inputs : ndarray of shape (n, dimension)
        Scaled inputs.
    root : ndarray of shape (n, 1)
        Square roots of the weights of the rows.
    basis : ndarray of shape (n, n_columns)
        Orthonormal basis of the other columns, times these roots.
    residual : ndarray of shape (n, n_outputs)
        Targets times these roots, less what the basis explains.
    frequencies : ndarray of shape (n_frequencies, dimension)
        In turns over the data.

    Returns
    -------
    explained : ndarray of shape (n_frequencies, n_outputs)
        By those of its combinations of cosine and sine that are no combinations of the basis.
    whole : ndarray of bool, shape (n_frequencies,)
        Whether these are all combinations.
    """
    explained = np.empty((len(frequencies), residual.shape[1]))
    whole = np.empty(len(frequencies), dtype=bool)
    size = max(1, _TOGETHER // (2 * max(len(inputs), residual.shape[1])))
    for start in range(0, len(frequencies), size):
        some = slice(start, start + size)
        angles = 2 * np.pi * inputs @ frequencies[some].T
        pairs = np.stack([np.cos(angles), np.sin(angles)], axis=2) * root[:, :, None]  # (n, n_frequencies, 2)
        pairs = pairs - np.tensordot(basis, np.tensordot(basis.T, pairs, axes=1), axes=1)
        values, vectors = np.linalg.eigh(np.einsum("nfa,nfb->fab", pairs, pairs))
        own = values >= _OWN * (root**2).sum() / 2
        moments = vectors.transpose(0, 2, 1) @ np.tensordot(pairs, residual, axes=(0, 0))
        explained[some] = (moments**2 * (own / np.where(own, values, 1.0))[:, :, None]).sum(axis=1)
        whole[some] = own[:, 0]
    return explained, whole


@dataclass(frozen=True)
class Periodogram:
    """Share of the variance that a single sinusoid explains, on a grid of frequencies.

    Attributes
    ----------
    frequencies : tuple of ndarray
        Frequencies along each input, in cycles per unit, of both signs.
    power : ndarray
        Share of the variance of the targets, averaged over outputs, after slow change is subtracted.
    """

    frequencies: tuple
    power: np.ndarray


class SinusoidFinder:
    """Periodograms of targets from which more and more columns are subtracted.

    Parameters
    ----------
    rows : ScaledRows
        The data.
    highest : ndarray of shape (dimension,)
        Highest frequency along each input, in turns over the data.
    columns : ndarray of shape (n, n_columns)
        Columns to subtract first.
    """

    def __init__(self, rows, highest, columns):
        self._rows = rows
        self.n_samples = float(rows.weight.sum())
        dimension = rows.inputs.shape[1]
        self.oversampling = _OVERSAMPLING[dimension]
        self._reach = np.maximum(1, np.floor(highest * self.oversampling * (1 + 1e-9))).astype(int)
        size = float(np.prod(2.0 * self._reach + 1))
        if size > _LARGEST_GRID:
            raise ValueError(
                f"The periodogram would have {size:.1e} frequencies, up to {np.array2string(highest, precision=4)} "
                f"turns over the data; at most {_LARGEST_GRID:.1e} are possible. Raise min_period."
            )
        self._root = np.sqrt(rows.weight)[:, None]
        self._residual = rows.targets * self._root
        self._variance = np.maximum((self._residual**2).sum(axis=0), np.finfo(float).tiny)
        self._basis = np.empty((len(rows.inputs), 0))
        self._points = np.ascontiguousarray((2 * np.pi / self.oversampling * rows.inputs).T)
        self.subtract(columns)

    def explained(self, columns):
        """Share of the variance of the targets that columns explain beside those before."""
        return float((((self._fresh(columns).T @ self._residual) ** 2).sum(axis=0) / self._variance).mean())

    def _fresh(self, columns):
        """Orthonormal basis of what columns add to those before."""
        columns = columns * self._root
        for _ in range(2):  # twice is enough for orthogonality
            columns = columns - self._basis @ (self._basis.T @ columns)
        fresh, triangle = np.linalg.qr(columns)
        return fresh[:, np.abs(np.diag(triangle)) > 1e-8 * np.sqrt(len(columns))]

    def subtract(self, columns):
        """Project columns out of the targets."""
        fresh = self._fresh(columns)
        self._basis = np.hstack([self._basis, fresh])
        self._residual = self._residual - fresh @ (fresh.T @ self._residual)

    def power(self):
        """Share of the variance of the targets that a sinusoid of each frequency of the grid explains."""
        if len(self._reach) == 1 and len(self._residual) <= FEW_ROWS:
            half = self.axes()[0][self._reach[0] :, None]
            sums, _ = explained_beside(self._rows.inputs, self._root, self._basis, self._residual, half)
            shares = (sums / self._variance).mean(axis=1)
            return np.concatenate([shares[:0:-1], shares])
        strengths = np.ascontiguousarray((self._residual * self._root).T, dtype=complex)
        transform = getattr(finufft, f"nufft{len(self._reach)}d1")
        modes = tuple(int(n) for n in 2 * self._reach + 1)
        values = transform(*self._points, strengths, modes, eps=_TOLERANCE, isign=1, nthreads=1)
        values = np.abs(values.reshape(-1, *modes)) ** 2
        shares = 2 / self._rows.weight.sum() * values / self._variance.reshape(-1, *[1] * len(modes))
        return shares.mean(axis=0)

    def axes(self):
        """Frequencies of the grid along each input, in turns over the data."""
        return tuple(np.arange(-reach, reach + 1) / self.oversampling for reach in self._reach)

    def unexplained(self):
        """Share of the variance that is left, averaged over outputs."""
        return float(((self._residual**2).sum(axis=0) / self._variance).mean())

    def peaks(self, least, fewest_turns, most):
        """Frequencies of the highest peaks of a single input, in turns over the data, the highest first."""
        power, (turns,) = self.power(), self.axes()
        places = np.flatnonzero((power[1:-1] >= power[:-2]) & (power[1:-1] > power[2:])) + 1
        places = places[(power[places] >= least) & (turns[places] >= fewest_turns)]
        found: list[float] = []
        for place in places[np.argsort(-power[places])]:
            if len(found) < most and all(abs(turns[place] - other) > 1 for other in found):  # or it is a side lobe
                found.append(float(turns[place]))
        return np.array(found)

    def is_significant(self, share, n_frequencies):
        """Whether the strongest of so many sinusoids is stronger than noise would give."""
        left = self.unexplained()
        if left < 1e-12:
            return False
        gain = -0.5 * self.n_samples * np.log(max(1 - share / left, 1e-12))
        return gain >= np.log(n_frequencies) + 2

    def strongest(self, power, fewest_turns):
        """Frequency of the strongest sinusoid with at least so many turns over the data, between points of the grid.

        Returns
        -------
        frequency : ndarray of shape (dimension,)
            In turns over the data; the first non-zero entry is positive.
        share : float
            Share of the variance it explains.
        """
        turns = sum(axis**2 for axis in np.meshgrid(*self.axes(), indexing="ij", sparse=True))
        masked = np.where(turns >= fewest_turns**2, power, -1.0)
        flat = masked.ravel()[masked.size // 2 :]  # the other half is its mirror image
        place = np.unravel_index(int(flat.argmax()) + masked.size // 2, masked.shape)
        frequency = np.array([axis[i] for axis, i in zip(self.axes(), place, strict=True)])
        for d, reach in enumerate(self._reach):
            if 0 < place[d] < 2 * reach:
                side = [power[(*place[:d], place[d] + s, *place[d + 1 :])] for s in (-1, 0, 1)]
                bend = side[0] - 2 * side[1] + side[2]
                if bend < 0:
                    frequency[d] += np.clip(0.5 * (side[0] - side[2]) / bend, -0.5, 0.5) / self.oversampling
        return frequency, float(power[place])


def find_sinusoids(finder, inputs, fewest_turns, n_sinusoids):
    """Strongest sinusoids, one after the other, each after the ones before are subtracted (matching pursuit).

    It ends early when the strongest of what is left is no stronger than noise would give.

    Parameters
    ----------
    finder : SinusoidFinder
        The data; it is changed.
    inputs : ndarray of shape (n, dimension)
        Scaled inputs.
    fewest_turns : float
        Fewest turns over the data.
    n_sinusoids : int
        Most sinusoids to find.

    Returns
    -------
    frequencies : ndarray of shape (n_found, dimension)
        In turns over the data, satellites of stronger ones left out.
    shares : ndarray of shape (n_found,)
        Share of the variance of each.
    """
    frequencies: list[np.ndarray] = []
    shares: list[float] = []
    for _ in range(n_sinusoids):
        power = finder.power()
        frequency, _ = finder.strongest(power, fewest_turns)
        angles = 2 * np.pi * inputs @ frequency
        columns = np.column_stack([np.cos(angles), np.sin(angles)])
        share = finder.explained(columns)  # cosine and sine are not orthogonal on few scattered rows
        if not finder.is_significant(share, power.size):
            break
        finder.subtract(columns)
        if all(min(np.abs(frequency - f).max(), np.abs(frequency + f).max()) > 1.0 for f in frequencies):
            frequencies.append(frequency)
            shares.append(share)
    dimension = inputs.shape[1]
    return np.array(frequencies).reshape(-1, dimension), np.array(shares)
