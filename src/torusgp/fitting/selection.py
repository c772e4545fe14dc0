"""Index sets learned from the data: frequencies join that would add the most evidence, and leave if they do not pay.

The evidence of a set that was chosen by it is optimistic, by about the logarithm of the number of candidates for each
frequency. So some rows take no part in choosing, and their predictive density decides where to stop, how much a
frequency has to pay, and how large the noise is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from torusgp.engine.inference import evidences
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.gains import Model, RowGains, RowModel, SumGains, paying
from torusgp.fitting.learning import Learned, Round, maximise
from torusgp.fitting.leftover import shown_share
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.rows import Rows, RowSource
from torusgp.fitting.schedule import Schedule, first_columns, limited_blas, with_bounds_of
from torusgp.kernels.candidates import Candidates, Patterns
from torusgp.kernels.index_sets import IndexSet

_FIRST = 30  # frequencies of the first round
_STARTS = (1.0, 0.3, 0.1, 0.03)  # factors of the given length scales from which it starts
_GROWTH = 1.7  # of the number of frequencies, from round to round
_STEPS, _FEW_STEPS = 25, 12  # of learning in a round, with few and with many components
_MANY_COLUMNS = 900
_BLOCKS, _EVERY = 50, 5  # rows, in their order, are so many blocks, of which every fifth takes no part in choosing
FEWEST_ROWS = 50  # with fewer rows too few can be spared to tell anything
_SCOUTED_ROWS = 5000  # that tell length scales of the prior's own set
_MOST_CHECKED = 4000  # rows that take no part and are predicted
_PATIENCE = 2  # rounds without a better density that end the growth
_REACH = 4  # times as many frequencies as a round has: if all that the prior thinks likely is among so few, take it
_COMPLETIONS = 4  # rounds of taking what the prior thinks likely: with more of it length scales may be shorter
_RELEARNING = 4  # rounds of choosing among the frequencies that sums cover
_NOISE_FACTORS = (0.3, 30.0)  # of the noise that was learned


@dataclass(frozen=True)
class _ChosenModel(RowModel):
    """A model of rows, with a set that patterns make up."""

    patterns: Patterns


@dataclass(frozen=True)
class _Score:
    """Size and evidence of a model, and log predictive densities of the rows that took no part."""

    n_components: int
    log_evidence: float
    densities: NDArray[np.float64]

    @property
    def round(self) -> Round:
        mean = float(self.densities.mean()) if len(self.densities) else np.nan
        return Round(self.n_components, self.log_evidence, mean)

    @property
    def value(self) -> float:
        """What is to be as large as possible."""
        return float(self.densities.mean()) if len(self.densities) else self.log_evidence


@dataclass(frozen=True)
class _State:
    """A model of the rows that took part, and how well it predicts the others."""

    model: _ChosenModel
    score: _Score
    noise_factors: NDArray[np.float64]
    n_candidates: int = 0


def spared(n_rows: int) -> NDArray[np.bool_]:
    """Which rows take no part in choosing: blocks of consecutive ones.

    Rows of a series resemble those before and after them, so that single rows would tell nothing new.
    """
    blocks = np.arange(n_rows) * _BLOCKS // max(n_rows, 1)
    return (blocks % _EVERY == _EVERY // 2) & (n_rows >= FEWEST_ROWS)


def split(rows: Rows) -> tuple[Rows, Rows]:
    """Rows that take part in choosing, and rows that do not, in random order."""
    order, others = np.random.default_rng(0), spared(len(rows))
    return rows.take(order.permutation(np.flatnonzero(~others))), rows.take(order.permutation(np.flatnonzero(others)))


class Selection:
    """Rounds of choosing, learning and dropping.

    Parameters
    ----------
    rows : Rows
        The rows.
    make_source : callable
        Source of the statistics of rows.
    prior : Prior
        The model.
    center : bool
        Whether the mean of the targets is subtracted.
    report : callable
        Takes a line of progress.
    """

    def __init__(
        self,
        rows: Rows,
        make_source: Callable[[Rows], RowSource],
        prior: Prior,
        center: bool,
        report: Callable[[str], None],
    ):
        self._all, (self._rows, self._others) = rows, split(rows)
        self._others = self._others.take(slice(0, _MOST_CHECKED))
        self._source, self._prior, self._center = make_source(self._rows), prior, center
        self._make_source, self._row_gains = make_source, RowGains(make_source)
        self._report = report

    def learn(self, start: Parameters, n_components: int, is_final: bool = True) -> Learned:
        """Choose at most so many components, and learn the parameters that go with them.

        The noise variance makes the rows that took no part most probable. Only if it is final, what was chosen is
        compared with the prior's own frequencies.
        """
        if not len(self._others):
            return self._unchecked(start, n_components)
        most, since = (n_components - 1) // 2, 0
        size = min(_FIRST, most)
        state = best = self._first(start, size)
        scores = [state.score]
        if not most:
            return self._finished(state, scores, capped=False)
        while since < _PATIENCE and size < most:
            whole, is_whole = self._completed(state, min(most, _REACH * size), in_part=False)
            if is_whole and _advantage(whole.score, state.score) > -1:
                own, is_whole = self._looked_beyond(whole, most)
                if is_whole:
                    return self._learn_from_all_rows(own, scores)
                if own.score.value > best.score.value:
                    state = best = own
            size = min(int(_GROWTH * size), most)
            grown = self._grown(state, size)
            if grown is None:
                break
            state = grown
            scores.append(state.score)
            self._tell(state)
            since = 0 if state.score.value > best.score.value else since + 1
            best = best if since else state
        capped = since == 0 and size == most
        filled, is_whole = self._completed(best, most)
        better = _advantage(filled.score, best.score) > (-1 if is_whole else 0)
        chosen = filled if better else self._thinned(best)
        if is_final:
            chosen = self._compare_with_prior(chosen, scores, start, most)
        return self._finished(chosen, scores, capped)

    def _looked_beyond(self, whole: _State, most: int) -> tuple[_State, bool]:
        """All that the prior thinks likely, once shorter length scales on a larger set have been tried too.

        Also returns whether that is still within reach.
        """
        schedule = Schedule(self._source, self._prior.select, self._prior, self._report)
        size = whole.model.index_set.n_components
        found = schedule.learn(whole.model.parameters, "auto", search=False, first=size, cap=2 * most + 1)
        own = self._learned(Patterns.of(found.index_set.frequencies, self._prior.torus), found.parameters)
        return own, self._prior.is_below_noise(own.model.parameters, own.model.index_set)

    def _learn_from_all_rows(self, own: _State, before: list[_Score]) -> Learned:
        """Learn from all rows where nothing was selected: evidence is not optimistic then."""
        schedule = Schedule(self._make_source(self._all), self._prior.select, self._prior, self._report)
        found = schedule.settle(own.model.parameters, own.model.index_set.n_components)
        return replace(
            found,
            index_set=IndexSet(found.index_set.frequencies, None, "learned"),
            rounds=tuple(one.round for one in (*before, own.score)),
            noise_factor=np.ones(len(found.parameters[NOISE])),
        )

    def _unchecked(self, start: Parameters, n_components: int) -> Learned:
        """The prior's own frequencies, where no rows can tell whether others are chosen by chance."""
        schedule = Schedule(self._source, self._prior.select, self._prior, self._report)
        found = schedule.learn(start, "auto", cap=n_components)
        only = Round(found.index_set.n_components, found.log_evidence, np.nan)
        return replace(found, rounds=(only,), noise_factor=np.ones(len(found.parameters[NOISE])))

    def _compare_with_prior(self, chosen: _State, scores: list[_Score], start: Parameters, most: int) -> _State:
        """A state, or one with the frequencies of the prior, if that predicts better.

        A function of very many frequencies, none of which shows itself in few rows, has only the prior to say which
        they are. A small set tells whether it is such a function.
        """
        size = min(first_columns(self._prior.torus.dimension), 2 * most + 1)
        some = self._make_source(self._rows.take(slice(0, _SCOUTED_ROWS)))
        found = Schedule(some, self._prior.select, self._prior, self._report).learn(start, size)
        own = self._learned(Patterns.of(found.index_set.frequencies, self._prior.torus), found.parameters)
        as_large = [one for one in scores if one.n_components >= own.score.n_components] or scores[-1:]
        if _advantage(own.score, as_large[0]) <= 0:
            return chosen
        filled, _ = self._completed(own, most)
        return max(chosen, own, filled, key=lambda one: one.score.value)

    def pool(self, learned: Learned, n_more: int) -> Patterns:
        """Patterns of a set and the best candidates beside it, up to so many more frequencies."""
        patterns = Patterns.of(learned.index_set.frequencies, self._prior.torus)
        if n_more <= 0:
            return patterns
        model = self._model(patterns, learned.parameters)
        candidates = self._candidates(model)
        return patterns + candidates.best(self._gains(candidates, model, n_more), n_more, -np.inf)

    def scales(self, start: Parameters) -> Parameters:
        """Length scales of the first round: they let the prior have what the data show most clearly."""
        return self._first(start, _FIRST).model.parameters

    def _tell(self, state: _State) -> None:
        one = state.score.round
        self._report(
            f"{one.n_components} components, log evidence {one.log_evidence:.6g}, mean log density of the other "
            f"rows {one.log_density:.4g}"
        )

    def _first(self, start: Parameters, size: int) -> _State:
        """The first round from the best of several length scales: what a prior rules out is never seen.

        Lines stay on the circles that fit these. On a longer one the chosen frequencies are not there, and many more of
        the low ones look alike.
        """
        nothing = Patterns.none(self._prior.torus)
        starts = [self._prior.with_scaled_lengths(start, factor) for factor in _STARTS]
        states = [self._learned(nothing, LineCircles(self._prior).with_circles(one)) for one in starts]
        return max((self._grown(state, size) or state for state in states), key=lambda one: one.score.value)

    def _grown(self, state: _State, size: int) -> _State | None:
        """The state with the best candidates in place of what does not pay; None if no candidate does."""
        model = self._dropped(state.model, 0.0)
        candidates = self._candidates(model)
        wanted = size - model.patterns.n_frequencies
        if wanted <= 0 or not len(candidates):
            return None
        chosen = candidates.best(self._gains(candidates, model, wanted), wanted)
        if not len(chosen):
            return None
        return self._learned(model.patterns + chosen, model.parameters, len(candidates))

    def _candidates(self, model: _ChosenModel) -> Patterns:
        candidates = Candidates.of(self._prior.torus, model.parameters.period, len(self._rows))
        power = np.sum([one.weights**2 for one in model.results], axis=0)
        strengths = np.array([power[columns].sum() for columns in model.patterns.columns()])
        return candidates.beside(
            model.patterns, lambda one: model.variances(one)[1 : 2 * len(one) - 1 : 2].max(axis=1), strengths
        )

    def _gains(self, candidates: Patterns, model: _ChosenModel, wanted: int) -> NDArray[np.float64]:
        both = (candidates + model.patterns).to_index_set()
        if self._source.transforms(both, model.parameters):
            return SumGains(self._source.covering(both, model.parameters))(candidates, model, wanted)
        return self._row_gains(candidates, model, wanted)

    def _dropped(self, model: _ChosenModel, price: float) -> _ChosenModel:
        """The model without what does not pay."""
        kept = paying(model.results, model.patterns.columns(), price)
        return model if kept.all() else self._model(model.patterns.take(kept), model.parameters)

    def _model(self, patterns: Patterns, parameters: Parameters) -> _ChosenModel:
        index_set = patterns.to_index_set()
        results = self._source.posterior(index_set, parameters)
        return _ChosenModel(self._prior, self._center, index_set, parameters, results, self._rows, patterns)

    def _learned(self, patterns: Patterns, parameters: Parameters, n_candidates: int = 0) -> _State:
        index_set = patterns.to_index_set()
        steps = _STEPS if index_set.n_components < _MANY_COLUMNS else _FEW_STEPS
        bounded = LineCircles(self._prior).within_circles(parameters)
        with limited_blas(index_set.n_components):
            found = maximise(self._source, self._prior, index_set, bounded, None, steps, floor=False)
            model = self._model(patterns, with_bounds_of(parameters, found.parameters))
        return self._checked(model, found.log_evidence, n_candidates)

    def _checked(self, model: _ChosenModel, log_evidence: float, n_candidates: int) -> _State:
        """Log predictive densities of the rows that took no part, with the noise that makes them largest."""
        rows, noise = self._others, model.parameters[NOISE]
        factors, densities = np.ones(len(noise)), np.zeros(len(rows))
        if not len(rows):
            return _State(model, _Score(model.index_set.n_components, log_evidence, densities), factors, n_candidates)
        weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
        scale = 1.0 if rows.noise_scale is None else rows.noise_scale**2
        squares, basis = model.residuals(rows) ** 2, model.columns(rows)
        for q, result in enumerate(model.results):
            variance = (result.factor.solve((basis * result.root).T) ** 2).sum(axis=0)

            def density(log_factor: float, q: int = q, variance: NDArray[np.float64] = variance) -> Any:
                total = variance + np.exp(log_factor) * noise[q] * scale
                return -0.5 * (np.log(2 * np.pi * total) + squares[:, q] / total)

            found = minimize_scalar(
                lambda log_factor, density=density: -float(weight @ density(log_factor)),
                bounds=np.log(_NOISE_FACTORS),
                method="bounded",
            )
            factors[q] = np.exp(found.x)
            densities += weight * density(found.x)
        return _State(model, _Score(model.index_set.n_components, log_evidence, densities), factors, n_candidates)

    def _completed(self, state: _State, most: int, in_part: bool = True) -> tuple[_State, bool]:
        """The state with what the prior thinks likely, up to so many frequencies, and whether that is all of it.

        A frequency that does not show itself is not zero: it is as likely as before, but for what the data say of it.
        Without it the function would seem to be known better than it is. Nothing is learned anew if only all of it
        counts and so many are too few.
        """
        for _ in range(_COMPLETIONS):
            model = state.model
            if self._prior.is_below_noise(model.parameters, model.index_set):
                return state, True
            likely = self._likely(model, most)
            is_all = in_part or self._prior.is_below_noise(model.parameters, likely.to_index_set())
            if len(likely) == len(model.patterns) or not is_all:
                break
            state = self._learned(likely, model.parameters, state.n_candidates)
        return state, False

    def _likely(self, model: _ChosenModel, most: int) -> Patterns:
        """Patterns of a model and as many of the prior's as leave out little, at most so many frequencies."""
        size, own = max(2 * _FIRST, model.index_set.n_components), model.patterns
        while True:
            likely = Patterns.of(self._prior.select(model.parameters, size).frequencies, self._prior.torus).without(own)
            variances = model.variances(likely.frequencies())[1 : 2 * likely.n_frequencies + 1 : 2].sum(axis=1)
            firsts = np.cumsum(likely.sizes) - likely.sizes
            both = own + likely.best(variances[firsts], most - own.n_frequencies)
            if size > 2 * most or self._prior.is_below_noise(model.parameters, both.to_index_set()):
                return both
            size *= 2

    def _thinned(self, state: _State) -> _State:
        """The state without what does not pay the price of having been chosen among many.

        Among m candidates without effect the best adds about log m to the evidence, so that is the price. Where many
        frequencies have weak effects it is too high. So of two sets the smaller one is kept unless it predicts the rows
        that took no part worse by more than a standard error.
        """
        price = np.log(max(state.n_candidates, 2))
        while len(state.score.densities):
            dropped = self._dropped(state.model, price)
            if dropped is state.model:
                break
            thinned = self._learned(dropped.patterns, dropped.parameters, state.n_candidates)
            if _advantage(thinned.score, state.score) < -1:
                break
            state = thinned
        return state

    def _finished(self, state: _State, before: list[_Score], capped: bool) -> Learned:
        """What was learned; choosing by evidence makes the noise too small, never too large."""
        model, factor = state.model, np.maximum(1.0, state.noise_factors)
        rounds = tuple(one.round for one in (*before, state.score))
        parameters = model.parameters.with_value(NOISE, model.parameters[NOISE] * factor)
        return Learned(
            parameters,
            model.index_set,
            state.score.log_evidence,
            capped=capped,
            rounds=rounds,
            noise_factor=factor,
            rest_share=shown_share(model, self._candidates(model)),
        )


