import os
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from tests.cli.runner import assert_fails, run, tree
from tests.images.made_images import make_perforated_plate
from torusgp import TorusGPRegressor
from torusgp.cli import _inpaint
from torusgp.cli._inpaint import inpaint_file
from torusgp.images.inpainting import hole_mask
from torusgp.storage.pictures import read_picture

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
SHAPE = (60, 50)
HOLE = "20:40,15:35"
MASK = hole_mask(HOLE, SHAPE)
PLATE = make_perforated_plate(SHAPE, spacing=11.0)
GREY = np.rint(255 * PLATE.image).astype(np.uint8)
COLOUR = np.rint(255 * make_perforated_plate(SHAPE, spacing=11.0, colour=True).image).astype(np.uint8)
OPACITY = np.where(MASK, 0, 255).astype(np.uint8)


def save(path, pixels):
    Image.fromarray(pixels).save(path)
    return path


@pytest.fixture
def given_lattice(monkeypatch):
    """The lattice is given instead of found: what is tested is the command, in a tenth of the time."""

    def make(n_components, verbose):
        return TorusGPRegressor(period=PLATE.cell, n_components=n_components, verbose=verbose)

    monkeypatch.setattr(_inpaint, "make_lattice_regressor", make)


@pytest.fixture
def picture(tmp_path):
    return save(tmp_path / "plate.png", GREY)


@pytest.mark.usefixtures("given_lattice")
class TestFiles:
    def test_three_files_are_written_and_told(self, picture, tmp_path):
        output = tmp_path / "new" / "folder" / "out.png"
        result = run("inpaint", picture, "--hole", HOLE, "-o", output, "--components", 61)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert sorted(path.name for path in output.parent.iterdir()) == ["out-figure.png", "out-std.png", "out.png"]
        filled = np.asarray(Image.open(output))
        np.testing.assert_array_equal(filled[~MASK], GREY[~MASK])
        # pixel noise is 8 levels; a plate without its pattern would be wrong by 70
        assert np.sqrt(np.mean((filled[MASK].astype(float) - GREY[MASK]) ** 2)) < 25
        assert (output.parent / "out-figure.png").read_bytes().startswith(PNG_SIGNATURE)
        std = Image.open(output.parent / "out-std.png")
        assert (np.asarray(std)[~MASK] == 0).all()
        assert (np.asarray(std)[MASK] > 0).all()
        assert std.text["Description"] in result.stdout
        for name in ("out.png", "out-std.png", "out-figure.png"):
            assert str(output.parent / name) in result.stdout

    def test_what_is_printed_is_what_was_found(self, picture, tmp_path):
        written = inpaint_file(picture, hole=HOLE, output=tmp_path / "a.png", n_components=61)
        text = run("inpaint", picture, "--hole", HOLE, "-o", tmp_path / "b.png", "--components", 61).stdout
        assert f"RMSE {written.result.rmse:.4f}, MNLL {written.result.mnll:.3f}" in text
        assert "Columns: 61\n" in text
        assert "Filled: 400 of 3000 pixels" in text
        assert f"length {np.linalg.norm(PLATE.cell[0]):.3f}" in text
        assert "angle between them 60.00 degrees" in text

    def test_the_default_place_is_beside_the_image(self, picture, tmp_path):
        assert run("inpaint", picture, "--hole", HOLE, "--components", 61).exit_code == 0
        names = ["plate-filled-figure.png", "plate-filled-std.png", "plate-filled.png", "plate.png"]
        assert sorted(path.name for path in tmp_path.iterdir()) == names

    def test_lossy_formats_come_back_as_png(self, tmp_path):
        path = save(tmp_path / "plate.jpg", COLOUR)
        before = np.asarray(Image.open(path))
        assert run("inpaint", path, "--hole", HOLE, "--components", 61).exit_code == 0
        after = np.asarray(Image.open(tmp_path / "plate-filled.png"))
        np.testing.assert_array_equal(after[~MASK], before[~MASK])

    def test_files_that_are_there_are_replaced(self, picture, tmp_path):
        (tmp_path / "out.png").write_text("old")
        assert run("inpaint", picture, "--hole", HOLE, "-o", tmp_path / "out.png", "--components", 61).exit_code == 0
        assert (tmp_path / "out.png").read_bytes().startswith(PNG_SIGNATURE)

    @pytest.mark.parametrize(
        ("pixels", "suffix", "mode"),
        [
            (COLOUR, ".png", "RGB"),
            (np.dstack([COLOUR, OPACITY]), ".png", "RGBA"),
            (np.dstack([GREY, OPACITY]), ".png", "LA"),
            (GREY.astype(np.uint16) * 257, ".png", "I;16"),
            (np.where(MASK, np.nan, PLATE.image).astype(np.float32), ".tif", "F"),
        ],
        ids=["RGB", "RGBA", "LA", "I;16", "F"],
    )
    def test_mode_and_depth_are_kept(self, tmp_path, pixels, suffix, mode):
        path = save(tmp_path / f"plate{suffix}", pixels)
        hidden = mode in ("RGBA", "LA", "F")  # the hole is where the image is transparent or NaN
        hole = [] if hidden else ["--hole", HOLE]
        result = run("inpaint", path, *hole, "--components", 61)
        assert result.exit_code == 0
        assert ("Accuracy: not known" in result.stdout) == hidden
        filled = Image.open(tmp_path / f"plate-filled{suffix}")
        assert filled.mode == mode
        np.testing.assert_array_equal(np.asarray(filled)[~MASK], pixels[~MASK])
        values = read_picture(tmp_path / f"plate-filled{suffix}").values
        truth = COLOUR if "RGB" in mode else GREY
        scale = {"I;16": 257.0, "F": 1 / 255}.get(mode, 1.0)
        assert np.sqrt(np.mean((values[MASK] / scale - truth[MASK]) ** 2)) < 25


