"""The schedule of a fit with a likelihood: working statistics first, then the exact gradient of Laplace's evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from torusgp.engine.dual import prefers_row_space
from torusgp.engine.marginals import Marginals
from torusgp.engine.working import WorkingStatistics
from torusgp.fitting.advice import advise
from torusgp.fitting.doubts import warn_of_fit
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.laplace import COARSE, FINE, Gradient, Laplace, Mode, WorkingSums, as_normal_rows
from torusgp.fitting.latent import Latent, LatentTorusGP, scaled
from torusgp.fitting.learning import Learned, maximise
from torusgp.fitting.likelihoods import Likelihood
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.outcome import Fit
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Spread
from torusgp.fitting.problem import Problem
from torusgp.fitting.row_passes import RowPasses
from torusgp.fitting.rows import Rows, RowSource, transform_tolerance, warn_of_phases
from torusgp.fitting.schedule import first_columns, limited_blas
from torusgp.fitting.selection import FEWEST_ROWS
from torusgp.kernels.index_sets import IndexSet

Array = NDArray[np.float64]

_SOME_ROWS = 10_000  # among which there have to be as many different ones as learning a set takes
_CHOOSING_ROWS = 40_000  # on which an index set is learned, at most
SCOUT_ROWS = 10_000  # rows on which length scales and the number of components are first looked for
_WORKING_ROUNDS = 4
_EXACT_ROUNDS = 15
_WORTHWHILE = 0.5  # change of the log evidence that justifies another round on working statistics
SETTLED = 1e-6  # gain in log evidence that the gradient promises and that is worth no more passes
_TOLD = 0.05  # the same that is worth a warning
_NEAR = 1e-7  # what is left of the log posterior below a mode whose evidence is compared
_SLACK = 5e-4  # error of the evidence there, which is of the size of the root of that
_REACH = 1.0  # of the logarithms of what is learned, in one round
_OWN_REACH = 1.5  # the same of the likelihood's own parameters
_SHARES = (1.0, 0.5, 0.25, 0.1, 0.03)  # of a step, until the evidence rises


@dataclass(frozen=True)
class Progress:
    """Where a fit stands: enough to go on from."""

    parameters: Parameters
    index_set: IndexSet
    likelihood: Likelihood
    latent: Latent


def progress_of(fit: Fit) -> Progress | None:
    """Where a fit has ended; None if it was one of normal noise."""
    fitted = fit.fitted
    if not isinstance(fitted, LatentTorusGP):
        return None
    weights = fitted.posterior.weights[:, 0]
    latent = Latent(
        float(fitted.offset[0]),
        fitted.index_set.frequencies,
        fitted.parameters.period,
        weights,
        fitted.statistics.plain_units(),
        fitted.compute,
        fitted.prior.torus.sharing(fitted.parameters.period),
    )
    return Progress(fitted.parameters, fitted.index_set, fitted.likelihood, latent)


class LatentFitter(Fitter):
    """Fits one model with one likelihood, from rows that are read several times.

    Parameters
    ----------
    model : Model
        The model.
    settings : Settings
        What the user asks for.
    likelihood : Likelihood
        Of the rows.
    cap : int, optional
        Most columns.
    settled : float, optional
        Gain in log evidence that is worth no more passes.
    """

    def __init__(
        self, model: Any, settings: Any, likelihood: Likelihood, cap: int | None = None, settled: float = SETTLED
    ):
        super().__init__(model, settings)
        self.likelihood, self._cap, self._settled = likelihood, cap, settled
        if model.moving.any() or np.isnan(model.period).any():
            raise ValueError(
                f"likelihood={likelihood.name!r} needs given periods: find them with find_period, or learn them with "
                "likelihood='normal', and give them."
            )
        if "spectrum" in settings.learn:
            raise ValueError(f"learn='spectrum' is for likelihood='normal', not for {likelihood.name!r}.")

    def fit_rows(self, rows: Rows, start: Progress | None = None) -> Fit:
        """Fit rows in memory, from where a fit of similar ones has ended."""
        if self._learns_set(rows):
            return self._with_learned_set(rows, start, lambda fitter, progress: fitter.fit_rows(rows, progress))
        if len(rows) <= 2 * SCOUT_ROWS:
            rows = rows.merged()
        return self.fit_passes(RowPasses(rows), rows, complete=True, start=start)

    def fit_passes(
        self,
        passes: RowPasses,
        sample: Rows,
        complete: bool = False,
        start: Progress | None = None,
        note: Callable[[Progress], None] | None = None,
    ) -> Fit:
        """Fit rows that are read again and again.

        Parameters
        ----------
        passes : RowPasses
            All rows.
        sample : Rows
            All or some of them, in memory.
        complete : bool
            Whether these are all.
        start : Progress, optional
            Where an earlier fit was interrupted.
        note : callable, optional
            Takes the progress after every pass.
        """
        if self._learns_set(sample):
            return self._with_learned_set(
                sample, start, lambda fitter, progress: fitter.fit_passes(passes, sample, complete, progress, note)
            )
        self._check_size(passes.n_rows or len(sample), 1)
        warn_of_phases(sample.X, self.model.torus, self.model.period)
        problem, offset, units, likelihood = self._set_up(sample, passes.n_rows)
        own = self.likelihood.learned

        def learner(passes: RowPasses, n_rows: int, note: Any = None) -> _Learner:
            laplace = Laplace(passes, problem.prior, self.settings.compute, offset, units, own)
            return _Learner(laplace, problem, n_rows, note, self._settled)

        n_rows = passes.n_rows or len(sample)
        many = not complete or len(sample) > 2 * SCOUT_ROWS
        progress, parameters, first = start, problem.start(self.model.period), None
        if start is None and many and len(sample) > SCOUT_ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(len(sample), SCOUT_ROWS, replace=False))
            sample = sample.take(chosen)
        if start is None and many:
            self.settings.report(f"searching on {len(sample)} rows")
            scout = learner(RowPasses(sample), len(sample))
            found = scout.learn(parameters, likelihood, scout.laplace.constant(), True, None)
            progress = Progress(found.parameters, found.index_set, found.likelihood, scout.next(found))
        main = learner(passes, n_rows, note)
        if progress is None:
            mode = main.learn(parameters, likelihood, main.laplace.constant(), True, None)
        else:
            first = progress.index_set.n_components
            rounds = _WORKING_ROUNDS if start is None else 1
            mode = main.learn(progress.parameters, progress.likelihood, progress.latent, False, first, rounds)
        mode, converged = main.polish(mode)
        fitted = main.laplace.fitted(mode)
        self.settings.report(f"{passes.count} passes over the rows, log evidence {mode.log_evidence:.6g}")
        learned = Learned(mode.parameters, mode.index_set, mode.log_evidence, converged and mode.converged, main.capped)
        if not mode.converged:
            advise(
                f"Newton's method has not reached the mode of likelihood={likelihood.name!r}: are some targets far "
                "beyond all others? Scale them, or leave those rows out.",
                ConvergenceWarning,
            )
        warn_of_fit(fitted, learned, self.settings)
        return Fit(self.model, fitted, learned)

    def _learns_set(self, rows: Rows) -> bool:
        """Whether a set is to be learned, of rows that are enough to spare some; else it is the prior's."""
        return self.settings.index_set == "learned" and len(rows.take(slice(0, _SOME_ROWS)).merged()) >= FEWEST_ROWS

    def _with_learned_set(
        self, sample: Rows, start: Progress | None, fit: Callable[[LatentFitter, Progress], Fit]
    ) -> Fit:
        """Choose the set on rows in memory, as for normal noise, and fit on it.

        Targets and weights are those of Newton's method at a mode on few components.
        """
        rounds: tuple[Any, ...] = ()
        if start is None:
            some = sample.sample(_CHOOSING_ROWS)
            few = replace(self.settings, most_components=first_columns(self.model.torus.dimension))
            problem, offset, units, likelihood = LatentFitter(self.model, few, self.likelihood)._set_up(some, len(some))
            laplace = Laplace(RowPasses(some), problem.prior, few.compute, offset, units, self.likelihood.learned)
            scout = _Learner(laplace, problem, len(some))
            parameters = problem.start(self.model.period)
            mode = scout.learn(parameters, likelihood, laplace.constant(), True, None)
            problem = self._set_up(some, len(some))[0]
            unit = float(parameters[NOISE][0])
            rows = as_normal_rows(some, mode.likelihood, mode.latent, unit)
            chosen = problem.selection(rows).learn(problem.start(self.model.period), problem.budget())
            parameters, rounds = chosen.parameters.with_value(NOISE, parameters[NOISE]), chosen.rounds
            index_set = IndexSet(chosen.index_set.frequencies, None, "learned")
            start = Progress(parameters, index_set, mode.likelihood, mode.latent)
        settings = replace(self.settings, index_set=start.index_set)
        fitter = LatentFitter(self.model, settings, self.likelihood, self._cap, self._settled)
        found = fit(fitter, start)
        return replace(found, learned=replace(found.learned, rounds=rounds))

    def _set_up(self, sample: Rows, n_rows: int | None) -> tuple[Problem, float, Any, Likelihood]:
        """Constant, spreads and starting values from rows in memory."""
        y = sample.y[:, 0]
        weight = np.ones(len(sample)) if sample.sample_weight is None else sample.sample_weight
        scale = 1.0 if sample.noise_scale is None else sample.noise_scale
        center, variance = self.likelihood.center(y, weight, scale)
        offset = center if self.settings.intercept else 0.0
        likelihood = self.likelihood.starting(y, weight, scale)
        typical = np.average(likelihood.safe_weights(y, np.full(len(y), center), scale), weights=weight)
        units = (np.zeros(0), np.ones(0))
        if sample.plain is not None:
            mean = np.average(sample.plain, axis=0, weights=weight)
            spread = np.sqrt(np.average((sample.plain - mean) ** 2, axis=0, weights=weight))
            units = mean, np.where(spread > 0, spread, 1.0)
        settings = replace(
            self.settings, learn=self.settings.learn - {"noise_variance"}, noise_variance=np.array([1 / typical])
        )
        prior_spread = Spread(np.array([variance]), np.array([variance]))
        problem = Problem(self.model, settings, prior_spread, n_rows or 10**9)
        if self._cap is not None:
            problem.cap = min(problem.cap, self._cap)
        return problem, offset, units, likelihood


