"""Periodograms: the share of the data that sinusoids explain, and the lattice of their frequencies."""

import numpy as np

from torusgp.kernels.lattices import lattice_points
from torusgp.views.dimensions import periodic_cell
from torusgp.views.plotting._base import LINES, MARKERS, OKABE_ITO, add_colour_bar, new_axes, to_regressor

_MOST_HARMONICS = 5  # of each period, marked along a line
_MOST_MARKERS = 600  # reciprocal lattice points drawn on a map; more would hide it
_DECADES = 5  # below the highest power, colours and lines end


class PeriodogramDisplay:
    """Power of sinusoids against their frequency, with the periods found: a line for one input, a map for two.

    Parameters
    ----------
    frequencies : tuple of one or two ndarrays
        Frequencies along each input, ascending, in cycles per unit of the input.
    power : ndarray of shape (n_first,) or (n_first, n_second)
        Share of the variance of the targets that a sinusoid of each frequency explains.
    periods : sequence, default=()
        Periods that were found, the best first: numbers for one input; for two, pairs of periods along the inputs, or
        cells whose rows are lattice vectors, of which the first is drawn.
    names : sequence of str, optional
        Names of the inputs.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> display = PeriodogramDisplay((np.fft.fftfreq(8, 0.5),) * 2, np.ones((8, 8)), [[[4.0, 1.0], [0.0, 2.0]]])
    >>> points = display.reciprocal_points()
    >>> bool(np.allclose(points @ display.periods[0].T, np.rint(points @ display.periods[0].T)))  # whole turns
    True
    """

    def __init__(self, frequencies, power, periods=(), names=None):
        self.frequencies = tuple(np.asarray(values, dtype=float) for values in frequencies)
        self.power = np.asarray(power, dtype=float)
        dimension = len(self.frequencies)
        if dimension not in (1, 2):
            raise ValueError(f"A periodogram can be drawn for 1 or 2 inputs, this one has {dimension}.")
        if self.power.shape != tuple(map(len, self.frequencies)):
            raise ValueError(
                f"power must have shape {tuple(map(len, self.frequencies))}, one value for each frequency, got "
                f"{self.power.shape}."
            )
        self.periods = tuple(_to_cell(period, dimension) for period in periods)
        self.names = tuple(f"x{d}" for d in range(dimension)) if names is None else tuple(names)
        if len(self.names) != dimension:
            raise ValueError(f"names must be {dimension}, one for each input, got {self.names!r}.")

    @classmethod
    def from_search(cls, search, *, names=None):
        """Collect what a search for periods computed and found.

        Parameters
        ----------
        search : PeriodSearch
            As :func:`torusgp.find_period` returns it.
        names : sequence of str, optional
            Names of the inputs.

        Returns
        -------
        PeriodogramDisplay
        """
        return cls(search.periodogram.frequencies, search.periodogram.power, [found.period for found in search], names)

    @classmethod
    def from_estimator(cls, estimator, *, names=None):
        """Collect the search of a fitted regressor, and the period that it learned from there.

        Parameters
        ----------
        estimator : TorusGPRegressor or TableModel
            Fitted with ``period="auto"``.
        names : sequence of str, optional
            Names of the inputs; by default those of the columns it was fitted to.

        Returns
        -------
        PeriodogramDisplay
        """
        estimator = to_regressor(estimator)
        if getattr(estimator, "period_search_", None) is None:
            raise ValueError("The regressor searched no period: fit it with period='auto', or use find_period.")
        periodogram, torus = estimator.period_search_.periodogram, estimator.fitted_.prior.torus
        dimension = len(periodogram.frequencies)
        axes, cell = periodic_cell(estimator.fitted_)
        if names is None:
            # one input may feed several circles; it has one periodogram
            names = [torus.names[torus.axes[d].input] for d in axes[:dimension]]
        periods = np.diagonal(cell) if dimension == 1 else [cell]
        return cls(periodogram.frequencies, periodogram.power, periods, names)

    def reciprocal_points(self):
        """Frequencies of all sinusoids with the best period, within the range of the periodogram, the lowest first.

        Returns
        -------
        ndarray of shape (n_points, dimension)
            Without zero; in cycles per unit of the inputs, ``k @ inv(cell).T`` for integers k.
        """
        reach = np.array([np.abs(values).max() for values in self.frequencies])
        if not self.periods:
            return np.empty((0, len(reach)))
        dual = np.linalg.inv(np.atleast_2d(self.periods[0])).T
        integers = lattice_points(dual, np.linalg.norm(reach))
        points = integers[integers.any(axis=1)] @ dual
        points = points[(np.abs(points) <= reach * (1 + 1e-9)).all(axis=1)]
        return points[np.argsort(np.linalg.norm(points, axis=1), kind="stable")]

    def plot(self, ax=None, *, max_frequency=None, **kwargs):
        """Draw the power on a logarithmic scale, and mark the sinusoids that the periods allow.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        max_frequency : float, optional
            Where the axes end; by default a line ends after the harmonics that are marked, a map shows everything.
        **kwargs
            Passed to ``Axes.plot`` for a line, to ``Axes.pcolormesh`` for a map.

        Returns
        -------
        self
        """
        if max_frequency is not None and not max_frequency > 0:
            raise ValueError(f"max_frequency must be positive, got {max_frequency!r}.")
        is_line = len(self.frequencies) == 1
        ax = new_axes(ax, figsize=(7.2, 3.8) if is_line else (6.4, 5.4))
        if is_line:
            self._plot_line(ax, max_frequency, kwargs)
        else:
            self._plot_map(ax, max_frequency, kwargs)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_line(self, ax, max_frequency, kwargs):
        (frequencies,) = self.frequencies
        positive = frequencies > 0
        end = frequencies.max()
        if max_frequency is not None:
            end = max_frequency
        elif self.periods:
            end = min(end, (_MOST_HARMONICS + 1) / min(self.periods))
        for i, period in enumerate(self.periods):
            colour = OKABE_ITO[(i + 1) % len(OKABE_ITO)]
            harmonics = np.arange(1, _MOST_HARMONICS + 1) / period
            harmonics = harmonics[harmonics <= end]
            for place in harmonics:  # behind the power, whose peaks they would hide
                ax.axvline(place, color=colour, linestyle=LINES[(i + 1) % len(LINES)], linewidth=1.0, zorder=1)
            label = f"period {period:.6g} and its harmonics"
            style = {"color": colour, "marker": MARKERS[i % len(MARKERS)], "linestyle": "", "markersize": 6}
            top = np.full(len(harmonics), 0.97)
            ax.plot(harmonics, top, transform=ax.get_xaxis_transform(), zorder=3, label=label, **style)
        style = {"color": OKABE_ITO[0], "linewidth": 0.9, "zorder": 2}
        ax.plot(frequencies[positive], _drawable(self.power[positive]), **{**style, **kwargs})
        ax.set_yscale("log")
        shown = self.power[positive & (frequencies <= end)]
        highest = np.nanmax(shown, initial=0.0)
        if highest > 0:
            lowest = max(shown[shown > 0].min(), highest * 10.0**-_DECADES)
            ax.set_ylim(0.7 * lowest, 5 * highest)
        ax.set_xlim(0, end)
        ax.set_xlabel(f"frequency (cycles per unit of {self.names[0]})")
        ax.set_ylabel("share of the variance explained")
        ax.grid(alpha=0.3)
        if self.periods:
            # lines run through all corners
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)

    def _plot_map(self, ax, max_frequency, kwargs):
        from matplotlib.colors import LogNorm

        power = _drawable(self.power)
        highest = np.nanmax(power, initial=0.0) or 1.0
        norm = LogNorm(max(np.nanmin(power, initial=highest), highest * 10.0**-_DECADES), highest)
        style = {"cmap": "viridis", "norm": norm, "shading": "nearest", "rasterized": True}
        image = ax.pcolormesh(*self.frequencies, power.T, **{**style, **kwargs})
        ax.set_facecolor(image.get_cmap()(0.0))  # what has no logarithm has the lowest colour
        add_colour_bar(ax, image, "share of the variance explained")
        if self.periods:
            points = self.reciprocal_points()
            drawn = points[:_MOST_MARKERS]
            label = (
                "sinusoids of the cell"
                if len(drawn) == len(points)
                else f"the {_MOST_MARKERS} slowest sinusoids of the cell"
            )
            ax.plot(
                *drawn.T,
                "o",
                color=OKABE_ITO[1],
                markerfacecolor="none",
                markersize=7,
                markeredgewidth=1.1,
                label=label,
            )
            vectors = ", ".join(f"({', '.join(f'{x:.5g}' for x in vector)})" for vector in self.periods[0])
            ax.set_title(f"cell {vectors}", fontsize="medium")
            ax.legend(loc="upper right", framealpha=0.9)
        for name, frequencies in zip("xy", self.frequencies, strict=True):
            limits = (
                (frequencies.min(), frequencies.max()) if max_frequency is None else (-max_frequency, max_frequency)
            )
            getattr(ax, f"set_{name}lim")(limits)
        ax.set_xlabel(f"frequency along {self.names[0]} (cycles per unit)")
        ax.set_ylabel(f"frequency along {self.names[1]} (cycles per unit)")


def _to_cell(period, dimension):
    """A period as a number for one input, as a cell for two."""
    period = np.asarray(period, dtype=float)
    if dimension == 1:
        if period.size != 1:
            raise ValueError(f"A period of one input must be a number, got {period.tolist()!r}.")
        return period.item()
    cell = np.diag(np.broadcast_to(period, (2,))) if period.ndim < 2 else period
    if cell.shape != (2, 2):
        raise ValueError(f"A period of two inputs must be a number, a pair or a 2 x 2 cell, got {period.tolist()!r}.")
    return cell


def _drawable(power):
    return np.where(power > 0, power, np.nan)  # zeros have no place on a logarithmic scale