@pytest.mark.usefixtures("given_lattice")
class TestHole:
    def test_mask_and_hole_are_the_same_thing(self, picture, tmp_path):
        mask = save(tmp_path / "mask.png", MASK)
        run("inpaint", picture, "--mask", mask, "-o", tmp_path / "a.png", "--components", 61)
        run("inpaint", picture, "--hole", HOLE, "-o", tmp_path / "b.png", "--components", 61)
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()

    def test_what_is_under_the_hole_is_not_used(self, tmp_path):
        for name, level in (("a", 0), ("b", 255)):
            save(tmp_path / f"{name}.png", np.where(MASK, level, GREY).astype(np.uint8))
            result = run("inpaint", tmp_path / f"{name}.png", "--hole", HOLE, "--components", 61)
            assert "Accuracy: not known" in result.stdout  # it is paint
        a, b = ((tmp_path / f"{name}-filled.png").read_bytes() for name in "ab")
        assert a == b

    def test_truth_can_be_refused(self, picture):
        assert "RMSE" in run("inpaint", picture, "--hole", HOLE, "--components", 61).stdout
        refused = run("inpaint", picture, "--hole", HOLE, "--components", 61, "--no-truth")
        assert "Accuracy: not known" in refused.stdout
        assert "RMSE" not in refused.stdout


