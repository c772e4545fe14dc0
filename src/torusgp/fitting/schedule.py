"""The order of learning: from small sets of frequencies to the final one.

The evidence is smooth for a fixed set of frequencies, so a round maximises it there; then the best set for the new
length scales takes its place, until that changes little. Small sets come first: they are cheap and their evidence has
fewer local maxima.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import comb

import numpy as np
from threadpoolctl import ThreadpoolController

from torusgp.engine.inference import evidences
from torusgp.fitting.learning import Learned, maximise
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import DERIVATIVE_NOISE, NOISE, SMALL_AGAINST_NOISE, Prior, scale_name
from torusgp.kernels.index_sets import IndexSet

MAX_COMPONENTS = 2000  # the most that n_components="auto" takes

_STARTS = (1.0, 0.3, 3.0)  # factors of the given length scales that are tried on the smallest set
_FIRST_COLUMNS = (101, 401)  # of the smallest set, at least and at most
_MAX_ROUNDS = 6
_FEW_ROUNDS = 2  # on a set that is too small to be the last
_FEW_DIMENSIONS = 3  # up to here every length scale is learned on its own from the beginning
_MOST_TOGETHER = 1001  # columns, at most, while all dimensions share one
_ROOM, _MORE_ROOM = 1.5, 3.0  # factors by which the length scale of a line may grow before its circle has to
_HALF = 0.5  # of the variance of a term, at least, is in the first set
_SCOUT_STEPS = 8  # iterations from each start, before the best one goes on
_TIE = 0.5  # difference in log evidence between starts that decides nothing
_ROUGH = 0.02  # predicted gain in log evidence that ends an ascent on a set that may not be the last,
_EXACT, _LAST_STEPS = 1e-8, 25  # and on the last one, after at most so many iterations
_SPARE, _LEAST_GROWTH = 1.1, 1.25  # factors of what is needed, and of what there is, when a set grows
_SETTLED = 0.02  # change of the logarithm of a length scale up to which the set is kept
_NEGLIGIBLE_GAIN = 0.1  # gain in log evidence that ends the exchange of sets
_NEGLIGIBLE_SHARE = 1e-3  # of a term in the variance, below which its length scales may be anything
_SHORTER = 0.4  # factor of length scales that are tried at the end
_SAME_CIRCLE = 0.05  # relative difference of circles that makes none
_WORTHWHILE = 1.0  # change of the log evidence that justifies twice the columns
_FEW_COLUMNS = 1001  # up to here one thread of BLAS is as fast as several, and much faster where cores are busy


def first_columns(dimension: int) -> int:
    """Number of components to begin with: enough for the lowest harmonics of all triples of dimensions.

    Where a set has none of an interaction's columns, dimensions that matter only through it seem not to matter at all,
    and their length scales never come back.

    Examples
    --------
    >>> [first_columns(dimension) for dimension in (1, 2, 4, 6, 8)]
    [101, 101, 101, 257, 401]
    """
    triples = sum(2**order * comb(dimension, order) for order in range(4))
    return int(np.clip(triples * 11 // 10 | 1, *_FIRST_COLUMNS))


def limited_blas(n_columns: int):
    """Context in which BLAS has one thread, if matrices of so many components are no faster with several."""
    return _blas().limit(limits=1 if n_columns <= _FEW_COLUMNS else None, user_api="blas")


@lru_cache(maxsize=1)
def _blas():
    return ThreadpoolController()  # looks at all loaded libraries, so once is enough


@dataclass(frozen=True)
class Schedule:
    """Everything about a learning problem that stays the same while it is solved.

    Attributes
    ----------
    provider : callable
        Linear statistics of an index set, given the parameters; see :func:`~torusgp.fitting.learning.maximise`.
    select : callable
        Index set for parameters and a number of components.
    prior : Prior
        The model.
    report : callable
        Takes a line of progress.
    moves : PeriodMoves, optional
        How the period may move, if it is learned.
    circles_move : bool, default=True
        Whether lines may be laid on other circles: each takes another pass over the rows.
    """

    provider: Callable
    select: Callable[[Parameters, int], IndexSet]
    prior: Prior
    report: Callable[[str], None]
    moves: PeriodMoves | None = None
    circles_move: bool = True

    def learn(
        self,
        start: Parameters,
        n_components: int | str,
        *,
        search: bool = True,
        first: int | None = None,
        cap: int = MAX_COMPONENTS,
        is_final: bool = True,
    ) -> Learned:
        """Learn from small sets to the final one.

        Parameters
        ----------
        start : Parameters
            Starting point, and what is learned within which bounds.
        n_components : int or "auto"
            Number of components, or "auto" to grow the set as long as that helps.
        search : bool, default=True
            Try several starting length scales on a small set first.
        first : int, optional
            Number of components to begin with; by default few, see :func:`first_columns`.
        cap : int, default=2000
            Largest number of components of "auto".
        is_final : bool, default=True
            Whether nothing else begins where this ends: then the first circles of lines are tried, too.
        """
        dimension = self.prior.torus.dimension
        first = first_columns(dimension) if first is None else first
        largest = cap if n_components == "auto" else int(n_components)
        first = max(first, min(self.prior.sum_kernel(start).smallest_size(), largest))
        first = min(self._size_for_all_terms(start, first, largest), largest)
        size = first
        if search and self._learns_scales(start):
            still = replace(self, moves=None)
            if self._starts_together(start):
                start, size = still._start_together(start, first, min(largest, _MOST_TOGETHER))
            else:
                start = still._best_start(start, first).parameters
        if n_components == "auto":
            found = self._polished(self._looking_beyond(self.grow(start, size, cap), cap))
            return self._on_first_circles(found) if is_final else found
        while 4 * size < int(n_components) and search:
            start = self.settle(start, size, _FEW_ROUNDS, polish=False).parameters
            size *= 4
        found = self.settle(start, int(n_components))
        return self._on_first_circles(found) if is_final else found

    def _size_for_all_terms(self, start: Parameters, size: int, largest: int) -> int:
        """Number of components that hold at least half of the variance of every term of a sum.

        On a set that lacks the columns of a term its variance and noise are the same, and it would be given up.
        """
        if self.prior.has_trend:  # whose slow terms have columns of their own
            return size
        while len(self.prior.terms) > 1 and size < largest:
            shares = self.prior.sum_kernel(start).truncation_errors(self.select(start, size))
            if shares.max() <= _HALF:
                break
            size = min(2 * size, largest)
        return size

    def _learns_scales(self, start: Parameters) -> bool:
        return any(start.entry(scale_name(term)).learned.any() for term in self.prior.terms)

    def _starts_together(self, start: Parameters) -> bool:
        """Whether one product has more length scales than can be distinguished at the beginning."""
        if len(self.prior.terms) > 1 or not self.prior.is_short:
            return False
        entry = start.entry(scale_name(self.prior.terms[0]))
        return len(entry.value) > _FEW_DIMENSIONS and np.ptp(entry.value) == 0 and bool(entry.learned.all())

    def settle(
        self,
        start: Parameters,
        size: int,
        max_rounds: int = _MAX_ROUNDS,
        max_iter: int = 100,
        stretch: bool = False,
        polish: bool = True,
        goal: float = -np.inf,
    ) -> Learned:
        """Alternate between the best set and the best parameters until the set hardly changes.

        Lines that press against their circles get longer ones if ``stretch``: where the set grows with them. With a
        given number of components a longer circle would leave fewer of them for what varies. The optimum is found to
        many digits on the last set alone, and only if ``polish``; what does not reach the ``goal`` may be given up.
        """
        current, best, pressed, done = start, None, False, 0
        # a line that wants to be longer than its circle allows, and may, is not settled, however small the set
        while done < max_rounds or (pressed and stretch and max_rounds > 1 and done < _MAX_ROUNDS):
            if self.circles_move:
                current = self._lines.with_circles(current, _MORE_ROOM if pressed else _ROOM, pressed and stretch)
            index_set = self.select(current, size)
            found, pressed = self._maximised(current, index_set, max_iter, _ROUGH, goal)
            done += 1
            self.report(
                f"{index_set.n_components} components, log evidence {found.log_evidence:.6g}, length scales "
                + "; ".join(np.array2string(scales, precision=3) for scales in self.prior.scales(found.parameters))
            )
            best = None if best is None else self._compared(best, found)
            gain = found.log_evidence - best.log_evidence if best else np.inf
            if gain > 0 or best is None:
                best = found
            change = self._change(current, found.parameters)
            current = found.parameters
            if change < _SETTLED or gain < _NEGLIGIBLE_GAIN:
                break
        assert best is not None
        # a period that is learned too is found to many digits on every set
        return best if not polish or self.moves is not None else self._polished(best)

    def _maximised(
        self, start: Parameters, index_set: IndexSet, max_iter: int, negligible: float, goal: float = -np.inf
    ) -> tuple[Learned, bool]:
        """The best parameters on one set, and whether a line presses against its circle with them."""
        bounded = self._lines.within_circles(start)
        moves = None if self.moves is None else self.moves.within(self.prior.coherence(start))
        with limited_blas(index_set.n_components):
            found = maximise(
                self.provider, self.prior, index_set, bounded, moves, max_iter, negligible=negligible, goal=goal
            )
        pressed = self.circles_move and self._lines.are_pressed(found.parameters)
        return replace(found, parameters=with_bounds_of(start, found.parameters)), pressed

    def _polished(self, found: Learned) -> Learned:
        """The optimum on the same set, to many digits."""
        exact, _ = self._maximised(found.parameters, found.index_set, _LAST_STEPS, _EXACT)
        converged = found.converged or exact.converged  # what is left of a slow ascent is no doubt
        return replace(found, parameters=exact.parameters, log_evidence=exact.log_evidence, converged=converged)

    def _change(self, before: Parameters, after: Parameters) -> float:
        """Largest change of the logarithm of a length scale of a term that explains something."""
        variances = self.prior.signal_variances(after)
        shares = (variances / variances.sum(axis=0)).max(axis=1)
        changes = [
            np.abs(np.log(new / old)).max()
            for old, new, share in zip(self.prior.scales(before), self.prior.scales(after), shares, strict=True)
            if share > _NEGLIGIBLE_SHARE
        ]
        return max(changes, default=0.0)

    def _best_start(self, start: Parameters, size: int) -> Learned:
        """The best of several starting length scales, after a few steps from each.

        A set that is too small to show anything has next to the same evidence for all. Then the shortest goes on, as
        larger sets may show more; from a long one, which leaves everything to the intercept, nothing leads back.
        """
        attempts = [
            self.settle(self.prior.with_scaled_lengths(start, factor), size, 1, _SCOUT_STEPS, polish=False)
            for factor in _STARTS
        ]
        best = max(attempt.log_evidence for attempt in attempts)
        ties = [attempt for attempt in attempts if attempt.log_evidence > best - _TIE]
        return min(ties, key=lambda attempt: sum(np.log(one).sum() for one in self.prior.scales(attempt.parameters)))

    def _start_together(self, start: Parameters, size: int, cap: int) -> tuple[Parameters, int]:
        """Where many length scales start: one for all of them is learned first, on as many components as that takes.

        A small set cannot hold the interactions of many dimensions. If each had a length scale of its own, the best
        use of few components would be to give up some of the dimensions, and these would not come back.

        Returns
        -------
        start : Parameters
            With a length scale for each dimension, learned together and then on their own.
        size : int
            Number of components that they need.
        """
        name = scale_name(self.prior.terms[0])
        own = start.entry(name)
        found = self._best_start(start.with_value(name, own.value[:1]), size)
        found = self.grow(found.parameters, size, cap)
        size_together = found.index_set.n_components
        apart = Parameters(
            {
                **{key: found.parameters.entry(key) for key in found.parameters},
                name: replace(own, value=np.repeat(found.parameters[name], len(own.value))),
            },
            found.parameters.period,
        )
        found = self.settle(apart, size_together, _FEW_ROUNDS, polish=False)
        needed = size_together
        while needed > size:  # dimensions that do not matter needed columns too, as long as all were alike
            fewer = self.select(found.parameters, max(size, needed // 2))
            if not self.prior.is_below_noise(found.parameters, fewer):
                break
            needed = max(size, needed // 2)
        return found.parameters, needed

    def _looking_beyond(self, found: Learned, cap: int) -> Learned:
        """Try a clearly larger set with clearly shorter length scales, until that is no better.

        A small set makes long length scales look right, and then leaves out little.
        """
        for _ in range(_MAX_ROUNDS):
            size = min(2 * found.index_set.n_components, cap)
            if size <= found.index_set.n_components or not self._learns_scales(found.parameters):
                break
            shorter = self.prior.with_scaled_lengths(found.parameters, _SHORTER)
            goal = -np.inf if self._is_pooled else found.log_evidence + _WORTHWHILE
            trial = self.settle(shorter, size, 1, _SCOUT_STEPS, polish=False, goal=goal)
            found = self._compared(found, trial)
            if trial.log_evidence < found.log_evidence + _WORTHWHILE:
                break
            found = self.grow(trial.parameters, size, cap)
        return found

    def grow(self, start: Parameters, size: int, cap: int) -> Learned:
        """Enlarge the set until what it leaves out is small against the noise or the evidence stops changing."""
        # slopes may need more than values, so with them only the evidence tells what is enough
        with_slopes = any(name.endswith(DERIVATIVE_NOISE) for name in start)
        if size < cap and not with_slopes and not self.prior.is_below_noise(start, self.select(start, size)):
            size = self._larger(start, size, cap)
        found = self._settle_within(start, size, cap)
        while with_slopes or not self.prior.is_below_noise(found.parameters, found.index_set):
            if size >= cap:
                return replace(found, capped=True)
            size = min(2 * size, cap) if with_slopes else self._larger(found.parameters, size, cap)
            larger = self._settle_within(found.parameters, size, cap)
            found = self._compared(found, larger)
            exhausted = larger.index_set.n_components <= found.index_set.n_components  # no more frequencies are allowed
            change, found = abs(larger.log_evidence - found.log_evidence), larger
            if change < _WORTHWHILE or exhausted:
                break
        return found

    def _settle_within(self, start: Parameters, size: int, cap: int) -> Learned:
        """Settle on a set that may have to grow, up to the cap."""
        return self.settle(start, size, _FEW_ROUNDS if size < cap else _MAX_ROUNDS, stretch=True, polish=False)

    def _larger(self, parameters: Parameters, size: int, cap: int) -> int:
        """Number of components, up to twice as many, of which the likeliest leave out little, with some to spare."""
        most = min(2 * size, cap)
        at = self.prior.at(parameters, self.select(parameters, most).frequencies)
        enough = 2 * at.n_needed(SMALL_AGAINST_NOISE * self.prior.typical_noise(parameters)) + 1
        return min(max(int(_SPARE * enough), int(_LEAST_GROWTH * size)), most) if not self.prior.has_trend else most

    @property
    def _is_pooled(self) -> bool:
        """Whether evidences of two sets compare only by the same moments."""
        return getattr(self.provider, "is_pooled", False)

    @cached_property
    def _lines(self) -> LineCircles:
        return LineCircles(self.prior)

    def _on_first_circles(self, found: Learned) -> Learned:
        """What is learned with lines on the circles they start with, if that is better.

        Where a set cannot hold all, a long circle, maybe that of a term which hardly matters, leaves few components for
        what varies; a short one, from the start of a search, bends what is smooth.
        """
        if not (self.circles_move and self._lines and self._learns_scales(found.parameters)):
            return found
        pressed = self._lines.are_pressed(self._lines.within_circles(found.parameters))
        if not pressed and self.prior.is_below_noise(found.parameters, found.index_set):
            return found
        other = self._lines.with_first_circles(found.parameters, _ROOM)
        if np.allclose(other.period, found.parameters.period, rtol=_SAME_CIRCLE):
            return found
        trial = self.settle(other, found.index_set.n_components)
        return replace(trial, capped=found.capped) if trial.log_evidence > found.log_evidence else found

    def _compared(self, found: Learned, other: Learned) -> Learned:
        """What was found with an evidence that compares with another's: by the same moments, where these are pooled."""
        moved = not np.array_equal(found.parameters.period, other.parameters.period)
        if moved or not self._is_pooled:
            return found
        linear = self.provider(found.index_set, found.parameters)
        variances = self.prior.variances(found.parameters, found.index_set.frequencies)
        value = sum(one.log_evidence for one in evidences(linear, variances, found.parameters[NOISE]))
        return replace(found, log_evidence=value)


def with_bounds_of(wide: Parameters, found: Parameters) -> Parameters:
    """Values that were found, with bounds that circles do not narrow."""
    entries = {name: replace(wide.entry(name), value=found[name]) for name in found}
    return Parameters(entries, found.period)