def relearned(
    statistics: SufficientStatistics, prior: Prior, center: bool, before: Learned, start: Parameters, most: int
) -> Learned:
    """Choose anew among the frequencies that sums cover, and learn from these: for rows that are no longer at hand.

    A frequency has to pay the price of having been chosen among many, since no rows can be spared.
    """

    def source(index_set: IndexSet, parameters: Parameters) -> Any:
        return statistics.linear(index_set, center)[0]

    patterns, parameters = Patterns.of(before.index_set.frequencies, prior.torus), start
    covered = Patterns.of(statistics.covered(), prior.torus)
    covered = covered.take(covered.contained_in(statistics.covered()))
    price = np.log(max(2, len(covered)))
    for _ in range(_RELEARNING):
        index_set = patterns.to_index_set()
        found = maximise(
            source, prior, index_set, LineCircles(prior).within_circles(parameters), None, _STEPS, floor=False
        )
        parameters = with_bounds_of(parameters, found.parameters)
        variances = prior.variances(parameters, index_set.frequencies)
        results = evidences(source(index_set, parameters), variances, parameters[NOISE])
        model = Model(prior, center, index_set, parameters, results)
        rest = covered.without(patterns)
        wanted = (most - 1) // 2 - patterns.n_frequencies
        if wanted <= 0 or not len(rest):
            break
        more = rest.best(SumGains(statistics)(rest, model, wanted), wanted, price)
        if not len(more):
            break
        patterns = patterns + more
    factor = np.ones(len(parameters[NOISE])) if before.noise_factor is None else before.noise_factor
    parameters = parameters.with_value(NOISE, parameters[NOISE] * factor)
    return replace(before, parameters=parameters, index_set=index_set, log_evidence=found.log_evidence)


def _advantage(one: _Score, other: _Score) -> float:
    """By how many standard errors one model predicts the rows that took no part better than another."""
    differences = one.densities - other.densities
    if not differences.any():
        return 0.0
    return float(differences.mean() / (differences.std() / np.sqrt(len(differences)) + np.finfo(float).tiny))
