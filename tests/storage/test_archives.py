"""Files: whole or not at all, and an error that says what is wrong with a bad one."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from torusgp import SufficientStatistics, TableModel, TorusGPClassifier, TorusGPRegressor
from torusgp.data.checkpoints import Checkpoint
from torusgp.data.sources import ArraySource
from torusgp.kernels.index_sets import tensor
from torusgp.storage.archives import _read_arrays, load_archive, save_archive

CONTENT = {"a": [1, None, "text"], "b": {"c": 0.1}}
ARRAYS = {"x": np.arange(6.0).reshape(2, 3), "z": np.array([1 + 2j]), "empty": np.zeros((0, 2), dtype=np.int64)}
DAMAGED = "is not a torusgp file, or it is damaged or cut short"


@pytest.fixture
def path(tmp_path):
    save_archive(tmp_path / "file", "thing", 1, CONTENT, ARRAYS)
    return tmp_path / "file"


def make_model():
    X = np.random.default_rng(0).uniform(size=(50, 1))
    return TorusGPRegressor(period=1.0, n_components=11, learn=()).fit(X, np.sin(2 * np.pi * X[:, 0]))


def make_table():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"angle": rng.uniform(0, 7, 60), "hour": rng.uniform(0, 24, 60)})
    frame["load"] = np.sin(2 * np.pi * frame["angle"] / 7) + frame["hour"] / 24
    return TableModel("load", {"angle": 7, "hour": 24}, n_components=25).fit(frame)


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.mark.parametrize("kind", [Path, str])
def test_what_was_written_is_read(path, kind):
    content, arrays = load_archive(kind(path), "thing", 1)
    assert content == CONTENT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype


def test_the_name_of_the_file_is_kept(model, tmp_path):
    model.save(tmp_path / "model.any")
    assert [file.name for file in tmp_path.iterdir()] == ["model.any"]


@pytest.mark.parametrize("fraction", [0.0, 0.01, 0.5, 0.99])
def test_a_file_cut_short_is_told(model, tmp_path, fraction):
    path = tmp_path / "model"
    model.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(fraction * len(whole))])
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(path)


def test_an_altered_file_is_told(model, tmp_path):
    path = tmp_path / "model"
    model.save(path)
    altered = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:  # between members there are bytes that nobody reads
        largest = max(archive.infolist(), key=lambda one: one.compress_size)
    middle = largest.header_offset + largest.compress_size // 2 + 100
    altered[middle : middle + 8] = bytes(byte ^ 0xFF for byte in altered[middle : middle + 8])
    path.write_bytes(altered)
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(path)


@pytest.mark.parametrize("mask", [0xFF, 0x01])
def test_no_altered_byte_gives_wrong_arrays_or_an_obscure_error(path, mask):
    whole = path.read_bytes()
    for position in range(len(whole)):
        altered = bytearray(whole)
        altered[position] ^= mask
        path.write_bytes(altered)
        try:
            content, arrays = load_archive(path, "thing", 1)
        except ValueError as error:
            assert DAMAGED in str(error)  # noqa: PT017 - a byte that nothing depends on may also change unnoticed
        else:
            assert content == CONTENT
            assert arrays.keys() == ARRAYS.keys()
            for name, array in arrays.items():
                np.testing.assert_array_equal(array, ARRAYS[name])


@pytest.mark.parametrize(
    "content",
    [b"", b"some text\n", np.random.default_rng(0).bytes(1000), b"PK\x03\x04" + bytes(100), b"\x80\x04N."],
    ids=["empty", "text", "random", "zip", "pickle"],
)
def test_another_file_is_told(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(tmp_path / "file")


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.zeros(2)},
        {"header": np.array("{}")},
        {"header": np.array("[1]")},
        {"header": np.array('{"format": "x"}')},
    ],
    ids=["no header", "empty header", "list", "another format"],
)
def test_another_archive_is_told(tmp_path, arrays):
    np.savez(tmp_path / "file.npz", **arrays)
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(tmp_path / "file.npz")


def test_a_single_array_is_told(tmp_path):
    np.save(tmp_path / "file.npy", np.zeros(3))
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(tmp_path / "file.npy")


def test_pickled_objects_are_never_read(tmp_path):
    np.savez(tmp_path / "file.npz", header=np.array([{"format": "torusgp"}], dtype=object))
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(tmp_path / "file.npz")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        TorusGPRegressor.load(tmp_path / "nowhere")


def make_checkpoint(path):
    X = np.arange(8.0)[:, None]
    SufficientStatistics.from_source(ArraySource(X, X[:, 0], chunk_rows=4), tensor(1, 1), period=8.0, checkpoint=path)


FILES = {  # how each kind is written, and read
    "regressor": (lambda path: make_model().save(path), TorusGPRegressor.load),
    "classifier": (
        lambda path: TorusGPClassifier(period=1.0, n_components=5).fit([[0.1], [0.6]] * 9, [0, 1] * 9).save(path),
        TorusGPClassifier.load,
    ),
    "statistics": (lambda path: SufficientStatistics(tensor(1, 1), 1.0).save(path), SufficientStatistics.load),
    "checkpoint": (make_checkpoint, Checkpoint),
    "table": (lambda path: make_table().save(path), TableModel.load),
}


@pytest.mark.parametrize("change", [-1, 1], ids=["older", "newer"])
@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_another_layout_is_refused_with_what_to_do(tmp_path, kind, change):
    path, (write, read) = tmp_path / "file", FILES[kind]
    write(path)
    read(path)
    arrays = _read_arrays(path)
    header = json.loads(arrays.pop("header").tobytes())
    if kind == "table":  # a regressor, whose notes have a layout of their own
        header["content"]["notes"]["table"]["layout"] += change
    else:
        header["version"] += change
    save_archive(path, header["kind"], header["version"], header["content"], arrays)
    with pytest.raises(ValueError, match=rf"{path} was written by another version of torusgp .*: fit again") as error:
        read(path)
    assert "\n" not in str(error.value)


def test_another_kind_is_told(tmp_path):
    SufficientStatistics(tensor(1, 1), 1.0).save(tmp_path / "sums")
    with pytest.raises(ValueError, match="holds a SufficientStatistics, not a TorusGPRegressor"):
        TorusGPRegressor.load(tmp_path / "sums")


def test_a_failed_save_leaves_the_old_file_and_nothing_else(model, tmp_path, monkeypatch):
    path = tmp_path / "model"
    model.save(path)
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match="no space left"):
        model.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saved_files_are_as_readable_as_other_new_files(path, tmp_path):
    (tmp_path / "other").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere does not exist"):
        save_archive(tmp_path / "nowhere" / "model", "kind", 1, {}, {})


def crafted(path, change):
    """A file whose parts were altered by somebody who knows how it is made: checksums and digest are right."""
    arrays = _read_arrays(path)
    header = json.loads(arrays.pop("header").tobytes())
    content = header["content"]
    change(content, arrays)
    save_archive(path, header["kind"], header["version"], content, arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda content, arrays: content.pop("index_set"),
        lambda content, arrays: content.update(y_ndim=None, n_features_in="text"),
        lambda content, arrays: content["statistics"].update(n_samples=float("nan")),
        lambda content, arrays: content["statistics"].update(n_samples=-1),
        lambda content, arrays: content["model"]["terms"][0].update(variance=-1.0),
        lambda content, arrays: content["estimator"]["dict"].update(likelihood="other"),
        lambda content, arrays: arrays.pop("parameter_0"),
        lambda content, arrays: arrays.update(period=np.array([[np.nan]])),
        lambda content, arrays: arrays.update(intercept_variance=np.array([np.nan])),
        lambda content, arrays: arrays.update(intercept_variance=np.array("x")),
        lambda content, arrays: arrays.update(noise_variance=np.array([-1.0])),
        lambda content, arrays: arrays.update(statistics_sums_gram=np.ones((1, 1))),
        lambda content, arrays: arrays.update(statistics_sums_moments=np.full((11, 1), np.inf)),
    ],
)
def test_a_crafted_model_is_refused_by_name(model, tmp_path, change):
    model.save(tmp_path / "model")
    crafted(tmp_path / "model", change)
    with pytest.raises(ValueError, match=rf"{tmp_path / 'model'} cannot be read: "):
        TorusGPRegressor.load(tmp_path / "model")


@pytest.mark.parametrize(
    "change",
    [lambda names: ["text", *names[1:]], lambda names: None, lambda names: names[::-1]],
    ids=["another input", "without names", "another order"],
)
def test_a_crafted_table_whose_regressor_has_other_inputs_is_refused_by_name(tmp_path, change):
    path = tmp_path / "model"
    make_table().save(path)
    crafted(path, lambda content, arrays: content.update(feature_names_in=change(content["feature_names_in"])))
    with pytest.raises(ValueError, match=rf"{path} cannot be read: its table has the inputs"):
        TableModel.load(path)


@pytest.mark.parametrize("device", ["text", "", -1, [[]], {}, True, "cuda:x"])
def test_crafted_sums_of_a_device_which_is_none_are_refused_by_name(tmp_path, device):
    path = tmp_path / "sums"
    SufficientStatistics(tensor(1, 1), 1.0).save(path)
    crafted(path, lambda content, arrays: content.update(device=device))
    with pytest.raises(ValueError, match=rf"{path} cannot be read: its sums were made on .*, which is no device"):
        SufficientStatistics.load(path)


def test_an_altered_number_is_told_though_checksums_are_right(model, tmp_path):
    path = tmp_path / "model"
    model.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays["statistics_sums_moments"][1] += 1e-9
    with open(path, "wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(ValueError, match=DAMAGED):
        TorusGPRegressor.load(path)


class TestNoMoreMemoryThanTheFile:
    def test_a_packed_archive_is_refused_before_it_is_unpacked(self, tmp_path):
        header = {"format": "torusgp", "kind": "thing", "version": 1, "arrays": ["x"], "content": {}}
        np.savez_compressed(tmp_path / "file.npz", header=np.array(json.dumps(header)), x=np.zeros(2**24))
        assert (tmp_path / "file.npz").stat().st_size < 2**20
        tracemalloc.start()
        with pytest.raises(ValueError, match=DAMAGED):
            load_archive(tmp_path / "file.npz", "thing", 1)
        assert tracemalloc.get_traced_memory()[1] < 2**22
        tracemalloc.stop()

    def test_a_shape_that_the_file_cannot_hold(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "file", "w") as archive, archive.open("header.npy", "w") as part:
            np.lib.format.write_array_header_1_0(part, {"descr": "<f8", "fortran_order": False, "shape": (2**60,)})
        with pytest.raises(ValueError, match=DAMAGED):
            load_archive(tmp_path / "file", "thing", 1)


@pytest.mark.parametrize("text", [b"{'descr': (", b"  {}\n {}\n", b"{'descr': '<f8"], ids=["open", "indented", "quote"])
def test_a_header_of_an_array_that_cannot_be_parsed(tmp_path, text):
    with zipfile.ZipFile(tmp_path / "file", "w") as archive:
        archive.writestr("header.npy", np.lib.format.magic(1, 0) + len(text).to_bytes(2, "little") + text)
    with pytest.raises(ValueError, match=DAMAGED):
        load_archive(tmp_path / "file", "thing", 1)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    save_archive(tmp_path / "link", "thing", 1, CONTENT, ARRAYS)
    assert (tmp_path / "link").is_symlink()
    assert load_archive(tmp_path / "real" / "file", "thing", 1)[0] == CONTENT
