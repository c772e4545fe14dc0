"""Search for periods and lattices: candidates from a periodogram, ranked by evidence, polished by its gradient."""

from dataclasses import replace
from itertools import combinations
from math import gcd

import numpy as np

from torusgp.checks import check_count, check_flag, check_number
from torusgp.fitting.advice import advise
from torusgp.fitting.periods._candidates import Sinusoids, axis_candidates, lattice_candidates, same_lattice
from torusgp.fitting.periods._checks import check_known, check_limit, check_rows
from torusgp.fitting.periods._periodogram import FEW_ROWS, Periodogram, SinusoidFinder, find_sinusoids
from torusgp.fitting.periods._results import FoundPeriod, PeriodSearch, describe, too_few_rows
from torusgp.fitting.periods._sampling import Sampling
from torusgp.fitting.periods._significance import contrasts, odds_against_noise
from torusgp.fitting.periods._sinusoids import Block, Fit, ScaledRows, SinusoidModel, cell_and_errors, few_harmonics
from torusgp.fitting.periods._trend import FEWEST_TURNS, Trend, TrendColumns
from torusgp.kernels.lattices import shortest_basis, sublattice_changes

_FEW_HARMONICS = {1: 6, 2: 24, 3: 62}  # sinusoids of a candidate
_ROWS_PER_HARMONIC = 10  # at least: more harmonics leave nothing of few rows to compare with
_STEP = 0.25  # turns over the data between frequencies whose powers of noise are simulated
_N_WAVES = 24
_HOPELESS = 50.0  # log evidence below the best from which a polish does not lead back
_MULTIPLES = {1: (2, 3, 5), 2: (2, 3), 3: (2,)}  # of a lattice that a finer one is tried for
_ROUNDING = 1 + 1e-9  # a period may lie at a limit
_STRONGEST = 5  # harmonics that may be fundamentals themselves
_STRONG = 20.0  # times the power beside it: a sinusoid that is no noise of any colour
_MOST_SIMPLER = 4  # steps from a multiple to a lattice
_MOST_HARMONICS = 48  # of a single input
_HIGH_HARMONIC = 100  # of a period found before, which is no other period
_SAME_WAVE = 0.3  # turns over the data within which two sinusoids are one
_WORTHWHILE = 5.0  # log evidence that justifies twice the harmonics
_TIE = 3.0  # log evidence within which the slower of two candidates is taken
_SCOUT_ROWS = 5000  # on which candidates are compared
_FASTER = 3  # times the highest fundamental, up to where sinusoids are looked for
_ALIASING = 0.2  # power of a sinusoid of the sampling itself, of one at most, from which it makes aliases
_MOST_ALIASES = 6  # such sinusoids that are tried
_COMPARABLE = 0.5  # of the strongest slow sinusoid: a fast one from which on the fast ones are searched, too
_ALIKE = 0.9  # the same of two sinusoids of which one must be the other's alias
_CANDIDATES = 12  # that are fitted
_POLISHED = 4  # of these
MIN_GAIN = 5.0  # log evidence over a model without period from which a period is reported: odds of 150 to 1


