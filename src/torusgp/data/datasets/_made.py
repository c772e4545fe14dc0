"""Images that repeat on a known lattice, made up for examples, tests and benchmarks.

Positions are (row, column) in pixels, and a cell has its lattice vectors in rows, in the same order. The pixels as
inputs of a regressor are ``np.argwhere(np.ones(image.shape[:2]))``.
"""

from dataclasses import dataclass

import numpy as np

from torusgp.checks import check_flag, check_number, check_size, is_real, to_floats
from torusgp.kernels.lattices import fold, reduced_basis

_SMALLEST = 1e-9  # length, in pixels or cells
_PLATE_LEVELS = (0.75, 0.2)  # grey of the metal and of the holes, before lighting
_PLATE_COLOURS = ((0.85, 0.72, 0.5), (0.15, 0.2, 0.3))  # brass over a bluish dark
_LIGHT_FROM = (-0.8, 0.6)  # direction in which the lighting rises: up and to the right


@dataclass(frozen=True)
class PerforatedPlate:
    """A made-up photograph of a perforated plate.

    Attributes
    ----------
    image : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, 3)
        Brightness from 0 to 1, with noise.
    noise_free : ndarray of the same shape
        The same without noise; the lighting, which does not repeat, is in it.
    cell : ndarray of shape (2, 2)
        Lattice vectors in rows, as (row, column) in pixels.
    """

    image: np.ndarray
    noise_free: np.ndarray
    cell: np.ndarray


@dataclass(frozen=True)
class LatticeImage:
    """A sum of sinusoids on a lattice, with noise.

    Attributes
    ----------
    image : ndarray of shape (n_rows, n_columns)
        Signal and noise; the mean over many images is zero.
    signal : ndarray of shape (n_rows, n_columns)
        The sinusoids alone.
    cell : ndarray of shape (2, 2)
        Lattice vectors in rows, as they were given.
    frequencies : ndarray of shape (n_sinusoids, 2)
        Frequency of each sinusoid, in cycles per pixel along rows and columns.
    amplitudes : ndarray of shape (n_sinusoids,)
        Amplitude of each sinusoid.
    noise_std : float
        Standard deviation of the noise, in the units of the image.
    """

    image: np.ndarray
    signal: np.ndarray
    cell: np.ndarray
    frequencies: np.ndarray
    amplitudes: np.ndarray
    noise_std: float


def make_perforated_plate(
    shape=(130, 130),
    spacing=15.3,
    angle=11.0,
    *,
    radius=0.31,
    softness=0.7,
    gradient=0.08,
    vignette=0.08,
    noise_std=0.03,
    colour=False,
    random_state=0,
):
    r"""A plate with round holes on a tilted hexagonal lattice, unevenly lit, photographed with noise.

    The lighting multiplies the picture by :math:`1 + g u - v |r|^2`, where the position r is -1 to 1 along each axis
    and u is its coordinate towards the light. Values beyond 0 and 1 are cut off, as a camera does.

    Parameters
    ----------
    shape : pair of int, default=(130, 130)
        Rows and columns.
    spacing : float, default=15.3
        Distance of neighbouring holes, in pixels.
    angle : float, default=11.0
        Degrees by which the first lattice vector is turned from the rows' axis (down) towards the columns' (right).
    radius : float, default=0.31
        Radius of the holes, as a share of the spacing.
    softness : float, default=0.7
        Width of their edges, in pixels: the brightness follows a logistic curve.
    gradient, vignette : float, default=0.08
        Strengths g and v of the lighting.
    noise_std : float, default=0.03
        Standard deviation of the noise.
    colour : bool, default=False
        Three channels, red, green and blue, instead of grey.
    random_state : int, default=0
        Seed of the noise.

    Returns
    -------
    PerforatedPlate

    Examples
    --------
    >>> plate = make_perforated_plate((40, 60), spacing=10.0)
    >>> plate.image.shape
    (40, 60)
    >>> bool(np.allclose(np.linalg.norm(plate.cell, axis=1), 10.0))
    True
    """
    n_rows, n_columns = _check_shape(shape)
    _check_positive(spacing=spacing, radius=radius, softness=softness)
    check_size([spacing], "spacing")
    _check_not_negative(noise_std=noise_std)
    check_flag(colour, "colour")
    for name, value in (("angle", angle), ("gradient", gradient), ("vignette", vignette)):
        check_number(value, name)
    directions = np.radians(angle % 360) + np.array([0.0, np.pi / 3])
    cell = spacing * np.column_stack([np.cos(directions), np.sin(directions)])
    pixels = np.stack(
        np.meshgrid(np.arange(n_rows), np.arange(n_columns), indexing="ij"), axis=-1
    )  # (rows, columns, 2)
    edge = (_distance_to_lattice(pixels, cell) - radius * spacing) / softness
    hole = 0.5 * (1 - np.tanh(edge / 2))  # the logistic curve, without overflow
    position = 2 * pixels / np.maximum([n_rows - 1, n_columns - 1], 1) - 1
    lighting = 1 + gradient * position @ np.array(_LIGHT_FROM) - vignette * (position**2).sum(axis=-1)
    if colour:
        hole, lighting = hole[..., None], lighting[..., None]
    metal, dark = np.array(_PLATE_COLOURS if colour else _PLATE_LEVELS)
    noise_free = np.clip(lighting * (metal + (dark - metal) * hole), 0.0, 1.0)
    noise = noise_std * np.random.default_rng(random_state).normal(size=noise_free.shape)
    return PerforatedPlate(np.clip(noise_free + noise, 0.0, 1.0), noise_free, cell)


