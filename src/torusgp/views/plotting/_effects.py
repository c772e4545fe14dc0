"""Effects of one dimension of a regressor, or of two together, averaged over the others."""

from torusgp.views.analysis import effect
from torusgp.views.plotting._base import name_function, to_regressor
from torusgp.views.plotting._functions import axes_of_function, draw_function, draw_map, map_styles, set_axis


class EffectDisplay:
    """An effect with its uncertainty: a line with a band, bars for the levels of a category, or two maps over a pair.

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
    period : tuple of float or None, optional
        Periods of the dimensions, for ticks that divide them.
    kind : tuple of str, optional
        What the dimensions are, as in :class:`torusgp.views.analysis.Effect`; by default circles.

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

    def __init__(self, grid, mean, std, names, joint=False, target="target", period=None, kind=None):
        self.grid = grid
        self.mean = mean
        self.std = std
        self.names = names
        self.joint = joint
        self.target = target
        self.period = (None,) * len(grid) if period is None else period
        self.kind = ("circle",) * len(grid) if kind is None else kind

    @classmethod
    def from_estimator(cls, estimator, dimensions, *, joint=False, grid=None, n_points=None, output=0, target=None):
        """Compute an effect of a fitted regressor.

        Parameters
        ----------
        estimator : TorusGPRegressor or TableModel
            Fitted regressor.
        dimensions : int, str or pair of these
            One or two dimensions, by position or name.
        joint : bool, default=False
            Include the mean and, for two, what each does alone.
        grid, n_points
            See :func:`torusgp.views.analysis.effect`.
        output : int, default=0
            Which target, where there are several.
        target : str, optional
            Its name, with its unit if it has one; of likelihoods on another scale, such as that of logarithms, the name
            of the function.

        Returns
        -------
        EffectDisplay
        """
        estimator = to_regressor(estimator)
        found = effect(estimator, dimensions, joint=joint, grid=grid, n_points=n_points)
        if len(found.names) > 2:
            raise ValueError(f"An effect of one or two dimensions can be drawn, got {len(found.names)}: {found.names}.")
        several = found.mean.ndim > len(found.grid)
        mean, std = (values[..., output] if several else values for values in (found.mean, found.std))
        target = name_function(estimator) if target is None else target
        return cls(found.grid, mean, std, found.names, found.joint, target, found.period, found.kind)

    def plot(self, ax=None, *, coverage=0.95, **kwargs):
        """Draw the effect and its uncertainty.

        Parameters
        ----------
        ax : matplotlib Axes or pair of these, optional
            One for a line; for maps one for the effect alone, or two. By default a new figure.
        coverage : float, default=0.95
            Probability that the band of a line or the error of a bar covers.
        **kwargs
            Passed to ``Axes.plot`` for the line, to ``Axes.bar`` for bars, to ``Axes.pcolormesh`` for the map of the
            effect.

        Returns
        -------
        self
        """
        is_line = len(self.grid) == 1
        size = (6.4, 4.0) if is_line else (10.4, 4.2)
        axes = axes_of_function(ax, is_line, size)
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
        draw_function(ax, self.grid[0], self.kind[0], self.mean, self.std, coverage, kwargs)
        if not self.joint:
            ax.axhline(0.0, color="0.4", linewidth=0.8, zorder=0)
        self._set_axis(ax, 0, "x")
        ax.set_ylabel(self._label)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

    def _plot_maps(self, axes, kwargs):
        effect_style, std_style = map_styles(self.mean, self.std, has_zero=not self.joint)
        styles = ({**effect_style, **kwargs}, std_style)
        labels = (self._label, "standard deviation, in the same unit")
        for ax, values, style, label in zip(axes, (self.mean, self.std), styles, labels, strict=False):
            draw_map(ax, self.grid, self.kind, values, label, style)
            self._set_axis(ax, 0, "x")
            self._set_axis(ax, 1, "y")

    def _set_axis(self, ax, position, axis):
        set_axis(ax, axis, self.names[position], self.grid[position], self.kind[position], self.period[position])