def find_period(
    X,
    y,
    *,
    period="auto",
    lattice=False,
    max_periods=3,
    min_period=None,
    max_period=None,
    min_gain=MIN_GAIN,
    sample_weight=None,
    noise_scale=None,
    max_samples=20_000,
    report=None,
):
    r"""Find the period of each input, or the lattice, with which targets repeat.

    Sinusoids are taken from a periodogram of the scattered data one after the other; lattices that contain them, and
    finer and coarser ones, are ranked by the evidence of a few harmonics beside slow change, and the best are
    polished by its gradient.

    Parameters
    ----------
    X : array-like of shape (n_samples,) or (n_samples, n_inputs)
        Inputs, up to three.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    period : "auto" or sequence, default="auto"
        What is known: for each input its period, or "auto", None or NaN if it is to be found. Of a single input, all
        superposed periods; as many are found as are unknown.
    lattice : bool, default=False
        Find a whole cell instead of a period along each input.
    max_periods : int, default=3
        Of a single input, the most superposed periods to find.
    min_period : float or array-like of shape (n_inputs,), optional
        Shortest period along each input; by default twice the step of inputs on a grid. Where they lie on none, a
        fifth of that of as many on a grid (half in two dimensions, two thirds in three); of a single input with more
        than 50 rows down to a hundredth, if a sinusoid so fast stands out. Shorter ones have to be asked for.
    max_period : float or array-like of shape (n_inputs,), optional
        Longest period; by default half the range of the input.
    min_gain : float, default=5.0
        Gain in log evidence from which a period is reported: odds of 150 to 1.
    sample_weight : array-like of shape (n_samples,), optional
        How often each row counts.
    noise_scale : array-like of shape (n_samples,), optional
        Known standard deviation of the noise of each row, up to a common factor.
    max_samples : int, default=20000
        Of more rows a random choice of so many is searched.
    report : callable, optional
        Takes lines of progress.

    Returns
    -------
    PeriodSearch

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(0, 100, 300)
    >>> y = np.sin(2 * np.pi * t / 7.3) + np.cos(4 * np.pi * t / 7.3) + rng.normal(size=300)
    >>> search = find_period(t, y)
    >>> bool(abs(search[0].period - 7.3) < 4 * search[0].period_std), len(search)
    (True, 1)
    """
    X, y, weight = check_rows(X, y, sample_weight, noise_scale)
    check_flag(lattice, "lattice")
    known = check_known(period, X.shape[1])
    max_periods, max_samples = check_count(max_periods, "max_periods"), check_count(max_samples, "max_samples")
    min_gain = check_number(min_gain, "min_gain")
    if report is not None and not callable(report):
        raise TypeError(f"report must be a function of a line, or None, got {report!r}.")
    if lattice and np.isfinite(known).any():
        raise ValueError(f"lattice=True finds a whole cell, so none of period={period!r} can be given.")
    if X.shape[1] == 1 and not isinstance(period, str):
        max_periods = int(np.isnan(known).sum())
    if len(X) > max_samples:
        chosen = np.sort(np.random.default_rng(0).choice(len(X), max_samples, replace=False))
        X, y, weight = X[chosen], y[chosen], weight[chosen]
    search = _Search(X, y, weight, known, bool(lattice), min_period, max_period, report or (lambda line: None))
    return search.run(1 if X.shape[1] > 1 else max_periods, min_gain)


