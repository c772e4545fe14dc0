"""Electron density of a crystal, on a cell that is not rectangular."""

import gzip
import math
import zlib
from dataclasses import dataclass

import numpy as np

from torusgp.data.datasets._sources import Source

_SHAPE = (32, 32, 32)
SOURCE = Source(
    "lithium_density/CHGCAR.gz",
    repository="materialsproject/pymatgen-core",
    commit="c71faa7a95df9bbcd20cb3d14ff112d0f72d8e39",
    path="test-files/io/vasp/outputs/CHGCAR.nospin.gz",
    sha256="1d0f7cab991845fb6b5576839727948d189d339e908c5908ea8ffd935337a715",
)


@dataclass(frozen=True)
class LithiumDensity:
    """Density of the valence electrons of lithium over one primitive cell of the crystal.

    Attributes
    ----------
    cell : ndarray of shape (3, 3)
        Lattice vectors in rows, in Angstrom.
    density : ndarray of shape (32, 32, 32)
        Electrons per cubic Angstrom. Entry (i, j, k) is at the fractions (i, j, k) / 32 of the lattice vectors.
    """

    cell: np.ndarray
    density: np.ndarray

    @property
    def volume(self):
        """Volume of the cell, in cubic Angstrom."""
        return float(abs(np.linalg.det(self.cell)))

    @property
    def fractional(self):
        """Grid points as fractions of the lattice vectors, shape (32768, 3), in the order of ``density.ravel()``.

        In them the density has period 1 along every axis.
        """
        return np.argwhere(np.ones(self.density.shape)) / self.density.shape

    @property
    def positions(self):
        """The same in Angstrom, shape (32768, 3). In them the density repeats with ``cell``."""
        return self.fractional @ self.cell


def load_lithium_density():
    """Electron density of a lithium crystal, calculated with VASP: one electron on a grid of 32 x 32 x 32 points.

    A file among the tests of pymatgen. It holds the density times the volume of the cell, so that the mean over the
    grid is the number of electrons, and the first axis runs fastest. What follows the grid, corrections near the
    nucleus, is not read.

    Returns
    -------
    LithiumDensity

    Notes
    -----
    Read from ``lithium_density/CHGCAR.gz`` in the folder that the environment variable ``TORUSGP_DATA`` names, or else
    downloaded once, which needs ``pip install "torusgp[data]"``.

    Examples
    --------
    >>> lithium = load_lithium_density()  # doctest: +SKIP
    >>> X, y = lithium.positions, lithium.density.ravel()  # doctest: +SKIP
    """
    path = SOURCE.locate()
    try:
        with gzip.open(path, "rt", encoding="ascii") as file:
            lines = file.read().splitlines()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ValueError(f"Cannot read {path}: it is not a compressed text file, or damaged ({error}).") from error
    try:
        cell, elements, scaled = _parse(lines)
    except (IndexError, ValueError) as error:
        raise ValueError(f"{path} is not a file CHGCAR of VASP, or incomplete: {error}.") from error
    electrons = scaled.mean()
    if elements != ["Li"] or scaled.shape != _SHAPE or abs(electrons - 1) > 1e-3:
        raise ValueError(
            f"{path} is not the density of lithium, with one electron on a grid of {_SHAPE}: it has "
            f"{electrons:.3f} electrons of {' '.join(elements)} on a grid of {scaled.shape}."
        )
    return LithiumDensity(cell, scaled / abs(np.linalg.det(cell)))


def _parse(lines):
    """Cell, chemical elements, and density times volume of the cell, from the lines of a file CHGCAR.

    A title, a factor of all lengths, three lattice vectors, the elements, their numbers of atoms, the kind of
    coordinates, a line for each atom, an empty line, the shape of the grid, and the values in lines of five.
    """
    cell = float(lines[1]) * np.array([line.split() for line in lines[2:5]], dtype=float)
    if cell.shape != (3, 3):
        raise ValueError(f"lines 3 to 5 should be lattice vectors, got {lines[2:5]!r}")
    elements = lines[5].split()
    n_atoms = sum(map(int, lines[6].split()))
    start = 8 + n_atoms + 1
    shape = tuple(map(int, lines[start].split()))
    if len(shape) != 3 or min(shape) < 1:
        raise ValueError(f"line {start + 1} should be the shape of the grid, got {lines[start]!r}")
    n_values = math.prod(shape)
    n_lines = -(-n_values // 5)
    values = np.array(" ".join(lines[start + 1 : start + 1 + n_lines]).split(), dtype=float)
    if len(values) != n_values or not np.isfinite(values).all():
        raise ValueError(f"a grid of {shape} needs {n_values} finite values, got {len(values)}")
    return cell, elements, values.reshape(shape, order="F")
