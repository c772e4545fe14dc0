"""Missing parts of images that repeat, filled from what is left of them.

The known pixels are the rows of a regression on (row, column), each colour channel an output; the lattice on which the
image repeats is found and learned with everything else.
"""

import re
import time
from dataclasses import dataclass

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.images._pixels import check_known_pixels
from torusgp.views.dimensions import periodic_cell
from torusgp.views.metrics import mean_negative_log_loss

DEFAULT_COLUMNS = 401


@dataclass(frozen=True)
class Inpainting:
    """An image with its hole filled.

    Attributes
    ----------
    image : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        What was given, the pixels under the mask too.
    mask : ndarray of bool, shape (n_rows, n_columns)
        The hole.
    filled : ndarray of the shape of the image
        The image with predictions in the hole; all other pixels are as they were.
    std : ndarray of the shape of the image
        Standard deviation of an observation in the hole, in the units of the image; zero elsewhere.
    low, high : float
        Smallest and largest known value. Errors are in units of their difference.
    seconds : float
        Time to learn and predict.
    estimator : regressor
        The fitted regressor.
    cell, cell_std : ndarray of shape (2, 2), or None
        Lattice vectors in rows, as (row, column) in pixels, and their standard errors, where they were learned.
    rmse, mnll : float, or None
        Root mean square error and mean negative log loss in the hole, on the scale where known values go from 0 to 1;
        None where the truth is not known.
    """

    image: np.ndarray
    mask: np.ndarray
    filled: np.ndarray
    std: np.ndarray
    low: float
    high: float
    seconds: float
    estimator: object
    cell: np.ndarray | None = None
    cell_std: np.ndarray | None = None
    rmse: float | None = None
    mnll: float | None = None

    @property
    def truth_known(self):
        """True if the pixels under the mask are what was there before."""
        return self.rmse is not None

    def scaled(self, values):
        """Values of the image on the scale where the known ones go from 0 to 1."""
        return (values - self.low) / (self.high - self.low)

    @property
    def std_map(self):
        """Standard deviations in the units of the image, over channels the root of the mean square: two-dimensional."""
        return self.std if self.std.ndim == 2 else np.sqrt((self.std**2).mean(axis=2))


def make_lattice_regressor(n_components=DEFAULT_COLUMNS, *, verbose=0):
    """A regressor that finds on which lattice an image repeats, and learns it with all else.

    Parameters
    ----------
    n_components : int or "auto", default=401
        Largest number of components.
    verbose : int or callable, default=0
        See :class:`torusgp.TorusGPRegressor`.

    Returns
    -------
    TorusGPRegressor
    """
    learn = ("length_scale", "signal_variance", "noise_variance", "lattice")
    return TorusGPRegressor(period="auto", learn=learn, n_components=n_components, verbose=verbose)


def inpaint(image, mask=None, estimator=None, *, truth=True):
    """Fill the hole of an image by regression on its known pixels.

    Nothing under the mask is used to fill it, not even for the scale; it is only compared with the result.

    Parameters
    ----------
    image : array-like of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        Grey or coloured image in any units. Pixels that are NaN are not known. Channels that are all equal count as
        one.
    mask : array-like of bool, shape (n_rows, n_columns), optional
        True where pixels are missing; by default where the image is NaN. Pixels that are NaN outside the mask are
        neither used nor filled.
    estimator : regressor, optional
        Its ``predict`` takes ``return_std=True``; inputs are (row, column) in pixels, targets are on a scale of 0 to 1.
        It is fitted. By default :func:`make_lattice_regressor`.
    truth : bool, default=True
        Compare the result with the pixels under the mask, those that are not NaN, unless they are all of one colour:
        then something has been painted over them.

    Returns
    -------
    Inpainting

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> row, column = np.indices((60, 60))
    >>> image = np.exp(np.cos(2 * np.pi * row / 12) + np.cos(2 * np.pi * column / 10))
    >>> mask = np.zeros((60, 60), dtype=bool)
    >>> mask[20:40, 20:40] = True
    >>> result = inpaint(image, mask, TorusGPRegressor(period=[12, 10], n_components=101))
    >>> bool(result.rmse < 0.1)
    True
    """
    image = np.asarray(image, dtype=float)
    if image.ndim not in (2, 3) or 0 in image.shape:
        raise ValueError(
            f"image must have shape (n_rows, n_columns) or (n_rows, n_columns, n_channels), got {image.shape}."
        )
    channels = image.reshape(*image.shape[:2], -1)
    finite = np.isfinite(channels).all(axis=2)
    mask = ~finite if mask is None else np.asarray(mask)
    known = finite & ~_check_mask(mask, finite)
    low, high = check_known_pixels(channels, known)

    targets = (channels[known] - low) / (high - low)
    grey = (targets == targets[:, :1]).all()
    estimator = make_lattice_regressor() if estimator is None else estimator
    begin = time.perf_counter()
    estimator.fit(np.argwhere(known), targets[:, 0] if grey else targets)
    mean, std = estimator.predict(np.argwhere(mask), return_std=True)
    seconds = time.perf_counter() - begin
    mean, std = (
        np.broadcast_to(values.reshape(len(values), -1), (len(values), channels.shape[2])) for values in (mean, std)
    )

    filled, spread = channels.copy(), np.zeros_like(channels)
    filled[mask] = low + (high - low) * mean
    spread[mask] = (high - low) * std
    errors = _errors((channels[mask] - low) / (high - low), mean, std) if truth else {}
    return Inpainting(
        image,
        mask,
        filled.reshape(image.shape),
        spread.reshape(image.shape),
        low,
        high,
        seconds,
        estimator,
        **_learned_cell(estimator),
        **errors,
    )


