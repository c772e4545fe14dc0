"""A surface of two inputs as contours, with its minima, passes, paths and data."""

import numpy as np

from torusgp.checks import check_count
from torusgp.kernels.checks import check_inputs
from torusgp.surfaces._field import Field
from torusgp.views.plotting._base import OKABE_ITO, new_axes, to_regressor

_MARKS = ((0, "o", "minimum"), (1, "X", "saddle point"), (2, "^", "maximum"))


class SurfaceDisplay:
    """Contours of a fitted function of two inputs, over one period of circles and the range of lines.

    Parameters
    ----------
    grid : pair of ndarray
        Values of the inputs.
    values : ndarray of shape (n_points_second, n_points_first)
        Predicted function.
    names : pair of str
        Names of the inputs.
    points : StationaryPoints, optional
        Marked with their standard errors.
    paths : sequence of MinimumEnergyPath, optional
        Drawn, cut where a period ends.
    observed : ndarray of shape (n_samples, 2), optional
        Inputs of the data, in the period that is shown.
    periods : pair of float
        Periods of the inputs, NaN for those that do not repeat.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Its figure.
    """

    def __init__(self, grid, values, names, points=None, paths=(), observed=None, periods=(np.nan, np.nan)):
        self.grid = grid
        self.values = values
        self.names = names
        self.points = points
        self.paths = paths
        self.observed = observed
        self.periods = periods

    @classmethod
    def from_estimator(cls, estimator, X=None, *, points=None, paths=(), n_points=121, output=0):
        """Predict over the range that the data have, as from -180 to 180.

        Parameters
        ----------
        estimator : TorusGPRegressor, TableModel or FittedTorusGP
            Fitted model of two circles or lines.
        X : array-like of shape (n_samples, 2), optional
            Inputs of the data, to be drawn.
        points : StationaryPoints, optional
            As :func:`torusgp.surfaces.find_stationary_points` returns them.
        paths : sequence of MinimumEnergyPath, optional
            As :func:`torusgp.surfaces.minimum_energy_path` returns them.
        n_points : int, default=121
            Points along each input.
        output : int, default=0
            Which target, where there are several.

        Returns
        -------
        SurfaceDisplay

        Examples
        --------
        >>> import numpy as np
        >>> from torusgp import TorusGPRegressor
        >>> X = np.random.default_rng(0).uniform(-180, 180, (100, 2))
        >>> y = np.cos(np.radians(X)).sum(axis=1) + 0.01 * X[:, 0] % 0.02
        >>> display = SurfaceDisplay.from_estimator(TorusGPRegressor(period=360).fit(X, y), X)
        >>> float(display.grid[0].min()), float(display.grid[0].max())
        (-180.0, 180.0)
        """
        estimator = to_regressor(estimator)
        field = Field(estimator, output)
        domain = field.domain
        if domain.dimension != 2 or np.count_nonzero(domain.cell - np.diag(np.diag(domain.cell))):
            raise ValueError(f"A surface of two circles or lines is drawn, got inputs {list(field.names)}.")
        check_count(n_points, "n_points")
        sizes = np.diag(domain.cell)
        grid = tuple(low + size * np.linspace(0, 1, n_points) for low, size in zip(domain.origin, sizes, strict=True))
        first, second = np.meshgrid(*grid)
        values = field.value(np.column_stack([first.ravel(), second.ravel()])).reshape(first.shape)
        observed = None if X is None else domain.wrap(check_inputs(X, "X", 2))
        periods = tuple(np.where(domain.is_periodic, sizes, np.nan))
        return cls(grid, values, field.names, points, tuple(paths), observed, periods)

    def plot(self, ax=None, *, levels=15, **kwargs):
        """Draw contours, data, paths and stationary points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure.
        levels : int or array-like, default=15
            Number of contours, or their values.
        **kwargs
            Passed to ``Axes.contourf``.

        Returns
        -------
        self
        """
        ax = new_axes(ax, figsize=(5.8, 4.8))
        drawn = ax.contourf(*self.grid, self.values, levels, **{"cmap": "viridis", **kwargs})
        ax.contour(*self.grid, self.values, drawn.levels, colors="white", linewidths=0.4, alpha=0.6)
        ax.figure.colorbar(drawn, ax=ax, label="prediction")
        if self.observed is not None:
            ax.plot(
                *self.observed.T,
                ".",
                color="white",
                markeredgecolor="0.4",
                markersize=4,
                markeredgewidth=0.4,
                label="data",
            )
        for i, path in enumerate(self.paths):
            label = "minimum-energy path" if i == 0 else None
            ax.plot(*self._cut(path.points).T, color=OKABE_ITO[1], linewidth=1.8, label=label)
        for index, marker, label in _MARKS if self.points is not None else ():
            chosen = self.points.of_index(index)
            if len(chosen):
                where, errors = (
                    np.array([getattr(one, name) for one in chosen]) for name in ("position", "position_std")
                )
                style = {
                    "fmt": marker,
                    "color": "white",
                    "markeredgecolor": "black",
                    "ecolor": "black",
                    "markersize": 7,
                }
                ax.errorbar(*where.T, xerr=errors[:, 0], yerr=errors[:, 1], label=label, **style)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])
        for axis, period in zip((ax.xaxis, ax.yaxis), self.periods, strict=True):
            if period == 360:
                axis.set_major_locator(_every(60))
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _cut(self, points):
        """A path in the period that is shown, with gaps where it leaves it."""
        periods, low = np.array(self.periods), np.array([ticks[0] for ticks in self.grid])
        repeats = np.isfinite(periods)
        safe = np.where(repeats, periods, 1.0)
        wrapped = np.where(repeats, low + (points - low) % safe, points)
        jumps = np.flatnonzero((np.abs(np.diff(wrapped, axis=0)) > safe / 2)[:, repeats].any(axis=1))
        return np.insert(wrapped, jumps + 1, np.nan, axis=0)


def _every(step):
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(step)