class _Search:
    """One search: everything is in turns over the data until results are made."""

    def __init__(self, X, y, weight, known, lattice, min_period, max_period, report):
        self.sampling = Sampling.from_inputs(X)
        extent, dimension = self.sampling.extent, X.shape[1]
        self.lattice, self.report = lattice, report
        given = known[np.isfinite(known)] if dimension == 1 else []
        self.known = extent / (known if dimension > 1 else np.full(1, np.nan))  # in turns
        self.highest = self.highest_sinusoid = self.sampling.highest * extent
        # of few rows almost anything is explained by some sinusoid so fast
        self.extreme = self.sampling.extreme * extent if len(X) > FEW_ROWS else self.highest
        if min_period is not None:
            self.highest = np.minimum(extent / check_limit(min_period, "min_period", dimension), self._nyquist_turns())
            # harmonics tell of a fundamental, too
            self.highest_sinusoid = np.minimum(_FASTER * self.highest, self._nyquist_turns())
            self.extreme = self.highest
        self.lowest = np.full(dimension, FEWEST_TURNS)
        if max_period is not None:
            self.lowest = extent / check_limit(max_period, "max_period", dimension)
        self.fewest_turns = float(self.lowest.min())
        if (self.lowest > self.highest).any():
            raise ValueError(
                f"max_period={max_period!r} is below the shortest period that can be found, "
                f"{(extent / self.highest).max():.4g}."
            )
        mean = np.average(y, axis=0, weights=weight)
        std = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
        if not (std > 1e-12 * np.abs(mean)).all() or not std.all():
            constant = mean[std <= 1e-12 * np.abs(mean)][0]
            raise ValueError(f"y is constant ({constant:g} in every row): it repeats with any period.")
        self.y_mean, self.y_std = mean, std
        self.rows = ScaledRows((X - self.sampling.middle) / extent, (y - mean) / std, weight)
        self.model = self.scout = SinusoidModel(self.rows, TrendColumns.slow(dimension))
        if len(X) > _SCOUT_ROWS:  # enough to tell candidates apart
            some = np.sort(np.random.default_rng(1).choice(len(X), _SCOUT_ROWS, replace=False))
            self.scout = SinusoidModel(self.rows.take(some), self.model.trend)
        self.unit = self.sampling.unit / extent  # of frequencies
        self._curvatures = {}  # by fit: each takes several passes over the rows
        self._sampling_sinusoids = None  # not looked for yet
        fixed = np.zeros((1, 1), dtype=bool)
        blocks = [self._block(np.array([[extent[0] / period]])) for period in given]
        if None in blocks:
            raise ValueError(
                f"period holds {given[blocks.index(None)]:g}, which is shorter than inputs on this grid can show, "
                f"{1 / self.sampling.nyquist[0]:g}."
            )
        self.given = tuple(replace(block, free=fixed) for block in blocks)

    def _nyquist_turns(self):
        return self.sampling.nyquist * self.sampling.extent

    def run(self, max_periods, min_gain):
        """Find up to so many superposed periods, then evaluate each beside the others."""
        fit, others = self.model.fit(self.given), []
        finder = self._finder(fit)
        axes = tuple(axis / extent for axis, extent in zip(finder.axes(), self.sampling.extent, strict=True))
        periodogram = Periodogram(axes, finder.power())
        for _ in range(2 * max_periods):  # some are revised away
            if len(fit.blocks) == len(self.given) + max_periods:
                break
            ranked = self._rank(finder, fit)
            if not ranked or ranked[0].log_evidence - fit.log_evidence - self._price(ranked[0]) < min_gain:
                break
            best, *rest = ranked
            best = self._simplified(best, min_gain)
            others += [self._result(one, fit) for one in rest]
            before, fit = fit, self._revised(best, min_gain, max_periods) if len(self.known) == 1 else best
            if fit.log_evidence < before.log_evidence + min_gain:
                break
            self.report(f"log evidence {fit.log_evidence:.6g} with {self._describe(fit)}")
            finder = self._finder(fit)
        found: list[FoundPeriod] = []
        rejected: list[FoundPeriod] = []
        while len(fit.blocks) > len(self.given):
            evaluated = [self._evaluated(fit, i) for i in range(len(self.given), len(fit.blocks))]
            evaluated.sort(key=lambda pair: -pair[0].gain)
            found = [result for result, _ in evaluated]
            if found[-1].gain >= min_gain:
                break
            *found, last = found
            rejected.insert(0, last)
            self.report(f"gain in log evidence {last.gain:.1f} is too little for {describe(last.period)}")
            fit = evaluated[-1][1]
        trend = self._trend(fit)
        candidates = (*found, *rejected, *others)
        if not found and not self.given and self._has_few_rows():
            advise(too_few_rows(len(self.rows.inputs), candidates, min_gain))
        searched = self.sampling.extent / np.array([np.maximum(self.highest, self.extreme), self.lowest])
        return PeriodSearch(tuple(found), candidates, periodogram, min_gain, trend, self.sampling.nyquist, searched)

    def _has_few_rows(self):
        return len(self.known) == 1 and len(self.rows.inputs) <= FEW_ROWS

    def _finder(self, fit):
        """What finds sinusoids in the residuals of a fit, also fast ones if one is as strong as the slow ones."""
        columns = self.model.columns(fit.blocks)
        if (self.extreme > self.highest_sinusoid).any():
            finder = SinusoidFinder(self.rows, self.extreme, columns)
            power, (turns,) = finder.power(), finder.axes()
            fast = np.abs(turns) > self.highest_sinusoid[0]
            frequency, share = finder.strongest(np.where(fast, power, 0.0), self.fewest_turns)
            slow = power[~fast & (np.abs(turns) >= self.fewest_turns)].max(initial=0.0)
            least = _COMPARABLE if share + slow <= 1 else _ALIKE  # together they explain no more than all there is
            if share > least * slow and finder.is_significant(share, power.size):
                self.highest, self.highest_sinusoid = self.extreme, np.minimum(_FASTER * frequency, self.extreme)
        return SinusoidFinder(self.rows, self.highest_sinusoid, columns)

    def _trend(self, fit):
        weights, covariances = self.model.trend_posterior(fit)
        weights, covariances = weights * self.y_std, covariances * self.y_std[:, None, None] ** 2
        weights[0] += self.y_mean
        return Trend(self.model.trend, self.sampling.middle, self.sampling.extent, weights, covariances)

    def _revised(self, fit, min_gain, max_periods):
        """Superposed periods after each was tried at a fraction of itself, at its aliases, and left out.

        A common multiple of two periods explains both in part, and is found first at times.
        """
        current = fit if self.scout is self.model else self.scout.fit(fit.blocks, fit.vector)
        for _ in range(4 * len(fit.blocks)):
            trials = []
            for i in range(len(self.given), len(current.blocks)):
                before, after = current.blocks[:i], current.blocks[i + 1 :]
                for divisor in (2, 3, 4, 5):
                    basis = current.blocks[i].reciprocal * divisor
                    if abs(basis[0, 0]) <= self.highest[0]:
                        block = self._block(basis, len(current.blocks[i].indices))
                        trials.append((0.0, self._scouted(current, (*before, block, *after))))
                for turns in self._aliases(abs(current.blocks[i].reciprocal[0, 0])):
                    block = self._block(np.array([[turns]]), len(current.blocks[i].indices))
                    slower = turns < abs(current.blocks[i].reciprocal[0, 0])
                    trial = self.scout.polish(self._fresh(current, (*before, block, *after)))
                    trials.append((_TIE if slower else -_TIE, trial))
                room = len(current.blocks) < len(self.given) + max_periods
                if room and len(current.blocks[i].indices) > _FEW_HARMONICS[1]:
                    trials += self._parted(current, i, min_gain)
                if len(current.blocks) > len(self.given) + 1:
                    price = min_gain + self._price(self._last(current, i))
                    trials.append((price, self._scouted(current, (*before, *after))))
            allowance, best = max(trials, key=lambda trial: trial[0] + trial[1].log_evidence, default=(0.0, current))
            if allowance + best.log_evidence <= current.log_evidence + 1e-3:
                break
            current = best
            if max(abs(block.reciprocal[0, 0]) for block in current.blocks) > self.highest[0]:
                self.highest = self.extreme
        if len(current.blocks) == len(fit.blocks) and all(
            same_lattice(old.reciprocal, new.reciprocal) for old, new in zip(fit.blocks, current.blocks, strict=True)
        ):
            return fit
        return self.model.polish(self.model.fit(current.blocks, current.vector))

    def _parted(self, fit, i, min_gain):
        """Fits with two fractions of a period in its place, which may be their common multiple."""
        trials = []
        ratios = contrasts(self.scout, self._last(fit, i)).ratios.sum(axis=1)
        strongest = fit.blocks[i].indices[np.argsort(-ratios)[:_STRONGEST], 0].tolist()
        for first, second in combinations(sorted({1, *strongest}), 2):
            bases = [fit.blocks[i].reciprocal * factor for factor in (first, second)]
            if gcd(first, second) == 1 and abs(bases[1][0, 0]) <= self.highest[0]:
                parts = [self._block(basis) for basis in bases]
                trial = self._scouted(fit, (*fit.blocks[:i], *fit.blocks[i + 1 :], *parts))
                if trial.log_evidence > fit.log_evidence:
                    trials.append((-min_gain - self._price(trial), trial))
        return trials

    def _aliases(self, turns):
        """Frequencies that are hard to tell from this one, since the sampling itself repeats: stars are seen at night.

        Those on a grid are beyond its highest frequency.
        """
        if self._sampling_sinusoids is None:
            ones = ScaledRows(self.rows.inputs, np.ones((len(self.rows.inputs), 1)), self.rows.weight)
            finder = SinusoidFinder(
                ones, np.minimum(2 * self.extreme, self._nyquist_turns()), np.empty((len(ones.inputs), 0))
            )
            self._sampling_sinusoids = finder.peaks(2 * _ALIASING, self.fewest_turns, _MOST_ALIASES)
        aliases = np.abs([turns + sign * sinusoid for sinusoid in self._sampling_sinusoids for sign in (-1, 1)])
        return aliases[(aliases >= self.lowest[0]) & (aliases <= self.extreme[0])]

    def _fresh(self, fit, blocks):
        """A fit of other blocks that begins with the noise of this one."""
        fresh = self.model.start(blocks)
        fresh[: self.model.n_common] = fit.vector[: self.model.n_common]
        return self.scout.fit(blocks, fresh)

    def _scouted(self, fit, blocks):
        """A fit of other blocks, polished if it may come near."""
        trial = self._fresh(fit, blocks)
        return self.scout.polish(trial) if trial.log_evidence > fit.log_evidence - _HOPELESS else trial

    def _last(self, fit, i):
        """The same fit with a block put last, its hyperparameters too."""
        if i == len(fit.blocks) - 1:
            return fit
        blocks = (*fit.blocks[:i], *fit.blocks[i + 1 :], fit.blocks[i])
        parts = np.split(fit.vector, self.model.n_common + np.cumsum([0, *(1 + b.n_scales for b in fit.blocks[:-1])]))
        common, *parts = parts
        return Fit(blocks, np.concatenate([common, *parts[:i], *parts[i + 1 :], parts[i]]), fit.log_evidence)

    def _evaluated(self, fit, i):
        """What is told of a block beside the others, and the fit without it."""
        fit = self._last(fit, i)
        without = self.model.fit(fit.blocks[:-1], fit.vector[: len(fit.vector) - 1 - fit.blocks[-1].n_scales])
        over_line = fit.log_evidence - without.log_evidence
        price, indices = self._price(fit), fit.blocks[-1].indices
        unknown = np.isnan(self.known)
        telling = indices[:, unknown].any(axis=1)  # the others have known periods alone
        ratios = contrasts(self.model, fit)
        gain = min(over_line, ratios.gain(telling)) - price
        if self._has_few_rows() and gain < over_line - price:
            turns = np.arange(self.lowest[0], self.highest[0], _STEP)
            gain = max(gain, min(over_line - price, odds_against_noise(self.model, fit, turns)))
        n_unknown = int(unknown.sum())
        if n_unknown > 1:  # stripes repeat along one direction only
            rest = telling & ~ratios.strongest_direction(indices)
            gain = min(gain, ratios.gain(rest) - price * (n_unknown - 1) / n_unknown)
        return replace(self._result(fit, without), gain=gain), without

    def _simplified(self, fit, min_gain):
        """A fit whose last lattice is no multiple of one that explains all that stands out.

        The additional sinusoids of a multiple soak up coloured noise: they count only if they stand out themselves.
        """
        dimension, unknown = len(self.known), np.isnan(self.known)
        changes = [c for index in _MULTIPLES[dimension] for c in sublattice_changes(dimension, index)]
        if not self.lattice:
            diagonal = [c for c in changes if (c == np.diag(np.diag(c))).all()]
            changes = [c for c in diagonal if (np.diag(c)[~unknown] == 1).all()]
        for _ in range(_MOST_SIMPLER):
            block, ratios, simpler = fit.blocks[-1], contrasts(self.model, fit), []
            for change in changes:
                places = block.indices @ np.linalg.inv(change)
                on = (np.abs(places - np.rint(places)) < 1e-6).all(axis=1)
                if on.any() and not on.all() and ratios.ratios[~on].max() < _STRONG:
                    simpler.append((ratios.gain(~on), change))
            gain, change = min(simpler, key=lambda pair: pair[0], default=(np.inf, None))
            if gain >= min_gain:
                break
            basis = change @ block.reciprocal
            finer = self._block(shortest_basis(basis) if self.lattice else basis, len(block.indices))
            if finer is None or not self._is_allowed(finer):
                break
            trial = self.model.polish(self.model.fit((*fit.blocks[:-1], finer), fit.vector))
            if self._has_few_rows() and trial.log_evidence < fit.log_evidence - min_gain:
                break  # neighbours are too few there to say what stands out
            fit = trial
        return fit

    def _rank(self, finder, before):
        """Polished fits of the best candidates, best evidence first."""
        frequencies, shares = find_sinusoids(finder, self.rows.inputs, self.fewest_turns, _N_WAVES)
        if len(self.known) == 1:
            new = ~self._is_harmonic(frequencies[:, 0], before.blocks)
            frequencies, shares = frequencies[new], shares[new]
        self.report(f"{len(frequencies)} sinusoids stand out of the noise")
        if not len(frequencies):
            return []
        sinusoids = Sinusoids(frequencies, shares, float(self.rows.weight.sum()))
        if self.lattice or len(self.known) == 1:
            bases = lattice_candidates(sinusoids, self.fewest_turns, self.highest, _CANDIDATES)
        else:
            bases = axis_candidates(sinusoids, self.known, self.fewest_turns, self.highest, _CANDIDATES)
        fits = []
        for basis in bases:
            block = self._block(basis)
            if block is not None:
                vector = np.append(before.vector, self.model.start((block,))[self.model.n_common :])
                fits.append(self.scout.fit((*before.blocks, block), vector))
        fits.sort(key=lambda fit: -fit.log_evidence)
        polished: list = []
        for fit in fits[:_POLISHED]:
            fit = self.scout.polish(fit)
            if not self._is_allowed(fit.blocks[-1]):
                continue
            if not any(same_lattice(fit.blocks[-1].reciprocal, other.blocks[-1].reciprocal) for other in polished):
                polished.append(self._enriched(self.scout, fit) if len(self.known) == 1 else fit)
        if not polished:
            return []
        polished.sort(key=lambda fit: -fit.log_evidence)
        ties = [fit for fit in polished if fit.log_evidence > polished[0].log_evidence - _TIE]
        best = min(ties, key=lambda fit: abs(np.linalg.det(fit.blocks[-1].reciprocal)))  # not an alias of it
        rest = [self.model.fit(fit.blocks, fit.vector) for fit in polished if fit is not best]
        return [self.model.polish(self.model.fit(best.blocks, best.vector)), *rest]

    def _is_harmonic(self, turns, blocks):
        """Which frequencies of a single input are harmonics of periods found before, or their aliases on a grid."""
        result = np.zeros(len(turns), dtype=bool)
        nyquist = self._nyquist_turns()[0]
        for block in blocks:
            harmonics = np.arange(1, _HIGH_HARMONIC + 1) * abs(block.reciprocal[0, 0])
            if np.isfinite(nyquist):
                harmonics = np.abs((harmonics + nyquist) % (2 * nyquist) - nyquist)
            result |= np.abs(np.abs(turns)[:, None] - harmonics).min(axis=1) < _SAME_WAVE
        return result

    def _is_allowed(self, block):
        """Whether a lattice, or the periods along the inputs, lie between the shortest and the longest period."""
        if self.lattice:
            shortest = shortest_basis(block.reciprocal)
            slow = np.linalg.norm(shortest[0]) < self.fewest_turns
            return not slow and (np.abs(shortest) <= self.highest * _ROUNDING).all()
        turns, unknown = np.abs(np.diag(block.reciprocal)), np.isnan(self.known)
        return bool(((turns >= self.lowest / _ROUNDING) & (turns <= self.highest * _ROUNDING))[unknown].all())

    def _enriched(self, model, fit):
        """A fit with as many harmonics of its last block as are worth their price."""
        while len(fit.blocks[-1].indices) < _MOST_HARMONICS:
            *before, last = fit.blocks
            larger = self._block(last.reciprocal, 2 * len(last.indices))
            if len(larger.indices) == len(last.indices):  # all that the grid can show
                break
            trial = model.fit((*before, larger), fit.vector)
            if trial.log_evidence < fit.log_evidence + _WORTHWHILE:
                break
            fit = trial
        return fit

    def _block(self, basis, n_sinusoids=None):
        """Few harmonics of a reciprocal basis, or None if even the first is beyond the highest frequency."""
        dimension = len(basis)
        by_length = self.lattice or dimension == 1
        metric = basis * (self.unit if by_length else 1 / np.diag(basis))
        most = n_sinusoids or min(_FEW_HARMONICS[dimension], max(1, len(self.rows.inputs) // _ROWS_PER_HARMONIC))
        indices = few_harmonics(basis, metric, self._nyquist_turns(), most)
        if not len(indices):
            return None
        if by_length:
            free = np.ones((dimension, dimension), dtype=bool)
            return Block(indices, basis, free, self.unit / np.linalg.norm(metric, axis=1).mean())
        return Block(indices, basis, np.diag(~np.isfinite(self.known)))

    def _price(self, fit):
        """Log of how much narrower the posterior of the basis is than the range that was searched."""
        free = fit.blocks[-1].free
        curvature = self._curvature(fit)[-int(free.sum()) :, -int(free.sum()) :]
        values = np.maximum(np.linalg.eigvalsh(curvature), 1e-3)
        ranges = np.broadcast_to(2 * self.highest, free.shape)[free]
        return float(np.log(ranges).sum() + 0.5 * np.log(values / (2 * np.pi)).sum())

    def _result(self, fit, before):
        """What is told of a fit's last block before it is evaluated."""
        last = slice(-int(fit.blocks[-1].free.sum()), None)
        period, std = self._period(fit.blocks[-1], self._covariance(fit)[last, last])
        return FoundPeriod(period, std, fit.log_evidence, np.nan, fit.log_evidence - before.log_evidence)

    def _curvature(self, fit):
        if fit not in self._curvatures:
            self._curvatures[fit] = self.model.curvature(fit)
        return self._curvatures[fit]

    def _covariance(self, fit):
        curvature = self._curvature(fit)
        if np.linalg.eigvalsh(curvature)[0] <= 0:
            return np.full_like(curvature, np.nan)
        return np.linalg.inv(curvature)

    def _period(self, block, covariance):
        """Period or cell of a block, and its standard errors, in the units of the inputs."""
        unit = self.sampling.unit if self.lattice else None
        cell, std = cell_and_errors(block, covariance, self.sampling.extent, unit)
        if self.lattice:
            return cell, std
        if len(cell) == 1:
            return float(abs(cell[0, 0])), float(std[0, 0])
        return np.diag(cell).copy(), np.diag(std).copy()

    def _describe(self, fit):
        """Periods of all blocks, in words."""
        return ", ".join(describe(self._period(block, np.zeros((block.free.sum(),) * 2))[0]) for block in fit.blocks)
