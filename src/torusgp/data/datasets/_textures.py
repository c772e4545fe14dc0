"""Textures that nearly repeat, with a hole to fill: the images of the papers on this task."""

from dataclasses import dataclass

import numpy as np

from torusgp.data.datasets._sources import Source
from torusgp.storage.pictures import read_picture

_SIZE = 130
_HOLE = slice(32, 97)  # rows and columns 32 to 96, both inclusive
_DIGESTS = {
    "pores": "f28b6e60bd451c9144931ca1f3d2087687b08077f3ca45e9c073c4e9827d7cea",
    "rubber": "f2706dc4a35b50fb7dd360ae184784cd4e14814ad18dfa0630cead62d1568b78",
    "tread": "cdf84baa334966086ebc3d4ef2dcce92cffcef71e57202c40aee26b58dcb9e51",
}
SOURCES = {
    name: Source(
        f"textures/{name}.png",
        repository="MushroomHunting/black-box-quantile-kernels",
        commit="f5160a2965931eb508c70aaef7908bba1be1dcb4",
        path=f"bbq_tf/datasets/raw_datasets/{name}.png",
        sha256=digest,
    )
    for name, digest in _DIGESTS.items()
}


@dataclass(frozen=True)
class Texture:
    """A photograph of something that repeats, nearly.

    Attributes
    ----------
    name : str
        Name of the texture.
    image : ndarray of shape (130, 130)
        Grey from 0 to 1: the darkest and the brightest pixel of the whole image.
    hole : ndarray of bool, shape (130, 130)
        True at the pixels that are to be predicted: rows and columns 32 to 96, both inclusive.
    """

    name: str
    image: np.ndarray
    hole: np.ndarray

    def split(self):
        """Pixels around the hole to learn from, and those in it to predict, row by row.

        Returns
        -------
        X_train, X_test : ndarray of shape (12675, 2) and (4225, 2)
            Rows and columns, in pixels. The papers have them from -1 to 1: ``2 * X / 129 - 1``.
        y_train, y_test : ndarray of shape (12675,) and (4225,)
            Grey.
        """
        known, hole = ~self.hole, self.hole
        X_train, X_test = np.argwhere(known).astype(float), np.argwhere(hole).astype(float)
        return X_train, X_test, self.image[known], self.image[hole]


def load_texture(name):
    """One of the three textures of the papers on filling holes, 130 x 130 pixels.

    From Wilson and others (2014), as published with the black-box quantile kernels of Tompkins and others (2019). No
    period divides 130 pixels.

    Parameters
    ----------
    name : {"pores", "rubber", "tread"}
        Which one.

    Returns
    -------
    Texture

    Notes
    -----
    Read from ``textures/<name>.png`` in the folder that the environment variable ``TORUSGP_DATA`` names, or else
    downloaded once, which needs ``pip install "torusgp[data]"``. Reading needs ``pip install "torusgp[plot]"``.

    Examples
    --------
    >>> texture = load_texture("pores")  # doctest: +SKIP
    >>> X_train, X_test, y_train, y_test = texture.split()  # doctest: +SKIP
    """
    if name not in SOURCES:
        raise ValueError(f"name must be one of {', '.join(map(repr, SOURCES))}, got {name!r}.")
    path = SOURCES[name].locate()
    pixels = read_picture(path).values
    if pixels.shape[:2] != (_SIZE, _SIZE):
        raise ValueError(f"{path} is not the texture {name!r}: it has {pixels.shape[:2]} pixels, not {(_SIZE, _SIZE)}.")
    if pixels.ndim == 3:
        if np.ptp(pixels, axis=2).any():
            raise ValueError(f"{path} is not the texture {name!r}: it has colours, and the texture is grey.")
        pixels = pixels[..., 0]
    if not np.ptp(pixels) > 0:  # nor may it be NaN
        raise ValueError(f"{path} is not the texture {name!r}: all of it is equally bright, or some is transparent.")
    hole = np.zeros(pixels.shape, dtype=bool)
    hole[_HOLE, _HOLE] = True
    return Texture(name, (pixels - pixels.min()) / np.ptp(pixels), hole)
