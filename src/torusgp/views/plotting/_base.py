"""Shared by all displays: matplotlib on demand, colours, and the axes of frequencies."""

import numpy as np

from torusgp.libraries import require

# The colours of Okabe and Ito, which colour-blind readers tell apart; yellow is left out, too light for a line.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Where colour alone would carry the meaning, shape carries it too.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINES = ("-", "--", "-.", ":")


def import_pyplot():
    """Return matplotlib's pyplot, or raise with the line that installs it."""
    return require("matplotlib.pyplot", "plot", "Plots need")


def new_axes(ax, *shape, **options):
    """Axes that were given, or else those of a new figure."""
    return import_pyplot().subplots(*shape, layout="constrained", **options)[1] if ax is None else ax


def check_matplotlib():
    """Raise with the line that installs matplotlib, if it is missing."""
    require("matplotlib", "plot", "Plots need")


def name_function(estimator):
    """Name of the function of a regressor: the target itself, its logarithm or its log odds."""
    scale = estimator.likelihood_.scale_name
    return f"{scale} of target" if scale else "target"


def to_regressor(estimator):
    """The regressor of a table model, or the estimator itself."""
    return getattr(estimator, "model_", estimator)


def to_rows(estimator, X, y=None):
    """Regressor, inputs and targets: of a table model, those that it reads from a table."""
    if not hasattr(estimator, "model_") or not hasattr(estimator, "read"):
        return estimator, X, y
    X, read = estimator.read(X)
    return estimator.model_, X, read if y is None else y


def signed_frequencies(index_set):
    """Frequencies of both signs, of shape (n_components, dimension), the zero vector first."""
    half = index_set.frequencies
    return np.concatenate([half, -half[1:]])


def marker_area(frequencies):
    """Area in square points that keeps neighbouring frequencies apart on axes of the usual size."""
    room = 180 if frequencies.shape[1] == 2 else 100  # points; a projection shows the axes smaller
    span = np.ptp(frequencies, axis=0).max() + 1
    return float(np.clip((room / span) ** 2, 2.0, 60.0))


def label_frequency_axes(ax, dimension):
    """Name the axes of a plot of frequencies, with ticks at integers and one scale for all of them."""
    from matplotlib.ticker import MaxNLocator

    for d, name in enumerate("xyz"[:dimension]):
        # three labels that long would run into each other
        unit = " (cycles per period)" if dimension == 2 else ""
        getattr(ax, f"set_{name}label")(f"frequency $k_{d + 1}${unit}")
        getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(nbins=7, integer=True))
    ax.set_aspect("equal")


def add_colour_bar(ax, drawn, label):
    """Add a colour bar exactly as high as the axes, also where their aspect is fixed."""
    ax.figure.colorbar(drawn, cax=ax.inset_axes([1.03, 0.0, 0.05, 1.0]), label=label)