def make_lattice_image(
    cell, shape=(130, 130), amplitudes=(1.0, 0.5, 0.25), *, noise=1.0, hexagonal=False, random_state=0
):
    r"""Sinusoids along the shortest reciprocal vectors of a lattice, with overtones, random phases and noise.

    .. math:: f(x) = \sum_{g} \sum_{h = 1}^{H} a_h \cos(2 \pi h \, g \cdot x + \varphi_{g h})

    Parameters
    ----------
    cell : array-like of shape (2, 2)
        Lattice vectors in rows, as (row, column) in pixels.
    shape : pair of int, default=(130, 130)
        Rows and columns.
    amplitudes : sequence of float, default=(1.0, 0.5, 0.25)
        Amplitudes :math:`a_h` of a sinusoid and its overtones, the same in every direction. Overtones beyond half a
        cycle per pixel look like slower ones.
    noise : float, default=1.0
        Standard deviation of the noise, as a multiple of the signal's over the image.
    hexagonal : bool, default=False
        Sinusoids along the three shortest directions g instead of two: on a hexagonal lattice these are equally short.
    random_state : int, default=0
        Seed of the phases and of the noise.

    Returns
    -------
    LatticeImage

    Examples
    --------
    >>> made = make_lattice_image([[12.0, 1.0], [-2.0, 9.0]], noise=0.0)
    >>> bool(np.allclose(made.frequencies @ made.cell.T, np.rint(made.frequencies @ made.cell.T)))  # on the lattice
    True
    """
    shape = _check_shape(shape)
    cell = to_floats(cell, "cell")
    check_flag(hexagonal, "hexagonal")
    if cell.shape != (2, 2) or not np.isfinite(cell).all() or np.linalg.matrix_rank(cell) < 2:
        raise ValueError(f"cell must be two lattice vectors that are not parallel, got {cell.tolist()!r}.")
    amplitudes = to_floats(amplitudes, "amplitudes")
    if amplitudes.ndim != 1 or not amplitudes.any():
        raise ValueError(f"amplitudes must be a sequence of numbers, not all zero, got {amplitudes.tolist()!r}.")
    _check_not_negative(noise=noise)
    rng = np.random.default_rng(random_state)
    directions = _shortest_reciprocal(cell)[: 3 if hexagonal else 2]
    overtones = np.arange(1, len(amplitudes) + 1)
    frequencies = (overtones[:, None] * directions[:, None, :]).reshape(-1, 2)
    amplitudes = np.tile(amplitudes, len(directions))
    phases = rng.uniform(0, 2 * np.pi, len(frequencies))
    pixels = np.argwhere(np.ones(shape))
    signal = (np.cos(2 * np.pi * pixels @ frequencies.T + phases) @ amplitudes).reshape(shape)
    noise_std = noise * float(signal.std())
    image = signal + noise_std * rng.normal(size=shape)
    return LatticeImage(image, signal, cell, frequencies, amplitudes, noise_std)


def _shortest_reciprocal(cell):
    """The three shortest reciprocal vectors of a plane lattice, one of every pair of opposites, shortest first."""
    dual = np.linalg.inv(cell).T
    short = reduced_basis(dual) @ dual
    # of a short basis a, b the next one is the shorter of a + b and a - b
    candidates = np.array([short[0], short[1], short[0] + short[1], short[0] - short[1]])
    order = np.argsort(np.linalg.norm(candidates, axis=1), kind="stable")
    return candidates[order][:3]


def _distance_to_lattice(points, cell):
    around = fold(points @ np.linalg.inv(cell), cell)
    steps = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)]) @ cell
    return np.linalg.norm(around[..., None, :] - steps, axis=-1).min(axis=-1)


def _check_shape(shape):
    is_pair = np.iterable(shape) and len(shape := tuple(shape)) == 2
    if not is_pair or not all(isinstance(n, (int, np.integer)) and n > 0 for n in shape):
        raise ValueError(f"shape must be two positive numbers of rows and columns, got {shape!r}.")
    return shape


def _check_positive(**values):
    for name, value in values.items():
        if not is_real(value) or not 0 < value < np.inf:
            raise ValueError(f"{name} must be a positive number, got {value!r}.")
        if not _SMALLEST <= value <= 1 / _SMALLEST:  # products of others would leave the range of numbers
            raise ValueError(f"{name} must lie between {_SMALLEST:g} and {1 / _SMALLEST:g}, got {value!r}.")


def _check_not_negative(**values):
    for name, value in values.items():
        if not is_real(value) or not 0 <= value < np.inf:
            raise ValueError(f"{name} must be zero or a positive number, got {value!r}.")
