r"""The prior of a model: variances of all columns, and how they change with what is learned.

One set of Fourier columns serves all terms, :math:`\lambda_k = v_0 [k = 0] + \sum_j s_j c^{(j)}_k`, with a broad
variance :math:`v_0` of the constant for the intercept; plain columns have variances of their own. Gradients go through
the ratios :math:`r_{kj} = s_j c^{(j)}_k / \lambda_k`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.nyquist import below_nyquist
from torusgp.kernels.resolve import ColumnTerm, Model
from torusgp.kernels.sums import SumKernel
from torusgp.kernels.terms import KernelTerm
from torusgp.kernels.torus import Torus

BROAD = 100.0  # variance of an intercept or a slope, relative to that of the targets: wide, but no danger to rounding
SMALL_AGAINST_NOISE = 0.01  # error of the kernel relative to the noise that changes nothing
_VARIANCE_BOUNDS = (1e-4, 1e4)  # of one product, relative to the variance of the targets
_TERM_BOUNDS = (1e-8, 1e4)  # of one of several terms, which may shrink to nothing
_SLOW, _SLOW_VARIANCE = 0.25, 1.0  # of the range, from where on a line is slow; its variance relative to the targets'
NOISE_BOUNDS = (1e-8, 1e1)

NOISE = "noise_variance"
DERIVATIVE_NOISE = "gradient_noise_variance"
_NO_NOISE = 1e-6  # of the variance, stands for the noise of values where only derivatives were observed


def scale_name(term: KernelTerm) -> str:
    """Name of the length scales of a term among the parameters."""
    return f"{term.name}: length_scale"


def variance_name(term: KernelTerm | ColumnTerm) -> str:
    """Name of the variances of a term among the parameters, one for each output."""
    return f"{term.name}: variance"


def derivative_noise_name(input_name: str) -> str:
    """Name of the noise variances of observed derivatives along an input, one for each output."""
    return f"{input_name}: {DERIVATIVE_NOISE}"


def derivative_noise(parameters: Parameters, linear: Any) -> NDArray[np.float64] | None:
    """Noise variances of observed derivatives, shape (n_partials, n_outputs); None where there are none."""
    if not linear.derivatives:
        return None
    unit = np.ones(len(linear.squares))  # of what was never observed it does not matter
    return np.stack([parameters.get(derivative_noise_name(name), unit) for name in linear.partials])


@dataclass(frozen=True)
class Spread:
    """What the targets are compared with: their variances, and the noise of a typical row in units of its scale.

    Of a single row they are not known, and nothing can be learned with them. Observed derivatives have spreads of their
    own, by the name of the input, in units of their known scales; there may be no values beside them.
    """

    variance: NDArray[np.float64]
    typical_noise: NDArray[np.float64]
    is_known: bool = True
    derivatives: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    has_values: bool = True


@dataclass(frozen=True)
class Prior:
    """Terms on a torus, plain columns and an intercept.

    Attributes
    ----------
    torus : Torus
        Axes.
    terms : tuple of KernelTerm
        Products on them.
    columns : tuple of ColumnTerm
        Plain columns.
    intercept_variance : ndarray of shape (n_outputs,)
        Variance that the constant column has for the intercept; zero without.
    has_trend : bool, default=False
        Whether all terms but the first are slow change, which has few components on purpose.
    noise_unit : float, default=1.0
        Square of the known noise scale of a typical row, by which the noise variance is multiplied to be that row's.
    limited : tuple of int, default=()
        Axes along which sets have no frequencies that the grids of the data cannot show.
    """

    torus: Torus
    terms: tuple[KernelTerm, ...]
    columns: tuple[ColumnTerm, ...]
    intercept_variance: NDArray[np.float64]
    has_trend: bool = False
    noise_unit: float = 1.0
    limited: tuple[int, ...] = ()

    @classmethod
    def of(cls, model: Model, intercept: bool, spread: Spread) -> Prior:
        """Prior of a resolved expression, for targets of some spread."""
        broad = BROAD * spread.variance if intercept else np.zeros_like(spread.variance)
        unit = float((spread.variance / spread.typical_noise)[0]) if spread.is_known else 1.0
        return cls.of_model(model, broad, unit)

    @classmethod
    def of_model(cls, model: Model, intercept_variance: NDArray[np.float64], noise_unit: float = 1.0) -> Prior:
        """Prior of a resolved expression, with given variances of the intercept."""
        terms = tuple(term.on_positions(model.torus) for term in model.terms)
        limited = tuple(model.limited.tolist())
        return cls(model.torus, terms, model.columns, intercept_variance, model.has_trend, noise_unit, limited)

    def typical_noise(self, parameters: Parameters) -> NDArray[np.float64]:
        """Noise variances of a typical row, in the units of the targets."""
        return self.noise_unit * parameters[NOISE]

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return len(self.intercept_variance)

    def start(
        self,
        period: NDArray[np.float64],
        spread: Spread,
        learn: frozenset[str],
        noise_variance: NDArray[np.float64],
        noise_bounds: tuple[float, float] | None,
    ) -> Parameters:
        """Where learning starts: variances from the data, length scales as given."""
        entries = {}
        learn = learn if spread.is_known else frozenset()
        shape = spread.variance.shape
        relative = _VARIANCE_BOUNDS if len(self.terms) == 1 else _TERM_BOUNDS
        for term in self.terms:
            learned = term.learned & ("length_scale" in learn)
            entries[scale_name(term)] = Parameter.make(term.length_scale, term.bounds.T, learned)
        for term in self.terms:
            given = term.variance_bounds
            learned_variance = "signal_variance" in learn and given != "fixed"
            largest = min(relative[1], _SLOW_VARIANCE) if self._is_slow(term) else relative[1]
            own = (relative[0] * spread.variance, largest * spread.variance)
            bounds = given if isinstance(given, tuple | list) else own
            value = np.broadcast_to(1.0 if term.variance is None else term.variance, shape)
            if learned_variance and term.variance is None:
                value = spread.variance / len(self.terms)
            entries[variance_name(term)] = Parameter.make(value, tuple(bounds), learned_variance)
        for column in self.columns:
            broad = BROAD * spread.variance
            value = broad if column.variance is None else np.broadcast_to(column.variance, shape)
            bounds = (1e-6 * spread.variance, 1e6 * spread.variance)
            entries[variance_name(column)] = Parameter.make(value, bounds, column.learned and spread.is_known)
        learns_noise = "noise_variance" in learn
        bounds = noise_bounds or tuple(bound * spread.typical_noise for bound in NOISE_BOUNDS)
        noise = 0.1 * spread.typical_noise if learns_noise else np.broadcast_to(noise_variance, shape)
        if learns_noise and not spread.has_values:
            entries[NOISE] = Parameter.make(_NO_NOISE * spread.variance)
        else:
            entries[NOISE] = Parameter.make(noise, bounds, learns_noise)
        for name, variance in spread.derivatives.items():
            value = 0.1 * variance if learns_noise else np.broadcast_to(noise_variance, shape)
            own_bounds = tuple(bound * variance for bound in NOISE_BOUNDS)
            entries[derivative_noise_name(name)] = Parameter.make(value, own_bounds, learns_noise)
        return Parameters(entries, period)

    def _is_slow(self, term: KernelTerm) -> bool:
        """Whether a term of several is a line that may change slowly only.

        It would make up for that with a large variance, and leave the data with it.
        """
        factor = term.factors[0]
        if len(self.terms) == 1 or len(term.factors) > 1 or not factor.is_line:
            return False
        return bool(factor.bounds[0] >= _SLOW * self.torus.axes[factor.axes[0]].extent)

    def scales(self, parameters: Parameters) -> tuple[NDArray[np.float64], ...]:
        """Length scales of the terms; one number may stand for all of a term."""
        return tuple(
            np.broadcast_to(parameters[scale_name(term)], term.length_scale.shape).copy() for term in self.terms
        )

    def with_scaled_lengths(self, parameters: Parameters, factor: float) -> Parameters:
        """Learned length scales times a factor, within their bounds."""
        for term in self.terms:
            entry = parameters.entry(scale_name(term))
            scaled = np.clip(factor * entry.value, entry.lower, entry.upper)
            parameters = parameters.with_value(scale_name(term), np.where(entry.learned, scaled, entry.value))
        return parameters

    def signal_variances(self, parameters: Parameters) -> NDArray[np.float64]:
        """Variances of the terms, shape (n_terms, n_outputs)."""
        return np.stack([parameters[variance_name(term)] for term in self.terms])

    def sum_kernel(self, parameters: Parameters) -> SumKernel:
        """The kernel on average over outputs, with variances relative to their sums: of variance one."""
        variances = self.signal_variances(parameters)
        relative = (variances / variances.sum(axis=0)).mean(axis=1)
        return SumKernel(self.torus, self.terms, self.scales(parameters), relative, parameters.period)

    def kernel(self, parameters: Parameters) -> TorusKernel:
        """The kernel of variance one as users hold it: of one product of circles in the short form."""
        if self.is_short:
            (term,), (scales,) = self.terms, self.scales(parameters)
            families = [factor.family for factor in term.factors for _ in factor.axes]
            family = families[0] if len(set(families)) == 1 else families
            scale = float(scales[0]) if len(parameters[scale_name(term)]) == 1 else scales
            period = parameters.period
            one = float(period[0]) if period.shape == (1,) else period
            return TorusKernel(family, scale, one, max_interaction=term.max_interaction)
        kernel = self.sum_kernel(parameters)  # between positions too, where there are some
        factors = [tuple(replace(factor, positions=0) for factor in term.factors) for term in kernel.terms]
        terms = tuple(replace(term, factors=own) for term, own in zip(kernel.terms, factors, strict=True))
        return TorusKernel.from_sum(replace(kernel, terms=terms))

    @property
    def is_short(self) -> bool:
        """Whether the model is one product of circles, each axis once and in order."""
        return (
            len(self.terms) == 1
            and self.torus.is_periodic
            and self.terms[0].axes == tuple(range(self.torus.dimension))
            and (len(self.terms[0].factors) == 1 or not any(factor.is_cartesian for factor in self.terms[0].factors))
        )

    def variances(self, parameters: Parameters, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Prior variances of all columns, shape (n_columns, n_outputs)."""
        return self.at(parameters, frequencies).variances

    def at(self, parameters: Parameters, frequencies: NDArray[np.int64]) -> PriorAt:
        """The prior on a set of frequencies, with derivatives."""
        return PriorAt(self, parameters, frequencies)

    def select(self, parameters: Parameters, size: int) -> IndexSet:
        """The set of the largest coefficients."""
        kernel = self.sum_kernel(parameters)
        return self.shown(kernel.largest(size), kernel, size)

    def shown(self, index_set: IndexSet, kernel: SumKernel, size: int) -> IndexSet:
        """A set for a kernel without frequencies of periods to be found that the data cannot show."""
        return below_nyquist(index_set, kernel, size, np.array(self.limited, dtype=np.int64))

    def coherence(self, parameters: Parameters) -> NDArray[np.float64]:
        """Distances over which phases on the axes mean something: the length scales of lines beside their circles.

        A circle whose products all have a line of the same input repeats only for so long; infinity for the others.
        """
        result = np.zeros(self.torus.dimension)
        for term, scales in zip(self.terms, self.scales(parameters), strict=True):
            places = np.cumsum([0, *(len(factor.length_scale) for factor in term.factors)])
            lines = {
                self.torus.axes[factor.axes[0]].input: scales[place]
                for factor, place in zip(term.factors, places, strict=False)
                if factor.is_line
            }
            for axis in term.axes:
                result[axis] = max(result[axis], lines.get(self.torus.axes[axis].input, np.inf))
        return result

    def truncation_error(self, parameters: Parameters, index_set: IndexSet) -> NDArray[np.float64]:
        """Variance that a set leaves out, of each output."""
        return self.sum_kernel(parameters).truncation_errors(index_set) @ self.signal_variances(parameters)

    def aliasing_error(self, parameters: Parameters) -> NDArray[np.float64]:
        """Largest error by lines lying on circles, of each output."""
        return self.sum_kernel(parameters).aliasing_errors() @ self.signal_variances(parameters)

    def is_below_noise(
        self, parameters: Parameters, index_set: IndexSet, fraction: float = SMALL_AGAINST_NOISE
    ) -> bool:
        """Whether what a set leaves out is at most this fraction of the noise of every output."""
        left_out = self.sum_kernel(parameters).truncation_errors(index_set)[:, None] * self.signal_variances(parameters)
        left_out = left_out[:1] if self.has_trend else left_out
        return bool((left_out.sum(axis=0) <= fraction * self.typical_noise(parameters)).all())

    # Circles of lines ------------------------------------------------------------------------------------------------


