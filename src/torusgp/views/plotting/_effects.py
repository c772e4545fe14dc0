"""What one dimension of a regressor does, or two together, averaged over the others."""

import numpy as np
from scipy.special import ndtri

from torusgp.views.analysis import effect
from torusgp.views.plotting._base import OKABE_ITO, import_pyplot


class EffectDisplay:
    """An effect with its uncertainty: a line with a band along one dimension, or two maps over a pair.

    Parameters
    ----------
    grid : tuple of one or two ndarrays of shape (n_points,)
        Values of the dimensions.
    mean, std : ndarray of shape (n_points,), or (n_points_first, n_points_second) for two dimensions
        The effect and its standard deviation.
    names : tuple of str
        Names of the dimensions.
    joint : bool, default=False
        Whether the mean and lower orders are included, as in :func:`torusgp.views.analysis.effect`.
    target : str, default="target"
        Name of the target, with its unit if it has one.
    period : tuple of float, optional
        Periods of the dimensions, for ticks that divide them.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot: one for a line, those of effect and standard deviation for maps.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, [24, 7], (300, 2))
    >>> y = np.cos(2 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=300)
    >>> model = TorusGPRegressor(period=[24, 7]).fit(X, y)
    >>> display = EffectDisplay.from_estimator(model, 0)
    >>> bool(abs(display.mean - np.cos(2 * np.pi * display.grid[0] / 24)).max() < 0.1)
    True
    """

    def __init__(self, grid, mean, std, names, joint=False, target="target", period=None):
        self.grid = grid
        self.mean = mean
        self.std = std
        self.names = names
        self.joint = joint
        self.target = target
        self.period = period

    @classmethod
    def from_estimator(cls, estimator, dimensions, *, joint=False, grid=None, n_points=None, output=0, target="target"):
        """Compute an effect of a fitted regressor.

        Parameters
        ----------
        estimator : TorusGPRegressor
            Fitted regressor.
        dimensions : int, str or pair of these
            One or two dimensions of the torus, by position or name.
        joint : bool, default=False
            Include the mean and, for two, what each does alone.
        grid, n_points
            See :func:`torusgp.views.analysis.effect`.
        output : int, default=0
            Which target, where there are several.
        target : str, default="target"
            Its name, with its unit if it has one.

        Returns
        -------
        EffectDisplay
        """
        found = effect(estimator, dimensions, joint=joint, grid=grid, n_points=n_points)
        if len(found.names) > 2:
            raise ValueError(f"An effect of one or two dimensions can be drawn, got {len(found.names)}: {found.names}.")
        several = found.mean.ndim > len(found.grid)
        mean, std = (values[..., output] if several else values for values in (found.mean, found.std))
        return cls(found.grid, mean, std, found.names, found.joint, target, found.period)

    def plot(self, ax=None, *, coverage=0.95, **kwargs):
        """Draw the effect and its uncertainty.

        Parameters
        ----------
        ax : matplotlib Axes or pair of these, optional
            One for a line; for maps one for the effect alone, or two. By default a new figure.
        coverage : float, default=0.95
            Probability that the band of a line covers at each point.
        **kwargs
            Passed to ``Axes.plot`` for the line, to ``Axes.pcolormesh`` for the map of the effect.

        Returns
        -------
        self
        """
        pyplot = import_pyplot()
        is_line = len(self.grid) == 1
        if ax is None:
            size = (6.4, 4.0) if is_line else (10.4, 4.2)
            _, ax = pyplot.subplots(1, 1 if is_line else 2, figsize=size, layout="constrained")
        axes = np.atleast_1d(ax)
        if axes.shape not in (((1,),) if is_line else ((1,), (2,))):
            wanted = "one axes" if is_line else "one axes or two"
            raise ValueError(f"ax must be {wanted}, got an array of shape {axes.shape}.")
        if is_line:
            self._plot_line(axes[0], coverage, kwargs)
        else:
            self._plot_maps(axes, kwargs)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    @property
    def _label(self):
        if self.joint:
            return f"average {self.target}"
        return f"effect on {self.target}" if len(self.names) == 1 else f"interaction effect on {self.target}"

    def _plot_line(self, ax, coverage, kwargs):
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}.")
        (x,) = self.grid
        half = ndtri((1 + coverage) / 2) * self.std
        band = {"color": OKABE_ITO[5], "alpha": 0.45, "linewidth": 0, "label": f"{coverage:.0%} interval"}
        ax.fill_between(x, self.mean - half, self.mean + half, **band)
        style = {"color": OKABE_ITO[0], "linewidth": 1.8, "label": "mean"}
        ax.plot(x, self.mean, **{**style, **kwargs})
        if not self.joint:
            ax.axhline(0.0, color="0.4", linewidth=0.8, zorder=0)
        self._set_axis(ax, 0, "x")
        ax.set_ylabel(self._label)
        ax.grid(alpha=0.3)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

    def _plot_maps(self, axes, kwargs):
        # an effect alone has a zero, which the middle of the scale shows; an average has none
        reach = np.abs(self.mean).max() or 1.0
        scale = {"cmap": "viridis"} if self.joint else {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}
        # from zero, so that an uncertainty that is the same everywhere looks so, and one far below the effect is dark
        most = max(self.std.max(), 0.05 * np.ptp(self.mean)) or 1.0
        styles = ({**scale, **kwargs}, {"cmap": "cividis", "vmin": 0.0, "vmax": most})
        labels = (self._label, "standard deviation, in the same unit")
        for ax, values, style, label in zip(axes, (self.mean, self.std), styles, labels, strict=False):
            image = ax.pcolormesh(*self.grid, values.T, **{"shading": "gouraud", "rasterized": True, **style})
            ax.figure.colorbar(image, ax=ax, label=label)
            self._set_axis(ax, 0, "x")
            self._set_axis(ax, 1, "y")

    def _set_axis(self, ax, position, axis):
        """Name, limits and ticks of one axis of the plot."""
        values = self.grid[position]
        getattr(ax, f"set_{axis}label")(self.names[position])
        if len(values) > 1:
            getattr(ax, f"set_{axis}lim")(values.min(), values.max())
        step = None if self.period is None else _tick_step(abs(self.period[position]))
        if step is not None and 0 < np.ptp(values) <= abs(self.period[position]):
            first, last = np.ceil(values.min() / step), np.floor(values.max() / step)
            getattr(ax, f"set_{axis}ticks")(step * np.arange(first, last + 1))


def _tick_step(period):
    """Distance of ticks that divides a whole period, as hours divide a day, or None."""
    if period != round(period):
        return None
    return next((period / n for n in (7, 6, 8, 5, 4) if period % n == 0), None)
