"""The lattice of an image: image with its cell, the average cell, what differs, and the strain."""

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO, add_colour_bar, import_pyplot

_REPEATS = 2  # of the average cell that is drawn, along each vector


class LatticeDisplay:
    """An image with its cell, the average cell, the residual with defects, and the strain along rows and columns.

    Parameters
    ----------
    image : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        The image, of which the mean over channels is drawn.
    cell : ndarray of shape (2, 2)
        Lattice vectors in rows, as (row, column) in pixels.
    unit_cell : ndarray of shape (size, size)
        The average cell, over fractions of the vectors.
    residual : ndarray of shape (n_rows, n_columns)
        Image less model.
    strain : ndarray of shape (n_rows, n_columns, 3)
        Along rows, along columns, and shear.
    defects : sequence of ndarray of shape (2,), optional
        Places to mark.
    title : str, optional
        Line above the image.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        The five axes of the last plot.
    figure_ : matplotlib Figure
        Its figure.
    """

    def __init__(self, image, cell, unit_cell, residual, strain, defects=(), title=""):
        self.image = image
        self.cell = cell
        self.unit_cell = unit_cell
        self.residual = residual
        self.strain = strain
        self.defects = defects
        self.title = title

    @classmethod
    def from_result(cls, result, size=64):
        """Collect what is shown of a lattice.

        Parameters
        ----------
        result : ImageLattice
            As :func:`torusgp.images.lattices.find_lattice` returns it.
        size : int, default=64
            Points of the average cell along each vector.

        Returns
        -------
        LatticeDisplay
        """
        lengths, errors = result.lengths, result.lengths_std
        title = (
            f"{lengths[0]:.3f} ± {errors[0]:.2g} and {lengths[1]:.3f} ± {errors[1]:.2g} pixels,\n"
            f"{result.angle:.2f} ± {result.angle_std:.2g}°"
        )
        places = [defect.position for defect in result.defects()]
        values = (_grey(one) for one in (result.image, result.unit_cell(size), result.residual))
        image, unit_cell, residual = values
        return cls(image, result.cell, unit_cell, residual, result.strain()[0], places, title)

    def plot(self, axes=None):
        """Draw the five panels.

        Parameters
        ----------
        axes : sequence of five matplotlib Axes, optional
            By default a new figure.

        Returns
        -------
        self
        """
        if axes is None:
            _, axes = import_pyplot().subplots(1, 5, figsize=(17, 3.6), layout="constrained")
        axes = np.asarray(axes).ravel()
        if len(axes) != 5:
            raise ValueError(f"A lattice is drawn on five axes, got {len(axes)}.")
        axes[0].imshow(self.image, cmap="gray")
        self._draw_cell(axes[0])
        axes[0].set_title(self.title, fontsize="small")
        self._draw_average(axes[1])
        limit = np.nanquantile(np.abs(self.residual), 0.999)
        drawn = axes[2].imshow(self.residual, cmap="RdBu_r", vmin=-limit, vmax=limit)
        add_colour_bar(axes[2], drawn, "residual")
        for place in self.defects:
            axes[2].plot(*place[::-1], "o", markersize=12, markerfacecolor="none", color=OKABE_ITO[2])
        axes[2].set_title(f"residual, {len(self.defects)} defect(s)")
        limit = max(100 * np.abs(self.strain[..., :2]).max(), 1e-3)
        for ax, values, name in zip(axes[3:], np.moveaxis(self.strain, 2, 0), ("rows", "columns"), strict=False):
            drawn = ax.imshow(100 * values, cmap="PuOr", vmin=-limit, vmax=limit)
            ax.set_title(f"strain along {name}")
        add_colour_bar(axes[4], drawn, "percent")
        for ax in axes[[0, 2, 3, 4]]:
            ax.set(xticks=[], yticks=[])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _draw_cell(self, ax):
        middle = (np.array(self.image.shape[:2]) - 1) / 2
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) - 0.5
        ax.plot(*(middle + corners @ self.cell).T[::-1], color=OKABE_ITO[1], linewidth=1.8)

    def _draw_average(self, ax):
        """The average cell as it lies in the image, a few times."""
        size = len(self.unit_cell)
        edges = np.stack(np.meshgrid(*[np.arange(_REPEATS * size + 1) / size] * 2, indexing="ij"), axis=-1) @ self.cell
        tiled = np.tile(self.unit_cell, (_REPEATS, _REPEATS))
        ax.pcolormesh(edges[..., 1], edges[..., 0], tiled, cmap="gray", rasterized=True)
        ax.invert_yaxis()
        ax.set(aspect="equal", title="average cell", xlabel="pixels")


def _grey(values):
    return values if values.ndim == 2 else values.mean(axis=2)
