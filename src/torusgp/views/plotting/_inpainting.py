"""An image with its hole, filled, and how far to trust it."""

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO, add_colour_bar, new_axes

_PANEL_WIDTH = 2.9  # inches
_HOLE_COLOUR = OKABE_ITO[3]  # unlike grey, metal, wood, stone and leaves


class InpaintingDisplay:
    """Truth, given image, filled image and uncertainty side by side; without the truth where it is not known.

    Parameters
    ----------
    image : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        The image, its known values from 0 to 1; NaN where nothing is known.
    mask : ndarray of bool, shape (n_rows, n_columns)
        The hole.
    filled : ndarray of the shape of the image
        The filled image.
    std : ndarray of shape (n_rows, n_columns)
        Standard deviations in the hole.
    truth_known : bool, default=True
        Whether the image is true under the mask.
    cell : ndarray of shape (2, 2), optional
        Lattice vectors in rows, as (row, column) in pixels.
    scores : dict of str to float, optional
        Errors to print above the filled image, by name.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot: four, or three without the truth.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> image, mask = np.eye(4), np.eye(4) > 0
    >>> display = InpaintingDisplay(image, mask, image, 0.1 * mask)
    >>> display.panels
    ('truth', 'given', 'filled', 'uncertainty')
    """

    def __init__(self, image, mask, filled, std, truth_known=True, cell=None, scores=None):
        self.image = image
        self.mask = mask
        self.filled = filled
        self.std = std
        self.truth_known = truth_known
        self.cell = cell
        self.scores = {} if scores is None else scores

    @classmethod
    def from_result(cls, result):
        """Collect what is shown of an inpainting.

        Parameters
        ----------
        result : Inpainting
            As :func:`torusgp.images.inpainting.inpaint` returns it.

        Returns
        -------
        InpaintingDisplay
        """
        scores = {"RMSE": result.rmse, "MNLL": result.mnll} if result.truth_known else {}
        shown = [result.image, result.filled] if result.truth_known else [result.filled]
        image, filled = result.scaled(result.image), result.scaled(result.filled)
        if all(_is_grey(one) for one in shown):
            image, filled = (one.reshape(*one.shape[:2], -1)[..., 0] for one in (image, filled))
        return cls(
            image,
            result.mask,
            filled,
            result.std_map / (result.high - result.low),
            result.truth_known,
            result.cell,
            scores,
        )

    @property
    def panels(self):
        """Names of the panels."""
        return ("truth", "given", "filled", "uncertainty")[0 if self.truth_known else 1 :]

    @property
    def figure_size(self):
        """Width and height in inches that suit the shape of the image."""
        height = np.clip(_PANEL_WIDTH * self.image.shape[0] / self.image.shape[1], 1.2, 3 * _PANEL_WIDTH)
        return _PANEL_WIDTH * len(self.panels) + 2.4, float(height) + 1.1

    def plot(self, ax=None, **kwargs):
        """Draw the panels, all images on one scale.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            One for each of ``panels``; by default a new figure.
        **kwargs
            Passed to ``Axes.imshow`` for the images.

        Returns
        -------
        self
        """
        ax = new_axes(ax, 1, len(self.panels), figsize=self.figure_size, sharey=True)
        axes = np.atleast_1d(ax)
        if axes.shape != (len(self.panels),):
            raise ValueError(f"ax must be {len(self.panels)} axes, got an array of shape {axes.shape}.")
        panel = dict(zip(self.panels, axes, strict=True))
        if self.truth_known:
            self._show(panel["truth"], self.image, np.zeros_like(self.mask), kwargs)
        self._show(panel["given"], self.image, self.mask, kwargs)
        drawn = self._show(panel["filled"], self.filled, np.zeros_like(self.mask), kwargs)
        if self.image.ndim == 2:
            add_colour_bar(panel["filled"], drawn, "grey (known pixels: 0 to 1)")
        self._show_std(panel["uncertainty"])
        self._show_cell(panel["given"])
        for name, one in panel.items():
            lines = [name]
            if name == "filled":
                lines += [", ".join(f"{key} {value:.3g}" for key, value in self.scores.items())]
            one.set_title("\n".join(line for line in lines if line), fontsize="medium")
            one.set_xlabel("column (pixels)")
        axes[0].set_ylabel("row (pixels)")
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _show(self, ax, image, hidden, kwargs):
        """Draw an image; what is hidden has a colour of its own, and what is not known is white."""
        from matplotlib.colors import to_rgb

        common = {"interpolation": "nearest", **kwargs}
        if image.ndim == 2:
            drawn = ax.imshow(image, **{"cmap": "gray", "vmin": 0.0, "vmax": 1.0, **common})
        else:
            drawn = ax.imshow(np.clip(np.nan_to_num(image, nan=1.0), 0.0, 1.0), **common)
        if hidden.any():
            overlay = np.zeros((*hidden.shape, 4))
            overlay[hidden] = (*to_rgb(_HOLE_COLOUR), 1.0)
            ax.imshow(overlay, interpolation="nearest")
        return drawn

    def _show_std(self, ax):
        std = np.where(self.mask, self.std, np.nan)
        drawn = ax.imshow(std, cmap="cividis", vmin=0.0, interpolation="nearest")
        ax.set_facecolor("0.9")
        scale = "same scale" if self.image.ndim == 2 else "known pixels: 0 to 1"
        add_colour_bar(ax, drawn, f"standard deviation\n({scale})")

    def _show_cell(self, ax):
        """Draw the cell around the centre of the hole, on whose plain colour it is seen."""
        if self.cell is None:
            return
        corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]) - 0.5
        rows, columns = (np.argwhere(self.mask).mean(axis=0) + corners @ self.cell).T
        ax.plot(columns, rows, color=OKABE_ITO[0], linewidth=2.0, label="cell")
        ax.legend(loc="upper right", framealpha=0.9)
        n_rows, n_columns = self.mask.shape
        ax.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))


def _is_grey(image):
    """True if all channels are equal, where they are known."""
    channels = image.reshape(*image.shape[:2], -1)
    return np.array_equal(channels, np.broadcast_to(channels[..., :1], channels.shape), equal_nan=True)
