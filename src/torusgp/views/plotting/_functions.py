"""Functions of one dimension or two as displays draw them: curves with bands, bars with errors, maps."""

import numpy as np
from scipy.special import ndtri

from torusgp.views.plotting._base import OKABE_ITO, new_axes

_MOST_LEVELS = 12  # of a category, whose names stand upright; more are turned


def axes_of_function(ax, is_line, size):
    """Axes of a new figure or those given: one for a line, one or two for maps."""
    axes = np.atleast_1d(new_axes(ax, 1, 1 if is_line else 2, figsize=size))
    if axes.shape not in (((1,),) if is_line else ((1,), (2,))):
        wanted = "one axes" if is_line else "one axes or two"
        raise ValueError(f"ax must be {wanted}, got an array of shape {axes.shape}.")
    return axes


def draw_function(ax, grid, kind, mean, std, coverage, options):
    """Draw a function of one dimension: a curve with a band, or for a category bars with errors.

    Shapes: grid (n_points,); mean, std (n_points,).
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}.")
    half = ndtri((1 + coverage) / 2) * std
    label = f"{coverage:.0%} interval"
    if kind == "category":
        place = np.arange(len(grid))
        ax.bar(place, mean, **{"color": OKABE_ITO[5], "width": 0.7, "label": "mean", **options})
        ax.errorbar(place, mean, yerr=half, fmt="none", ecolor="black", elinewidth=1.3, capsize=3, label=label)
    else:
        band = {"color": OKABE_ITO[5], "alpha": 0.45, "linewidth": 0, "label": label}
        ax.fill_between(grid, mean - half, mean + half, **band)
        ax.plot(grid, mean, **{"color": OKABE_ITO[0], "linewidth": 1.8, "label": "mean", **options})
    ax.grid(axis="y" if kind == "category" else "both", alpha=0.3)
    ax.set_axisbelow(True)


def draw_map(ax, grid, kinds, values, label, options):
    """Draw a function of two dimensions as a map with its colour bar.

    Shapes: values (n_first, n_second).
    """
    places = [np.arange(len(own)) if kind == "category" else own for own, kind in zip(grid, kinds, strict=True)]
    style = {"shading": "nearest" if "category" in kinds else "gouraud", "rasterized": True}
    image = ax.pcolormesh(*places, values.T, **{**style, **options})
    ax.figure.colorbar(image, ax=ax, label=label)


def map_styles(mean, std, has_zero):
    """Colour scales of a mean and its standard deviation.

    A function that has a zero shows it in the middle of its scale. Standard deviations start at zero, so that an
    uncertainty that is the same everywhere looks so, and one far below the function is dark.
    """
    reach = np.abs(mean).max() or 1.0
    scale = {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach} if has_zero else {"cmap": "viridis"}
    most = max(std.max(), 0.05 * np.ptp(mean)) or 1.0
    return scale, {"cmap": "cividis", "vmin": 0.0, "vmax": most}


def set_axis(ax, axis, name, grid, kind, period=None):
    """Name, limits and ticks of the "x" or "y" axis for a dimension."""
    getattr(ax, f"set_{axis}label")(name)
    if kind == "category":
        turned = axis == "x" and len(grid) > _MOST_LEVELS
        names = [str(level) for level in grid]
        getattr(ax, f"set_{axis}ticks")(np.arange(len(grid)), names, rotation=90 if turned else 0)
        getattr(ax, f"set_{axis}lim")(-0.5, len(grid) - 0.5)
        return
    if len(grid) > 1:
        getattr(ax, f"set_{axis}lim")(grid.min(), grid.max())
    step = None if period is None else _tick_step(abs(period))
    if period is not None and step is not None and 0 < np.ptp(grid) <= abs(period):
        first, last = np.ceil(grid.min() / step), np.floor(grid.max() / step)
        getattr(ax, f"set_{axis}ticks")(step * np.arange(first, last + 1))


def _tick_step(period):
    """Distance of ticks that divides a whole period, as hours divide a day, or None."""
    if period != round(period):
        return None
    return next((period / n for n in (7, 6, 8, 5, 4) if period % n == 0), None)
