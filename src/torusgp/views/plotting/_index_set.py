"""The shape of an index set."""

import numpy as np

from torusgp.kernels.index_sets import IndexSet
from torusgp.views.plotting._base import (
    MARKERS,
    OKABE_ITO,
    import_pyplot,
    label_frequency_axes,
    marker_area,
    signed_frequencies,
)

_ORDER_NAMES = ("constant", "one dimension", "two dimensions", "three dimensions")


class IndexSetDisplay:
    """All frequencies of an index set in two or three dimensions, by the number of dimensions that interact.

    Parameters
    ----------
    frequencies : ndarray of shape (n_components, dimension)
        Frequencies of both signs; dimension is 2 or 3.
    name : str, default="index set"
        Title of the plot.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot, three-dimensional for three dimensions.
    figure_ : matplotlib Figure
        Figure of the last plot.

    See Also
    --------
    CoefficientDisplay : The same frequencies with the coefficients of a kernel, and in any dimension.

    Examples
    --------
    >>> from torusgp.kernels.index_sets import hyperbolic_cross
    >>> display = IndexSetDisplay.from_index_set(hyperbolic_cross(2, 7))
    >>> display.frequencies.shape
    (93, 2)
    """

    def __init__(self, frequencies, name="index set"):
        self.frequencies = frequencies
        self.name = name

    @classmethod
    def from_index_set(cls, index_set):
        """Collect the frequencies of a set.

        Parameters
        ----------
        index_set : IndexSet
            In two or three dimensions.

        Returns
        -------
        IndexSetDisplay
        """
        if not isinstance(index_set, IndexSet):
            raise ValueError(f"index_set must be an IndexSet, got {index_set!r}.")
        if index_set.dimension not in (2, 3):
            raise ValueError(
                f"Only sets in 2 or 3 dimensions can be drawn, this one has {index_set.dimension}. "
                "CoefficientDisplay shows the decay of the coefficients in any dimension."
            )
        return cls(signed_frequencies(index_set), f"{index_set.name}, {index_set.n_components} columns")

    def plot(self, ax=None, *, legend=True, **kwargs):
        """Draw one marker for each frequency.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on, with ``projection="3d"`` for three dimensions; by default a new figure.
        legend : bool, default=True
            Whether to explain the markers below the axes.
        **kwargs
            Passed to ``Axes.scatter``.

        Returns
        -------
        self
        """
        pyplot = import_pyplot()
        dimension = self.frequencies.shape[1]
        if ax is None:
            figure = pyplot.figure(figsize=(6.0, 6.0), layout="constrained" if dimension == 2 else None)
            ax = figure.add_subplot(projection="3d" if dimension == 3 else None)
        elif (ax.name == "3d") != (dimension == 3):
            raise ValueError(
                f'The set has {dimension} dimensions, but the axes have projection "{ax.name}"; '
                'use projection="3d" for 3 dimensions and none for 2.'
            )
        order = np.count_nonzero(self.frequencies, axis=1)
        for m in np.unique(order):
            style = {"s": marker_area(self.frequencies), "color": OKABE_ITO[m - 1], "marker": MARKERS[m - 1]}
            if dimension == 3:
                style["depthshade"] = False  # shading would change the colours that the legend explains
            ax.scatter(
                *self.frequencies[order == m].T, **{"label": _ORDER_NAMES[m], "linewidths": 0, **style, **kwargs}
            )
        label_frequency_axes(ax, dimension)
        ax.set_title(self.name)
        if dimension == 3:
            ax.set_box_aspect((1, 1, 1), zoom=0.95)  # room for the label of the third axis
        if legend:
            below = (0.5, -0.13 if dimension == 2 else -0.02)
            ax.legend(loc="upper center", bbox_to_anchor=below, ncols=dimension + 1 if dimension == 2 else 2)
        self.ax_, self.figure_ = ax, ax.figure
        return self
