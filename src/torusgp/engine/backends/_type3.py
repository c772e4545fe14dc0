r"""Sums over rows by type-3 transforms (FINUFFT) in the space of the inputs: for any number of axes of up to three.

Day, week and year of one clock are three axes but one number x. The angle of a frequency is then :math:`w x` with a
real :math:`w = 2 \pi (k_1 / P_1 + k_2 / P_2 + \dots)`, and all sums are one transform
:math:`A(w) = \sum_n p_n e^{i w x_n}` at the distinct sums and differences of these.

Angles are exact at one row of each piece of the rows, and differences from it are multiplied by w. Their rounding, and
the size of a transform's grid, grow with the turns :math:`\max|w| T / 2` over the extent T of a piece, so the rows are
cut where those would be many; gaps between pieces cost nothing.
"""

from copy import copy
from functools import lru_cache
from typing import Any

import finufft
import numpy as np

from torusgp.engine.backends._dense import ColumnSums, centred, stored_count
from torusgp.engine.backends._nufft import (
    NufftPredictor,
    add_pair,
    collapse,
    gram_of_modes,
    moments_of_modes,
    normalise_sizes,
    pack,
)
from torusgp.engine.backends._threads import count_threads
from torusgp.kernels.product import to_phases

MOST_INPUTS = 3
MOST_TURNS = 5e5  # of one transform, in radians: its sums are then exact to 1e-10, and its grid stays near the cache
MOST_PAIRS = 2**24  # of frequencies, whose sums and differences are listed
_CHUNK_ROWS = 2**20
_EQUAL = 2.0**-50  # difference, relative to the largest, up to which real frequencies are the same
_GRADIENT_TOLERANCE = 1e-11  # of derivatives of the evidence, which only steer a search
_DIRECT = 2**16  # products of rows and modes up to which a transform is not worth its plan


class InputSpace:
    """Real frequencies along the inputs that feed the axes of a torus.

    Parameters
    ----------
    sharing : Sharing
        Which axes share an input.
    period : ndarray of shape (dimension,) or (dimension, dimension)
        Periods or cell of the axes.
    """

    def __init__(self, sharing, period):
        self.sharing, self.period = sharing, np.asarray(period, dtype=float)
        dimension = len(sharing.lead)
        cell = np.diag(np.broadcast_to(self.period, dimension)) if self.period.ndim < 2 else self.period
        self._inverse = 2 * np.pi * np.linalg.inv(cell)
        self.leads = np.unique(sharing.lead)

    @property
    def n_inputs(self):
        """Number of inputs."""
        return len(self.leads)

    def wave_numbers(self, modes, frozen=()):
        """Real frequencies of integer modes along the inputs, shape (n_inputs, n_modes), without the frozen axes."""
        along = self._inverse @ modes.T
        along[list(frozen)] = 0.0
        lead = np.asarray(self.sharing.lead)
        return np.stack([along[lead == one].sum(axis=0) for one in self.leads])

    def extent(self, X):
        """Extents of the inputs behind the axes, shape (dimension,); None where no transform of them is an option."""
        lead = np.asarray(self.sharing.lead)
        if not len(X) or self.n_inputs == len(lead) or self.n_inputs > MOST_INPUTS:
            return None
        result = np.zeros(len(lead))
        for one in self.leads:
            result[lead == one] = np.ptp(X[:, one])
        return result

    def turns(self, frequencies, extent):
        """Largest angles of sums of two frequencies at the ends of each input, from its middle.

        Parameters
        ----------
        frequencies : ndarray of int, shape (n_frequencies, dimension)
            Frequencies.
        extent : ndarray of shape (dimension,)
            Extents of the inputs behind the axes.
        """
        return np.abs(self.wave_numbers(frequencies)).max(axis=1) * np.asarray(extent)[self.leads]

    def classes(self, X):
        """Rows, and the axes that are constant among them, where not all axes follow their inputs: lines that clamp.

        Parameters
        ----------
        X : ndarray of shape (n_samples, dimension)
            Coordinates on the axes.

        Returns
        -------
        list of pair of ndarray or slice, tuple of int
        """
        clamped = np.zeros(X.shape, dtype=np.int8)
        for axis, (lead, shift) in enumerate(zip(self.sharing.lead, self.sharing.shift, strict=True)):
            if lead != axis and self.sharing.clamps[axis]:
                apart = X[:, axis] - (X[:, lead] + shift)
                rounding = 8 * np.finfo(float).eps * (np.abs(X[:, lead]) + abs(shift))
                clamped[:, axis] = np.sign(apart) * (np.abs(apart) > rounding)
        if not clamped.any():
            return [(slice(None), ())]
        kinds, kind = np.unique(clamped, axis=0, return_inverse=True)
        return [(np.flatnonzero(kind.ravel() == i), tuple(np.flatnonzero(row).tolist())) for i, row in enumerate(kinds)]