class TestWrongInputs:
    """Every one ends in one line, before anything is learned, and leaves the folder as it was."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["no.png", "--hole", HOLE], "Cannot read no.png: there is no such file."),
            (["text.png", "--hole", HOLE], "Cannot read text.png: it is not an image"),
            (["cut.png", "--hole", HOLE], "Cannot read cut.png: it is not an image of a known format, or damaged"),
            (["folder", "--hole", HOLE], "Cannot read folder: Is a directory"),
            (["plate.png"], "No pixel is missing"),
            (["constant.png", "--hole", HOLE], "All known pixels have the value 7"),
            (["plate.png", "--mask", "no.png"], "Cannot read no.png: there is no such file."),
            (["plate.png", "--mask", "text.png"], "Cannot read text.png"),
            (["plate.png", "--mask", "white.png"], "No pixel is known: the mask hides the whole image."),
            (["plate.png", "--mask", "black.png"], "No pixel is missing: the mask hides nothing"),
            (["plate.png", "--mask", "small.png"], "has 9 x 8 pixels (rows x columns), but the image 60 x 50"),
            (["plate.png", "--mask", "mask.png", "--hole", HOLE], "Give either a mask or a hole"),
            (["plate.png", "--hole", "20-40,15-35"], "'20-40,15-35' is not of the form r0:r1,c0:c1"),
            (["plate.png", "--hole", "20:20,15:35"], "holds no pixel"),
            (["plate.png", "--hole", "20:61,15:35"], "which has 60 rows and 50 columns"),
            (["plate.png", "--hole", "0:59,0:50"], "Too few pixels are known: 50, in 1 rows"),
            (["small.png", "--hole", "0:2,0:2"], "Too few pixels are known: 68"),
            (["plate.png", "--hole", HOLE, "--components", "8"], "The model needs 9 components or more, got 8."),
            (["plate.png", "--hole", HOLE, "-o", "out.jpg"], "Cannot write out.jpg: the name has to end in .png"),
            (["plate.png", "--hole", HOLE, "-o", "text.png/out.png"], "text.png is not a folder. Name another place."),
            (["plate.png", "--hole", HOLE, "-o", "folder.png"], "Cannot write folder.png: It is there already"),
            (["plate.png", "--hole", HOLE, "-o", "plate.png"], "Cannot write plate.png: it is one of the inputs"),
            (["plate.png", "--mask", "a-std.png", "-o", "a.png"], "Cannot write a-std.png: it is one of the inputs"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_one_line_and_nothing_written(self, tmp_path, monkeypatch, arguments, message):
        monkeypatch.chdir(tmp_path)
        save("plate.png", GREY)
        save("constant.png", np.full(SHAPE, 7, np.uint8))
        save("small.png", GREY[:9, :8])
        for name, mask in {"mask": MASK, "a-std": MASK, "white": MASK | True, "black": MASK & False}.items():
            save(f"{name}.png", mask)
        (tmp_path / "text.png").write_text("not an image")
        (tmp_path / "cut.png").write_bytes((tmp_path / "plate.png").read_bytes()[:500])
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder.png").mkdir()
        before = tree(tmp_path)
        assert_fails(run("inpaint", *arguments), message)
        assert tree(tmp_path) == before

    def test_noise_repeats_nowhere(self, tmp_path):
        save(tmp_path / "noise.png", np.random.default_rng(0).integers(0, 256, (40, 40), dtype=np.uint8))
        before = tree(tmp_path)
        assert_fails(run("inpaint", tmp_path / "noise.png", "--hole", "10:20,10:20"), "period")
        assert tree(tmp_path) == before

    @pytest.mark.usefixtures("given_lattice")
    def test_a_disk_that_fills_up_while_writing(self, picture, tmp_path, monkeypatch):
        from pathlib import Path

        (tmp_path / "out.png").write_text("old")
        before = tree(tmp_path)
        write = Path.write_bytes

        def write_until_full(path, data):
            if "figure" in path.name:
                write(path, data[:9])
                raise OSError(28, "No space left on device")
            return write(path, data)

        monkeypatch.setattr(Path, "write_bytes", write_until_full)
        result = run("inpaint", picture, "--hole", HOLE, "-o", tmp_path / "out.png", "--components", 61)
        assert_fails(result, "out-figure.png: No space left on device. Name another place.")
        assert tree(tmp_path) == before

    @pytest.mark.parametrize("missing", ["matplotlib", "PIL"])
    def test_a_missing_extra_is_told_before_the_work(self, picture, tmp_path, monkeypatch, missing):
        before = tree(tmp_path)
        monkeypatch.setitem(sys.modules, missing, None)
        assert_fails(run("inpaint", picture, "--hole", HOLE), 'with: pip install "torusgp[cli,plot,io]"')
        assert tree(tmp_path) == before

    def test_wrong_usage(self, picture):
        assert run("inpaint").exit_code == 2
        assert "Invalid value for '--components'" in run("inpaint", picture, "--components", "many").stderr


def test_help_shows_an_example():
    text = run("inpaint", "--help").stdout
    assert "  torusgp inpaint weave.png --hole 32:96,32:96 -o filled.png\n" in text
    assert "counted from 0" in " ".join(text.split())


class TestProcess:
    """The installed command in a process of its own, with the search."""

    def execute(self, *arguments):
        code = "from torusgp.cli import main; main()"
        command = [sys.executable, "-c", code, *map(str, arguments)]
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}  # a terminal without the plus-minus sign
        return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)

    def test_an_image_is_filled(self, tmp_path):
        plate = make_perforated_plate((40, 40), spacing=9.0)
        picture = save(tmp_path / "plate.png", np.rint(255 * plate.image).astype(np.uint8))
        output = tmp_path / "out.png"
        result = self.execute("inpaint", picture, "--hole", "14:24,12:22", "-o", output, "--components", 61)
        assert result.returncode == 0, result.stderr
        assert "Traceback" not in result.stderr
        vectors = re.findall(r"\((-?[\d.]+) \? [\d.]+, (-?[\d.]+) \? [\d.]+\)", result.stdout)
        turns = np.array(vectors, dtype=float) @ np.linalg.inv(plate.cell)
        np.testing.assert_allclose(turns, np.rint(turns), atol=0.03)
        assert abs(np.linalg.det(np.rint(turns))) == pytest.approx(1.0)
        assert float(re.search(r"RMSE ([\d.]+)", result.stdout).group(1)) < 0.1
        assert len(list(tmp_path.iterdir())) == 4

    def test_a_wrong_input(self, tmp_path):
        result = self.execute("inpaint", tmp_path / "no.png", "--hole", HOLE)
        assert result.returncode == 2
        assert result.stdout == ""
        assert result.stderr == f"Error: Cannot read {tmp_path / 'no.png'}: there is no such file.\n"
        assert list(tmp_path.iterdir()) == []
