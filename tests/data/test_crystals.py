"""Cells and densities of crystals, written by ASE and read again; and the density of lithium."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from torusgp import Lattice, TorusGPRegressor
from torusgp.data.crystals import read_cell, read_density
from torusgp.data.datasets._sources import DATA_FOLDER

ase = pytest.importorskip("ase", reason='needs pip install "torusgp[crystals]"')
CELL = np.array([[3.0, 0.2, 0.0], [1.0, 4.0, 0.0], [0.3, 0.5, 5.0]])


@pytest.fixture
def crystal():
    return ase.Atoms("Li", positions=[[0.1, 0.2, 0.3]], cell=CELL, pbc=True)


@pytest.mark.parametrize("name", ["crystal.cif", "POSCAR"])
def test_cells_come_from_structures(name, crystal, tmp_path):
    from ase.io import write

    write(tmp_path / name, crystal)
    cell = read_cell(tmp_path / name)
    np.testing.assert_allclose(cell @ cell.T, CELL @ CELL.T, rtol=1e-4)  # a CIF holds lengths and angles only


def test_densities_come_from_grids(crystal, tmp_path):
    from ase.calculators.vasp import VaspChargeDensity
    from ase.io.cube import write_cube

    values = np.random.default_rng(0).uniform(size=(4, 5, 6))
    with open(tmp_path / "density.cube", "w") as file:
        write_cube(file, crystal, values)
    content = VaspChargeDensity(filename=None)
    content.atoms, content.chg = [crystal], [values]
    content.write(str(tmp_path / "CHGCAR"), format="chgcar")
    for name in ("density.cube", "CHGCAR"):
        found = read_density(tmp_path / name)
        np.testing.assert_allclose(found.density, values, rtol=1e-4)
        np.testing.assert_allclose(found.cell, CELL, atol=1e-4)
        np.testing.assert_allclose(found.positions[1], CELL[2] / 6, atol=1e-4)


@pytest.mark.skipif(DATA_FOLDER not in os.environ, reason=f"the density is read from the folder of {DATA_FOLDER}")
def test_a_published_density_is_fitted_with_its_lattice(tmp_path):
    packed = Path(os.environ[DATA_FOLDER]) / "lithium_density" / "CHGCAR.gz"
    (tmp_path / "CHGCAR").write_bytes(gzip.decompress(packed.read_bytes()))
    lithium = read_density(tmp_path / "CHGCAR")
    assert lithium.density.mean() * abs(np.linalg.det(lithium.cell)) == pytest.approx(1.0, abs=1e-3)
    X, y = lithium.positions, lithium.density.ravel()
    chosen = np.random.default_rng(0).choice(len(X), 4000, replace=False)
    model = TorusGPRegressor(Lattice((0, 1, 2), lithium.cell), n_components=401).fit(X[chosen], y[chosen])
    assert model.score(X, y) > 0.99


def test_what_is_no_crystal_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a file"):
        read_cell(tmp_path / "none.cif")
    (tmp_path / "CHGCAR").write_text("nothing")
    (tmp_path / "a.cif").write_text("nothing")
    with pytest.raises(ValueError, match="density on a grid"):
        read_density(tmp_path / "CHGCAR")
    with pytest.raises(ValueError, match="crystal structure"):
        read_cell(tmp_path / "a.cif")
    from ase.io import write

    write(tmp_path / "molecule.xyz", ase.Atoms("H2", positions=[[0, 0, 0], [0, 0, 1]]))
    with pytest.raises(ValueError, match="Is it a molecule"):
        read_cell(tmp_path / "molecule.xyz")


def test_without_ase_the_line_that_installs_it_is_told(tmp_path, monkeypatch):
    (tmp_path / "a.cube").write_text("")
    import importlib

    def refuse(name, *rest):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ImportError, match=r"torusgp\[crystals\]"):
        read_density(tmp_path / "a.cube")
