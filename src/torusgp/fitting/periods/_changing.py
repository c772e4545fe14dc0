r"""The period of a shape that changes, such as spots on a rotating star: remembered for some turns only.

A product of a circle and a line of the same input has a spectrum of lobes around the multiples of :math:`1/p`, each as
wide as the line forgets, :math:`1 / (2 \pi l)`. How well they match the power of the data is the likelihood of Whittle
(1953), in which the powers at different frequencies are independent and exponentially distributed around the spectrum.
It is cheap, so that it is integrated over what is not known: how long the shape is remembered (a turn at least: what is
forgotten sooner has no period), how sharp it is, and what varies beside it. The period is a mean over all that, and its
standard error the spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import finufft
import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.advice import advise

Array = NDArray[np.float64]

_TURNS = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])  # length scales of the line, in periods
_SHAPES = np.array([0.5, 0.9, 1.6])  # length scales of the circle
_N_CORNERS = 6  # frequencies at which the spectrum of what varies beside it begins to fall
_N_WIDTHS = 12  # of a lobe around zero, the alternative to a period
_MOST_HARMONICS = 30
_STEP = 0.2  # of the logarithm of a period that is remembered for one turn
_FINER = 16  # steps to either side of the best, within a reach of
_REACH = 0.35  # of the logarithm, for one turn
_LONGEST = 1 / 3  # period, of the longest part without a gap
_SHORTEST = 4.0  # period, in usual steps of the rows
_GAP = 0.1, 20.0  # what parts the rows: of their range, and in usual steps
_FEW_ROWS = 20  # below which a part tells nothing
_BIN = 0.012  # width of what is averaged, relative to its place
_INDEPENDENT = 18 / 35  # of the powers: the taper, the square of a sine, correlates neighbours
_RESOLUTION = 0.6  # standard deviation of the taper's own lobe, in turns over its part
_STEPS, _FIRST_STEPS = 12, 60  # of the ascent in the variances
MIN_GAIN = 5.0  # log likelihood over change without a period: odds of 150 to 1


@dataclass(frozen=True)
class ChangingPeriod:
    """Period of a shape that changes.

    Attributes
    ----------
    period : float
        Its posterior mean.
    period_std : float
        Its posterior standard deviation.
    turns : float
        Length scale of the change where the likelihood is largest, in periods.
    gain : float
        Largest log likelihood, less that of change without a period.
    """

    period: float
    period_std: float
    turns: float
    gain: float

    @property
    def is_clear(self) -> bool:
        """Whether it is better than change without a period, and is forgotten: a search for repetition fails then."""
        return self.gain >= MIN_GAIN and self.turns < _TURNS[-1]

    def warn(self) -> None:
        """Say so where change without a period explains the rows as well."""
        if self.gain < MIN_GAIN:
            advise(
                f"period='auto' takes {self.period:.4g} +- {self.period_std:.2g}, of a shape that lasts about "
                f"{self.turns:g} turns, but its gain in log likelihood of {self.gain:.3g} over change without a period "
                f"is below {MIN_GAIN:g}: the data may have none. Give the period, or period_bounds, if you know more."
            )


def find_changing_period(
    times: Array,
    targets: Array,
    precision: Array,
    shortest: float | None = None,
    longest: float | None = None,
) -> ChangingPeriod | None:
    """Find the period of a shape that changes.

    Parameters
    ----------
    times : ndarray of shape (n,)
        The input.
    targets : ndarray of shape (n, n_outputs)
        Targets.
    precision : ndarray of shape (n,)
        How much each row counts.
    shortest, longest : float, optional
        Limits of the period; by default four usual steps of the rows and a third of the longest part without a gap.
        Two steps and that third are limits in any case.

    Returns
    -------
    ChangingPeriod or None
        None where rows are too few or too scattered for any period within the limits.
    """
    order = np.argsort(times, kind="stable")
    times, targets, precision = times[order], targets[order], precision[order]
    parts = _parts(times)
    if not parts:
        return None
    usual = float(np.median(np.diff(times)[np.diff(times) > 0]))
    extent = max(float(np.ptp(times[part])) for part in parts)
    shortest = _SHORTEST * usual if shortest is None else max(shortest, 2 * usual)
    longest = _LONGEST * extent if longest is None else min(longest, _LONGEST * extent)
    if not shortest < longest:
        return None
    spectrum = _Spectrum(times, targets, precision, parts, min(0.5 / usual, 6 / shortest))
    coarse = [
        spectrum.likelihoods(np.exp(np.arange(np.log(shortest), np.log(longest) + 1e-9, _STEP / turns)), turns)
        for turns in _TURNS
    ]
    level = int(np.argmax([one.best.max() for one in coarse]))
    best, turns = float(coarse[level].periods[np.argmax(coarse[level].best)]), float(_TURNS[level])
    reach = np.linspace(-1, 1, 2 * _FINER + 1) * _REACH / np.sqrt(turns)
    fine = [spectrum.likelihoods(np.clip(best * np.exp(reach), shortest, longest), one) for one in _TURNS]
    total = np.array([one.total for one in fine])  # (n_turns, n_periods)
    highest = total.max()
    weights = np.exp(total - highest).sum(axis=0)
    weights /= weights.sum()
    periods = fine[0].periods
    mean = float(weights @ periods)
    std = float(np.sqrt(weights @ (periods - mean) ** 2 + (periods[1] - periods[0]) ** 2 / 12))
    at = int(np.argmax([one.best.max() for one in fine]))
    gain = float(fine[at].best.max() - spectrum.without_period())
    return ChangingPeriod(mean, std, float(_TURNS[at]), gain)


def _parts(times: Array) -> list[slice]:
    """Runs of rows without long gaps, sorted in time."""
    gaps = np.diff(times)
    if not (gaps > 0).any():
        return []
    share, usual = _GAP
    long = gaps > max(share * float(np.ptp(times)), usual * float(np.median(gaps[gaps > 0])))
    edges = [0, *(np.flatnonzero(long) + 1).tolist(), len(times)]
    runs = [slice(*pair) for pair in pairwise(edges) if pair[1] - pair[0] >= _FEW_ROWS]
    return [run for run in runs if times[run][-1] > times[run][0]]


@dataclass(frozen=True)
class _Likelihoods:
    """Log likelihoods of periods, at their largest and summed over the shapes and what varies beside them."""

    periods: Array
    best: Array
    total: Array


class _Spectrum:
    """Power of the rows at the frequencies of their parts, averaged in narrow bins, and likelihoods of spectra."""

    def __init__(self, times: Array, targets: Array, precision: Array, parts: list[slice], highest: float):
        scaled = (targets - np.average(targets, axis=0, weights=precision)) / np.maximum(
            np.sqrt(np.cov(targets.T, aweights=precision).reshape(len(targets.T), -1).diagonal()), 1e-300
        )
        powers = [_power(times[part], scaled[part], precision[part], highest) for part in parts]
        frequency, power, width = (np.concatenate(one) for one in zip(*powers, strict=True))
        order = np.argsort(frequency)
        edges = [0]
        while edges[-1] < len(order):
            edges.append(min(len(order), edges[-1] + max(1, int(_BIN * edges[-1]))))
        self.count = np.diff(edges).astype(float)
        self.frequency, self.power, self.width = (
            np.add.reduceat(one[order], edges[:-1]) / self.count for one in (frequency, power, width)
        )
        self._weight = _INDEPENDENT * targets.shape[1] * self.count
        corners = np.geomspace(self.frequency[0], self.frequency[-1], _N_CORNERS)
        self._beside = 1 / (1 + (self.frequency[:, None] / corners) ** 2)

    def likelihoods(self, periods: Array, turns: float) -> _Likelihoods:
        """Log likelihoods of periods, for shapes that are remembered for so many turns."""
        amplitudes, found = None, np.empty((len(periods), len(_SHAPES) * _N_CORNERS))
        for place, period in enumerate(periods):
            amplitudes, found[place] = self._ascend(self._lobes(period, turns * period), amplitudes)
        largest = found.max(axis=1)
        total = largest + np.log(np.exp(found - largest[:, None]).sum(axis=1))
        return _Likelihoods(np.asarray(periods), largest, total)

    def without_period(self) -> float:
        """Largest log likelihood of a lobe around zero of any width, slow change and white noise."""
        widths = np.geomspace(self.frequency[0], self.frequency[-1], _N_WIDTHS)
        return float(self._ascend(np.exp(-0.5 * (self.frequency[:, None] / widths) ** 2), None)[1].max())

    def _lobes(self, period: float, length: float) -> Array:
        """Spectra of circles of several shapes that are remembered over a length, (n_bins, n_shapes)."""
        harmonics = np.arange(min(int(self.frequency[-1] * period) + 2, _MOST_HARMONICS))
        width = np.hypot(1 / (2 * np.pi * length), self.width)[:, None]
        apart = (
            (self.frequency[:, None] - harmonics / period) / width,
            (self.frequency[:, None] + harmonics / period) / width,
        )
        lobes = (np.exp(-0.5 * apart[0] ** 2) + np.exp(-0.5 * apart[1] ** 2)) / width
        lobes[:, 0] /= 2
        return np.asarray(lobes @ np.exp(-0.5 * np.outer(harmonics, _SHAPES) ** 2))

    def _ascend(self, lobes: Array, start: Array | None) -> tuple[Array, Array]:
        """Variances (3, n_models) of lobes (n_bins, n), of what varies beside them and of noise, and log likelihoods.

        Every step raises the likelihood.
        """
        parts = np.ones((3, len(lobes), lobes.shape[1] * _N_CORNERS))
        parts[0], parts[1] = np.repeat(lobes, _N_CORNERS, axis=1), np.tile(self._beside, (1, lobes.shape[1]))
        parts *= (self.count.sum() / np.einsum("f,ifm->im", self.count, parts))[:, None]
        n_steps = _FIRST_STEPS if start is None else _STEPS
        power, weight = self.power[:, None], self._weight[:, None]
        value = np.full((3, parts.shape[2]), self.power.mean() / 3) if start is None else start
        for _ in range(n_steps):
            spectrum = np.maximum(np.einsum("im,ifm->fm", value, parts), 1e-300)
            wanted = np.einsum("ifm,fm->im", parts, weight * power / spectrum**2)
            value = value * np.sqrt(wanted / np.maximum(np.einsum("ifm,fm->im", parts, weight / spectrum), 1e-300))
            value = np.maximum(value, 1e-9 * self.power.mean())  # so that neighbours can start from here
        spectrum = np.maximum(np.einsum("im,ifm->fm", value, parts), 1e-300)
        return value, -(weight * (np.log(spectrum) + power / spectrum)).sum(axis=0)


def _power(times: Array, targets: Array, precision: Array, highest: float) -> tuple[Array, Array, Array]:
    """Frequencies of a part, the power of its tapered targets averaged over outputs, and the width of the taper."""
    n = len(times)
    extent = float(np.ptp(times)) * n / (n - 1)
    taper = np.sin(np.pi * (times - times[0]) / extent) ** 2 * precision
    taper /= np.sqrt(np.mean(taper**2))
    size = max(1, min(n // 2, int(highest * extent)))
    phases = 2 * np.pi * (times - times[0]) / extent
    power = np.zeros(size)
    for own in targets.T:
        strengths = (taper * (own - np.average(own, weights=taper))).astype(complex)
        sums = finufft.nufft1d1(phases, strengths, 2 * size + 1, eps=1e-9, isign=1)
        power += np.abs(sums[size + 1 :]) ** 2 * extent / n**2 / targets.shape[1]
    return np.arange(1, size + 1) / extent, power, np.full(size, _RESOLUTION / extent)
