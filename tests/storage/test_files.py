import os
import re
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest

from torusgp import (
    PanelModel,
    SufficientStatistics,
    TableModel,
    TorusGPClassifier,
    TorusGPRegressor,
)
from torusgp.kernels.index_sets import tensor
from torusgp.storage.archives import save_archive
from torusgp.storage.files import check_places, write_together

needs_permissions = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind this user"
)


def tree(folder):
    """All that a folder holds: relative names, and the contents of files."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


class TestWriteTogether:
    def test_files_and_folders_appear(self, tmp_path):
        write_together({tmp_path / "a" / "b" / "one": b"1", tmp_path / "a" / "two": b"2"})
        assert tree(tmp_path) == {"a": None, "a/b": None, "a/b/one": b"1", "a/two": b"2"}

    def test_files_that_are_there_are_replaced(self, tmp_path):
        (tmp_path / "one").write_bytes(b"old")
        write_together({tmp_path / "one": b"new", tmp_path / "two": b"2"})
        assert tree(tmp_path) == {"one": b"new", "two": b"2"}

    def test_a_folder_in_the_way_leaves_everything(self, tmp_path):
        (tmp_path / "one").write_bytes(b"old")
        (tmp_path / "taken").mkdir()
        before = tree(tmp_path)
        message = re.escape(f"Cannot write {tmp_path / 'taken'}: It is there already, and is not a file. Name another")
        with pytest.raises(OSError, match=message):
            write_together({tmp_path / "one": b"new", tmp_path / "new" / "x": b"x", tmp_path / "taken": b"2"})
        assert tree(tmp_path) == before

    def test_a_full_disk_leaves_everything(self, tmp_path, monkeypatch):
        (tmp_path / "one").write_bytes(b"old")
        before = tree(tmp_path)
        write = Path.write_bytes

        def write_half(path, data):
            write(path, data[:1])
            if "two" in path.name:
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", write_half)
        with pytest.raises(OSError, match=r"Cannot write .*two: No space left on device\. Name another place"):
            write_together({tmp_path / "one": b"new", tmp_path / "a" / "b" / "two": b"2"})
        assert tree(tmp_path) == before

    @pytest.mark.parametrize("failure", [OSError(5, "Input/output error"), KeyboardInterrupt()])
    def test_a_failure_while_moving_brings_back_what_was_there(self, tmp_path, monkeypatch, failure):
        (tmp_path / "one").write_bytes(b"old")
        before = tree(tmp_path)
        replace = Path.replace

        def replace_or_fail(path, target):
            if Path(target).name == "three":
                raise failure
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", replace_or_fail)
        contents = {tmp_path / "one": b"new", tmp_path / "two": b"2", tmp_path / "three": b"3"}
        with pytest.raises(type(failure)):
            write_together(contents)
        assert tree(tmp_path) == before

    def test_what_is_replaced_must_be_kept_first(self, tmp_path, monkeypatch):
        (tmp_path / "one").write_bytes(b"old")

        def fail(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(shutil, "copy2", fail)
        with pytest.raises(OSError, match="Cannot write"):
            write_together({tmp_path / "one": b"new"})
        assert tree(tmp_path) == {"one": b"old"}


class TestCheckPlaces:
    def test_new_and_existing_places(self, tmp_path):
        (tmp_path / "old").write_bytes(b"")
        check_places([tmp_path / "old", tmp_path / "new", tmp_path / "a" / "b" / "new", Path("relative.png")])
        assert tree(tmp_path) == {"old": b""}

    def test_places_that_cannot_be(self, tmp_path):
        (tmp_path / "file").write_bytes(b"")
        with pytest.raises(OSError, match=r"Cannot write .*file/below/x: .*file is not a folder"):
            check_places([tmp_path / "file" / "below" / "x"])
        with pytest.raises(OSError, match="is not a file"):
            check_places([tmp_path])

    @needs_permissions
    def test_a_read_only_folder(self, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(OSError, match="is read-only"):
            check_places([tmp_path / "new" / "x"])
        tmp_path.chmod(0o700)


@pytest.fixture(scope="module")
def writers():
    """All that writes one file to a place that is given, by name."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"x": rng.uniform(size=40), "shop": ["a", "b"] * 20})
    frame["y"] = frame["x"] + 0.1 * rng.normal(size=40)
    X, y = frame[["x"]].to_numpy(), frame["y"].to_numpy()
    quick = {"period": 2.0, "n_components": 5, "learn": ()}
    regressor = TorusGPRegressor(**quick).fit(X, y)
    table = TableModel("y", inputs=["x"], n_components=5)
    return {
        "regressor": regressor.save,
        "classifier": TorusGPClassifier(period=2.0, n_components=5, learn=()).fit(X, y > 0.5).save,
        "table": table.fit(frame).save,
        "panel": PanelModel(TableModel("y", inputs=["x"], n_components=5), "shop").fit(frame).save,
        "statistics": SufficientStatistics(tensor(1, 1), 1.0).save,
        "archive": lambda path: save_archive(path, "thing", 1, {}, {}),
        "files": lambda path: write_together({path: b"content"}),
    }


WRITERS = ["regressor", "classifier", "table", "panel", "statistics", "archive", "files"]


@pytest.mark.parametrize("name", WRITERS)
class TestOnlyRegularFilesAreReplaced:
    def test_a_pipe_stays(self, writers, name, tmp_path):
        place = tmp_path / "pipe"
        os.mkfifo(place)
        with pytest.raises(OSError, match=re.escape(f"Cannot write {place}: It is there already, and is not a file")):
            writers[name](place)
        assert stat.S_ISFIFO(place.lstat().st_mode)
        assert list(tmp_path.iterdir()) == [place]

    def test_a_device_stays(self, writers, name, tmp_path):
        device, link = tmp_path / "null", tmp_path / "link"  # not the one of this machine, which others need
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("this user may not make devices")
        link.symlink_to(device)
        for place in (device, link):
            with pytest.raises(OSError, match=re.escape(f"Cannot write {place}: It is there already, and is not a fi")):
                writers[name](place)
        assert stat.S_ISCHR(device.lstat().st_mode)

    @pytest.mark.parametrize("kind", [str, Path])
    def test_a_folder_stays(self, writers, name, tmp_path, kind):
        with pytest.raises(OSError, match=re.escape(f"Cannot write {tmp_path}: It is there already, and is not a fil")):
            writers[name](kind(tmp_path))
        assert tree(tmp_path) == {}

    def test_a_name_is_needed(self, writers, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(OSError, match=r"Cannot write a file without a name, got ''\. Name one"):
            writers[name]("")
        assert tree(tmp_path) == {}


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_together({tmp_path / "link": b"new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
