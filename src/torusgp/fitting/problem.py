"""What a fit is asked for, and one learning problem of it: a prior for the spread of the targets, and its sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import TRANSFORMS, InputSpace
from torusgp.engine.derivatives import Partials
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.gains import RowModel
from torusgp.fitting.learning import Learned
from torusgp.fitting.line_circles import LineCircles
from torusgp.fitting.moves import PeriodMoves
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import Prior, Spread
from torusgp.fitting.rows import Compute, Rows, RowSource
from torusgp.fitting.schedule import MAX_COMPONENTS, Schedule, first_columns
from torusgp.fitting.selection import Selection
from torusgp.kernels.checks import check_positive_array
from torusgp.kernels.index_sets import IndexSet, from_frequencies, named_set
from torusgp.kernels.resolve import Model
from torusgp.kernels.sums import SumKernel

_LEAST_SPREAD = 1e-14  # of targets, relative to their size, that is more than rounding
LEARNABLE = ("length_scale", "signal_variance", "noise_variance", "period", "lattice", "spectrum")

FOLLOWING = ("adaptive", "learned")  # sets that follow the prior, as "learned" does before its rounds
SLOW_COLUMNS = {1: 9, 2: 49, 3: 61}  # of slow change beside a period that was found, by the number of inputs
_FEW_VALUES = 20  # up to here slopes are asked too how high a surface is
_SCOUT_COLUMNS = 1001  # columns of that search, at most: it is about length scales, not about the last digits


@dataclass(frozen=True)
class Settings:
    """What the user asks of a fit, checked.

    Attributes
    ----------
    index_set : str or IndexSet
        "learned", "adaptive", the name of another function of :mod:`torusgp.kernels.index_sets`, or a set.
    n_components : int or "auto"
        Number of components.
    learn : frozenset of str
        What is learned, among :data:`LEARNABLE`.
    intercept : bool
        Whether the model has one.
    noise_variance : float or ndarray of shape (n_outputs,)
        If it is not learned.
    noise_variance_bounds : pair of float or None
        If it is.
    compute : Compute
        How sums and predictions are computed.
    report : callable
        Takes lines of progress.
    most_components : int, optional
        Largest number of components while something else is still being estimated, given or not.
    integrate : bool or "auto"
        Whether predictions integrate over what is uncertain of the learned parameters.
    """

    index_set: str | IndexSet = "adaptive"
    n_components: int | str = "auto"
    learn: frozenset[str] = frozenset(LEARNABLE[:3])
    intercept: bool = True
    noise_variance: Any = 0.1
    noise_variance_bounds: tuple[float, float] | None = None
    compute: Compute = field(default_factory=Compute)
    report: Callable[[str], None] = field(default=lambda line: None)
    most_components: int | None = None
    integrate: bool | str = "auto"

    @property
    def is_automatic(self) -> bool:
        """Whether the number of components is to be found."""
        return self.n_components == "auto" and not isinstance(self.index_set, IndexSet)

    def start(self, prior: Prior, period: NDArray[np.float64], spread: Spread) -> Parameters:
        """Where the parameters of a prior start, and what of them is learned within which bounds."""
        noise = noise_variances(self.noise_variance, len(spread.typical_noise))
        return prior.start(period, spread, self.learn, noise, self.noise_variance_bounds)


def noise_variances(given: Any, n_outputs: int) -> NDArray[np.float64]:
    """Given noise variances of the outputs, or an error if they are as many as other outputs would have."""
    noise = np.asarray(check_positive_array(given, "noise_variance", max_ndim=1), dtype=float)
    if noise.shape not in ((), (1,), (n_outputs,)):
        raise ValueError(f"noise_variance must be one number, or one for each of {n_outputs} target(s), got {given!r}.")
    return np.array(np.broadcast_to(noise, n_outputs))


class Problem:
    """One learning problem: a prior for the spread of the targets, and how sets are chosen."""

    def __init__(self, model: Model, settings: Settings, spread: Spread, n_samples: float):
        self.model, self.settings, self.spread = model, settings, spread
        self.prior = Prior.of(model, settings.intercept, spread)
        # few rows cannot tell many frequencies apart, and it would take long
        self.cap = min(MAX_COMPONENTS, max(2 * first_columns(model.torus.dimension), 4 * int(n_samples)))
        self.cap = min(self.cap, settings.most_components or self.cap)

    def start(self, period: NDArray[np.float64]) -> Parameters:
        """Where learning starts."""
        return LineCircles(self.prior).with_circles(self.settings.start(self.prior, period, self.spread))

    def select(self, parameters: Parameters, size: int) -> IndexSet:
        """The set of so many components."""
        asked = self.settings.index_set
        if isinstance(asked, IndexSet):
            if asked.dimension != self.model.torus.dimension:
                raise ValueError(
                    f"index_set has dimension {asked.dimension}, but the torus has {self.model.torus.dimension}."
                )
            return asked
        kernel = self.prior.sum_kernel(parameters)
        if asked in FOLLOWING and self.model.has_trend and len(kernel.terms) > 1:
            return self._select_beside_slow_change(kernel, size)
        if asked in FOLLOWING:
            return self.prior.select(parameters, size)
        limits = {term.max_interaction for term in self.model.terms}
        limit = limits.pop() if len(limits) == 1 else None
        named = named_set(asked, self.model.torus.dimension, size, max_interaction=limit)
        return self.prior.shown(named, kernel, size)

    def _select_beside_slow_change(self, kernel: SumKernel, size: int) -> IndexSet:
        """So many components for what repeats, and a few more for slow change, which must not take theirs."""
        is_first = np.arange(len(kernel.terms)) == 0
        repeating = replace(kernel, variances=np.where(is_first, kernel.variances, 0.0))
        slow = replace(kernel, variances=np.where(is_first, 0.0, kernel.variances))
        few = SLOW_COLUMNS[min(len(np.unique(self.model.torus.inputs)), max(SLOW_COLUMNS))]
        parts = self.prior.shown(repeating.largest(size), repeating, size), slow.largest(few)
        both = from_frequencies(np.vstack([part.frequencies for part in parts]))
        return IndexSet(both.frequencies, None, "adaptive")

    def select_from(self, statistics: SufficientStatistics, parameters: Parameters, size: int) -> IndexSet:
        """The best set among the frequencies that the statistics cover."""
        wanted = self.select(parameters, size)
        if statistics.holds(wanted):
            return wanted
        pool = statistics.covered()
        kernel = self.prior.sum_kernel(parameters)
        return kernel.largest_among(pool[1:], size)

    def source(
        self, rows: Rows, n_threads: int | None = None, tolerance: float | None = None, margin: float = 1.25
    ) -> RowSource:
        """Statistics of rows."""
        compute = self.settings.compute
        compute = compute if n_threads is None else replace(compute, n_threads=n_threads)
        settings = self.settings
        return RowSource(rows, self.prior, compute, settings.intercept, settings.index_set, margin, tolerance)

    def few(self) -> int:
        """Number of components to begin with."""
        few = first_columns(self.model.torus.dimension)
        return few if self.settings.n_components == "auto" else min(few, int(self.settings.n_components))

    def size_for(self, parameters: Parameters) -> int:
        """Number of components that leave out no more than the noise, or the budget."""
        size, budget = self.few(), self.budget()
        while size < budget and not self.prior.is_below_noise(parameters, self.select(parameters, size), 1.0):
            size = min(2 * size, budget)
        return size

    def scout_size(self) -> int | None:
        """Number of components while the length scales are still being looked for; None for the final one."""
        settings = self.settings
        if settings.n_components == "auto" or isinstance(settings.index_set, IndexSet):
            return None
        return min(self.budget(), _SCOUT_COLUMNS)

    def has_costly_passes(self, start: Parameters, rows: Rows) -> bool:
        """Whether sums over all rows cost so much that few sets of components should be tried on them."""
        index_set = self.select(start, self.scout_size() or self.few())
        space = InputSpace(self.model.torus.sharing(start.period), start.period)
        name = self.settings.compute.choose(index_set.frequencies, len(rows), space, space.extent(rows.X))
        return name not in TRANSFORMS

    def learn(
        self,
        source: Callable[..., Any],
        start: Parameters,
        search: bool = True,
        select: Callable[..., IndexSet] | None = None,
        first: int | None = None,
        moves: PeriodMoves | None = None,
        n_components: int | None = None,
        circles_move: bool = True,
        is_final: bool | None = None,
    ) -> Learned:
        """Learn from statistics, see :class:`Schedule`; it is final unless something else is still being estimated."""
        settings = self.settings
        if is_final is None:
            is_final = settings.most_components is None
        budget: int | str = "auto" if settings.is_automatic else self.budget()
        schedule = Schedule(source, select or self.select, self.prior, settings.report, moves, circles_move)
        return schedule.learn(
            start,
            budget if n_components is None else n_components,
            search=search,
            first=first,
            cap=self.cap,
            is_final=is_final and n_components is None,
        )

    def selection(self, rows: Rows) -> Selection:
        """What learns the set itself, from rows."""
        settings = self.settings
        return Selection(rows, self.source, self.prior, settings.intercept, settings.report)

    def row_model(self, rows: Rows, source: RowSource, learned: Learned) -> RowModel:
        """What was learned, beside rows."""
        parameters = learned.parameters
        results = source.posterior(learned.index_set, parameters)
        return RowModel(self.prior, self.settings.intercept, learned.index_set, parameters, results, rows)

    def budget(self) -> int:
        """Largest number of components."""
        given = self.settings.n_components
        return self.cap if given == "auto" else min(int(given), self.settings.most_components or int(given))


def spread_of_rows(rows: Rows, model: Model, settings: Settings) -> Spread:
    """Variances of targets, and of the noise of a typical row in units of its known scale.

    With known noise they are weighted by precision, as sums are.
    """
    weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    n_values, log_scale = float(weight.sum()), 0.0
    center = variance = np.zeros(rows.y.shape[1])
    if len(rows):
        center = np.average(rows.y, axis=0, weights=rows.precision)
        variance = np.average((rows.y - center) ** 2, axis=0, weights=rows.precision)
        if rows.noise_scale is not None:
            log_scale = float(np.average(2 * np.log(rows.noise_scale), weights=weight))
    spread = _spread(variance, center, log_scale, n_values, model, settings)
    if rows.derivatives is None:
        return spread
    return _with_derivatives(spread, rows.derivatives.variances(), n_values, model)


def spread_of_statistics(statistics: SufficientStatistics, model: Model, settings: Settings) -> Spread:
    """The same from sums."""
    constant = from_frequencies(np.zeros((1, statistics.index_set.dimension), dtype=np.int64))
    linear, center = statistics.linear(constant)
    n_values, total = linear.n_samples, linear.gram[0, 0]
    log_scale = -linear.log_precision / (n_values or 1.0)
    spread = _spread(linear.squares / (total or 1.0), center, log_scale, n_values, model, settings)
    if not linear.derivatives:
        return spread
    with np.errstate(invalid="ignore"):
        squares = linear.derivative_squares / linear.n_derivatives[:, None]
    return _with_derivatives(spread, squares, n_values, model)


def _with_derivatives(spread: Spread, squares: NDArray[np.float64], n_values: float, model: Model) -> Spread:
    """Spread of values and derivatives: few values say less of the height of a surface than its slopes.

    A sinusoid of variance v along a circle has slopes of mean square v over the square of its length over two pi; the
    range of a line stands for such a length.
    """
    partials = Partials.of(model.torus, model.layout.plain)
    period = np.diagonal(model.period) if model.period.ndim == 2 else model.period
    length = np.zeros(len(partials.names))
    for axis, place, around in zip(model.torus.axes, partials.axes, period, strict=True):
        if place >= 0:
            length[place] = max(length[place], (axis.extent if axis.kind == "line" else around) / (2 * np.pi))
    seen: Any = ~np.isnan(squares).any(axis=1)
    heights = np.maximum(length[seen] ** 2 @ squares[seen], 1e-24)
    has_values = spread.is_known and n_values > 1
    variance = spread.variance if has_values else heights
    if has_values and n_values < _FEW_VALUES:
        variance = np.maximum(variance, heights)
    return Spread(
        variance,
        spread.typical_noise if has_values else variance,
        True,
        {name: np.maximum(squares[i], 1e-24) for i, name in enumerate(partials.names) if seen[i]},
        n_values > 0,
    )


def _spread(
    variance: NDArray[np.float64],
    center: NDArray[np.float64],
    log_scale: float,
    n_samples: float,
    model: Model,
    settings: Settings,
) -> Spread:
    """Of constant targets what rounding leaves of their variance; a single row tells nothing of it."""
    spread, size = np.sqrt(variance), np.abs(center)
    varies = spread > _LEAST_SPREAD * size
    lost = ~varies & (spread > 2 * np.finfo(float).eps * size)  # more than rounding of equal targets
    if lost.any():
        raise ValueError(
            f"The targets are {center[lost][0]:.6g} and vary by {spread[lost][0]:.2g}, hardly more than such numbers "
            "are apart: subtract a constant before they are rounded."
        )
    if n_samples <= 1 and not varies.any():
        return _given_spread(model, settings, len(variance))
    rounding = np.maximum(1e-12 * np.abs(center) ** 2, 1e-12)
    variance = np.where(varies, variance, rounding)
    return Spread(variance, variance / np.exp(log_scale))


def _given_spread(model: Model, settings: Settings, n_outputs: int) -> Spread:
    """What the prior says of a single row: it does not vary, so it tells nothing of variances itself."""
    variance = sum(1.0 if term.variance is None else term.variance for term in model.terms)
    noise = noise_variances(settings.noise_variance, n_outputs)
    return Spread(variance + noise, noise, is_known=False)
