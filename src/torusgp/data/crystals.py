"""Crystals from files: cells (CIF, POSCAR and others) and densities on a grid (CHGCAR, cube), read by ASE.

Install it with ``pip install "torusgp[crystals]"``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CrystalDensity:
    """A function on a regular grid over one cell of a crystal.

    Attributes
    ----------
    cell : ndarray of shape (3, 3)
        Lattice vectors in rows, in Angstrom.
    density : ndarray of shape (n_1, n_2, n_3)
        Values; entry (i, j, k) is at the fractions (i / n_1, j / n_2, k / n_3) of the lattice vectors. Of CHGCAR in
        electrons per cubic Angstrom, of cube files in the units of the file.
    """

    cell: Array
    density: Array

    @property
    def positions(self) -> Array:
        """Grid points in Angstrom, in the order of ``density.ravel()``. In them the density repeats with ``cell``."""
        return np.asarray(np.argwhere(np.ones(self.density.shape)) / self.density.shape @ self.cell)


def read_cell(path: str | Path) -> Array:
    """Lattice vectors of a crystal structure, for :class:`torusgp.Lattice`.

    Parameters
    ----------
    path : str or path
        A file of a crystal structure that ASE reads: CIF, POSCAR, CONTCAR, extended XYZ and others.

    Returns
    -------
    ndarray of shape (3, 3)
        In rows, in Angstrom.
    """
    path = _check_file(path)
    try:
        atoms = _ase("ase.io").read(path)
    except ImportError:
        raise
    except Exception as error:  # readers of many formats raise whatever they stumble over
        raise ValueError(f"{path} cannot be read as a crystal structure: {error}.") from error
    return _check_cell(np.array(atoms.cell), path)


def read_density(path: str | Path) -> CrystalDensity:
    """A density, or another function, on a grid over the cell of a crystal.

    Parameters
    ----------
    path : str or path
        A file CHGCAR, CHG or LOCPOT of VASP (of several densities the first, the total, is taken), or a Gaussian cube
        file, whose name ends in ``.cube`` or ``.cub``.

    Returns
    -------
    CrystalDensity

    Examples
    --------
    >>> density = read_density("CHGCAR")  # doctest: +SKIP
    >>> model = TorusGPRegressor(Lattice((0, 1, 2), density.cell))  # doctest: +SKIP
    >>> model.fit(density.positions, density.density.ravel())  # doctest: +SKIP
    """
    path = _check_file(path)
    try:
        if path.suffix.lower() in (".cube", ".cub"):
            with open(path, encoding="ascii") as file:
                content = _ase("ase.io.cube").read_cube(file)
            atoms, values = content["atoms"], content["data"]
        else:
            found = _ase("ase.calculators.vasp").VaspChargeDensity(str(path))
            atoms, values = found.atoms[0], found.chg[0]
    except ImportError:
        raise
    except Exception as error:  # readers raise whatever they stumble over
        raise ValueError(f"{path} cannot be read as a density on a grid: {type(error).__name__} {error}.") from error
    values = np.asarray(values, dtype=float)
    if values.ndim != 3 or not np.isfinite(values).all():
        raise ValueError(f"{path} holds no finite values on a grid of three axes: its shape is {values.shape}.")
    return CrystalDensity(_check_cell(np.array(atoms.cell), path), values)


def _check_file(path: str | Path) -> Path:
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} is not a file.")
    return Path(path)


def _check_cell(cell: Array, path: Path) -> Array:
    if cell.shape != (3, 3) or not np.isfinite(cell).all() or np.linalg.matrix_rank(cell) < 3:
        raise ValueError(f"{path} has no cell of three lattice vectors: {cell.tolist()}. Is it a molecule?")
    return cell


def _ase(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError('Crystal files need ASE. Install it with: pip install "torusgp[crystals]"') from error
