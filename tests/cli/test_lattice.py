import json

import numpy as np
import pytest
from PIL import Image

from tests.cli.runner import assert_fails, run, tree
from tests.images.made_lattices import CELL, atoms, in_basis


def save(path, pixels):
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def picture(tmp_path):
    image, _ = atoms((64, 64), noise=0.02)
    return save(tmp_path / "crystal.png", np.rint(40 + 150 * np.clip(image, -0.2, 1.2)).astype(np.uint8))


def test_three_files_are_written_and_told(picture, tmp_path):
    result = run("lattice", picture, "--components", 61, "--size", 32, "--hole", "0:10,0:12")
    assert result.exit_code == 0, result.stderr
    names = ["crystal-lattice-cell.png", "crystal-lattice-figure.png", "crystal-lattice.json", "crystal.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    content = json.loads((tmp_path / names[2]).read_text())
    cell, std = np.array(content["cell"]), np.array(content["cell_std"])
    assert (np.abs(cell - in_basis(cell, CELL)) < 4 * std).all()
    assert content["n_known"] == 64 * 64 - 120
    average = Image.open(tmp_path / names[0])
    assert average.size == (32, 32)
    assert "stands for" in average.text["Description"]
    assert "angle between them" in result.stdout
    assert "Strain: rows" in result.stdout


def test_a_picture_without_a_lattice_is_told_and_nothing_is_written(tmp_path):
    noise = np.random.default_rng(0).integers(0, 255, (48, 48), dtype=np.uint8)
    path = save(tmp_path / "noise.png", noise)
    before = tree(tmp_path)
    assert_fails(run("lattice", path), "no lattice")
    assert tree(tmp_path) == before


def test_bad_arguments_are_told(picture, tmp_path):
    everything = save(tmp_path / "all.png", np.full((64, 64), 255, dtype=np.uint8))
    assert_fails(run("lattice", picture, "--mask", everything), "hides the whole image")
    assert_fails(run("lattice", picture, "--mask", everything, "--hole", "0:1,0:1"), "either a mask or a hole")
    assert_fails(run("lattice", picture, "-o", tmp_path / "out.png"), "end in .json")
    assert_fails(run("lattice", picture, "--components", 3), "9 components")
    assert_fails(run("lattice", tmp_path / "none.png"), "none.png")
