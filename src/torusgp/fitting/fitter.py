"""The schedule of a fit: from rows, a source or statistics to a fitted model."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import InputSpace, check_resources
from torusgp.engine.derivatives import Partials
from torusgp.engine.marginals import Marginals
from torusgp.engine.moments import Moments
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.advice import advise
from torusgp.fitting.derivatives import warn_of_units
from torusgp.fitting.doubts import warn_of_fit
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.learning import Learned, learn_spectrum, period_standard_errors
from torusgp.fitting.leftover import Leftover, find_leftover
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.periods import PeriodSetup, set_up_period
from torusgp.fitting.prior import NOISE, Prior, Spread, scale_name
from torusgp.fitting.problem import LEARNABLE, Problem, Settings, spread_of_rows, spread_of_statistics
from torusgp.fitting.rows import Rows, RowSource, choose_rows, transform_tolerance, warn_of_phases
from torusgp.fitting.schedule import MAX_COMPONENTS
from torusgp.fitting.selection import relearned
from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.lattices import by_length
from torusgp.kernels.resolve import Layout, Model, restricted_period

_SUBSAMPLE = 5000  # rows on which length scales are first looked for
_FINALISTS = 3  # bases of a lattice that are compared with all columns
_PERIOD_ROWS = 100_000  # rows on which a period is learned: each step of it passes over them
_UNKNOWN_ROWS = 10**9  # what a source is taken to have that does not know: the more, the more exact the transforms
# how far the statistics of a stream reach beyond the sample's set; elsewhere every column costs
_MARGIN = {"finufft": 2.0}
_CHOOSING = 10  # of so many rows one helps to choose frequencies, if more than a sample of a source helps
_POOL = 200  # frequencies, beside those of the first rows, from which rows that come later may choose
_ROOM_COLUMNS = 401  # up to here a set is cheap enough to be doubled, for length scales that are less likely
FEW_ROWS = 300  # up to here what is uncertain of the learned parameters is worth integrating over
_CLEAR_SHARE = 0.05  # of the variance of the residuals, from which a frequency in them must not be ignored
SAMPLE_ROWS = 100_000  # rows of a source on which the period and the number of components are decided


class Fitter:
    """Fits one model with one set of settings."""

    is_final = True  # whether frequencies that it chooses are those of the outcome

    def __init__(self, model: Model, settings: Settings):
        self.model, self.settings = model, settings

    @property
    def layout(self) -> Layout:
        """How rows are laid on the torus."""
        return self.model.layout

    # From rows ---------------------------------------------------------------------------------------------------

    def fit_rows(self, rows: Rows) -> Fit:
        """Fit rows in memory."""
        outcome, source = self._learn_from_rows(rows)
        statistics = source.refined(outcome.learned.index_set, outcome.learned.parameters)
        return self.finish(outcome, statistics)

    def preliminary(self, rows: Rows) -> Preliminary:
        """Decide on some rows what needs them: periods, circles of lines, the number of components."""
        return self._learn_from_rows(rows, preliminary=True)[0]

    def _learn_from_rows(self, rows: Rows, preliminary: bool = False) -> tuple[Preliminary, RowSource]:
        """Learn everything from rows in memory: the outcome, and the source of their statistics.

        If it is preliminary, a given number of components is not reached for yet: more rows are to come.
        """
        settings, model = self.settings, self.model
        self._check_size(rows.n_points, rows.y.shape[1])
        if rows.derivatives is not None:
            self._check_derivatives()
        setup = set_up_period(model, rows, settings.report)
        warn_of_phases(rows.X, model.torus, setup.periods[0])
        detrended = None
        if setup.search is not None and model.has_trend:
            # the period is learned beside the slow change that was found with it; then both are learned together
            detrended = replace(rows, y=rows.y - setup.search.trend.mean(rows.X[:, setup.axes]), plain=None)
        in_order = rows
        if 0 < len(rows) <= 2 * _SUBSAMPLE:
            rows = rows.merged()
            detrended = None if detrended is None else detrended.merged()
        problem = Problem(model, settings, spread_of_rows(rows, model, settings), rows.n_observations)
        start = problem.start(setup.periods[0])
        period_std = setup.period_std
        if detrended is not None and (setup.moves is not None or len(setup.periods) > 1):
            start, period_std = self._learn_period_alone(detrended, setup)
            start = problem.start(start.period)
            setup = replace(setup, moves=None, periods=[start.period])
        learned: Learned | None = None
        if settings.index_set == "learned" and setup.moves is None and len(setup.periods) == 1:
            return self._choose(problem, in_order, start, setup, period_std)
        start, search, first = self._scout(problem, rows, start, setup.periods)
        if setup.moves is not None:
            learned, period_std = self._learn_moving(problem, rows, start, setup.moves, search, first)
            start, search, first = learned.parameters, False, learned.index_set.n_components + 2
        if settings.index_set == "learned":
            return self._choose(problem, in_order, problem.start(start.period), setup, period_std)
        if (
            setup.moves is None
            and rows.n_points > 2 * _PERIOD_ROWS
            and not preliminary
            and problem.has_costly_passes(start, rows)
        ):
            enough_source = problem.source(rows.sample(_PERIOD_ROWS))
            learned = problem.learn(enough_source, start, search=search, first=first)
            start, search, first = learned.parameters, False, learned.index_set.n_components
        source = problem.source(rows, tolerance=transform_tolerance(problem.prior, start, rows.n_points))
        if learned is None or setup.moves is None or len(rows) > _PERIOD_ROWS:
            size = problem.scout_size() if preliminary else None
            learned = problem.learn(source, start, search=search, first=first, n_components=size)
            if not preliminary and rows.derivatives is None:
                learned = self._with_leftover(problem, in_order, source, learned)
                learned = self._with_room(problem, source, learned, rows.n_observations)
        return Preliminary(model, learned, period_std, setup.search, _extent(model, rows, learned)), source

    def _choose(
        self,
        problem: Problem,
        rows: Rows,
        start: Parameters,
        setup: PeriodSetup,
        period_std: NDArray[np.float64] | None,
    ) -> tuple[Preliminary, RowSource]:
        """Learn the set itself, with given periods; of very many rows some choose it, and all learn the rest."""
        some = rows
        if len(rows) > SAMPLE_ROWS:
            some = rows.take(np.sort(choose_rows(len(rows), max(SAMPLE_ROWS, len(rows) // _CHOOSING))))
        selection, budget, source = problem.selection(some), problem.budget(), problem.source(rows)
        learned = selection.learn(start, budget, self.is_final)
        if some is not rows:  # which show more than the others do
            n_more = min(_POOL, (budget - learned.index_set.n_components) // 2)
            pool, before = selection.pool(learned, n_more).to_index_set(), learned.parameters
            learned = relearned(
                source.covering(pool, before), problem.prior, self.settings.intercept, learned, before, budget
            )
        extent = _extent(self.model, rows, learned)
        return Preliminary(self.model, learned, period_std, setup.search, extent), source

    def _with_leftover(self, problem: Problem, rows: Rows, source: RowSource, learned: Learned) -> Learned:
        """Learn again if the residuals still show something: a small set makes long length scales look right."""
        some = rows.take(choose_rows(len(rows), min(len(rows), _SUBSAMPLE)))
        left = self._leftover(problem, some, source, learned)
        if left is None or left.share < _CLEAR_SHARE:
            return learned
        if "length_scale" in self.settings.learn and not isinstance(self.settings.index_set, IndexSet):
            self.settings.report(f"residuals show the frequency {left.frequency}: searching shorter length scales")
            selection = problem.selection(rows if len(rows) <= 2 * _SUBSAMPLE else some)
            given = problem.start(learned.parameters.period)
            # from what frequencies that are chosen one by one show, and from where this one is likely at all
            starts = selection.scales(given), problem.prior.with_scaled_lengths(given, 1 / np.abs(left.frequency).max())
            attempts = [problem.learn(source, one, search=False, first=problem.size_for(one)) for one in starts]
            again = max(attempts, key=lambda one: one.log_evidence)
            if again.log_evidence > learned.log_evidence:
                learned, left = again, self._leftover(problem, some, source, again)
        return learned if left is None or left.share <= _CLEAR_SHARE else replace(learned, left_over=left.frequency)

    def _leftover(self, problem: Problem, rows: Rows, source: RowSource, learned: Learned) -> Leftover | None:
        """What the residuals of rows still show."""
        return find_leftover(problem.row_model(rows, source, learned))

    def _with_room(self, problem: Problem, source: RowSource, learned: Learned, n_rows: float) -> Learned:
        """Learn once more on a larger set, if shorter length scales than the most likely ones will have their say."""
        size, learns = learned.index_set.n_components, "length_scale" in self.settings.learn
        if not (learns and self.settings.is_automatic and self._integrates(n_rows)) or size > _ROOM_COLUMNS:
            return learned
        wide = problem.learn(source, learned.parameters, search=False, first=2 * size, n_components=2 * size)
        return replace(learned, parameters=wide.parameters, index_set=wide.index_set, log_evidence=wide.log_evidence)

    def _learn_period_alone(self, rows: Rows, setup: PeriodSetup) -> tuple[Parameters, NDArray[np.float64] | None]:
        """Learn the period with the first term alone, on targets without slow change.

        It has fewer axes, so that transforms serve where the whole model would need products of columns.
        """
        alone, where = self.model.first_term()
        own = [restricted_period(period, where) for period in setup.periods]
        settings = self.settings
        if isinstance(settings.index_set, IndexSet):
            settings = replace(settings, index_set=from_frequencies(settings.index_set.frequencies[:, where]))
        rows = replace(rows, X=rows.X[:, where])
        problem = Problem(alone, settings, spread_of_rows(rows, alone, settings), len(rows))
        start, search, first = self._scout(problem, rows, problem.start(own[0]), own)
        std = setup.period_std
        if setup.moves is not None:
            learned, found = self._learn_moving(problem, rows, start, setup.moves.restricted(where), search, first)
            start, std = learned.parameters, _embedded(np.zeros_like(setup.periods[0]), where, found)
        return start.with_period(_embedded(setup.periods[0], where, start.period)), std

    def _scout(
        self, problem: Problem, rows: Rows, start: Parameters, periods: list[NDArray[np.float64]]
    ) -> tuple[Parameters, bool, int | None]:
        """Where learning starts, whether it still has to search, and with how many components it begins.

        Of many rows some show the best basis of a lattice, and the landscape of length scales.
        """
        many = rows.n_points > 2 * _SUBSAMPLE
        some = problem.source(rows.sample(_SUBSAMPLE), n_threads=1) if many else problem.source(rows)
        if len(periods) > 1:
            start = self._best_basis(problem, some, start, periods)
        if not many or "length_scale" not in self.settings.learn:
            return start, True, None
        self.settings.report(f"searching length scales on {_SUBSAMPLE} of {rows.n_points} rows")
        scouted = problem.learn(some, start, n_components=problem.scout_size())
        return scouted.parameters, False, scouted.index_set.n_components + 2

    def _learn_moving(
        self, problem: Problem, rows: Rows, start: Parameters, moves: PeriodMoves, search: bool, first: int | None
    ) -> tuple[Learned, NDArray[np.float64]]:
        """Learn the period with the rest, and its standard errors."""
        source = problem.source(rows.sample(_PERIOD_ROWS))
        learned = problem.learn(source, start, search=search, first=first, moves=moves)
        learned = _in_canonical_form(learned, problem.model)
        coherence = problem.prior.coherence(learned.parameters)
        std = period_standard_errors(
            source, problem.prior, learned, moves.within(coherence), together=moves.are_limited(coherence)
        )
        self.settings.report(f"period {np.array2string(learned.parameters.period, precision=5)} +- {std}")
        return learned, std

    def _best_basis(
        self, problem: Problem, source: RowSource, start: Parameters, periods: list[NDArray[np.float64]]
    ) -> Parameters:
        """Starting point in the basis of the lattice that has the most evidence with few components."""
        attempts = [problem.learn(source, start.with_period(period), n_components=problem.few()) for period in periods]
        attempts.sort(key=lambda attempt: -attempt.log_evidence)
        finalists = [  # more columns may prefer another
            problem.learn(source, attempt.parameters, search=False) for attempt in attempts[:_FINALISTS]
        ]
        best = max(finalists, key=lambda attempt: attempt.log_evidence)
        self.settings.report(f"basis {np.array2string(best.parameters.period, precision=4)} of {len(periods)}")
        return best.parameters

    def _check_derivatives(self) -> None:
        """Raise if the model learns what cannot be learned with observed derivatives."""
        model = self.model
        if np.isnan(model.period).any() or model.moving.any():
            raise ValueError(
                "A period cannot be learned with observed derivatives: find it from the targets first, with "
                "find_period or a fit without gradient, and give it."
            )
        if "spectrum" in self.settings.learn:
            raise ValueError("learn holds 'spectrum', which is not possible with gradient: leave one of them out.")
        if self.settings.index_set == "learned":
            raise ValueError("index_set='learned' is not possible with gradient: use index_set='adaptive'.")

    def _check_size(self, n_samples: int, n_outputs: int) -> None:
        """Raise if so many components as were asked for do not fit into memory."""
        settings = self.settings
        given = settings.index_set.n_components if isinstance(settings.index_set, IndexSet) else settings.n_components
        if given != "auto":
            dimension = self.model.torus.dimension
            name = settings.compute.choose(np.zeros((int(given) // 2 + 1, dimension), int), n_samples)
            check_resources(
                int(given),
                n_samples,
                name,
                settings.compute.device,
                n_outputs=n_outputs,
                dimension=dimension,
                n_evaluations=100 if settings.learn & set(LEARNABLE[:3]) else 1,
            )

    # From statistics ---------------------------------------------------------------------------------------------

    def first_statistics(self, rows: Rows) -> tuple[Preliminary, SufficientStatistics]:
        """Statistics of the first rows of several, on frequencies from which later fits choose."""
        setup = set_up_period(self.model, rows, self.settings.report)
        warn_of_phases(rows.X, self.model.torus, setup.periods[0])
        if rows.derivatives is not None:
            self._check_derivatives()
        spread = spread_of_rows(rows, self.model, self.settings)
        problem = Problem(self.model, self.settings, spread, rows.n_observations)
        source, start = problem.source(rows, margin=2.0), problem.start(setup.periods[0])
        if self.settings.index_set == "learned":
            selection = problem.selection(rows)
            learned = selection.learn(start, problem.budget())
            wanted = selection.pool(learned, len(learned.index_set.frequencies) + _POOL).to_index_set()
        else:
            learned = problem.learn(source, start)
            wanted = learned.index_set
        outcome = Preliminary(self.model, learned, setup.period_std, setup.search, _extent(self.model, rows, learned))
        return outcome, source.covering(wanted, learned.parameters)

    def empty_statistics(self, outcome: Preliminary, n_rows: int | None, n_outputs: int) -> SufficientStatistics:
        """Statistics of no rows, on the frequencies that learning from all rows may want."""
        settings, parameters = self.settings, outcome.learned.parameters
        n_rows = n_rows or _UNKNOWN_ROWS
        problem = Problem(self.model, settings, Spread(np.ones(n_outputs), np.ones(n_outputs)), n_rows)
        size = outcome.learned.index_set.n_components if settings.n_components == "auto" else int(settings.n_components)
        index_set = outcome.learned.index_set
        if settings.index_set != "learned":
            index_set = problem.select(parameters, size)
        sharing = self.model.torus.sharing(parameters.period)
        space = InputSpace(sharing, parameters.period)
        name = settings.compute.choose(index_set.frequencies, n_rows, space, outcome.extent)
        compute = replace(settings.compute, backend=name)
        margin = _MARGIN.get(compute.backend, 1.25)
        pool = RowSource(None, problem.prior, settings.compute, settings.intercept, settings.index_set, margin)
        return SufficientStatistics(
            pool.surroundings(index_set, parameters, n_rows),
            parameters.period,
            n_outputs=n_outputs,
            n_plain=len(self.model.columns),
            tolerance=transform_tolerance(problem.prior, parameters, n_rows),
            marginals=Marginals.of(self.model.torus),
            sharing=sharing,
            partials=Partials.of(self.model.torus, self.layout.plain),
            **asdict(compute),
        )

    def fit_statistics(self, outcome: Preliminary, statistics: SufficientStatistics, search: bool = True) -> Fit:
        """Learn again what does not need the rows, from the statistics of all of them."""
        settings = self.settings
        spread = spread_of_statistics(statistics, self.model, settings)
        of_gradient = 0.0 if statistics.derivatives is None else statistics.derivatives.n_samples.sum()
        if of_gradient:
            self._check_derivatives()
        problem = Problem(self.model, settings, spread, statistics.n_samples + of_gradient)
        start = settings.start(problem.prior, np.atleast_1d(np.asarray(statistics.period, dtype=float)), spread)
        before = outcome.learned.parameters
        for name in before:  # where it was, within the bounds that all rows suggest
            kept = not search or not name.endswith("variance")
            if kept or not start.entry(name).learned.any():
                start = start.with_value(name, before[name])
        start = start.with_period(before.period)
        if settings.index_set == "learned":
            start = before if not search else start
            most = MAX_COMPONENTS if settings.n_components == "auto" else int(settings.n_components)
            learned = relearned(statistics, problem.prior, settings.intercept, outcome.learned, start, most)
            return self.finish(replace(outcome, learned=learned), statistics)
        learned = problem.learn(
            lambda index_set, parameters: statistics.linear(index_set, settings.intercept)[0],
            start,
            search=search,
            select=lambda parameters, size: problem.select_from(statistics, parameters, size),
            first=None if search else outcome.learned.index_set.n_components,
            circles_move=False,
        )
        return self.finish(replace(outcome, learned=learned), statistics)

    # The end -----------------------------------------------------------------------------------------------------

    def finish(
        self,
        outcome: Preliminary,
        statistics: SufficientStatistics,
        moments: Moments | None = None,
        redundancy: float = 1.0,
    ) -> Fit:
        """Compute the posterior for what was learned, and say what may be wrong with it.

        With correlated noise it follows from the likelihood of the moments, the noise is not learned here, and so many
        rows count as one.
        """
        settings, learned = self.settings, outcome.learned
        spread = spread_of_statistics(statistics, self.model, settings)
        prior = Prior.of(self.model, settings.intercept, spread)
        parameters, spectrum = learned.parameters, None
        n_rows = statistics.n_samples
        slopes = statistics.derivatives is not None and bool(statistics.derivatives.n_samples.any())
        takes_long = moments is not None and learned.index_set.n_components > _ROOM_COLUMNS
        integrates = self._integrates(n_rows / redundancy, slopes or takes_long)
        centre = self._centre(prior, parameters, spread) if integrates else None
        fitted = FittedTorusGP(
            prior,
            parameters,
            learned.index_set,
            statistics,
            settings.intercept,
            None,
            settings.compute,
            moments,
            centre=centre,
            rest_share=0.0 if moments is not None else self._rest_share(learned),
        )
        if not spread.is_known and settings.learn & set(LEARNABLE[:3]):
            signal = fitted.prior.signal_variances(parameters).sum(axis=0)[0]
            advise(
                "A single row tells nothing of variances and length scales: they are kept as given. Standard "
                f"deviations rest on noise_variance={settings.noise_variance!r} and a signal variance of "
                f"{signal:.6g}, which is given as in 2.0 * Circle(...)."
            )
        if "spectrum" in settings.learn and spread.is_known:
            spectrum, noise, _ = learn_spectrum(
                fitted.linear,
                fitted.prior_variances,
                parameters[NOISE],
                len(learned.index_set.frequencies),
                moments is None and "noise_variance" in settings.learn,
                settings.report,
            )
            fitted = replace(fitted, parameters=parameters.with_value(NOISE, noise), spectrum=spectrum)
        warn_of_fit(fitted, learned, settings)
        warn_of_units(fitted, spread)
        return Fit(
            self.model,
            fitted,
            learned,
            outcome.period_std,
            outcome.search,
            redundancy=redundancy,
        )

    def _integrates(self, n_rows: float, only_asked: bool = False) -> bool:
        """Whether predictions integrate over what is uncertain of the learned parameters.

        By default not with derivatives, which tell much of them, nor if the data chose the variances of all frequencies
        or the frequencies themselves, nor where many rows with correlated noise count as few: with many components it
        takes long.
        """
        settings = self.settings
        if settings.integrate == "auto":
            possible = "spectrum" not in settings.learn and settings.index_set != "learned" and not only_asked
            return possible and 1 < n_rows <= FEW_ROWS
        return bool(settings.integrate)

    def _rest_share(self, learned: Learned) -> float:
        """Share of the prior variance outside the set that the function may have: all, where the set is too small."""
        too_small = self.model.has_trend or (learned.capped and self.settings.is_automatic)
        return 1.0 if too_small and self.settings.index_set == "adaptive" else learned.rest_share

    def _centre(self, prior: Prior, parameters: Parameters, spread: Spread) -> NDArray[np.float64]:
        """Where learning starts, in logarithms: around it the learned parameters are expected."""
        start = self.settings.start(prior, parameters.period, spread)
        for name in parameters:
            value = start[name] if len(start[name]) == len(parameters[name]) else np.exp(np.log(start[name]).mean())
            parameters = parameters.with_value(name, np.broadcast_to(value, parameters[name].shape))
        return parameters.to_vector()


def _extent(model: Model, rows: Rows, learned: Learned) -> NDArray[np.float64] | None:
    """Extents of the inputs behind the axes."""
    period = learned.parameters.period
    return InputSpace(model.torus.sharing(period), period).extent(rows.X)


def _embedded(whole: NDArray[np.float64], where: NDArray[np.int64], part: Any) -> NDArray[np.float64]:
    result = whole.copy()
    result[np.ix_(where, where) if result.ndim == 2 else where] = part
    return result


def _in_canonical_form(learned: Learned, model: Model) -> Learned:
    """The same model with the vectors of a learned lattice right-handed and shortest first."""
    here = learned.parameters
    if np.ndim(here.period) < 2 or len(model.terms) > 1 or len(model.terms[0].factors) > 1:
        return learned
    change = np.rint(by_length(here.period) @ np.linalg.inv(here.period)).astype(np.int64)  # signs and order
    order = np.abs(change).argmax(axis=1)
    name = scale_name(model.terms[0])
    scales = here[name]
    here = here.with_value(name, scales[order] if len(scales) > 1 else scales)
    return replace(
        learned,
        parameters=here.with_period(change @ here.period),
        index_set=from_frequencies(learned.index_set.frequencies @ change.T),
    )