class PriorAt:
    """Prior variances on a set of frequencies, their derivatives, and what the set leaves out."""

    def __init__(self, prior: Prior, parameters: Parameters, frequencies: NDArray[np.int64]):
        self._prior, self._parameters, self._frequencies = prior, parameters, frequencies
        self._scales = prior.scales(parameters)
        period = parameters.period
        self._unit = np.exp(  # of variance one, (n_terms, n_frequencies)
            [
                term.log_coefficients(frequencies, scales, period)
                for term, scales in zip(prior.terms, self._scales, strict=True)
            ]
        )
        self._signal = prior.signal_variances(parameters)
        self._by_frequency = np.einsum("jk,jq->kq", self._unit, self._signal)
        self._by_frequency[0] += prior.intercept_variance
        self._twice = np.where(np.arange(len(frequencies)), 2.0, 1.0)

    @property
    def variances(self) -> NDArray[np.float64]:
        """Prior variances of the weights of the unweighted columns, shape (n_columns, n_outputs)."""
        fourier = np.repeat(self._by_frequency * self._twice[:, None], 2, axis=0)[1:]
        plain = [self._parameters[variance_name(column)][None] for column in self._prior.columns]
        return np.concatenate([fourier, *plain])

    def ratios(self) -> NDArray[np.float64]:
        """Shares of the terms in the variance of each frequency, shape (n_terms, n_frequencies, n_outputs)."""
        parts = self._unit[:, :, None] * self._signal[:, None]
        return np.divide(parts, self._by_frequency, out=np.zeros_like(parts), where=self._by_frequency > 0)

    @cached_property
    def _slopes(self) -> list[NDArray[np.float64]]:
        return [
            term.log_coefficients_gradient(self._frequencies, scales, self._parameters.period)
            for term, scales in zip(self._prior.terms, self._scales, strict=True)
        ]

    def dropped(self) -> NDArray[np.float64]:
        """Variance that the set leaves out of each output, as one minus what it keeps."""
        return self._dropped_share @ self._signal

    def n_needed(self, most: NDArray[np.float64]) -> int:
        """Number of frequencies, the likeliest first, that leave out at most so much of each output; or all."""
        order = np.argsort(-self._by_frequency[1:].sum(axis=1), kind="stable") + 1
        kept = np.cumsum((self._unit * self._twice)[:, np.append(0, order)], axis=1)
        left_out = (1 - kept).T @ self._signal  # (n_frequencies, n_outputs)
        enough = np.flatnonzero((left_out <= most).all(axis=1))
        return int(enough[0]) if len(enough) else len(left_out)

    @cached_property
    def _dropped_share(self) -> NDArray[np.float64]:
        return np.maximum(0.0, 1 - self._unit @ self._twice)

    def gradient(
        self, by_column: NDArray[np.float64], by_dropped: NDArray[np.float64] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Derivatives in the logarithms of the parameters of the prior.

        Parameters
        ----------
        by_column : ndarray of shape (n_columns, n_outputs)
            Derivatives in the logarithms of the variances of the columns.
        by_dropped : ndarray of shape (n_outputs,), optional
            Derivatives in the variance that the set leaves out.

        Returns
        -------
        dict of ndarray
            By the names of the parameters.
        """
        n_fourier = 2 * len(self._frequencies) - 1
        by_variance, by_log_c = self._through_terms(by_column, by_dropped)
        result = {}
        for j, term in enumerate(self._prior.terms):
            slope = by_log_c[j] @ self._slopes[j]
            value = self._parameters[scale_name(term)]
            result[scale_name(term)] = slope if len(slope) == len(value) else slope.sum(keepdims=True)
            result[variance_name(term)] = by_variance[j]
        for i, column in enumerate(self._prior.columns):
            result[variance_name(column)] = by_column[n_fourier + i]
        return result

    def jacobian(self) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Derivatives in the logarithms of the parameters of the prior, by their names.

        Returns
        -------
        of_variances : dict of ndarray, shape (n_values, n_columns, n_outputs)
            Of the logarithms of the variances of the columns.
        of_dropped : dict of ndarray, shape (n_values, n_outputs)
            Of the variance that the set leaves out.
        """
        n_frequencies, n_outputs = self._by_frequency.shape
        n_fourier, n_columns = 2 * n_frequencies - 1, 2 * n_frequencies - 1 + len(self._prior.columns)
        ratios, own = self.ratios(), np.eye(n_outputs)
        of_variances, of_dropped = {}, {}
        for j, term in enumerate(self._prior.terms):
            slopes = self._slopes[j]
            if len(self._parameters[scale_name(term)]) != slopes.shape[1]:
                slopes = slopes.sum(axis=1, keepdims=True)
            share, signal = self._dropped_share[j], self._signal[j]
            lost = -((self._unit[j] * self._twice) @ slopes) if share > 0 else np.zeros(slopes.shape[1])
            for name, by_frequency, dropped in (
                (scale_name(term), slopes.T[:, :, None] * ratios[j], np.outer(lost, signal)),
                (variance_name(term), own[:, None] * ratios[j], np.diag(share * signal)),
            ):
                full = np.zeros((len(by_frequency), n_columns, n_outputs))
                full[:, :n_fourier] = np.repeat(by_frequency, 2, axis=1)[:, 1:]
                of_variances[name], of_dropped[name] = full, dropped
        for i, column in enumerate(self._prior.columns):
            full = np.zeros((n_outputs, n_columns, n_outputs))
            full[:, n_fourier + i] = own
            of_variances[variance_name(column)] = full
            of_dropped[variance_name(column)] = np.zeros((n_outputs, n_outputs))
        return of_variances, of_dropped

    def _through_terms(
        self, by_column: NDArray[np.float64], by_dropped: NDArray[np.float64] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Derivatives in the log variances, (n_terms, n_outputs), and log coefficients, (n_terms, n_frequencies)."""
        fourier = by_column[: 2 * len(self._frequencies) - 1]
        by_frequency = np.vstack([fourier[:1], fourier[1::2] + fourier[2::2]])
        through = self.ratios() * by_frequency  # (n_terms, n_frequencies, n_outputs)
        by_variance, by_log_c = through.sum(axis=1), through.sum(axis=2)
        if by_dropped is not None:
            by_variance = by_variance + self._dropped_share[:, None] * self._signal * by_dropped
            weight = np.where(self._dropped_share > 0, self._signal @ by_dropped, 0.0)
            by_log_c = by_log_c - weight[:, None] * self._unit * self._twice
        return by_variance, by_log_c

    def by_period(
        self, by_column: NDArray[np.float64], moves: PeriodMoves, by_dropped: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64] | float:
        """Derivatives in the moves of the period; only coefficients of Cartesian lattices depend on it."""
        if not any(factor.is_cartesian for term in self._prior.terms for factor in term.factors):
            return 0.0
        step = 1e-5  # a hundred-thousandth of a radian over the extent of the data
        _, by_log_c = self._through_terms(by_column, by_dropped)
        result = np.zeros(moves.size)
        for m, unit in enumerate(np.eye(moves.size)):
            ahead, behind = (moves.period(sign * unit, self._parameters.period) for sign in (step, -step))
            for j, (term, scales) in enumerate(zip(self._prior.terms, self._scales, strict=True)):
                with np.errstate(invalid="ignore"):
                    difference = term.log_coefficients(self._frequencies, scales, ahead)
                    difference = difference - term.log_coefficients(self._frequencies, scales, behind)
                result[m] += by_log_c[j] @ np.nan_to_num(difference / (2 * step))
        return result
