"""A kernel and its approximation along a line."""

import numpy as np

from torusgp.checks import check_count
from torusgp.kernels.index_sets import IndexSet
from torusgp.views.plotting._base import OKABE_ITO, new_axes

_ROUNDING = 1e-14  # measured errors below this say nothing about the approximation


class KernelApproximationDisplay:
    """Exact and approximate kernel along a line through the torus, with the error and its certificate.

    Parameters
    ----------
    turns : ndarray of shape (n_points,)
        Positions on the line, as multiples of the lattice vector.
    exact, approximate : ndarray of shape (n_points,)
        Kernel between the origin and the points, and its approximation.
    truncation_error : float
        Certificate: the largest error anywhere on the torus.
    direction : sequence of int
        The lattice vector along which the line runs, in multiples of the periods.
    name : str, default="index set"
        Name of the set.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot: the kernel, and the error unless a single axes was given.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> from torusgp import TorusKernel
    >>> from torusgp.kernels.index_sets import euclidean
    >>> kernel = TorusKernel(length_scale=[0.5, 1.0], period=[24.0, 7.0])
    >>> display = KernelApproximationDisplay.from_kernel(kernel, euclidean(2, 5))
    >>> bool(abs(display.error).max() <= display.truncation_error + 1e-12)
    True
    """

    def __init__(self, turns, exact, approximate, truncation_error, direction, name="index set"):
        self.turns = turns
        self.exact = exact
        self.approximate = approximate
        self.truncation_error = truncation_error
        self.direction = direction
        self.name = name

    @property
    def error(self):
        """Approximate minus exact kernel."""
        return self.approximate - self.exact

    @classmethod
    def from_kernel(cls, kernel, index_set, *, direction=None, n_points=401):
        """Evaluate a kernel and its approximation on an index set.

        Parameters
        ----------
        kernel : TorusKernel
            Kernel of the dimension of the set.
        index_set : IndexSet
            Frequencies that the approximation keeps.
        direction : sequence of int, optional
            Lattice vector along which the line runs, in multiples of the periods, so that it closes after one turn;
            by default the diagonal (1, 1, ...).
        n_points : int, default=401
            Number of points on the line, which has the origin in its middle.

        Returns
        -------
        KernelApproximationDisplay
        """
        if not isinstance(index_set, IndexSet):
            raise ValueError(f"index_set must be an IndexSet, got {index_set!r}.")
        direction = np.ones(index_set.dimension, int) if direction is None else np.asarray(direction)
        if direction.shape != (index_set.dimension,) or direction.dtype.kind not in "iu" or not direction.any():
            raise ValueError(
                f"direction must be {index_set.dimension} integers, not all zero, got {direction.tolist()!r}."
            )
        check_count(n_points, "n_points")
        turns = np.linspace(-0.5, 0.5, n_points)
        X = np.multiply.outer(turns, direction @ kernel.cell(index_set.dimension))
        frequencies = index_set.frequencies
        pairs = np.where(frequencies.any(axis=1), 2.0, 1.0)
        return cls(
            turns,
            kernel(X, np.zeros((1, index_set.dimension)))[:, 0],
            np.cos(kernel.phases(X) @ frequencies.T) @ (pairs * kernel.coefficients(frequencies)),
            kernel.truncation_error(index_set),
            tuple(direction.tolist()),
            f"{index_set.name}, {index_set.n_components} columns",
        )

    def plot(self, ax=None, **kwargs):
        """Draw both kernels with the band of the certificate and, below, the size of the error.

        Parameters
        ----------
        ax : matplotlib Axes or pair of these, optional
            One to draw the kernels only, two to draw the error too; by default a new figure with two.
        **kwargs
            Passed to ``Axes.plot`` for the approximate kernel.

        Returns
        -------
        self
        """
        ax = new_axes(ax, 2, figsize=(6.4, 5.6), sharex=True, height_ratios=(3, 2))
        axes = np.atleast_1d(ax)
        if axes.shape not in ((1,), (2,)):
            raise ValueError(f"ax must be one axes or two, got an array of shape {axes.shape}.")
        self._plot_kernels(axes[0], kwargs)
        if len(axes) == 2:
            self._plot_error(axes[1])
        axes[0].set_title(self.name)
        vector = ", ".join(map(str, self.direction))
        axes[-1].set_xlabel(f"displacement along ({vector}) (periods)")
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _plot_kernels(self, ax, kwargs):
        bound = self.truncation_error
        ax.fill_between(
            self.turns,
            self.exact - bound,
            self.exact + bound,
            color=OKABE_ITO[5],
            alpha=0.35,
            linewidth=0,
            label=f"certificate, exact ± {bound:.1e}",
        )
        ax.plot(self.turns, self.exact, color="black", linewidth=2.0, label="exact")
        style = {"color": OKABE_ITO[1], "linestyle": "--", "linewidth": 1.5, "label": "approximate"}
        ax.plot(self.turns, self.approximate, **{**style, **kwargs})
        ax.set_ylabel("kernel (variance = 1)")
        ax.legend()
        ax.grid(alpha=0.3)

    def _plot_error(self, ax):
        error = np.abs(self.error)
        ax.plot(self.turns, np.where(error > 0, error, np.nan), color=OKABE_ITO[1], linewidth=1.2, label="|error|")
        if self.truncation_error > _ROUNDING:
            level, label = self.truncation_error, f"certificate, {self.truncation_error:.1e}"
        else:
            level, label = _ROUNDING, f"rounding; the certificate is {self.truncation_error:.1e}"
        ax.axhline(level, color=OKABE_ITO[0], linestyle=":", linewidth=2.0, label=label)
        ax.set_yscale("log")
        ax.set_ylim(max(np.min(error[error > 0], initial=level), 1e-5 * level), 3 * level)
        ax.set_ylabel("|error|")
        ax.legend(loc="lower center", ncols=2)
        ax.grid(alpha=0.3)
