r"""Sums over rows by non-uniform fast Fourier transforms (FINUFFT), in up to three dimensions.

Products of two columns depend only on sums and differences of their frequencies, so all of :math:`F'F` is read off
the transform :math:`A(m) = \sum_n w_n e^{i m \cdot \theta_n}` on modes up to twice the largest frequency, whichever
frequencies are asked for later. Likewise the posterior variance :math:`\phi' \Sigma \phi` is a trigonometric
polynomial on those modes.
"""

from copy import copy
from functools import lru_cache

import finufft
import numpy as np

from torusgp.engine.backends._dense import DensePredictor, RowSums, per_column, stored_count
from torusgp.engine.backends._threads import count_threads
from torusgp.kernels.product import to_phases

_CHUNK_ROWS = 2**19
_ROW_BLOCK = 2**22  # entries gathered at once
_UNRELIABLE = 1e-6  # variances below this fraction of the average are recomputed without cancellation
_PREDICTION_TOLERANCE = 1e-12  # of the largest value of a polynomial
_GRADIENT_TOLERANCE = 1e-10  # the same for derivatives of the evidence, which only steer a search


class ModeSums(RowSums):
    """Sums of exponentials over rows, on a box of modes that serves every set of frequencies inside it."""

    name = "finufft"
    locate = staticmethod(to_phases)

    def __init__(self, frequencies, n_outputs, tolerance=1e-12, n_threads=1):
        self.box = np.abs(frequencies).max(axis=0)
        self.tolerance, self.n_threads, self.n_rows = tolerance, n_threads, 0
        self._weights = np.zeros(4 * self.box + 1, dtype=complex)
        self._targets = np.zeros((n_outputs, *(2 * self.box + 1)), dtype=complex)

    @property
    def size(self):
        """Number of modes that are summed."""
        return self._weights.size

    @property
    def rounding(self):
        """Largest error of the entries of the Gram matrix, relative to the number of rows."""
        return self.tolerance

    def empty(self):
        """Sums of no rows, on the same modes and for one thread."""
        result = copy(self)
        result._weights, result._targets = np.zeros_like(self._weights), np.zeros_like(self._targets)
        result.n_threads, result.n_rows = 1, 0
        return result

    def covered(self):
        """All frequencies that the sums cover, one of each pair, the zero vector first."""
        axes = [np.arange(-k, k + 1) for k in self.box]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(self.box))
        return grid[len(grid) // 2 :]  # lexicographic order: the zero vector is in the middle

    def add_weighted(self, phases, precision, weighted):
        """Add rows: phases (n, dimension), precision (n,), which may be negative, weighted targets (n, n_outputs)."""
        for start in range(0, len(phases), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            self._add_rows(np.ascontiguousarray(phases[rows].T), precision[rows], weighted[rows])

    def _add_rows(self, points, precision, weighted):
        sizes, weighted = normalise_sizes(weighted, precision)
        packed = pack(precision, weighted)
        transform = self._transform(points, packed, self._weights.shape)
        mirrored = np.conj(_reversed(transform))
        self._weights += (transform + mirrored) / 2
        inner = tuple(slice(k, -k if k else None) for k in self.box)
        self._targets[0] += (transform[inner] - mirrored[inner]) * (sizes[0] / 2j)
        for first in range(1, weighted.shape[1], 2):
            transform = self._transform(points, pack(precision, weighted, first), self._targets.shape[1:])
            add_pair(self._targets, first, transform, np.conj(_reversed(transform)), sizes)
        self.n_rows += len(precision)

    def _transform(self, points, strengths, shape):
        threads = count_threads(self.n_threads, len(strengths))
        plan = finufft.Plan(1, tuple(map(int, shape)), eps=self.tolerance, isign=1, nthreads=threads)
        plan.setpts(*points)
        return plan.execute(strengths.astype(complex, copy=False))

    def add(self, other, factor=1.0, offset=0.0):
        """Add the sums of other rows, whose targets become ``factor * target + offset``."""
        inner = other._weights[tuple(slice(k, -k if k else None) for k in self.box)]
        outputs = (len(self._targets), *(1,) * inner.ndim)
        factor, offset = (np.broadcast_to(value, outputs[:1]).reshape(outputs) for value in (factor, offset))
        self._targets += factor * other._targets + offset * inner
        self._weights += other._weights
        self.n_rows += other.n_rows

    def constant_sums(self):
        """Sum of the precisions, and of their products with the targets."""
        centre = self._weights.size // 2
        return self._weights.ravel()[centre].real, self._targets.reshape(len(self._targets), -1)[
            :, self._targets[0].size // 2
        ].real

    def holds(self, frequencies):
        """True if the sums determine those of these frequencies."""
        return bool((np.abs(frequencies).max(axis=0) <= self.box).all())

    def gram(self, frequencies):
        """Matrix of the sums of products of the columns of these frequencies."""
        modes, centre = self._weights.ravel(), self._weights.size // 2
        place = frequencies @ _strides(self._weights.shape)

        def modes_of(rows):
            return modes[centre + place[rows, None] - place], modes[centre + place[rows, None] + place]

        return gram_of_modes(len(frequencies), modes_of)

    def moments(self, frequencies):
        """Sums of products of the columns with the targets, shape (n_columns, n_outputs)."""
        place = frequencies @ _strides(self._targets.shape[1:])
        return moments_of_modes(self._targets.reshape(len(self._targets), -1)[:, self._targets[0].size // 2 + place])

    def subset(self, frequencies):
        """Sums on the smaller box of these frequencies."""
        result = ModeSums(frequencies, len(self._targets), self.tolerance, self.n_threads)
        margin = self.box - result.box
        result._weights[:] = self._weights[
            tuple(slice(2 * m, size - 2 * m) for m, size in zip(margin, self._weights.shape, strict=True))
        ]
        inner = (slice(m, size - m) for m, size in zip(margin, self._targets.shape[1:], strict=True))
        result._targets[:] = self._targets[(slice(None), *inner)]
        result.n_rows = self.n_rows
        return result

    def to_arrays(self):
        """Arrays that hold the sums, by name."""
        return {"weights": self._weights, "targets": self._targets, "n_rows": np.array(self.n_rows)}

    def set_arrays(self, arrays):
        """Take sums over from arrays of the same names and shapes."""
        self._weights[:], self._targets[:] = arrays["weights"], arrays["targets"]
        self.n_rows = stored_count(arrays)


class NufftPredictor(DensePredictor):
    """Mean, variance and gradients of the posterior at points, as trigonometric polynomials."""

    name = "finufft"

    def __init__(self, frequencies, posterior, n_threads=1):
        super().__init__(frequencies, posterior)
        self.n_threads = n_threads
        self._box = np.abs(frequencies).max(axis=0)
        self._variances = {}  # polynomials of the variances, by output: they cost a product of matrices

    def mean(self, phases, weights):
        """Values of functions with these weights, shape (n, n_functions)."""
        return self._evaluate(phases, self._mean_modes(weights)).T

    def _to_phases(self, phases):
        """Phases of what :meth:`locate` gave."""
        return phases

    def variance(self, phases, output):
        """Posterior variance of one output; where the polynomial would cancel, the squared norm instead."""
        modes = self._variance_modes(output)
        return self._with_stable_form(self._evaluate(phases, modes[None])[0], modes, phases, output)

    def mean_and_variance(self, phases, output):
        """Posterior mean and variance of one output, from one transform that carries both."""
        modes = self._variance_modes(output)
        mean = np.zeros(modes.shape, dtype=complex)
        mean[self._inner()] = self._mean_modes(self.posterior.weights[:, [output]])[0]
        # both parts become Hermitian, hence real at every point, and of similar size
        scales = [max(np.abs(part).max(), np.finfo(float).tiny) for part in (mean, modes)]
        packed = _hermitian(mean) / scales[0] + 1j * _hermitian(modes) / scales[1]
        values = self._evaluate_complex(phases, packed[None])[0]
        variance = np.ascontiguousarray(values.imag) * scales[1]
        return values.real * scales[0], self._with_stable_form(variance, modes, phases, output)

    def _with_stable_form(self, variance, modes, phases, output):
        average = modes.ravel()[modes.size // 2].real
        doubtful = np.flatnonzero(variance < _UNRELIABLE * average)
        if doubtful.size:
            variance[doubtful] = DensePredictor.variance(self, self._to_phases(phases[doubtful]), output)
        return variance

    def gradient(self, phases, weights, waves):
        """Derivatives along inputs: ``waves`` (n_inputs, n_frequencies) are the wave numbers along each of them."""
        turned = turned_weights(weights)
        parts = [self.mean(phases, turned * per_column(wave)[:, None]) for wave in waves]
        return np.stack(parts, axis=1)

    def gradient_variance(self, phases, waves, output):
        """Posterior variances of the derivatives along inputs."""
        result = np.empty((len(phases), len(waves)))
        for i, wave in enumerate(waves):
            modes = self._collapse(self.posterior.covariance(output), wave)
            result[:, i] = self._evaluate(phases, modes[None])[0]
            average = modes.ravel()[modes.size // 2].real
            doubtful = np.flatnonzero(result[:, i] < _UNRELIABLE * average)
            if doubtful.size:
                points = self._to_phases(phases[doubtful])
                result[doubtful, i] = super().gradient_variance(points, wave[None], output)[:, 0]
        return result

    def phase_gradient(self, phases, targets, quadratic, weights):
        """Derivatives of a linear minus half a quadratic form in the phases, see :class:`DensePredictor`."""
        half = -0.5 * _hermitian(self._collapse(quadratic))
        linear = np.zeros((weights.shape[1], *half.shape), dtype=complex)
        linear[(slice(None), *self._inner())] = self._mean_modes(weights)
        result = np.empty(phases.shape)
        for d, mode in enumerate(self._numbers()):
            # the quadratic form shares a transform with the first linear one: both are real at every point
            slopes = [1j * mode * half, *(1j * mode * _hermitian(one) for one in linear)]
            scales = [max(np.abs(slope).max(), np.finfo(float).tiny) for slope in slopes[:2]]
            slopes[1] = slopes[0] / scales[0] + 1j * slopes[1] / scales[1]
            values = self._evaluate_complex(phases, np.stack(slopes[1:]), _GRADIENT_TOLERANCE)
            result[:, d] = values[0].real * scales[0] + targets[:, 0] * values[0].imag * scales[1]
            result[:, d] += (targets[:, 1:] * values[1:].real.T).sum(axis=1)
        return result

    def _numbers(self):
        """Integers of the modes along each axis."""
        return np.meshgrid(*(np.arange(-2 * k, 2 * k + 1) for k in self._box), indexing="ij", sparse=True)

    def _inner(self):
        """Places of the modes up to the largest frequency among those up to twice it."""
        return tuple(slice(k, -k if k else None) for k in self._box)

    def _mean_modes(self, weights):
        shape = tuple(2 * self._box + 1)
        modes = np.zeros((weights.shape[1], int(np.prod(shape))), dtype=complex)
        place = modes.shape[1] // 2 + self.frequencies @ _strides(shape)
        modes[:, place[0]] = weights[0]
        modes[:, place[1:]] = (weights[1::2] - 1j * weights[2::2]).T  # the real part is taken later
        return modes.reshape(-1, *shape)

    def _variance_modes(self, output):
        if output not in self._variances:
            self._variances[output] = self._collapse(self.posterior.covariance(output))
        return self._variances[output]

    def _collapse(self, covariance, wave=None):
        """Modes of the quadratic form of the columns, or of their derivatives: its terms summed over equal modes."""
        shape = tuple(4 * self._box + 1)
        place, centre = self.frequencies @ _strides(shape), int(np.prod(shape)) // 2
        modes = collapse(
            covariance,
            2 * centre + 1,
            lambda rows: (centre + place[rows, None] - place, centre + place[rows, None] + place),
            wave,
        )
        return modes.reshape(shape)

    def _evaluate(self, phases, modes):
        """Real parts of trigonometric polynomials at points, shape (n_polynomials, n)."""
        return self._evaluate_complex(phases, modes).real

    def _evaluate_complex(self, phases, modes, tolerance=_PREDICTION_TOLERANCE):
        result = np.empty((len(modes), len(phases)), dtype=complex)
        plan = finufft.Plan(
            2,
            tuple(map(int, modes.shape[1:])),
            n_trans=len(modes),
            eps=tolerance,
            isign=1,
            nthreads=count_threads(self.n_threads, len(phases)),
        )
        modes = np.ascontiguousarray(modes if len(modes) > 1 else modes[0])
        for start in range(0, len(phases), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            plan.setpts(*np.ascontiguousarray(phases[rows].T))
            result[:, rows] = plan.execute(modes)
        return result

    def __getstate__(self):
        return {**self.__dict__, "_variances": {}}


def turned_weights(weights):
    """Weights of the derivative: d/dt (a cos + b sin) = wave number times (b cos - a sin)."""
    turned = np.empty_like(weights)
    turned[0] = 0.0
    turned[1::2], turned[2::2] = weights[2::2], -weights[1::2]
    return turned


def normalise_sizes(weighted, precision):
    """Sizes of weighted targets beside the precisions, and them over these: errors are relative to the larger."""
    sizes = np.abs(weighted).max(axis=0, initial=0.0) / (np.abs(precision).max(initial=0.0) or 1.0)
    sizes[sizes == 0] = 1.0
    return sizes, weighted / sizes


def pack(precision, weighted, first=None):
    """Strengths of one complex transform: the weights and the first target, or two targets from a number on.

    Transforms of real strengths are Hermitian, which parts them again.
    """
    if first is None:
        return precision + 1j * weighted[:, 0]
    pair = weighted[:, first : first + 2]
    return pair[:, 0] + (1j * pair[:, 1] if pair.shape[1] == 2 else 0)


def add_pair(sums, first, transform, mirrored, sizes):
    """Add the two parts of a packed transform to the sums of two targets, or of the last one."""
    sums[first] += (transform + mirrored) * (sizes[first] / 2)
    if first + 1 < len(sums):
        sums[first + 1] += (transform - mirrored) * (sizes[first + 1] / 2j)


def gram_of_modes(n_frequencies, modes_of):
    """Gram matrix from sums on modes.

    ``modes_of`` gives the sums on the differences and on the sums of some frequencies, a slice, and all of them.
    """
    gram = np.empty((2 * n_frequencies, 2 * n_frequencies))
    step = max(1, _ROW_BLOCK // n_frequencies)
    for start in range(0, n_frequencies, step):
        difference, total = modes_of(slice(start, start + step))
        block = gram[2 * start : 2 * (start + step)]
        block[0::2, 0::2] = (total.real + difference.real) / 2
        block[1::2, 1::2] = (difference.real - total.real) / 2
        block[1::2, 0::2] = (total.imag + difference.imag) / 2
        block[0::2, 1::2] = (total.imag - difference.imag) / 2
    return _without_zero_sine(gram)


def moments_of_modes(values):
    """Sums of products of columns and targets, from those on the frequencies, shape (n_outputs, n_frequencies)."""
    return np.stack([values.T.real, values.T.imag], axis=1).reshape(2 * values.shape[1], -1)[_kept(values.shape[1])]


def collapse(covariance, size, places, factors=None):
    """Modes of a quadratic form of the columns, or of their derivatives: its terms summed over equal modes.

    ``places`` gives the numbers of the modes of differences and sums of some frequencies, a slice, and all of them.
    """
    n_frequencies = (len(covariance) + 1) // 2
    modes = np.zeros(size, dtype=complex)
    sign = 1 if factors is None else -1  # of i times i
    wave = np.ones(n_frequencies) if factors is None else factors
    step = max(1, _ROW_BLOCK // n_frequencies)
    padded = np.insert(np.insert(covariance, 1, 0.0, axis=0), 1, 0.0, axis=1)
    for start in range(0, n_frequencies, step):
        rows = slice(start, start + step)
        block = padded[2 * start : 2 * (start + step)]
        cos_cos, sin_sin = block[0::2, 0::2], block[1::2, 1::2]
        cos_sin, sin_cos = block[0::2, 1::2], block[1::2, 0::2]
        product = wave[rows, None] * wave / 2
        difference, total = places(rows)
        for target, real, imaginary in (
            (difference, product * (cos_cos + sin_sin), product * (cos_sin - sin_cos)),
            (total, sign * product * (cos_cos - sin_sin), -sign * product * (cos_sin + sin_cos)),
        ):
            modes += np.bincount(target.ravel(), real.ravel(), size)
            modes += 1j * np.bincount(target.ravel(), imaginary.ravel(), size)
    return modes


def _strides(shape):
    return np.array([int(np.prod(shape[d + 1 :])) for d in range(len(shape))], dtype=np.int64)


def _reversed(grid):
    return grid[(slice(None, None, -1),) * grid.ndim]


def _hermitian(modes):
    return (modes + np.conj(_reversed(modes))) / 2


@lru_cache(maxsize=8)
def _kept(n_frequencies):
    """Rows that remain when the sine of the zero frequency is left out."""
    return np.delete(np.arange(2 * n_frequencies), 1)


def _without_zero_sine(gram):
    kept = _kept(len(gram) // 2)
    return gram[np.ix_(kept, kept)]