def hole_mask(text, shape):
    """Mask of a rectangle that is written as two slices.

    Parameters
    ----------
    text : str
        ``r0:r1,c0:c1``: rows r0 to r1 - 1 and columns c0 to c1 - 1, counted from 0 at the upper left.
    shape : pair of int
        Rows and columns of the image.

    Returns
    -------
    ndarray of bool, shape (n_rows, n_columns)

    Examples
    --------
    >>> hole_mask("1:3,0:2", (4, 4)).astype(int).sum(axis=1).tolist()
    [0, 2, 2, 0]
    """
    found = re.fullmatch(r"\s*(\d+):(\d+)\s*,\s*(\d+):(\d+)\s*", text)
    if found is None:
        raise ValueError(
            f"The hole {text!r} is not of the form r0:r1,c0:c1, as in 32:96,32:96 for rows and columns 32 to 95."
        )
    top, bottom, left, right = map(int, found.groups())
    if top >= bottom or left >= right:
        raise ValueError(
            f"The hole {text!r} holds no pixel: in r0:r1,c0:c1 the first of each pair has to be the smaller."
        )
    if bottom > shape[0] or right > shape[1]:
        raise ValueError(
            f"The hole {text!r} reaches beyond the image, which has {shape[0]} rows and {shape[1]} columns: the "
            f"largest is 0:{shape[0]},0:{shape[1]}."
        )
    mask = np.zeros(shape, dtype=bool)
    mask[top:bottom, left:right] = True
    return mask


def _check_mask(mask, finite):
    """Return the mask, or raise unless it hides something and not everything."""
    if mask.dtype != bool or mask.shape != finite.shape:
        raise ValueError(f"mask must be of bool and of shape {finite.shape}, got {mask.dtype} of shape {mask.shape}.")
    if not mask.any():
        raise ValueError("No pixel is missing: the mask hides nothing, and no pixel is transparent or NaN.")
    if mask.all():
        raise ValueError("No pixel is known: the mask hides the whole image.")
    return mask


def _errors(truth, mean, std):
    """Errors on the pixels whose truth is known, if there are any."""
    finite = np.isfinite(truth).all(axis=1)
    truth = truth[finite]
    if not len(truth) or (truth == truth[0]).all():
        return {}
    return {
        "rmse": float(np.sqrt(np.mean((truth - mean[finite]) ** 2))),
        "mnll": mean_negative_log_loss(truth, mean[finite], std[finite]),
    }


def _learned_cell(estimator):
    """Cell of a torus regressor, and its standard errors if it was learned."""
    if not isinstance(estimator, TorusGPRegressor):
        return {}
    axes, cell = periodic_cell(estimator.fitted_)
    if len(cell) != 2:
        return {}
    std = estimator.fit_.period_std
    if std is not None:
        std = std[np.ix_(axes, axes)] if std.ndim == 2 else np.diag(std[axes])
    return {"cell": cell, "cell_std": std}
