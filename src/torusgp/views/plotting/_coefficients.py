"""Coefficients of a kernel over an index set."""

import numpy as np

from torusgp.views.plotting._base import (
    OKABE_ITO,
    label_frequency_axes,
    marker_area,
    new_axes,
    signed_frequencies,
)

_COLOUR_DECADES = 12  # coefficients smaller than this share of the largest have the last colour


class CoefficientDisplay:
    """Fourier coefficients of a kernel over an index set: a map in two dimensions, or their decay in any.

    Parameters
    ----------
    frequencies : ndarray of shape (n_components, dimension)
        Frequencies of both signs.
    coefficients : ndarray of shape (n_components,)
        Coefficient of each: its share of the variance of the kernel.
    name : str, default="index set"
        Name of the set.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> from torusgp import TorusKernel
    >>> from torusgp.kernels.index_sets import euclidean
    >>> kernel = TorusKernel(length_scale=[0.3, 1.0])
    >>> display = CoefficientDisplay.from_kernel(kernel, euclidean(2, 6))
    >>> bool(abs(1 - display.coefficients.sum() - kernel.truncation_error(euclidean(2, 6))) < 1e-12)
    True
    """

    def __init__(self, frequencies, coefficients, name="index set"):
        self.frequencies = frequencies
        self.coefficients = coefficients
        self.name = name

    @classmethod
    def from_kernel(cls, kernel, index_set):
        """Compute the coefficients of a kernel.

        Parameters
        ----------
        kernel : TorusKernel
            Kernel of the dimension of the set.
        index_set : IndexSet
            Frequencies, in any dimension.

        Returns
        -------
        CoefficientDisplay
        """
        frequencies = signed_frequencies(index_set)
        return cls(
            frequencies,
            kernel.coefficients(frequencies),
            f"{index_set.name}, {index_set.n_components} columns",
        )

    def plot(self, ax=None, *, kind="auto", norm=None, cmap="viridis_r", colorbar=True, legend=True, **kwargs):
        """Draw the coefficients on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        kind : {"auto", "map", "decay"}, default="auto"
            A map of coloured frequencies, only in two dimensions, or the coefficients in falling order. "auto" is the
            map where there is one.
        norm : matplotlib Normalize, optional
            Colour scale of the map; by default the logarithm, over twelve decades at most.
        cmap : str or Colormap, default="viridis_r"
            Colours of the map.
        colorbar : bool, default=True
            Whether the map gets a colour bar.
        legend : bool, default=True
            Whether the map gets a legend, where some coefficients are zero and have no colour.
        **kwargs
            Passed to ``Axes.scatter`` for the map, to ``Axes.plot`` for the decay.

        Returns
        -------
        self
        """
        dimension = self.frequencies.shape[1]
        if kind not in ("auto", "map", "decay"):
            raise ValueError(f"kind must be 'auto', 'map' or 'decay', got {kind!r}.")
        if kind == "map" and dimension != 2:
            raise ValueError(f"A map needs 2 dimensions, the set has {dimension}; use kind='decay'.")
        ax = new_axes(ax, figsize=(6.4, 4.8))
        if kind == "decay" or dimension != 2:
            self._plot_decay(ax, kwargs)
        else:
            self._plot_map(ax, norm, cmap, colorbar, legend, kwargs)
        ax.set_title(self.name)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_map(self, ax, norm, cmap, colorbar, legend, kwargs):
        style = {"s": marker_area(self.frequencies), "linewidths": 0, **kwargs}
        positive = self.coefficients > 0
        zero = self.frequencies[~positive]
        if len(zero):  # a logarithm has no colour for them
            ax.scatter(
                *zero.T,
                **{**style, "color": "none", "edgecolors": "0.6", "linewidths": 0.6, "label": "zero in float64"},
            )
        norm = self._colour_scale() if norm is None else norm
        points = ax.scatter(*self.frequencies[positive].T, c=self.coefficients[positive], norm=norm, cmap=cmap, **style)
        label_frequency_axes(ax, 2)
        if legend and len(zero):
            ax.legend(loc="upper right")
        if colorbar:
            below = positive.any() and self.coefficients[positive].min() < norm.vmin
            ax.figure.colorbar(points, ax=ax, label="coefficient $c_k$", extend="min" if below else "neither")

    def _colour_scale(self):
        from matplotlib.colors import LogNorm

        positive = self.coefficients[self.coefficients > 0]
        if not len(positive):
            return LogNorm(0.1, 1.0)
        largest = positive.max()
        return LogNorm(max(positive.min(), largest * 10.0**-_COLOUR_DECADES), largest)

    def _plot_decay(self, ax, kwargs):
        falling = np.sort(self.coefficients)[::-1]
        n_zero = int(np.sum(falling <= 0))
        drawn = falling[: len(falling) - n_zero]
        style = {"color": OKABE_ITO[0], "marker": ".", "linestyle": "-", "linewidth": 1.0}
        ax.plot(np.arange(1, len(drawn) + 1), drawn, **{**style, **kwargs})
        ax.set_yscale("log")
        zeros = f" ({n_zero} zeros in float64 not drawn)" if n_zero else ""
        ax.set_xlabel(f"rank of the frequency{zeros}")
        ax.set_ylabel("coefficient $c_k$")
        ax.grid(alpha=0.3)
