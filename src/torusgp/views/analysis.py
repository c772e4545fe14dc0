r"""Attribution of the variance of a fitted regressor to its inputs, and their effects.

With independent dimensions the ANOVA decomposition of Sobol (1993) of a sum of products follows from means and
covariances of functions of one dimension, without quadrature over all of them or sampling. On circles and lattices the
measure is the uniform one, for which sinusoids of different frequencies are orthogonal: if nothing else is in the
model, the component of a set u of dimensions consists of the frequencies whose non-zero entries are exactly those of u,
and its variance is :math:`\sum_k (a_k^2 + b_k^2) / 2` over the weights of their cosines and sines. Along lines,
categories and plain columns the measure is the distribution of the rows of the fit, each row weighted by its precision,
and the dimensions are taken as independent even where the rows show otherwise.

Dimensions are circles, directions of a lattice, and inputs that do not repeat: all lines of an input, its category and
its slope are one of them. An input that feeds several circles has a dimension for each, and one more for what does not
repeat, such as slow change beside a period that was found. On an oblique cell dimensions are the directions of the
lattice vectors: the uniform measure on the cell makes their phases independent, so all of this holds, for the basis of
the lattice that the model has.

Where inputs determine each other, as a weekday that moves on with every hour determines the hour, only the prior
divides what they share: whole days keep them apart. With ``likelihood="log_normal"`` all of this is about the
logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_count, check_flag, check_share, to_floats
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.libraries import require
from torusgp.views.decomposition import Component, Decomposition
from torusgp.views.dimensions import ROWS, UNIFORM, Dimension, find_dimensions, to_levels
from torusgp.views.effect_series import EffectSeries

_TIMES = " \N{MULTIPLICATION SIGN} "  # between the names of dimensions that interact
_MOST_LINES = 15  # components that are printed
_LINE_POINTS, _GRID_POINTS = 201, 3721  # of a grid along one dimension, and over several in all


@dataclass(frozen=True, eq=False, repr=False)
class SobolIndices:
    """Shares of the variance of a fitted function, by the dimensions that act, alone or together.

    Arrays end in an axis of outputs if the targets had one.

    Attributes
    ----------
    names : tuple of str
        Names of the dimensions.
    components : tuple of tuple of int
        Dimensions of each component: first every dimension alone, then those that interact, by their number.
    share : ndarray of shape (n_components,) or (n_components, n_outputs)
        Share of each component in the variance of the predicted function.
    total_order : ndarray of shape (dimension,) or (dimension, n_outputs)
        Share of all components that a dimension takes part in: what would be lost with it.
    rest : float or ndarray of shape (n_outputs,)
        Share of components with more dimensions than ``max_order``. With ``share`` it sums to one.
    variance : float or ndarray of shape (n_outputs,)
        Variance of the predicted function, in squared units of the target.
    share_draws : ndarray of shape (n_components, n_samples) or (n_components, n_outputs, n_samples)
        Shares in functions drawn from the posterior.
    total_order_draws : ndarray of shape (dimension, n_samples) or (dimension, n_outputs, n_samples)
        The same for the total order.
    measure : dict of str to str
        How values of each dimension are weighted, by its name: "uniform" on circles and lattices, "rows" where it is
        the distribution of the rows, "uniform over the range" where a stored model does not hold that.
    """

    names: tuple[str, ...]
    components: tuple[Component, ...]
    share: NDArray[np.float64]
    total_order: NDArray[np.float64]
    rest: float | NDArray[np.float64]
    variance: float | NDArray[np.float64]
    share_draws: NDArray[np.float64]
    total_order_draws: NDArray[np.float64]
    measure: dict[str, str]

    @property
    def first_order(self) -> NDArray[np.float64]:
        """Share of every dimension alone, shape (dimension,) or (dimension, n_outputs)."""
        return self.share[: len(self.names)]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components: those of their dimensions, joined by a multiplication sign."""
        return tuple(_TIMES.join(self.names[d] for d in component) for component in self.components)

    def __getitem__(self, component: Any) -> Any:
        """Share of the component of these dimensions, by position or name; zero if no frequency belongs to it."""
        wanted = tuple(sorted(_find_dimensions(component, self.names)))
        if wanted in self.components:
            return self.share[self.components.index(wanted)]
        if np.any(self.rest) and len(wanted) > max(map(len, self.components)):
            raise KeyError(f"{component!r} is part of the rest: raise max_order to {len(wanted)}.")
        return np.zeros(self.share.shape[1:])[()]

    def interval(self, coverage: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Smallest and largest share of each component, as ``share`` plus and minus a margin, within 0 and 1.

        The share of a function drawn from the posterior is inside with this probability, see :func:`sobol_indices`.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability.

        Returns
        -------
        lower, upper : ndarray of the shape of ``share``
        """
        return _around(self.share, self.share_draws, coverage)

    def total_order_interval(self, coverage: float = 0.95) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same as :meth:`interval` for the total order.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability.

        Returns
        -------
        lower, upper : ndarray of the shape of ``total_order``
        """
        return _around(self.total_order, self.total_order_draws, coverage)

    def to_frame(self, coverage: float = 0.95) -> Any:
        """Table of the components as a data frame of pandas.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability of the intervals.

        Returns
        -------
        pandas.DataFrame
            With columns component, order (number of dimensions), share, lower, upper, and the total order, where a
            component is one dimension. Several outputs have a column output before, and a row each.
        """
        pandas = require("pandas", "io", "A data frame needs")
        lower, upper = self.interval(coverage)
        total = np.full(self.share.shape, np.nan)
        total[: len(self.names)] = self.total_order
        columns = {"share": self.share, "lower": lower, "upper": upper, "total_order": total}
        n_components, n_outputs = len(self.components), self.share[0].size
        frame = {
            "component": list(self.labels) * n_outputs,
            "order": [len(component) for component in self.components] * n_outputs,
        } | {name: values.reshape(n_components, -1).T.ravel() for name, values in columns.items()}
        if self.share.ndim == 2:
            frame = {"output": np.repeat(np.arange(n_outputs), n_components)} | frame
        return pandas.DataFrame(frame)

    def __repr__(self) -> str:
        share, total = (values.reshape(len(values), -1) for values in (self.share, self.total_order))
        lower, upper = (values.reshape(share.shape) for values in self.interval())
        variance, rest = np.atleast_1d(self.variance), np.atleast_1d(self.rest)
        width = max(len(label) for label in (*self.labels, "component"))
        lines = []
        for q in range(share.shape[1]):
            of = f"output {q}, " if share.shape[1] > 1 else ""
            lines += [
                f"Shares of the variance of the predicted function ({of}variance {variance[q]:.4g})",
                f"{'component':{width}}  share   95 % interval   total order",
            ]
            order = np.argsort(-share[:, q], kind="stable")
            for i in order[:_MOST_LINES]:
                line = f"{self.labels[i]:{width}}  {share[i, q]:.3f}   {lower[i, q]:.3f} to {upper[i, q]:.3f}"
                lines.append(line + (f"  {total[i, q]:.3f}" if i < len(self.names) else ""))
            if len(order) > _MOST_LINES:
                label = f"{len(order) - _MOST_LINES} smaller"
                lines.append(f"{label:{width}}  {share[order[_MOST_LINES:], q].sum():.3f}")
            if rest[q]:
                lines.append(f"{'higher orders':{width}}  {rest[q]:.3f}")
        weighted = {value for value in self.measure.values() if value != UNIFORM}
        for value in sorted(weighted):
            along = ", ".join(name for name, own in self.measure.items() if own == value)
            how = "as the rows are distributed" if value == ROWS else "evenly over the range"
            lines.append(f"Values of {along} are weighted {how}.")
        return "\n".join(lines)


def sobol_indices(
    model: TorusGPRegressor, *, max_order: int | None = None, n_samples: int = 1000, random_state: Any = 0
) -> SobolIndices:
    r"""Sobol indices of a fitted function: shares of its variance, by the dimensions that act, alone or together.

    The share of a component is that of the *predicted* function, the posterior mean of the weights: exact, the same in
    every run, and what any estimate from values of ``model.predict`` converges to. The posterior expectation of a
    component's variance would add the posterior variances of its weights, on circles

    .. math:: E\Big[\sum_k \frac{a_k^2 + b_k^2}{2}\Big] = \sum_k \frac{E[a_k]^2 + E[b_k]^2}{2}
              + \sum_k \frac{\mathrm{Var}[a_k] + \mathrm{Var}[b_k]}{2},

    which is right on average over functions from the prior, but gives to a component that is absent what the prior
    expects of its many frequencies: an additive function seems to have interactions.

    How far the truth may be from that, functions drawn from the posterior tell. Every one of them holds the second sum,
    so quantiles of their shares would leave out the share of the predicted function, and zero. The margin of
    :meth:`SobolIndices.interval` is the quantile of their *distance* from it: an interval around the share that holds
    the truth with the given posterior probability, and reaches zero where the data do not tell a component from none.
    Hyperparameters are held at what was learned.

    Values of circles and lattices are weighted evenly, those of lines, categories and plain columns as the rows of the
    fit are distributed along each of them.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    max_order : int, optional
        Most dimensions of a component; those with more are counted in ``rest``. By default all are listed.
    n_samples : int, default=1000
        Number of functions drawn from the posterior.
    random_state : int, RandomState or None, default=0
        Determines them.

    Returns
    -------
    SobolIndices
        Those of a constant target beside others are not a number.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, [24, 7], (500, 2))
    >>> hour, weekday = 2 * np.pi * X.T / np.array([[24], [7]])
    >>> y = np.cos(hour) * (1 + 0.5 * np.sin(weekday)) + 0.05 * rng.normal(size=500)
    >>> indices = sobol_indices(TorusGPRegressor(period=[24, 7]).fit(X, y))
    >>> indices.components
    ((0,), (1,), (0, 1))
    >>> bool(np.allclose(indices.share, [8 / 9, 0, 1 / 9], atol=0.01))
    True
    """
    dimensions = _dimensions(model)
    check_count(max_order, "max_order", optional=True)
    check_count(n_samples, "n_samples")
    fitted, names = model.fitted_, tuple(one.name for one in dimensions)
    decomposition = Decomposition(fitted, dimensions)
    components = decomposition.components
    by_component = decomposition.variances(fitted.posterior.weights)
    drawn = decomposition.variances(fitted.sample_weights(n_samples, check_random_state(random_state)))
    variance = by_component.sum(axis=0)
    constant = variance <= (1e-12 * np.abs(fitted.offset)) ** 2
    if constant.all():
        of = "the target is" if len(constant) == 1 else "every output is"
        raise ValueError(f"The predicted function of {of} constant: it has no variance to attribute.")
    share = by_component / np.where(constant, np.nan, variance)
    drawn = drawn / np.where(constant[:, None], np.nan, drawn.sum(axis=0))
    takes_part = np.array([[d in component for component in components] for d in range(len(names))], dtype=float)
    order = np.array([len(component) for component in components])
    listed = order <= (len(names) if max_order is None else max_order)
    several = np.ndim(model.coef_) == 2

    def squeezed(values: NDArray[np.float64]) -> NDArray[np.float64]:  # as the model does
        return values if several else values[:, 0]

    return SobolIndices(
        names=names,
        components=tuple(component for component, is_listed in zip(components, listed, strict=True) if is_listed),
        share=squeezed(share[listed]),
        total_order=squeezed(takes_part @ share),
        rest=share[~listed].sum(axis=0) if several else float(share[~listed].sum()),
        variance=variance if several else float(variance[0]),
        share_draws=squeezed(drawn[listed]),
        total_order_draws=squeezed(np.tensordot(takes_part, drawn, axes=1)),
        measure=_measures(dimensions),
    )


@dataclass(frozen=True, eq=False)
class Effect:
    """Effect of one dimension, or of several together, averaged over the others: a function with its uncertainty.

    Call it for values at any points: ``effect(points)`` or ``effect(points, return_std=True)``. Points are in the units
    of the inputs, along an oblique lattice vector in the same units from the origin; those of categories are levels.

    Attributes
    ----------
    names : tuple of str
        Names of the dimensions.
    kind : tuple of {"circle", "lattice", "line", "category", "slope"}
        What they are.
    period : tuple of float or None
        Periods of circles, lengths of lattice vectors; None for what does not repeat.
    joint : bool
        Whether lower orders and the mean are included.
    measure : dict of str to str
        How values of every dimension of the model are weighted in averages, see :class:`SobolIndices`.
    grid : tuple of ndarray
        Values of each dimension.
    mean, std : ndarray of the shape of the grid, with an axis of outputs at the end if the targets had one
        The effect on the grid and its posterior standard deviation, in the units of the target.
    """

    names: tuple[str, ...]
    kind: tuple[str, ...]
    period: tuple[float | None, ...]
    joint: bool
    measure: dict[str, str]
    grid: tuple[NDArray[Any], ...] = field(repr=False)
    mean: NDArray[np.float64] = field(repr=False)
    std: NDArray[np.float64] = field(repr=False)
    _series: EffectSeries = field(repr=False)

    def __call__(self, points: ArrayLike, return_std: bool = False) -> Any:
        """Values of the effect.

        Parameters
        ----------
        points : array-like of shape (n_points, n_dimensions), or (n_points,) for one dimension
            Where.
        return_std : bool, default=False
            Also return the posterior standard deviation of the effect, which is without noise.

        Returns
        -------
        mean : ndarray of shape (n_points,) or (n_points, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        """
        values = np.asarray(points, dtype=object if "category" in self.kind else float)
        values = values[:, None] if values.ndim == 1 and len(self.names) == 1 else values
        if values.ndim != 2 or values.shape[1] != len(self.names):
            raise ValueError(f"points must have shape (n_points, {len(self.names)}), got {values.shape}.")
        mean, std = self._series(list(values.T), return_std)
        return (mean, std) if return_std else mean


def effect(
    model: TorusGPRegressor,
    dimensions: Any,
    *,
    joint: bool = False,
    grid: Any = None,
    n_points: int | None = None,
) -> Effect:
    """Effect of one dimension, or of several together, averaged over the others.

    For one dimension it is the main effect, for more what they do together beyond their effects in smaller groups: a
    component of the ANOVA decomposition, whose average over any of its dimensions is zero. The mean and the components
    of all sets of dimensions add up to the prediction. With ``joint`` it is the average of the prediction over all
    other dimensions: the mean and the components of all subsets added up. Mean and standard deviation are exact, from
    the posterior of the weights that the effect consists of. The average is even over circles and lattices, and over
    lines, categories and plain columns that of the rows of the fit, one dimension at a time.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    dimensions : int, str or sequence of these
        Dimensions, by position or name as in ``sobol_indices(model).names``.
    joint : bool, default=False
        Include the mean and the effects of fewer of the dimensions.
    grid : array-like, or for several dimensions a sequence of these, optional
        Values of each dimension on which the effect is computed; by default one period, the range of the rows, or all
        levels.
    n_points : int, optional
        Points of each dimension over that range; by default 201 for one and fewer for several, 61 for two.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, [24, 7], (500, 2))
    >>> hour, weekday = 2 * np.pi * X.T / np.array([[24], [7]])
    >>> y = 3 + np.cos(hour) * (1 + 0.5 * np.sin(weekday)) + 0.05 * rng.normal(size=500)
    >>> model = TorusGPRegressor(period=[24, 7]).fit(X, y)
    >>> main = effect(model, 0)
    >>> bool(np.allclose(main.mean, np.cos(2 * np.pi * main.grid[0] / 24), atol=0.05))
    True
    >>> bool(np.isclose(effect(model, [0, 1], joint=True)([[6.0, 1.0]])[0], model.predict([[6.0, 1.0]])[0]))
    True
    """
    check_flag(joint, "joint")
    all_dimensions = _dimensions(model)
    chosen = _find_dimensions(dimensions, tuple(one.name for one in all_dimensions))
    own = tuple(all_dimensions[d] for d in chosen)
    series = EffectSeries.of(model.fitted_, all_dimensions, chosen, bool(joint), np.ndim(model.coef_) == 2)
    grid = _check_grid(grid, n_points, own)
    mesh = np.meshgrid(*(np.arange(len(values)) for values in grid), indexing="ij")
    mean, std = (
        values.reshape(mesh[0].shape + values.shape[1:])
        for values in series([values[where.ravel()] for values, where in zip(grid, mesh, strict=True)], return_std=True)
    )
    return Effect(
        tuple(one.name for one in own),
        tuple(one.kind for one in own),
        tuple(one.period for one in own),
        bool(joint),
        _measures(all_dimensions),
        grid,
        mean,
        std,
        series,
    )


def _around(
    values: NDArray[np.float64], draws: NDArray[np.float64], coverage: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values plus and minus the distance within which a share of the draws lies, within 0 and 1."""
    check_share(coverage, "coverage")
    margin = np.quantile(np.abs(draws - values[..., None]), coverage, axis=-1)
    return np.maximum(values - margin, 0.0), np.minimum(values + margin, 1.0)


def _dimensions(model: TorusGPRegressor) -> tuple[Dimension, ...]:
    """Dimensions of a fitted model."""
    if not isinstance(model, TorusGPRegressor):
        raise TypeError(f"model must be a TorusGPRegressor, got {type(model).__name__}.")
    check_is_fitted(model, "statistics_")
    return find_dimensions(model.fitted_)


def _measures(dimensions: tuple[Dimension, ...]) -> dict[str, str]:
    return {one.name: one.measure for one in dimensions}


def _find_dimensions(dimensions: Any, names: tuple[str, ...]) -> tuple[int, ...]:
    """Positions of dimensions that are given by position or name, in their order."""
    given = list(dimensions) if np.iterable(dimensions) and not isinstance(dimensions, str) else [dimensions]
    found = []
    for one in given:
        if isinstance(one, str) and names.count(one) == 1:
            found.append(names.index(one))
        elif isinstance(one, int | np.integer) and 0 <= one < len(names):
            found.append(int(one))
        else:
            raise ValueError(f"{one!r} is not one of the dimensions 0 to {len(names) - 1}, which are {list(names)}.")
    if not found or len(set(found)) < len(found):
        raise ValueError(f"dimensions must be one or several different ones, got {dimensions!r}.")
    return tuple(found)


def _check_grid(grid: Any, n_points: int | None, dimensions: tuple[Dimension, ...]) -> tuple[NDArray[Any], ...]:
    """Values of each dimension, as given or over its range."""
    size = len(dimensions)
    if grid is None:
        if n_points is None:
            n_points = _LINE_POINTS if size == 1 else max(5, round(_GRID_POINTS ** (1 / size)))
        check_count(n_points, "n_points")
        return tuple(one.grid(n_points) for one in dimensions)
    if n_points is not None:
        raise ValueError("grid and n_points cannot both be given.")
    if not np.iterable(grid):
        raise ValueError(f"grid must hold one vector for each of {size} dimensions, got {grid!r}.")
    grid = (grid,) if size == 1 and np.ndim(cast(Any, grid)) == 1 else grid
    values = tuple(
        to_levels(own) if one.kind == "category" and np.ndim(own) == 1 else to_floats(own, "grid")
        for one, own in zip(dimensions, grid, strict=False)
    )
    if len(grid) != size or any(one.ndim != 1 for one in values):
        raise ValueError(f"grid must hold one vector for each of {size} dimensions.")
    return values
