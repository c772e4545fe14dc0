"""Errors of growing index sets."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel
from torusgp.views.plotting._base import LINES, MARKERS, OKABE_ITO, new_axes

_ERROR_LABELS = {
    "largest": "largest error (variance of the kernel = 1)",
    "frobenius": "expected relative Frobenius error",
}


class TruncationErrorDisplay:
    """Error of the approximation against the size of the index set, for several kernels or families of sets.

    Parameters
    ----------
    sizes : dict of str to ndarray
        For each line its positions on the horizontal axis.
    errors : dict of str to ndarray
        For each line its errors.
    size_label, error_label : str
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> from torusgp import TorusKernel
    >>> from torusgp.kernels.index_sets import hyperbolic_cross, tensor
    >>> radii = range(1, 8)
    >>> display = TruncationErrorDisplay.from_index_sets(
    ...     TorusKernel(length_scale=0.5),
    ...     {"tensor": [tensor(2, r) for r in radii], "cross": [hyperbolic_cross(2, r) for r in radii]},
    ...     radii=radii,
    ... )
    >>> bool((display.errors["tensor"] <= display.errors["cross"]).all())  # at the same radius, not the same size
    True
    """

    def __init__(self, sizes, errors, size_label="columns", error_label=_ERROR_LABELS["largest"]):
        self.sizes = sizes
        self.errors = errors
        self.size_label = size_label
        self.error_label = error_label

    @classmethod
    def from_index_sets(cls, kernels, index_sets, *, radii=None, error="largest"):
        """Compute the error certificates; no data are needed.

        Parameters
        ----------
        kernels : TorusKernel or mapping of str to TorusKernel
            One kernel, or several by label, such as one for each length scale.
        index_sets : sequence of IndexSet or mapping of str to sequence of IndexSet
            Growing sets of one family, or of several by label. Every kernel meets every family.
        radii : array-like, optional
            Radius of the sets in a sequence, the horizontal axis; by default that is the number of components.
        error : {"largest", "frobenius"}, default="largest"
            Largest error, or the expected relative Frobenius error of many uniformly distributed points.

        Returns
        -------
        TruncationErrorDisplay
        """
        if error not in _ERROR_LABELS:
            raise ValueError(f"error must be 'largest' or 'frobenius', got {error!r}.")
        kernels = kernels if isinstance(kernels, Mapping) else {"": kernels}
        families = index_sets if isinstance(index_sets, Mapping) else {"": index_sets}
        families = {label: list(family) for label, family in families.items()}
        _check(kernels, families, radii)
        sizes, errors = {}, {}
        for (kernel_label, kernel), (set_label, family) in product(kernels.items(), families.items()):
            label = ", ".join(part for part in (kernel_label, set_label) if part) or family[0].name
            sizes[label] = np.array([one.n_components for one in family]) if radii is None else np.asarray(radii)
            certificate = kernel.truncation_error if error == "largest" else kernel.frobenius_error
            errors[label] = np.array([certificate(one) for one in family])
        size_label = "columns of the feature map" if radii is None else "radius $R$ (cycles per period)"
        return cls(sizes, errors, size_label, _ERROR_LABELS[error])

    def plot(self, ax=None, **kwargs):
        """Draw one line for each kernel and family, with a logarithmic axis of errors.

        Errors of exactly zero, below the floor of some families, have no place on that axis: the line ends before them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        **kwargs
            Passed to ``Axes.plot``.

        Returns
        -------
        self
        """
        ax = new_axes(ax, figsize=(6.4, 4.8))
        for i, (label, errors) in enumerate(self.errors.items()):
            style = {
                "color": OKABE_ITO[i % len(OKABE_ITO)],
                "marker": MARKERS[i % len(MARKERS)],
                "linestyle": LINES[i // len(OKABE_ITO) % len(LINES)],  # beyond the colours, lines differ
                "markersize": 4,
                "label": label,
            }
            ax.plot(self.sizes[label], np.where(errors > 0, errors, np.nan), **{**style, **kwargs})
        ax.set_yscale("log")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel(self.size_label)
        ax.set_ylabel(self.error_label)
        ax.grid(alpha=0.3)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _check(kernels, families, radii):
    for kernel in kernels.values():
        if not isinstance(kernel, TorusKernel):
            raise ValueError(f"kernels must be a TorusKernel or a mapping to these, got {kernel!r}.")
    if not kernels or not families:
        raise ValueError("At least one kernel and one family of index sets are needed.")
    for label, family in families.items():
        if not family or not all(isinstance(one, IndexSet) for one in family):
            raise ValueError(f"index_sets{f'[{label!r}]' if label else ''} must hold index sets, got {family!r}.")
        if radii is not None and len(family) != len(radii):
            raise ValueError(f"There are {len(radii)} radii, but {len(family)} index sets {label}".rstrip() + ".")
