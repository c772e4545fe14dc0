"""Gram matrices side by side."""

import numpy as np

from torusgp.engine.basis import columns
from torusgp.views.plotting._base import new_axes


class GramMatrixDisplay:
    """Exact Gram matrix, the product of the features, and their difference.

    Parameters
    ----------
    exact, approximate : ndarray of shape (n_samples, n_samples)
        Gram matrix of the kernel, and of the features.
    truncation_error : float
        Certificate: no entry differs by more.

    Attributes
    ----------
    axes_ : ndarray of shape (3,) of matplotlib Axes
        Axes of the last plot.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusKernel
    >>> from torusgp.kernels.index_sets import tensor
    >>> X = np.random.default_rng(0).uniform(size=(20, 2))
    >>> display = GramMatrixDisplay.from_kernel(TorusKernel(period=1.0), tensor(2, 3), X)
    >>> bool(abs(display.error).max() <= display.truncation_error + 1e-12)
    True
    """

    def __init__(self, exact, approximate, truncation_error):
        self.exact = exact
        self.approximate = approximate
        self.truncation_error = truncation_error

    @property
    def error(self):
        """Approximate minus exact matrix."""
        return self.approximate - self.exact

    @classmethod
    def from_kernel(cls, kernel, index_set, X):
        """Compute both matrices.

        Parameters
        ----------
        kernel : TorusKernel
            Kernel of the dimension of the set.
        index_set : IndexSet
            Frequencies that the features keep.
        X : array-like of shape (n_samples, dimension)
            Inputs; rows in a meaningful order make a readable picture.

        Returns
        -------
        GramMatrixDisplay
        """
        truncation_error = kernel.truncation_error(index_set)
        exact = kernel(X)
        pairs = np.where(index_set.frequencies.any(axis=1), 2.0, 1.0)
        scale = np.sqrt(pairs * kernel.coefficients(index_set.frequencies))
        features = columns(kernel.phases(X), index_set.frequencies, scale)
        return cls(exact, features @ features.T, truncation_error)

    def plot(self, ax=None, **kwargs):
        """Draw three matrices.

        Parameters
        ----------
        ax : sequence of three matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        **kwargs
            Passed to ``Axes.imshow``.

        Returns
        -------
        self
        """
        ax = new_axes(ax, 1, 3, figsize=(10.5, 3.4))
        axes = np.atleast_1d(ax)
        if axes.shape != (3,):
            raise ValueError(f"ax must be three axes, got an array of shape {axes.shape}.")
        lowest = min(self.exact.min(), self.approximate.min())
        highest = max(self.exact.max(), self.approximate.max())
        common = {"cmap": "viridis", "vmin": lowest, "vmax": highest, **kwargs}
        axes[0].imshow(self.exact, **common)
        approximate = axes[1].imshow(self.approximate, **common)
        axes[1].figure.colorbar(approximate, ax=[axes[0], axes[1]], label="kernel (variance = 1)")
        error = axes[2].imshow(np.abs(self.error), **{"cmap": "cividis", "vmin": 0.0, **kwargs})
        axes[2].figure.colorbar(error, ax=axes[2], label=f"|error|, at most {self.truncation_error:.1e}")
        for one, title in zip(axes, ("exact", "approximate", "difference"), strict=True):
            one.set_title(title)
            one.set_xlabel("row of X")
        axes[0].set_ylabel("row of X")
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self
