"""Contributions of the terms of a regressor, along the inputs that they depend on."""

from dataclasses import dataclass

import numpy as np

from torusgp.checks import check_count, check_output
from torusgp.views.dimensions import to_levels
from torusgp.views.plotting._base import import_pyplot, name_function, to_regressor
from torusgp.views.plotting._functions import draw_function, draw_map, map_styles, set_axis

_CURVE_POINTS, _MAP_POINTS = 201, 41
_COLUMNS = 2  # of a new figure


@dataclass(frozen=True, eq=False)
class Part:
    """A term over its inputs."""

    name: str
    inputs: tuple
    kind: tuple
    grid: tuple
    period: tuple
    mean: np.ndarray
    std: np.ndarray


class PartsDisplay:
    """Terms of a model with their uncertainty: curves with bands, bars for the levels of a category, maps for pairs.

    Parameters
    ----------
    parts : sequence of Part
        The terms.
    target : str, default="target"
        Name of the target, with its unit if it has one.
    left_out : sequence of str, default=()
        Names of terms that depend on more than two inputs, which are not drawn.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot, in the order of the terms; a map in a new figure has a second one for its standard
        deviation.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import Circle, Line, TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, [24, 30], (300, 2))
    >>> y = np.cos(2 * np.pi * X[:, 0] / 24) + 0.002 * (X[:, 1] - 18) ** 2 + 0.1 * rng.normal(size=300)
    >>> model = TorusGPRegressor(Circle(0, 24) + Line(1)).fit(X, y)
    >>> display = PartsDisplay.from_estimator(model)
    >>> [part.name for part in display.parts]
    ['x0', 'x1']
    >>> bool(abs(display.parts[0].mean - np.cos(2 * np.pi * display.parts[0].grid[0] / 24)).max() < 0.2)
    True
    """

    def __init__(self, parts, target="target", left_out=()):
        self.parts = tuple(parts)
        self.target = target
        self.left_out = tuple(left_out)

    @classmethod
    def from_estimator(cls, estimator, terms=None, *, n_points=None, output=0, names=None, target=None):
        """Compute the terms of a fitted regressor, see :meth:`torusgp.TorusGPRegressor.predict_parts`.

        Parameters
        ----------
        estimator : TorusGPRegressor or TableModel
            Fitted regressor.
        terms : str or sequence of str, optional
            Names of terms, as in ``term_names_``; by default all that depend on one or two inputs.
        n_points : int, optional
            Points along each input; by default 201 for a curve and 41 for a map.
        output : int, default=0
            Which target, where there are several.
        names : sequence of str, optional
            Names of all inputs, with their units if they have these; by default those of the fit.
        target : str, optional
            Name of the target, with its unit if it has one; of likelihoods on another scale, such as that of
            logarithms, the name of the function.

        Returns
        -------
        PartsDisplay
        """
        estimator = to_regressor(estimator)
        fitted = estimator.fitted_
        check_count(n_points, "n_points", optional=True)
        check_output(output, fitted.n_outputs)
        for name, value in (("names", names), ("terms", terms)):
            if value is not None and (not np.iterable(value) or not all(isinstance(one, str) for one in value)):
                raise ValueError(f"{name} must be names, got {value!r}.")
        names = fitted.prior.torus.names if names is None else tuple(names)
        if len(names) != len(fitted.prior.torus.names):
            raise ValueError(f"names must be {len(fitted.prior.torus.names)}, one for each input, got {names!r}.")
        inputs = _inputs_of_parts(fitted)
        chosen = [terms] if isinstance(terms, str) else terms
        if chosen is None:
            chosen = [name for name in fitted.parts.names if len(inputs[name]) <= 2]
        for name in chosen:
            if name not in inputs:
                raise ValueError(f"{name!r} is not one of the terms, which are {list(fitted.parts.names)}.")
            if len(inputs[name]) > 2:
                raise ValueError(
                    f"The term {name!r} depends on {len(inputs[name])} inputs, and one or two can be drawn: use "
                    "EffectDisplay, which averages over others."
                )
        parts = [_compute(fitted, name, inputs[name], n_points, output, names) for name in chosen]
        target = name_function(estimator) if target is None else target
        return cls(parts, target, [name for name in fitted.parts.names if len(inputs[name]) > 2])

    def plot(self, ax=None, *, coverage=0.95, **kwargs):
        """Draw the terms.

        Parameters
        ----------
        ax : matplotlib Axes or array of these, optional
            One for each term, where maps show the mean alone; by default a new figure, where maps show their standard
            deviation beside it.
        coverage : float, default=0.95
            Probability that bands and errors cover, at each point.
        **kwargs
            Passed to ``Axes.plot`` for curves.

        Returns
        -------
        self
        """
        if not self.parts:
            raise ValueError(f"No term depends on one or two inputs alone: {list(self.left_out)} cannot be drawn.")
        pyplot = import_pyplot()
        if ax is None:
            places = self._new_axes(pyplot)
        else:
            axes = np.atleast_1d(ax).ravel()
            if len(axes) != len(self.parts):
                raise ValueError(f"ax must be {len(self.parts)} axes, one for each term, got {len(axes)}.")
            places = [(one,) for one in axes]
        for part, own in zip(self.parts, places, strict=True):
            if len(part.grid) == 1:
                self._plot_function(own[0], part, coverage, kwargs)
            else:
                self._plot_maps(own, part)
        self.axes_ = np.array([one for own in places for one in own])
        self.figure_ = self.axes_[0].figure
        return self

    def _new_axes(self, pyplot):
        """Axes of each term: curves and bars side by side on one scale, maps with their standard deviation in a row."""
        is_map = [len(part.grid) == 2 for part in self.parts]
        n_curves, n_maps = is_map.count(False), is_map.count(True)
        n_columns = 1 if n_curves == 1 and not n_maps else _COLUMNS
        curve_rows = -(-n_curves // n_columns)
        figure = pyplot.figure(figsize=(5.2 * n_columns, 3.5 * (curve_rows + n_maps)), layout="constrained")
        cells = figure.add_gridspec(curve_rows + n_maps, n_columns)
        curves = iter([cells[i // n_columns, i % n_columns] for i in range(n_curves)])
        rows = iter(range(curve_rows, curve_rows + n_maps))
        places, first = [], None
        for has_map in is_map:
            if has_map:
                row = next(rows)
                places.append(tuple(figure.add_subplot(cells[row, column]) for column in range(_COLUMNS)))
            else:
                # one scale for all, so that a term that does little looks so
                first = figure.add_subplot(next(curves), sharey=first)
                places.append((first,))
        return places

    def _plot_function(self, ax, part, coverage, kwargs):
        options = {} if part.kind[0] == "category" else kwargs
        draw_function(ax, part.grid[0], part.kind[0], part.mean, part.std, coverage, options)
        ax.axhline(0.0, color="0.4", linewidth=0.8, zorder=0)
        set_axis(ax, "x", part.inputs[0], part.grid[0], part.kind[0], part.period[0])
        ax.set_ylabel(f"contribution to {self.target}")
        ax.set_title(part.name, loc="left")
        # above the axes, where no curve runs
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize="small")

    def _plot_maps(self, axes, part):
        labels = (f"contribution to {self.target}", "standard deviation, in the same unit")
        styles = map_styles(part.mean, part.std, has_zero=True)
        for ax, values, style, label in zip(axes, (part.mean, part.std), styles, labels, strict=False):
            draw_map(ax, part.grid, part.kind, values, label, style)
            for position, axis in enumerate("xy"):
                set_axis(
                    ax, axis, part.inputs[position], part.grid[position], part.kind[position], part.period[position]
                )
        axes[0].set_title(part.name, loc="left")


def _inputs_of_parts(fitted):
    """Positions of the inputs that each term depends on."""
    torus = fitted.prior.torus
    terms = {
        term.name: list(dict.fromkeys(torus.axes[axis].input for axis in term.axes)) for term in fitted.prior.terms
    }
    return terms | {column.name: [column.input] for column in fitted.prior.columns}


def _compute(fitted, name, inputs, n_points, output, names):
    """A term on a grid of its inputs."""
    n_points = n_points or (_CURVE_POINTS if len(inputs) == 1 else _MAP_POINTS)
    kinds, periods, grid = zip(*(_range(fitted, name, position, n_points) for position in inputs), strict=True)
    mesh = np.meshgrid(*(np.arange(len(values)) for values in grid), indexing="ij")
    points = _anywhere(fitted, mesh[0].size)
    for position, values, where in zip(inputs, grid, mesh, strict=True):
        points[:, position] = values[where.ravel()]
    if not any(axis.kind == "category" for axis in fitted.prior.torus.axes):
        points = points.astype(float)
    position = fitted.parts.names.index(name)
    mean = fitted.parts.mean(points)[:, position, output]
    variance = fitted.parts.covariance(points)[:, position, position, output]
    shape = mesh[0].shape
    std = np.sqrt(np.maximum(variance, 0.0)).reshape(shape)
    return Part(name, tuple(names[j] for j in inputs), kinds, grid, periods, mean.reshape(shape), std)


def _range(fitted, name, position, n_points):
    """Kind, period and values of an input over which a term is drawn."""
    torus = fitted.prior.torus
    used = {axis for term in fitted.prior.terms if term.name == name for axis in term.axes}
    own = [d for d in sorted(used) if torus.axes[d].input == position]
    categories = [torus.axes[d] for d in own if torus.axes[d].kind == "category"]
    if categories:
        return "category", None, to_levels(categories[0].levels)
    lines = [torus.axes[d] for d in own if torus.axes[d].kind in ("line", "walk")]
    if not own:  # a plain column: over the range of a line of the same input, or where most rows are
        lines = [axis for axis in torus.axes if axis.kind in ("line", "walk") and axis.input == position]
    if lines:
        low, high = min(axis.low for axis in lines), max(axis.high for axis in lines)
        return "line", None, np.linspace(low, high, n_points)
    if not own:
        column = next(i for i, one in enumerate(fitted.prior.columns) if one.name == name)
        mean, spread = (values[column] for values in fitted.statistics.plain_units())
        return "line", None, np.linspace(mean - 2 * spread, mean + 2 * spread, n_points)
    period = fitted.parameters.period
    cell = period if period.ndim == 2 else np.diag(period)
    longest = float(np.abs(cell[:, own]).max())
    return "circle", longest if len(own) == 1 else None, np.linspace(0.0, longest, n_points)


def _anywhere(fitted, n_points):
    """Rows of inputs with some value each, which a term that does not depend on them ignores."""
    torus = fitted.prior.torus
    points = np.zeros((n_points, len(torus.names)), dtype=object)
    for axis in torus.axes:
        if axis.kind == "category":
            points[:, axis.input] = axis.levels[0]
        elif axis.kind == "line":
            points[:, axis.input] = axis.low
    return points
