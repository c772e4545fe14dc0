r"""Functions of one input that are centred over the rows, and their products: the columns of an ANOVA sum.

A function of several inputs is a sum :math:`f = w_0 + \sum_u f_u(x_u)` over sets u of inputs. Every :math:`f_u` has
mean zero over the rows in each of its inputs, so that parts are identified: an interaction cannot take what a main
effect explains. Its columns are products over the inputs of

.. math:: \cos k\theta_d - \operatorname{Re} m_{dk}, \quad \sin k\theta_d - \operatorname{Im} m_{dk}, \quad k \ge 1,

with the averages :math:`m_{dk}` of :math:`e^{i k \theta_d}` over the rows. A *walk* has the cosines alone, over twice
the range of the rows: Brownian motion about its average, which holds its last level beyond them.

Products of centred columns are fixed combinations of Fourier columns of the same and of lower orders. The sparse matrix
R of :meth:`AnovaBasis.fourier` says which: sums over Fourier columns become those of the basis as :math:`R G R'`, and
weights of the basis those of Fourier columns as :math:`R' w`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from torusgp.kernels.spectra import Spectrum
from torusgp.kernels.torus import Axis

Array = NDArray[np.float64]

MOST_HARMONICS = 200  # of an axis: a pool of a thousand columns has no room for more of each
_DECIMALS = 9  # of a turn, by which phases differ that are distinct
_LEAST_POWER = 1e-9  # variance over the rows of a harmonic that does not vary: its column is next to zero


@dataclass(frozen=True, eq=False)
class CentredAxis:
    """Harmonics of one axis, less their averages over the rows.

    Attributes
    ----------
    axis : Axis
        How the input is laid.
    period : float
        Length of its circle; of a walk twice its range.
    family : Spectrum
        Family of the circle's kernel.
    averages : ndarray of complex, shape (n_harmonics,)
        Averages of exp(i k phase) over the rows, from k = 1 on; of a walk of cos(k phase).
    powers : ndarray of shape (n_harmonics,)
        Sums of the variances of the columns of each harmonic over the rows.
    """

    axis: Axis
    period: float
    family: Spectrum
    averages: NDArray[np.complex128]
    powers: Array

    @classmethod
    def of(
        cls, axis: Axis, period: float, family: Spectrum, coordinates: Array, weight: Array | None = None
    ) -> CentredAxis:
        """Axis centred over rows with these coordinates and weights."""
        distinct, inverse = np.unique(coordinates, return_inverse=True)
        shares = np.bincount(inverse, weight, minlength=len(distinct))
        shares = shares / shares.sum()
        phases = 2 * np.pi / period * distinct
        n_harmonics = _n_harmonics(axis, phases)
        averages, powers = np.empty(n_harmonics, dtype=complex), np.empty(n_harmonics)
        for i in range(n_harmonics):  # one after the other: of many rows all would take much memory
            wave = np.exp(1j * (i + 1) * phases)
            if axis.kind == "walk":
                wave = wave.real + 0j
            averages[i] = shares @ wave
            powers[i] = shares @ np.abs(wave - averages[i]) ** 2
        return cls(axis, period, family, averages, np.maximum(powers, _LEAST_POWER))

    @property
    def n_harmonics(self) -> int:
        """Largest harmonic."""
        return len(self.averages)

    @property
    def width(self) -> int:
        """Columns of a harmonic: a cosine and a sine, of a walk the cosine."""
        return 1 if self.axis.kind == "walk" else 2

    @property
    def has_scale(self) -> bool:
        """True where a length scale is learned: not of a walk, which has none, nor of levels without a distance."""
        return self.axis.kind not in ("walk", "category")

    def harmonics(self, coordinates: Array, n_harmonics: int) -> NDArray[np.complex128]:
        """Centred harmonics at coordinates, shape (n_samples, n_harmonics): columns are real and imaginary parts."""
        if self.axis.kind == "walk":
            coordinates = np.clip(coordinates, 0.0, self.axis.extent)
        distinct, inverse = np.unique(coordinates, return_inverse=True)
        phases = 2 * np.pi / self.period * distinct
        waves = np.exp(1j * np.outer(phases, np.arange(1, n_harmonics + 1)))
        if self.axis.kind == "walk":
            waves = waves.real + 0j
        waves -= self.averages[:n_harmonics]
        return waves[inverse]

    def log_shares(self, harmonics: NDArray[np.int64], log_scale: float) -> tuple[Array, Array]:
        """Logarithms of the variances of the columns of harmonics, for a function of variance one over the rows.

        Parameters
        ----------
        harmonics : ndarray of int
            From one on.
        log_scale : float
            Logarithm of the length scale in radians on the circle, where there is one.

        Returns
        -------
        values, slopes : ndarray
            The logarithms, and their derivatives in that of the length scale.
        """
        every, slopes = self._log_coefficients(float(log_scale))
        weight = self.powers * np.exp(every - every.max())
        total = weight.sum()
        chosen = harmonics - 1
        mean_slope = float(weight @ slopes) / total
        return every[chosen] - every.max() - np.log(total), slopes[chosen] - mean_slope

    def _log_coefficients(self, log_scale: float) -> tuple[Array, Array]:
        every, scale = np.arange(1, self.n_harmonics + 1), float(np.exp(log_scale))
        if self.family.has_both_at_once:
            return self.family.log_coefficients_and_gradient(every, scale)  # type: ignore[attr-defined]
        values = self.family.log_coefficients(every, scale)
        return values, self.family.log_coefficients_gradient(every, scale)

    def kernel(self, coordinates: Array, log_scale: float) -> Array:
        """Kernel between coordinates, of average variance one over the rows, shape (n_samples, n_samples)."""
        waves = self.harmonics(coordinates, self.n_harmonics)
        shares = np.exp(self.log_shares(np.arange(1, self.n_harmonics + 1), log_scale)[0])
        return np.asarray(((waves * shares) @ waves.conj().T).real)

    @property
    def rate(self) -> float:
        """Variance that a walk of variance one over the rows gains in each unit of its input."""
        # cos(k pi t / T) has the variance 2 r T / (k pi)^2 in Brownian motion of rate r
        share = np.exp(self.log_shares(np.array([1]), 0.0)[0][0])
        return float(np.pi**2 * share / (2 * self.axis.extent))


def _n_harmonics(axis: Axis, phases: Array) -> int:
    """Number of harmonics that rows can tell from lower ones: half of their distinct phases, if these are few."""
    if axis.kind == "category":
        return (axis.modulus - 1) // 2
    if axis.kind == "walk":
        return min(MOST_HARMONICS, max(1, len(phases) - 1))
    distinct = len(np.unique(np.round(np.mod(phases / (2 * np.pi), 1.0), _DECIMALS)))
    return min(MOST_HARMONICS, max(1, distinct // 2))


@dataclass(frozen=True, eq=False)
class AnovaBasis:
    """A constant, and groups of columns: the products of the harmonics of some axes.

    Attributes
    ----------
    axes : tuple of CentredAxis
        All axes, in the order of the torus.
    terms : tuple of tuple of int
        Axes of each term, rising.
    owner : ndarray of int, shape (n_groups,)
        Term of each group of columns, rising.
    harmonics : ndarray of int, shape (n_groups, largest_order)
        Harmonics along the axes of the term; zeros beyond them.
    """

    axes: tuple[CentredAxis, ...]
    terms: tuple[tuple[int, ...], ...]
    owner: NDArray[np.int64]
    harmonics: NDArray[np.int64]

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """Numbers of columns of the groups."""
        by_term = [np.prod([self.axes[d].width for d in term]) for term in self.terms]
        return np.array(by_term, dtype=np.int64)[self.owner] if len(self.owner) else np.empty(0, np.int64)

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """Group of each column but the constant, which is the first."""
        return np.repeat(np.arange(len(self.owner)), self.widths)

    @property
    def n_columns(self) -> int:
        """Number of components."""
        return 1 + int(self.widths.sum())

    def columns_of(self, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of the columns of some terms."""
        return 1 + np.flatnonzero(np.isin(self.owner[self.group], terms))

    def without(self, terms: NDArray[np.int64]) -> AnovaBasis:
        """The groups of all other terms."""
        kept = ~np.isin(self.owner, terms)
        return AnovaBasis(self.axes, self.terms, self.owner[kept], self.harmonics[kept])

    def columns(self, coordinates: Array) -> Array:
        """Columns at coordinates on the axes, (n_samples, dimension): products of tables of harmonics."""
        most = np.zeros(len(self.axes), dtype=np.int64)
        for term, groups in self._groups():
            axes = list(self.terms[term])
            most[axes] = np.maximum(most[axes], self.harmonics[groups, : len(axes)].max(axis=0))
        tables = {
            d: self.axes[d].harmonics(coordinates[:, d], int(most[d])).T.copy() for d in np.flatnonzero(most).tolist()
        }
        result = np.empty((self.n_columns, len(coordinates)))
        result[0], place = 1.0, 1
        for term, groups in self._groups():
            for row in self.harmonics[groups]:
                parts: list[Array] = []
                for d, k in zip(self.terms[term], row, strict=False):
                    wave = tables[d][k - 1]
                    own = [wave.real] if self.axes[d].width == 1 else [wave.real, wave.imag]
                    parts = own if not parts else [one * other for one in parts for other in own]
                for part in parts:
                    result[place] = part
                    place += 1
        return result.T

    def _groups(self) -> list[tuple[int, NDArray[np.int64]]]:
        """Terms that have columns, and their groups."""
        return [(int(term), np.flatnonzero(self.owner == term)) for term in np.unique(self.owner)]

    @cached_property
    def fourier(self) -> tuple[NDArray[np.int64], csr_array]:
        """Frequencies of Fourier columns, the zero vector first, and the matrix R that makes these the basis.

        A row of R has at most three entries for each axis of its term, multiplied.
        """
        dimension = len(self.axes)
        starts = 1 + np.concatenate([[0], np.cumsum(self.widths)])[:-1]
        places: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
        vectors, values = [np.zeros((1, dimension), np.int64)], [np.ones(1, complex)]
        for term, groups in self._groups():
            axes = self.terms[term]
            k = self.harmonics[groups, : len(axes)]
            kinds = list(product(*[range(self.axes[d].width) for d in axes]))
            for rank, kind in enumerate(kinds):
                for signs in product((0, 1, -1), repeat=len(axes)):
                    leading = next((sign for sign in signs if sign), 0)
                    if leading < 0:
                        continue  # the conjugate of the opposite vector
                    factor = np.full(len(groups), 1.0 if not leading else 2.0, dtype=complex)
                    vector = np.zeros((len(groups), dimension), dtype=np.int64)
                    for i, (d, part, sign) in enumerate(zip(axes, kind, signs, strict=True)):
                        average = self.axes[d].averages[k[:, i] - 1]
                        wave = 0.5 if part == 0 else -0.5j * sign
                        factor *= wave if sign else -(average.real if part == 0 else average.imag)
                        vector[:, d] = sign * k[:, i]
                    places.append(starts[groups] + rank)
                    vectors.append(vector)
                    values.append(factor)
        place, factors = np.concatenate(places), np.concatenate(values)
        frequencies, where = np.unique(np.concatenate(vectors), axis=0, return_inverse=True)
        where = where.ravel()
        zero = int(np.flatnonzero(~frequencies.any(axis=1))[0])  # it goes first
        order = np.append(zero, np.delete(np.arange(len(frequencies)), zero))
        rank_of = np.empty(len(frequencies), dtype=np.int64)
        rank_of[order] = np.arange(len(frequencies))
        frequencies, where = frequencies[order], rank_of[where]
        # of a e^(ix) with its conjugate: the cosine has 2 Re a, the sine -2 Im a
        is_sine = where > 0
        rows = np.concatenate([place, place[is_sine]])
        columns = np.concatenate([np.maximum(2 * where - 1, 0), 2 * where[is_sine]])
        entries = np.concatenate([factors.real, -factors.imag[is_sine]])
        shape = self.n_columns, 2 * len(frequencies) - 1
        matrix = coo_array((entries, (rows, columns)), shape=shape).tocsr()
        matrix.eliminate_zeros()
        return frequencies, matrix
