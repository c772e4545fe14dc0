"""Lines of a prior on their circles: long enough for their length scales, and no longer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import SMALL_AGAINST_NOISE, Prior, scale_name, variance_name
from torusgp.kernels.resolve import DEFAULT_TOLERANCE
from torusgp.kernels.terms import circle_length, decay_distance

_TOLERANCES = (1e-10, 1e-3)  # of lines, whatever the noise
_PRESSED = 0.99  # of the longest length scale that a circle allows, from which it wants to be longer
_TOO_LONG = 1.4  # factor by which a circle may be longer than it has to be


@dataclass(frozen=True)
class LineCircles:
    """The circles on which the lines of a prior are laid.

    It is true if there is a line.

    Attributes
    ----------
    prior : Prior
        The model.
    """

    prior: Prior

    @cached_property
    def _factors(self) -> list[tuple[int, int, int]]:
        """Term, place of the length scale in it, and factor, of all factors that are lines."""
        return [
            (j, int(sum(len(other.length_scale) for other in term.factors[:i])), i)
            for j, term in enumerate(self.prior.terms)
            for i, factor in enumerate(term.factors)
            if factor.is_line
        ]

    def __bool__(self) -> bool:
        return bool(self._factors)

    def _tolerance(self, parameters: Parameters, j: int, i: int) -> float:
        """Tolerance of a line: its own, or such that the error of its term is small against the noise."""
        term = self.prior.terms[j]
        given = term.factors[i].tolerance
        if given is not None:
            return given
        variance = parameters[variance_name(term)]
        share = SMALL_AGAINST_NOISE * float((self.prior.typical_noise(parameters) / variance).min())
        n_lines = sum(factor.is_line for factor in term.factors)
        return float(np.clip(share / n_lines, *_TOLERANCES)) if np.isfinite(share) else DEFAULT_TOLERANCE

    def with_circles(self, parameters: Parameters, room: float = 1.5, pressed: bool = False) -> Parameters:
        """Circles of lines of the right length for their length scales, which get room to grow.

        Circles that serve are kept: with another one all sums over rows are computed anew. If a length scale is
        ``pressed`` by its circle, see :meth:`are_pressed`, that circle does not serve.
        """
        if not self._factors:
            return parameters
        scales, period = self.prior.scales(parameters), parameters.period.copy()
        lengths = np.diagonal(period).copy() if period.ndim == 2 else period.copy()
        needed, wanted = np.zeros(len(lengths)), np.zeros(len(lengths))
        for j, place, i in self._factors:
            factor = self.prior.terms[j].factors[i]
            axis, tolerance = factor.axes[0], self._tolerance(parameters, j, i)
            extent, scale = self.prior.torus.axes[axis].extent, scales[j][place]
            # a length scale that is not learned needs no room
            grow = room if factor.learned else 1.0
            least = scale / _PRESSED**2 if pressed and factor.learned else scale  # one at its bound is to grow beyond
            needed[axis] = max(needed[axis], circle_length(factor.family, least, extent, tolerance))
            wanted[axis] = max(wanted[axis], circle_length(factor.family, grow * scale, extent, tolerance))
        wrong = (wanted > 0) & ((needed > lengths * (1 + 1e-9)) | (lengths > _TOO_LONG * wanted))
        lengths[wrong] = wanted[wrong]
        if period.ndim == 2:
            period[np.diag_indices_from(period)] = lengths
        else:
            period = lengths
        return parameters.with_period(period) if wrong.any() else parameters

    def within_circles(self, parameters: Parameters) -> Parameters:
        """Length scales of lines bounded by what their circles allow."""
        for j, place, i in self._factors:
            name = scale_name(self.prior.terms[j])
            entry = parameters.entry(name)
            upper, where = entry.upper.copy(), self._entry_of_scale(entry, j, place)
            upper[where] = min(upper[where], max(self._longest(parameters, j, i), entry.value[where]))
            parameters = parameters.with_upper(name, upper)
        return parameters

    def with_first_circles(self, parameters: Parameters, room: float) -> Parameters:
        """Circles of lines as long as the length scales they start with need, and none longer than these allow."""
        first, period = parameters, parameters.period.copy()
        for j, place, i in self._factors:
            factor, name = self.prior.terms[j].factors[i], scale_name(self.prior.terms[j])
            value = first[name].copy()
            value[self._entry_of_scale(first.entry(name), j, place)] = factor.length_scale[0]
            first = first.with_value(name, value)
            period[(factor.axes[0],) * period.ndim] = 0.0
        parameters = parameters.with_period(self.with_circles(first.with_period(period), room).period)
        for j, place, i in self._factors:
            name = scale_name(self.prior.terms[j])
            value, where = parameters[name].copy(), self._entry_of_scale(parameters.entry(name), j, place)
            if self.prior.terms[j].factors[i].learned:
                value[where] = min(value[where], self._longest(parameters, j, i))
            parameters = parameters.with_value(name, value)
        return parameters

    def _entry_of_scale(self, entry: Parameter, j: int, place: int) -> int:
        """Where the length scale of a term is among its entries, of which all may share one."""
        return place if len(entry.value) > 1 or len(self.prior.terms[j].length_scale) == 1 else 0

    def _longest(self, parameters: Parameters, j: int, i: int) -> float:
        """Longest length scale of a line that its circle allows."""
        factor, period = self.prior.terms[j].factors[i], parameters.period
        axis = factor.axes[0]
        room = float(period[(axis,) * period.ndim]) - self.prior.torus.axes[axis].extent
        return room / (3 * decay_distance(factor.family, self._tolerance(parameters, j, i)))

    def are_pressed(self, bounded: Parameters) -> bool:
        """Whether a length scale of a line has come to the bound that its circle sets, see :meth:`within_circles`."""
        for j, place, _ in self._factors:
            entry = bounded.entry(scale_name(self.prior.terms[j]))
            where = self._entry_of_scale(entry, j, place)
            if entry.learned[where] and entry.value[where] > _PRESSED * entry.upper[where]:
                return True
        return False