class _Provider:
    """Linear statistics of any set at one function: gathered anew where those at hand do not cover it."""

    def __init__(self, learner: _Learner, likelihood: Likelihood, latent: Latent, sums: WorkingSums | None, safe: bool):
        self._learner, self.likelihood, self.latent = learner, likelihood, latent
        self.sums, self.safe = sums, safe

    def __call__(self, index_set: IndexSet, parameters: Parameters) -> Any:
        """Statistics in units of the noise of a typical row; of few rows the rows themselves."""
        unit, rows = float(parameters[NOISE][0]), self._learner.laplace.passes.rows
        exact = not (self.safe or self.likelihood.is_log_concave)  # second derivatives of both signs
        if rows is not None and not exact and prefers_row_space(len(rows), index_set.n_components):
            return self._learner.laplace.working_rows(rows, index_set, parameters, self.likelihood, self.latent, unit)
        return scaled(self.covering(index_set, parameters).statistics.linear(index_set)[0], unit)

    def covering(self, index_set: IndexSet, parameters: Parameters) -> WorkingSums:
        """Sums that cover a set."""
        sums = self.sums
        same = sums is not None and np.array_equal(np.asarray(sums.statistics.period), parameters.period)
        if sums is None or not same or not sums.statistics.holds(index_set):
            before = sums.statistics if sums is not None and same else None
            empty = self._learner.empty(index_set, parameters, before)
            sums = self.sums = self._learner.laplace.gather(empty, self.likelihood, self.latent, self.safe)
        return sums


