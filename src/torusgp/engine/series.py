r"""Stationary noise of rows in time: its autocovariance, from residuals with any gaps, and products with it.

Times are laid on a grid of cells. The noise of a row is that of its cell, and a *nugget* of its own where rows share a
cell or lie between the cells; on a regular grid there is none. The autocovariance vanishes beyond a largest lag, so
that a circle of as many cells as the series and that lag holds it without overlap: there its transform, the spectrum of
the noise, is made non-negative, which makes every covariance matrix positive definite whatever the gaps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter

Array = NDArray[np.float64]

_ON_GRID = 0.02  # of a step, by which times of a regular grid may be off
_NEARLY = 0.25  # of a step, by which times may be off that are still one to a cell
_CELLS_PER_STEP = 2  # of the median distance of irregular times
_LONGEST = 0.2  # of the number of rows, in cells, that a correlation may last which they are to show
_LEAST_POWER = 1e-4  # of the spectrum relative to white noise of the same variance: none is known to be less
_FEW_PAIRS = 10  # from which a lag has an autocovariance of its own
_SEVERAL = 5.0  # correlation times that an autocovariance should reach over
_RESPONSE = 2**15  # rows over which the response of an autoregression is followed
_BATCH = 64  # vectors that are transformed at once, beside each other: few enough to stay in the processor's cache
_SHARED = 0.05  # of the rows, from which on those that share a cell tell the nugget
_BAND = 32  # frequencies, at least, whose median says what is smooth there
_WIDER = 1.25  # ratio of the ends of wider bands
_LINE = 7.0  # times the median: of white noise fewer than one frequency in a hundred has more
_LEAST_LEFT = 0.1  # of the power of residuals at a frequency, however much of it may be the function's
_CORRELATION_TIMES = 20  # over which a window reaches
_KNOWN = 5.0  # times as many lags as the correlation time up to one of them tell it


@dataclass(frozen=True)
class TimeGrid:
    """Times of rows as cells of a grid.

    Attributes
    ----------
    cells : ndarray of int, shape (n_samples,)
        Cell of each row, in order, from zero on.
    step : float
        Distance between cells.
    is_regular : bool
        Whether every cell has at most one row, close to its middle.
    """

    cells: NDArray[np.int64]
    step: float
    is_regular: bool

    @classmethod
    def of(cls, times: Array, longest: int = 0, step: float | None = None) -> TimeGrid:
        """Grid of sorted times, of a given step or one that suits them.

        Gaps that no correlation reaches across are shortened: to this number of cells, or a share of that of rows.
        """
        gaps = np.diff(times)
        positive = gaps[gaps > 0]
        if not len(positive):
            return cls(np.zeros(len(times), dtype=np.int64), step or 1.0, len(times) == 1)
        smallest, median = float(positive.min()), float(np.median(positive))
        candidates = ((smallest, _ON_GRID), (median, _NEARLY)) if step is None else ((step, _NEARLY),)
        regular = [one for one, off in candidates if _is_step(gaps / one, off)]
        longest = longest or longest_lag(len(times))
        is_regular = bool(regular)
        if is_regular:
            moves = np.minimum(np.rint(gaps / regular[0]), longest)
            cells = np.append(0, np.cumsum(moves)).astype(np.int64)
            if step is None:  # the smallest gap is only nearly right
                step = float(gaps[moves == 1].mean()) if (moves == 1).any() else regular[0]
        else:
            step = median / _CELLS_PER_STEP if step is None else step
            shortened = np.append(0.0, np.cumsum(np.minimum(gaps, longest * step)))
            cells = np.rint(shortened / step).astype(np.int64)
        return cls(cells, step, is_regular)

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.cells[-1]) + 1

    def take(self, rows: slice) -> TimeGrid:
        """Grid of consecutive rows, which starts with the first of them."""
        cells = self.cells[rows]
        return TimeGrid(cells - cells[0], self.step, self.is_regular)

    def laid(self, vectors: Array, size: int) -> Array:
        """Sums over the rows of each of ``size`` cells of vectors (n_samples, n_vectors)."""
        result = np.zeros((size, vectors.shape[1]))
        if self.is_regular:
            result[self.cells] = vectors
        else:
            np.add.at(result, self.cells, vectors)
        return result

    def after(self, times: Array, last: float) -> NDArray[np.int64]:
        """Cells of times after the last row, whose time this is."""
        return self.cells[-1] + np.rint((times - last) / self.step).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Unknown:
    """Covariance matrix K of what rows do not know of a function, by its products with random vectors.

    The average of the products of the transforms of g and K g, for g of independent entries, is the spectrum of K: it
    depends on the rows and not on how the function is written in columns.

    Attributes
    ----------
    probes, images : ndarray of shape (n_samples, n_probes)
        The vectors g and K g.
    """

    probes: Array
    images: Array

    def power(self, grid: TimeGrid, size: int) -> Array:
        """Spectrum on a circle of so many cells."""
        one, other = (rfft(grid.laid(vectors, size), axis=0) for vectors in (self.probes, self.images))
        return np.asarray((one.conj() * other).real.mean(axis=1))


@dataclass(frozen=True)
class Autocovariance:
    """Covariance of the noise of rows by their distance in cells of a grid; zero beyond the last lag.

    Attributes
    ----------
    values : ndarray of shape (n_lags,)
        Of the noise of cells, from lag zero on.
    nugget : float, default=0.0
        Variance that each row has beside.
    """

    values: Array
    nugget: float = 0.0

    @classmethod
    def white(cls, variance: float) -> Autocovariance:
        """That of independent noise."""
        return cls(np.array([variance]))

    @classmethod
    def of_residuals(
        cls, residuals: Array, grid: TimeGrid, n_lags: int, unknown: tuple[float, Array] | None = None
    ) -> Autocovariance:
        """Estimate from residuals: averages over pairs, a Parzen window, and a spectrum that is nowhere negative.

        Parameters
        ----------
        residuals : ndarray of shape (n_samples,)
            Residuals, of mean zero.
        grid : TimeGrid
            Their times.
        n_lags : int
            Number of lags, zero included.
        unknown : pair of float and ndarray, optional
            Sum of the squares, and sums of products by lag, that residuals have because the function is not known: no
            noise.
        """
        products, pairs = lagged_products(residuals, grid, n_lags)
        squares = float(np.sum(residuals**2))
        if unknown is not None:
            squares, products = squares - unknown[0], products - unknown[1][:n_lags]
        variance = squares / len(residuals)
        shared = pairs[0] - len(residuals)
        own = products[0] - squares
        found = np.flatnonzero(pairs >= min(_FEW_PAIRS, pairs[1:].max(initial=0)))
        found = found[found > 0]
        values = np.full(n_lags, variance)
        if len(found):
            lags = np.arange(1, n_lags)
            # as of a series without gaps, whose sums are divided by the number of rows whatever the lag
            values[1:] = np.interp(lags, found, products[found] / pairs[found]) * (1 - lags / max(grid.n_cells, n_lags))
        if not grid.is_regular:
            near = own / shared if shared > _SHARED * len(residuals) else _extrapolated(values)
            values[0] = np.clip(near, 0.0, (1 - _LEAST_POWER) * variance)  # rows that share a cell are not the same
        windowed = values * parzen(n_lags)
        return cls(_positive(windowed, grid.n_cells), variance - float(values[0]))

    @classmethod
    def of_filter(cls, coefficients: Array, innovations: float, grid: TimeGrid) -> Autocovariance:
        """That of an autoregression whose filter this is, windowed at the longest lag that the rows can show."""
        response = cls.response(coefficients, _RESPONSE)
        n_lags = min(longest_lag(len(grid)), len(response))
        size = next_fast_len(2 * len(response), real=True)
        values = innovations * irfft(np.abs(rfft(response, size)) ** 2, size)[:n_lags]
        return cls(_positive(values * parzen(n_lags), grid.n_cells))

    @classmethod
    def smooth(cls, residuals: Array, grid: TimeGrid, longest: int, unknown: Unknown | None = None) -> Autocovariance:
        """Estimate of what is smooth in frequency: lines in the spectrum are of a function that is not known yet.

        Parameters
        ----------
        residuals : ndarray of shape (n_samples,)
            Residuals.
        grid : TimeGrid
            Their times.
        longest : int
            Largest lag.
        unknown : Unknown, optional
            How the function may differ from the one that left the residuals: that is no noise.
        """
        products, pairs = lagged_products(residuals, grid, longest, True, unknown)
        share = 1 - np.arange(longest) / max(grid.n_cells, longest)  # as of a series without gaps
        values = np.where(pairs >= min(_FEW_PAIRS, pairs[1:].max(initial=0)), products / np.maximum(pairs, 1), 0.0)
        values *= share
        times = 2 * np.cumsum((values / values[0]) ** 2) - 1 if values[0] > 0 else np.ones(longest)
        enough = np.flatnonzero(np.arange(longest) > _KNOWN * times)
        reach = int(np.clip(_CORRELATION_TIMES * times[enough[0] if len(enough) else -1], 2, longest))
        return cls(_positive(values[:reach] * parzen(reach), grid.n_cells))

    @staticmethod
    def response(coefficients: Array, length: int) -> Array:
        """Response of an autoregression to an impulse."""
        impulse = np.zeros(length)
        impulse[0] = 1.0
        return np.asarray(lfilter([1.0], coefficients, impulse))

    @property
    def n_lags(self) -> int:
        """Number of lags, zero included."""
        return len(self.values)

    @property
    def variance(self) -> float:
        """Variance of the noise of a row."""
        return float(self.values[0]) + self.nugget

    @property
    def is_white(self) -> bool:
        """True if rows are independent."""
        return self.n_lags == 1

    @property
    def is_cut_off(self) -> bool:
        """True if the noise may be correlated for longer than its lags reach."""
        return not self.is_white and _SEVERAL * self.correlation_time > self.n_lags

    def relative_variance(self, n_rows: int) -> float:
        """Variance of a spectrum estimated from n rows, relative to its square."""
        return float(2 * np.sum(parzen(self.n_lags) ** 2) - 1) / n_rows

    def scaled(self, factor: float) -> Autocovariance:
        """The same of noise times the root of a factor."""
        return Autocovariance(factor * self.values, factor * self.nugget)

    def between(self, cells: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Covariances of the noise of different rows in cells, shape (n_cells, n_others)."""
        lags = np.abs(cells[:, None] - others)
        return np.where(lags < self.n_lags, self.values[np.minimum(lags, self.n_lags - 1)], 0.0)

    def among(self, cells: NDArray[np.int64]) -> Array:
        """Covariance matrix of the noise of rows in cells."""
        return self.between(cells, cells) + self.nugget * np.eye(len(cells))

    def transform_size(self, grid: TimeGrid) -> int:
        """Number of cells of a circle on which rows do not reach around."""
        return int(next_fast_len(grid.n_cells + self.n_lags, real=True))

    def whitened_rows(self, grid: TimeGrid, size: int) -> int:
        """Number of rows of whitened vectors, and of vectors before."""
        return len(grid) if self.is_white else max(len(grid), 2 * (size // 2 + 1) + bool(self.nugget) * len(grid))

    def whiten(self, vectors: Array, grid: TimeGrid, size: int) -> None:
        """Change vectors so that their products are those with the covariance matrix between them.

        Parameters
        ----------
        vectors : ndarray of shape (whitened_rows, n_vectors)
            Vectors in its first rows, in which the result may need more: beside another array, pages would be lost.
        grid : TimeGrid
            Times of the rows.
        size : int
            Of the transforms.
        """
        if self.is_white:
            vectors *= np.sqrt(self.variance)
            return
        n_rows, n_waves = len(grid), size // 2 + 1
        n_used = self.whitened_rows(grid, size)
        weights = np.full(n_waves, 2.0)  # all frequencies but the first, and the last of an even number, are two
        weights[0] = 1.0
        weights[size - size // 2 :] = 1.0
        root = np.sqrt(weights * self.power(size) / size)[:, None]
        for start in range(0, vectors.shape[1], _BATCH):
            some = slice(start, start + _BATCH)
            waves = rfft(grid.laid(vectors[:n_rows, some], size), axis=0, overwrite_x=True)
            rest = np.sqrt(self.nugget) * vectors[:n_rows, some] if self.nugget else 0.0
            vectors[2 * n_waves : n_used, some] = rest
            np.multiply(waves.real, root, out=vectors[:n_waves, some])
            np.multiply(waves.imag, root, out=vectors[n_waves : 2 * n_waves, some])

    def power(self, size: int) -> Array:
        """Spectrum of the noise of cells on a circle of n of them."""
        return np.maximum(_power(self.values, size), 0.0)

    @cached_property
    def correlation_time(self) -> float:
        """Cells over which the noise is autocorrelated: the sum of its squared autocorrelations."""
        return float(1 + 2 * np.sum(self._squared_correlations[1:]))

    def redundancy(self, grid: TimeGrid) -> float:
        """Rows on a grid that count as one: the sum of their squared autocorrelations with a row, on average."""
        if self.is_white:
            return 1.0
        pairs = lagged_products(np.ones(len(grid)), grid, self.n_lags)[1]
        pairs[0] -= len(grid)
        pairs[1:] *= 2
        return 1 + float(pairs @ self._squared_correlations) / max(len(grid), 1)

    @cached_property
    def _squared_correlations(self) -> Array:
        """Those of different rows, by their distance in cells."""
        return (self.values / self.variance) ** 2 if self.variance > 0 else np.zeros(self.n_lags)

    def apart(self) -> Autocovariance:
        """The same noise of which rows that share a cell may differ: a nugget, if only as small as any spectrum is."""
        if self.nugget:
            return self
        return Autocovariance((1 - _LEAST_POWER) * self.values, _LEAST_POWER * self.variance)


def _is_step(turns: Array, off: float) -> bool:
    """True if distances in units of a step are whole numbers, one or more, up to an error."""
    return bool(np.abs(turns - np.rint(turns)).max() <= off and np.rint(turns).min() >= 1)


def longest_lag(n_rows: int) -> int:
    """Cells over which n rows may show a correlation."""
    return max(2, int(np.ceil(_LONGEST * n_rows)))


def lagged_products(
    residuals: Array, grid: TimeGrid, n_lags: int, without_lines: bool = False, unknown: Unknown | None = None
) -> tuple[Array, Array]:
    """Sums of products of residuals by their distance in cells, and how many pairs there are."""
    products = summed_products(residuals[:, None], grid, n_lags, without_lines, unknown)
    return products, np.rint(summed_products(np.ones((len(grid), 1)), grid, n_lags))


def summed_products(
    vectors: Array, grid: TimeGrid, n_lags: int, without_lines: bool = False, unknown: Unknown | None = None
) -> Array:
    """Sums of products of the entries of vectors, (n_samples, n_vectors), by their distance in cells.

    Without lines, frequencies count for no more than a multiple of the median of those around them. What is unknown is
    subtracted, as far as it leaves something.
    """
    reach = min(n_lags, grid.n_cells)  # beyond it there are no pairs
    size = next_fast_len(grid.n_cells + reach, real=True)
    power = _total_power(vectors, grid, size)
    if without_lines:
        power = _without_lines(power)
    if unknown is not None:
        power = np.maximum(power - unknown.power(grid, size), _LEAST_LEFT * power)
    return np.append(irfft(power, size)[:reach], np.zeros(n_lags - reach))


def _total_power(vectors: Array, grid: TimeGrid, size: int) -> Array:
    """Sum of the squared transforms of vectors on a circle of so many cells."""
    power = np.zeros(size // 2 + 1)
    for start in range(0, vectors.shape[1], _BATCH):
        waves = rfft(grid.laid(vectors[:, start : start + _BATCH], size), axis=0, overwrite_x=True)
        power += (waves.real**2 + waves.imag**2).sum(axis=1)
    return power


def _without_lines(power: Array) -> Array:
    """A spectrum whose single frequencies do not stand out from bands of them; the lowest ones are left alone."""
    result, start = power.copy(), _BAND
    while start < len(power):
        stop = max(start + _BAND, int(start * _WIDER))
        stop = len(power) if len(power) - stop < _BAND else stop
        result[start:stop] = np.minimum(power[start:stop], _LINE * np.median(power[start:stop]))
        start = stop
    return result


def parzen(n_lags: int) -> Array:
    """Parzen's window, whose spectrum is nowhere negative."""
    x = np.arange(n_lags) / max(n_lags, 1)
    return np.where(x < 0.5, 1 - 6 * x**2 + 6 * x**3, 2 * (1 - x) ** 3)


def _extrapolated(values: Array) -> float:
    """Autocovariance at distance zero, from those of small lags: what is above it is a nugget."""
    return float(2 * values[1] - values[2]) if len(values) > 2 else float(values[0])


def _positive(values: Array, n_cells: int) -> Array:
    """Autocovariances of the same variance whose spectrum is nowhere negative, as gaps may have made it.

    What is negative is clipped. Then the autocovariance reaches further, and is windowed again: a window whose spectrum
    is not negative leaves that as it is.
    """
    if len(values) == 1 or values[0] <= 0:
        return np.maximum(values, 0.0)
    size = next_fast_len(max(n_cells, len(values)) + len(values), real=True)
    power, least = _power(values, size), _LEAST_POWER * values[0]
    if power.min() >= least:
        return values
    clipped = irfft(np.maximum(power, least), size)[: len(values)]
    return clipped * parzen(len(values)) * (values[0] / clipped[0])


def _power(values: Array, size: int) -> Array:
    """Transform of autocovariances on a circle of n cells."""
    around = np.zeros(size)
    around[: len(values)] = values
    if len(values) > 1:
        around[-(len(values) - 1) :] += values[1:][::-1]
    return rfft(around).real