class _WaveNumbers:
    """Real frequencies of modes, those that are equal merged."""

    def __init__(self, space, modes, frozen=()):
        self.space, self.modes = space, modes
        waves = space.wave_numbers(modes, frozen)
        self.largest = np.abs(waves).max(axis=1)
        quanta = np.rint(waves / (_EQUAL * np.maximum(self.largest, np.finfo(float).tiny))[:, None])
        if space.n_inputs == 1:
            _, self.place, counts = np.unique(quanta[0], return_inverse=True, return_counts=True)
        else:
            _, place, counts = np.unique(quanta, axis=1, return_inverse=True, return_counts=True)
            self.place = place.ravel()
        self.distinct = np.stack([np.bincount(self.place, wave) / counts for wave in waves])
        self.merged = np.abs(waves - self.distinct[:, self.place]).max(axis=1)  # error of a frequency by that

    def pieces(self, X):
        """Rows of pieces of few turns, differences of their inputs from a row of theirs, and its phases."""
        inputs = np.ascontiguousarray(X[:, self.space.leads].T)
        for rows in self._cut(inputs):
            own = inputs[:, rows]
            low, high = own.min(axis=1), own.max(axis=1)
            some = own[:, :: max(1, own.shape[1] // 1000)]  # one of them is near enough to the middle
            distance = np.abs(some - (low + (high - low) / 2)[:, None]) * self.largest[:, None]
            nearest = int(np.argmin(distance.sum(axis=0))) * max(1, own.shape[1] // 1000)
            row = nearest if isinstance(rows, slice) else rows[nearest]
            yield rows, own - own[:, [nearest]], to_phases(X[[row]], self.space.period)[0]

    def _cut(self, inputs):
        low = inputs.min(axis=1)
        n_cells = np.ceil(np.maximum(self.largest * (inputs.max(axis=1) - low) / (2 * MOST_TURNS), 1.0))
        if (n_cells == 1).all():
            return [slice(None)]
        width = (inputs.max(axis=1) - low) / n_cells
        label = np.zeros(inputs.shape[1], dtype=np.int64)
        for own, start, size, count in zip(inputs, low, width, n_cells, strict=True):
            if count > 1:
                label = label * int(count) + np.minimum((own - start) / size, count - 1).astype(np.int64)
        order = np.argsort(label, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)

    def turns(self, differences):
        """Largest angles of a piece, and errors of angles by merging frequencies."""
        reach = np.abs(differences).max(axis=1, initial=0.0)
        return float(self.largest @ reach), float(self.merged @ reach)

    def factor(self, phases):
        """Exponentials of all modes at the row where a piece has its phases."""
        return np.exp(1j * (self.modes @ phases))

    def sum(self, differences, strengths, tolerance, n_threads):
        """Sums over a piece of strengths (n_rows,) times exponentials of the differences, for all modes."""
        if strengths.size * self.distinct.shape[1] <= _DIRECT:
            values = np.exp(1j * (self.distinct.T @ differences)) @ strengths
        else:
            plan = self._plan(1, tolerance, n_threads, differences, self.distinct)
            values = plan.execute(strengths.astype(complex, copy=False))
        return values[self.place]

    def evaluate(self, differences, strengths, tolerance, n_threads):
        """Sums over modes of strengths (n_polynomials, n_modes), at the rows of a piece."""
        n_distinct = self.distinct.shape[1]
        if n_distinct < strengths.shape[1]:
            merged = [
                np.bincount(self.place, one.real, n_distinct) + 1j * np.bincount(self.place, one.imag, n_distinct)
                for one in strengths
            ]
            strengths = np.stack(merged)
        else:
            ordered = np.empty_like(strengths)
            ordered[:, self.place] = strengths
            strengths = ordered
        if differences.shape[1] * n_distinct <= _DIRECT:
            return strengths @ np.exp(1j * (self.distinct.T @ differences))
        plan = self._plan(len(strengths), tolerance, n_threads, self.distinct, differences)
        return plan.execute(strengths if len(strengths) > 1 else strengths[0]).reshape(len(strengths), -1)

    def _plan(self, n_transforms, tolerance, n_threads, points, targets):
        plan = finufft.Plan(3, self.space.n_inputs, n_trans=n_transforms, eps=tolerance, isign=1, nthreads=n_threads)
        places = dict(zip("xyz", points, strict=False)) | dict(zip("stu", targets, strict=False))
        plan.setpts(**{name: np.ascontiguousarray(value) for name, value in places.items()})
        return plan


class PairModes:
    """Distinct sums and differences of frequencies, which are themselves among them.

    Shapes: modes (n_modes, dimension); own (n_frequencies,).
    """

    def __init__(self, frequencies):
        # digits between -2 box and 2 box: a code adds as the vectors do
        radix = 4 * np.abs(frequencies).max(axis=0) + 1
        self._strides = np.append(np.cumprod(radix[:0:-1])[::-1], 1)
        self._code = frequencies @ self._strides
        codes = np.unique(np.concatenate([self._code[:, None] - self._code, self._code[:, None] + self._code]))
        self._codes = np.unique(np.concatenate([codes, -codes]))
        rest, digits = self._codes.copy(), []
        for size in radix[::-1]:
            digit = (rest + size // 2) % size - size // 2
            digits.append(digit)
            rest = (rest - digit) // size
        self.modes = np.stack(digits[::-1], axis=1)
        self.own = self.find(frequencies)

    def find(self, modes):
        """Numbers of modes."""
        return np.searchsorted(self._codes, modes @ self._strides)

    def places(self, rows, chosen=slice(None)):
        """Numbers of the differences and of the sums of some frequencies and all of the chosen ones."""
        code = self._code[chosen]
        return tuple(
            np.searchsorted(self._codes, codes) for codes in (code[rows, None] - code, code[rows, None] + code)
        )


def pair_modes(frequencies):
    """Sums and differences of frequencies, the latest of them kept: learning asks again and again for the same."""
    return _pair_modes(frequencies.tobytes(), frequencies.shape)


@lru_cache(maxsize=4)
def _pair_modes(content, shape):
    return PairModes(np.frombuffer(content, dtype=np.int64).reshape(shape))


def can_list_pairs(frequencies):
    """True if the sums and differences of frequencies can be listed."""
    radix = 4.0 * np.abs(frequencies).max(axis=0) + 1
    return len(frequencies) ** 2 <= MOST_PAIRS and np.prod(radix) < 2.0**62


class Type3Sums(ColumnSums):
    """Sums of exponentials over rows, at the sums and differences of a fixed list of frequencies.

    Parameters
    ----------
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        Frequencies of the columns, the zero vector first.
    n_outputs : int
        Number of targets.
    space : InputSpace
        Inputs behind the axes.
    tolerance : float, default=1e-12
        Error of a transform, relative to the number of rows.
    n_threads : int, default=1
        Threads of a transform.
    """

    name = "type3"

    def __init__(self, frequencies, n_outputs, space, tolerance=1e-12, n_threads=1):
        super().__init__(np.asarray(frequencies, dtype=np.int64))
        self.space, self.tolerance, self.n_threads = space, tolerance, n_threads
        self._pairs = pair_modes(self.frequencies)
        self._weights = np.zeros(len(self._pairs.modes), dtype=complex)
        self._targets = np.zeros((n_outputs, len(self.frequencies)), dtype=complex)
        self._angle_error = 0.0  # of the worst piece
        self._merged: Any = None  # real frequencies of the modes, and of the frequencies with their negatives

    @staticmethod
    def locate(X, period):
        """The coordinates themselves: frequencies are real numbers here."""
        return X

    @property
    def size(self):
        """Number of modes that are summed."""
        return len(self._weights)

    @property
    def rounding(self):
        """Largest error of the entries of the Gram matrix, relative to the number of rows: angles are inexact, too."""
        return self.tolerance + self._angle_error

    def empty(self):
        """Sums of no rows, of the same modes and for one thread."""
        result = copy(self)
        result._weights, result._targets = np.zeros_like(self._weights), np.zeros_like(self._targets)
        result.n_threads, result.n_rows, result._angle_error = 1, 0, 0.0
        return result

    def add_weighted(self, X, precision, weighted):
        """Add rows: coordinates (n, dimension), precision (n,), which may be negative, weighted targets."""
        if self._merged is None:
            both = np.concatenate([self._pairs.own, len(self._pairs.modes) - 1 - self._pairs.own])
            self._merged = (
                _WaveNumbers(self.space, self._pairs.modes),
                _WaveNumbers(self.space, self._pairs.modes[both]),
            )
        for start in range(0, len(X), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            self._add_rows(X[rows], precision[rows], weighted[rows])

    def _add_rows(self, X, precision, weighted):
        waves, few = self._merged
        sizes, weighted = normalise_sizes(weighted, precision)
        threads = count_threads(self.n_threads, len(X))
        for rows, differences, phases in waves.pieces(X):
            turns, merging = waves.turns(differences)
            self._angle_error = max(self._angle_error, 2 * np.finfo(float).eps * turns + merging)
            factor = waves.factor(phases)
            packed = pack(precision[rows], weighted[rows])
            transform = waves.sum(differences, packed, self.tolerance, threads) * factor
            mirrored = np.conj(transform[::-1])
            self._weights += (transform + mirrored) / 2
            self._targets[0] += (transform - mirrored)[self._pairs.own] * (sizes[0] / 2j)
            if weighted.shape[1] > 1:
                factor = few.factor(phases)
            for first in range(1, weighted.shape[1], 2):
                packed = pack(precision[rows], weighted[rows], first)
                transform, mirrored = np.split(few.sum(differences, packed, self.tolerance, threads) * factor, 2)
                add_pair(self._targets, first, transform, np.conj(mirrored), sizes)
        self.n_rows += len(X)

    def add(self, other, factor=1.0, offset=0.0):
        """Add the sums of other rows, whose targets become ``factor * target + offset``."""
        shape = (len(self._targets), 1)
        factor, offset = (np.broadcast_to(value, shape[:1]).reshape(shape) for value in (factor, offset))
        self._targets += factor * other._targets + offset * other._weights[self._pairs.own]
        self._weights += other._weights
        self._angle_error = max(self._angle_error, other._angle_error)
        self.n_rows += other.n_rows

    def constant_sums(self):
        """Sum of the precisions, and of their products with the targets."""
        return self._weights[self._pairs.own[0]].real, self._targets[:, 0].real

    def gram(self, frequencies):
        """Matrix of the sums of products of the columns of these frequencies."""
        chosen = self._positions(frequencies)
        return gram_of_modes(
            len(frequencies), lambda rows: tuple(self._weights[one] for one in self._pairs.places(rows, chosen))
        )

    def moments(self, frequencies):
        """Sums of products of the columns with the targets, shape (n_columns, n_outputs)."""
        return moments_of_modes(self._targets[:, self._positions(frequencies)])

    def subset(self, frequencies):
        """Sums of these frequencies alone."""
        result = Type3Sums(frequencies, len(self._targets), self.space, self.tolerance, self.n_threads)
        result._weights[:] = self._weights[self._pairs.find(result._pairs.modes)]
        result._targets[:] = self._targets[:, self._positions(frequencies)]
        result.n_rows, result._angle_error = self.n_rows, self._angle_error
        return result

    def to_arrays(self):
        """Arrays that hold the sums, by name."""
        return {
            "weights": self._weights,
            "targets": self._targets,
            "n_rows": np.array(self.n_rows),
            "angle_error": np.array(self._angle_error),
        }

    def set_arrays(self, arrays):
        """Take sums over from arrays of the same names and shapes."""
        self._weights[:], self._targets[:] = arrays["weights"], arrays["targets"]
        self.n_rows, self._angle_error = stored_count(arrays), float(arrays["angle_error"])

    def __getstate__(self):
        return {**self.__dict__, "_merged": None, "_pairs": None}

    def __setstate__(self, state):
        self.__dict__.update(state, _pairs=pair_modes(state["frequencies"]))


class Type3Predictor(NufftPredictor):
    """Mean, variance and gradients of the posterior at points, as polynomials of real frequencies.

    Where a line clamps, its angle is constant: those points have transforms of their own, without its frequencies.
    """

    name = "type3"

    def __init__(self, frequencies, posterior, space, n_threads=1):
        super().__init__(np.asarray(frequencies, dtype=np.int64), posterior, n_threads)
        self.space = space
        self._pairs = pair_modes(self.frequencies)
        self._merged = {}  # real frequencies of the modes, by the axes that are frozen

    @staticmethod
    def locate(X, period):
        """The coordinates themselves: frequencies are real numbers here."""
        return X

    def _to_phases(self, X):
        return to_phases(X, self.space.period)

    def covariance(self, X, output):
        """Posterior covariance of one output between all points."""
        return super().covariance(self._to_phases(X), output)

    def cell_gradient(self, X, period, precision, targets, quadratic, weights):
        """Derivatives in the entries of the inverse cell, see :class:`DensePredictor`: sums of rows by their inputs."""
        modes, linear = -0.5 * self._collapse(quadratic), self._mean_modes(weights)
        result = np.empty((X.shape[1], X.shape[1]))
        lead = np.asarray(self.space.sharing.lead)
        for one in self.space.leads:
            sums = Type3Sums(self.frequencies, targets.shape[1], self.space, _GRADIENT_TOLERANCE, self.n_threads)
            sums.add_chunk(X, precision * centred(X[:, one]), targets)
            through = self._pairs.modes.T @ (1j * modes * sums._weights)
            result[lead == one] = (through + self.frequencies.T @ (1j * linear * sums._targets).sum(axis=0)).real
        return 2 * np.pi * result

    def _numbers(self):
        return list(self._pairs.modes.T)

    def _inner(self):
        return (self._pairs.own,)

    def _mean_modes(self, weights):
        modes = np.empty((weights.shape[1], len(self.frequencies)), dtype=complex)
        modes[:, 0] = weights[0]
        modes[:, 1:] = (weights[1::2] - 1j * weights[2::2]).T  # the real part is taken later
        return modes

    def _collapse(self, covariance, wave=None):
        return collapse(covariance, len(self._pairs.modes), self._pairs.places, wave)

    def _evaluate_complex(self, X, modes, tolerance=1e-12):
        result = np.empty((len(modes), len(X)), dtype=complex)
        threads = count_threads(self.n_threads, len(X))
        for start in range(0, len(X), _CHUNK_ROWS):
            chunk = X[start : start + _CHUNK_ROWS]
            part = result[:, start : start + _CHUNK_ROWS]
            for rows, frozen in self.space.classes(chunk):
                waves, own = self._wave_numbers_of(modes.shape[1], frozen), chunk[rows]
                values = np.empty((len(modes), len(own)), dtype=complex)
                for piece, differences, phases in waves.pieces(own):
                    values[:, piece] = waves.evaluate(differences, modes * waves.factor(phases), tolerance, threads)
                part[:, rows] = values
        return result

    def _wave_numbers_of(self, n_modes, frozen):
        key = (n_modes, frozen)
        if key not in self._merged:
            modes = self.frequencies if n_modes == len(self.frequencies) else self._pairs.modes
            self._merged[key] = _WaveNumbers(self.space, modes, frozen)
        return self._merged[key]

    def __getstate__(self):
        return {**super().__getstate__(), "_merged": {}, "_pairs": None}

    def __setstate__(self, state):
        self.__dict__.update(state, _pairs=pair_modes(state["frequencies"]))