class _Learner:
    """Learns hyperparameters on the passes of one Laplace approximation."""

    def __init__(self, laplace: Laplace, problem: Problem, n_rows: int, note: Any = None, settled: float = SETTLED):
        self.laplace, self.problem, self._n_rows, self._note = laplace, problem, n_rows, note
        self._settled = settled
        self._report = problem.settings.report
        self.capped = False

    def empty(
        self, index_set: IndexSet, parameters: Parameters, before: WorkingStatistics | None = None
    ) -> WorkingStatistics:
        """Statistics of no rows on a set and what lies around it."""
        prior, settings = self.problem.prior, self.problem.settings
        pool = RowSource(None, prior, settings.compute, settings.intercept, settings.index_set)
        pool.statistics = before
        around = pool.surroundings(index_set, parameters, self._n_rows)
        options = asdict(settings.compute)
        options["backend"] = settings.compute.choose(around.frequencies, self._n_rows)
        return WorkingStatistics(
            around,
            parameters.period,
            n_plain=len(prior.columns),
            tolerance=transform_tolerance(prior, parameters, self._n_rows),
            marginals=Marginals.of(prior.torus),
            offset=self.laplace.offset,
            units=self.laplace.units,
            **options,
        )

    def next(self, mode: Mode) -> Latent:
        """The function that one more step leads to."""
        return self.laplace.latent(mode.parameters, mode.index_set, mode.result.weights)

    def learn(
        self,
        start: Parameters,
        likelihood: Likelihood,
        latent: Latent,
        search: bool,
        first: int | None,
        rounds: int = _WORKING_ROUNDS,
    ) -> Mode:
        """Learn on working statistics, and go to the mode, in turns."""
        sums: WorkingSums | None = None
        mode: Mode | None = None
        safe = not likelihood.is_log_concave
        if search:
            likelihood, latent, sums = self._first_mode(start, likelihood, latent, safe)
        for number in range(rounds):
            provider = _Provider(self, likelihood, latent, None if safe else sums, safe)
            chosen = self.problem.settings.index_set
            is_learned = isinstance(chosen, IndexSet) and chosen.name == "learned"  # for the circles that lines have
            learned = self.problem.learn(
                provider, start, search=search and number == 0, first=first, circles_move=not is_learned
            )
            self.capped = learned.capped
            before, mode = (
                mode,
                self.laplace.find_mode(
                    learned.parameters,
                    learned.index_set,
                    likelihood,
                    latent,
                    provider.covering(learned.index_set, learned.parameters),
                    COARSE,
                    safe,
                ),
            )
            self._say(mode)
            if before is not None and mode.log_evidence < before.log_evidence:
                mode = before  # working statistics have misled
                break
            start, first, latent, sums = mode.parameters, mode.index_set.n_components, mode.latent, mode.sums
            if self.laplace.own:
                gradient = self.laplace.gradient(mode)
                likelihood, _ = self._own_step(mode.likelihood, gradient)
                sums = None
            if before is not None and abs(mode.log_evidence - before.log_evidence) < _WORTHWHILE:
                break
            if not start.to_vector().size and not self.laplace.own:
                break
        assert mode is not None
        return mode

    def _first_mode(
        self, start: Parameters, likelihood: Likelihood, latent: Latent, safe: bool
    ) -> tuple[Likelihood, Latent, WorkingSums | None]:
        """The mode on few components where learning starts: around a constant, working statistics mislead.

        Weights of rows that are far from a constant are far from what they will be.
        """
        index_set = self.problem.select(start, self.problem.few())
        sums = self.laplace.gather(self.empty(index_set, start), likelihood, latent, safe)
        mode = self.laplace.find_mode(start, index_set, likelihood, latent, sums, COARSE, safe)
        if not self.laplace.own:
            return likelihood, mode.latent, mode.sums
        return self._own_step(mode.likelihood, self.laplace.gradient(mode))[0], mode.latent, None

    def _say(self, mode: Mode) -> None:
        values = ", ".join(f"{name} {getattr(mode.likelihood, name):.4g}" for name in mode.likelihood.own)
        self._report(
            f"{mode.index_set.n_components} components, Laplace evidence {mode.log_evidence:.8g}, "
            f"{self.laplace.passes.count} passes" + (f", {values}" if values else "")
        )
        if self._note is not None:
            self._note(Progress(mode.parameters, mode.index_set, mode.likelihood, self.next(mode)))

    def _own_step(self, likelihood: Likelihood, gradient: Gradient) -> tuple[Likelihood, float]:
        """Newton step of the likelihood's own parameters, and the gain that it promises."""
        names = self.laplace.own
        if not names:
            return likelihood, 0.0
        value = np.log([getattr(likelihood, name) for name in names])
        lower = np.log([likelihood.own[name].lower for name in names])
        upper = np.log([likelihood.own[name].upper for name in names])
        slope = gradient.by_own.copy()
        free = ~((value <= lower + 1e-9) & (slope < 0)) & ~((value >= upper - 1e-9) & (slope > 0))
        curvature = (gradient.own_curvature + gradient.own_curvature.T) / 2
        step = np.zeros(len(names))
        if free.any():
            own = curvature[np.ix_(free, free)]
            eigenvalues, vectors = np.linalg.eigh(own)
            floor = 1e-3 * max(1.0, float(np.abs(eigenvalues).max()))
            step[free] = vectors @ ((vectors.T @ slope[free]) / np.maximum(np.abs(eigenvalues), floor))
        step *= min(1.0, _OWN_REACH / max(float(np.abs(step).max()), 1e-300))
        new = np.clip(value + step, lower, upper)
        gain = float(slope @ (new - value)) / 2
        return likelihood.with_own(**dict(zip(names, np.exp(new).tolist(), strict=True))), gain

    def polish(self, mode: Mode) -> tuple[Mode, bool]:
        """Follow the exact gradient to the maximum of the evidence, on one set; then go to the very mode."""
        has_any = bool(mode.parameters.to_vector().size or self.laplace.own)
        converged = not has_any
        before: tuple[Array, Gradient] | None = None
        for _ in range(_EXACT_ROUNDS if has_any else 0):
            gradient = self.laplace.gradient(mode)
            own = np.log([getattr(mode.likelihood, name) for name in self.laplace.own])
            if before is not None:
                gradient = _with_seen_curvature(gradient, own - before[0], before[1])
            before = own, gradient
            wanted, promised = self._tilted(mode, gradient)
            likelihood, own_gain = self._own_step(mode.likelihood, gradient)
            converged = promised + own_gain < _TOLD  # what is left would change nothing that is seen
            if promised + own_gain < self._settled:
                break
            better = self._move(mode, wanted, likelihood)
            if better is None:
                converged = True  # nothing near has more evidence
                break
            mode = better
            self._say(mode)
        mode = self.laplace.find_mode(mode.parameters, mode.index_set, mode.likelihood, mode.latent, mode.sums, FINE)
        return mode, converged

    def _tilted(self, mode: Mode, gradient: Gradient) -> tuple[Parameters, float]:
        """Best parameters by the working evidence and the slope that it does not show; the gain they promise."""
        prior, here = self.problem.prior, mode.parameters
        if not here.to_vector().size:
            return here, 0.0
        bounded = LineCircles(prior).within_circles(here)
        slope = prior.at(here, mode.index_set.frequencies).gradient(gradient.implicit[:, None])
        slope[NOISE] = np.zeros(1)
        provider = _Provider(self, mode.likelihood, mode.latent, mode.sums, False)
        with limited_blas(mode.index_set.n_components):
            found = maximise(provider, prior, mode.index_set, bounded, tilt=here.pack(slope), reach=_REACH)
        return here.with_vector(found.parameters.to_vector()), found.log_evidence - mode.result.log_evidence

    def _move(self, mode: Mode, wanted: Parameters, likelihood: Likelihood) -> Mode | None:
        """The mode a part of the way to other parameters, as far as the evidence rises."""
        here, there = mode.parameters.to_vector(), wanted.to_vector()
        names = self.laplace.own
        for share in _SHARES:
            parameters = mode.parameters.with_vector(here + share * (there - here))
            between = {
                name: float(getattr(mode.likelihood, name) ** (1 - share) * getattr(likelihood, name) ** share)
                for name in names
            }
            moved, sums = mode.likelihood, mode.sums
            if between:
                moved = mode.likelihood.with_own(**between)
                sums = self.laplace.gather(mode.sums.statistics.empty(), moved, mode.latent, False)
            found = self.laplace.find_mode(parameters, mode.index_set, moved, mode.latent, sums, _NEAR)
            if found.log_evidence > mode.log_evidence - _SLACK:
                return found
        return None


def _with_seen_curvature(gradient: Gradient, step: Array, before: Gradient) -> Gradient:
    """A gradient with the curvature in own parameters that steps have shown, by the update of BFGS.

    The expected curvature leaves out how the mode follows, so that steps would go to and fro.
    """
    change = before.by_own - gradient.by_own
    expected, seen = before.own_curvature @ step, float(step @ change)
    along = float(step @ expected)
    if along <= 0 or seen <= 0:
        return gradient
    curvature = before.own_curvature - np.outer(expected, expected) / along + np.outer(change, change) / seen
    return replace(gradient, own_curvature=curvature)
