"""Image files in and out, without loss: grey or colour, 8 or 16 bits, or floating-point grey.

Pillow is imported when a file is read or written; install it with ``pip install "torusgp[plot]"``.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torusgp.libraries import require

_FORMATS = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF"}  # these keep every pixel as it is
_DIRECT_MODES = ("L", "LA", "RGB", "RGBA", "F")
_CONVERTED_MODES = {"1": "L", "P": "RGB", "PA": "RGBA"}
_STD_LEVELS = 2**16 - 1


@dataclass(frozen=True)
class Picture:
    """An image as it was read.

    Attributes
    ----------
    pixels : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        Levels of the file: uint8 or uint16, int32 or float32. With two or four channels the last is opacity.
    profile : bytes or None
        Its colour profile.
    """

    pixels: np.ndarray
    profile: bytes | None = None

    @property
    def shape(self):
        """Rows and columns."""
        return self.pixels.shape[:2]

    @property
    def has_alpha(self):
        """True if the last channel is opacity."""
        return self.pixels.ndim == 3 and self.pixels.shape[2] in (2, 4)

    @property
    def values(self):
        """Colours as float64, of shape (n_rows, n_columns) or (n_rows, n_columns, 3); fully transparent pixels are NaN.

        Pixels that are transparent in part have the colour that the file gives them.
        """
        if not self.has_alpha:
            return self.pixels.astype(float)
        colours = self.pixels[..., :-1].astype(float)
        colours[self.pixels[..., -1] == 0] = np.nan
        return colours[..., 0] if colours.shape[2] == 1 else colours

    def suffix(self, path):
        """Ending of a file that holds the picture without loss: that of a path, if it does."""
        suffix = Path(path).suffix.lower()
        if self.pixels.dtype in (np.uint8, np.uint16):
            return suffix if suffix in _FORMATS else ".png"
        return suffix if _FORMATS.get(suffix) == "TIFF" else ".tif"

    def check_suffix(self, path):
        """Raise unless a file of that name can hold the picture without loss."""
        suffix = Path(path).suffix.lower()
        if suffix not in _FORMATS:
            raise ValueError(f"Cannot write {path}: the name has to end in {', '.join(_FORMATS)}, which lose nothing.")
        if suffix != self.suffix(path):
            raise ValueError(
                f"Cannot write {path}: PNG has no {self.pixels.dtype} pixels; the name has to end in .tif."
            )

    def encode(self, values, mask, path):
        """The picture with other colours where a mask is true, as the bytes of a file; these become opaque.

        Colours are rounded to the levels of the picture, and those beyond its range set to its ends.

        Parameters
        ----------
        values : ndarray of the shape of ``self.values``
            Colours, in the levels of the file.
        mask : ndarray of bool, shape (n_rows, n_columns)
            Where they are taken; all other pixels are as they were.
        path : Path
            Its ending says the format: .png, .tif or .tiff.

        Returns
        -------
        bytes
        """
        self.check_suffix(path)
        pixels = self.pixels.copy()
        colours = values[mask]
        if pixels.dtype.kind in "iu":
            limits = np.iinfo(pixels.dtype)
            colours = np.clip(np.rint(colours), limits.min, limits.max)
        if self.has_alpha:
            pixels[mask, :-1] = colours.reshape(len(colours), -1)
            pixels[mask, -1] = np.iinfo(pixels.dtype).max
        else:
            pixels[mask] = colours
        options = {} if self.profile is None else {"icc_profile": self.profile}
        return _to_bytes(pixels, _FORMATS[Path(path).suffix.lower()], options)


def read_picture(path):
    """Read an image file.

    Bilevel images become grey, those with a palette coloured; rotations that a camera noted are carried out.

    Parameters
    ----------
    path : str or Path
        File of any format that Pillow reads.

    Returns
    -------
    Picture
    """
    image = _open(path)
    if image.mode.startswith("I"):
        pixels = np.asarray(image)
        wide = image.mode == "I" and image.format != "PNG"  # before version 11 Pillow gave 16-bit PNG as "I"
        return Picture(pixels.astype(np.int32 if wide else np.uint16), image.info.get("icc_profile"))
    profile = image.info.get("icc_profile")
    if image.has_transparency_data and image.mode in ("L", "RGB", "P"):
        image = image.convert("LA" if image.mode == "L" else "RGBA")
    else:
        image = image.convert(_CONVERTED_MODES.get(image.mode, image.mode))
    if image.mode not in _DIRECT_MODES:
        raise ValueError(
            f"{path} has pixels of the kind {image.mode}, which is not supported: convert it to RGB or grey."
        )
    return Picture(np.array(image), profile)


def read_mask(path, shape):
    """Read a mask from an image file.

    Parameters
    ----------
    path : str or Path
        Image of the same size. A pixel is missing where any colour channel is not zero; transparent pixels are not.
    shape : pair of int
        Rows and columns that it has to have.

    Returns
    -------
    ndarray of bool, shape (n_rows, n_columns)
    """
    values = np.nan_to_num(read_picture(path).values)
    if values.shape[:2] != tuple(shape):
        raise ValueError(
            f"The mask {path} has {values.shape[0]} x {values.shape[1]} pixels (rows x columns), but the image "
            f"{shape[0]} x {shape[1]}: they have to be of the same size."
        )
    return values != 0 if values.ndim == 2 else (values != 0).any(axis=2)


def encode_std(std):
    """A map of standard deviations as a 16-bit grey PNG, white where they are largest.

    Parameters
    ----------
    std : ndarray of shape (n_rows, n_columns)
        Standard deviations in the levels of an image, not all zero.

    Returns
    -------
    content : bytes
        The file, in which the scale is written too, as its description.
    scale : str
        The scale, in words.
    """
    scale = f"{_STD_LEVELS} stands for a standard deviation of {std.max():.6g} levels of the image"
    return _described(std / std.max(), scale), scale


def encode_grey(values):
    """Values as a 16-bit grey PNG, from black for the smallest to white for the largest; its description says which.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        Values, not all equal.

    Returns
    -------
    bytes
    """
    low, high = values.min(), values.max()
    return _described((values - low) / (high - low), f"0 stands for {low:.6g} and {_STD_LEVELS} for {high:.6g}")


def _described(shares, description):
    """A 16-bit grey PNG of numbers from 0 to 1."""
    PngInfo = require("PIL.PngImagePlugin", "plot", "Images need").PngInfo
    text = PngInfo()
    text.add_text("Description", description)
    return _to_bytes(np.rint(shares * _STD_LEVELS).astype(np.uint16), "PNG", {"pnginfo": text})


def _to_bytes(pixels, file_format, options):
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, file_format, **options)
    return buffer.getvalue()


def _open(path):
    require("PIL", "plot", "Images need")
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as image:
            deep = image.mode in ("LA", "RGB", "RGBA") and any(";16" in str(tile[3]) for tile in image.tile)
            n_frames = getattr(image, "n_frames", 1)
            image.load()
            upright = ImageOps.exif_transpose(image)
            upright.format = image.format  # a copy has none
    except FileNotFoundError:
        raise FileNotFoundError(f"Cannot read {path}: there is no such file.") from None
    except (IsADirectoryError, PermissionError) as error:
        raise OSError(f"Cannot read {path}: {error.strerror}.") from error
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise ValueError(
            f"Cannot read {path}: it is not an image of a known format, or damaged or too large."
        ) from error
    if deep:
        raise ValueError(
            f"{path} has colours of 16 bits, of which Pillow reads 8: convert it to 8 bits, or to 16-bit grey."
        )
    if n_frames > 1:
        raise ValueError(f"{path} holds {n_frames} images: save the one that is meant in a file of its own.")
    return upright
