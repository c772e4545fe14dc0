"""Statistics from sources of any size: the same as from arrays in memory, also after crashes and mistakes."""

import contextlib
import errno
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.sources.stores import (
    CHUNK,
    COLUMNS,
    CSV_BLOCK,
    PERIOD,
    SET,
    STORES,
    Table,
    assert_same,
    chunks_of,
    gather,
    store_csv,
    store_list,
    store_memmap,
    store_parquet,
    touch,
    write_parquet,
)
from torusgp import SufficientStatistics
from torusgp.data.checkpoints import Checkpoint, CheckpointError
from torusgp.data.sources import ArraySource, ChunkSource, SourceError
from torusgp.kernels.index_sets import hyperbolic_cross, tensor

N_CHUNKS = 9  # of the usual table
DONE = 4  # chunks that are counted before a pass is broken off


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """A batch is one chunk, and a checkpoint is written after each."""
    monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", CSV_BLOCK)
    monkeypatch.setattr("torusgp.data.sources._chunk.CHUNK_ROWS", CHUNK - 3)  # blocks of CSV files are a little shorter
    monkeypatch.setattr("torusgp.data.checkpoints._PATIENCE", 0)


@pytest.fixture
def table():
    return Table.make()


@pytest.fixture
def path(tmp_path):
    """Of the checkpoint."""
    return tmp_path / "checkpoint"


class BrokenOffError(Exception):
    """What a test raises to end a pass."""


def resumable(stored, path, **options):
    return gather(stored, checkpoint=path, checkpoint_seconds=0, **options)


def break_off(stored, path, n_rows=DONE * CHUNK, **options):
    """Begin a pass and end it after so many rows; returns the number of rows that are in the checkpoint."""

    def stop(rows_so_far):
        if rows_so_far >= n_rows:
            raise BrokenOffError

    with pytest.raises(BrokenOffError):
        resumable(stored, path, progress=stop, **options)
    return Checkpoint(path).n_rows


def count_reads(monkeypatch):
    """Numbers of rows of the chunks that are read from now on."""
    from torusgp.data.sources._check import Checker

    read, check = [], Checker.check

    def counted(*arguments, **options):
        chunk = check(*arguments, **options)
        read.append(len(chunk))
        return chunk

    monkeypatch.setattr(Checker, "check", counted)
    return read


class TestSameAsInMemory:
    @pytest.mark.parametrize("backend", ["dense", "finufft"])
    @pytest.mark.parametrize("kind", STORES)
    def test_every_source(self, kind, backend, table, tmp_path):
        assert_same(gather(STORES[kind](table, tmp_path), backend=backend), table.statistics(backend))

    @pytest.mark.parametrize("kind", STORES)
    def test_one_row(self, kind, tmp_path):
        table = Table.make(1)
        assert_same(gather(STORES[kind](table, tmp_path)), table.statistics())

    @pytest.mark.parametrize("kind", STORES)
    def test_one_batch(self, kind, table, tmp_path, monkeypatch):
        monkeypatch.setattr("torusgp.data.sources._chunk.CHUNK_ROWS", 10**6)
        assert_same(gather(STORES[kind](table, tmp_path)), table.statistics())

    @pytest.mark.parametrize("kind", ["memmap", "parquet", "csv", "list"])
    def test_one_target_without_weights(self, kind, table, tmp_path):
        given = {
            "memmap": lambda: {"X": ArraySource(_mapped(tmp_path, table.X), table.y[:, 0], chunk_rows=7)},
            "parquet": lambda: store_parquet(table, tmp_path) | {"y": "first", "inputs": ["c", "a", "c"]},
            "csv": lambda: store_csv(table, tmp_path) | {"y": "first", "inputs": ["c", "a", "c"]},
            "list": lambda: {"X": [(table.X[:7], table.y[:7, 0]), (table.X[7:].tolist(), table.y[7:, 0].tolist())]},
        }[kind]()
        given = {"inputs": COLUMNS} | {name: one for name, one in given.items() if name not in _EXTRAS}
        expected = SufficientStatistics.from_data(table.X[:, COLUMNS], table.y[:, 0], SET, period=PERIOD)
        assert_same(gather(given, backend=expected.backend), expected)

    @pytest.mark.parametrize(
        "change",
        [
            lambda array: array.astype(np.float32),
            lambda array: array.astype(">f8"),
            lambda array: np.asfortranarray(array),
            lambda array: np.repeat(array, 2, axis=0)[::2],
            lambda array: array[::-1].copy()[::-1],
            lambda array: np.round(array).astype(np.int16),
            lambda array: np.round(array).astype(object),
            lambda array: array.tolist(),
            lambda array: np.ma.masked_array(array),
        ],
        ids=["float32", "big-endian", "Fortran", "strided", "reversed", "int16", "objects", "lists", "nothing masked"],
    )
    @pytest.mark.parametrize("how", ["arrays", "chunks"])
    def test_numbers_of_other_kinds(self, change, how, table):
        X, y = change(table.X), change(table.y)
        rows = slice(None, 100), slice(100, None)
        given = {"X": X, "y": y} if how == "arrays" else {"X": [(X[one], y[one]) for one in rows]}
        expected = SufficientStatistics.from_data(
            np.asarray(X, dtype=float)[:, COLUMNS], np.asarray(y, dtype=float), SET, period=PERIOD
        )
        assert_same(gather(given | {"inputs": COLUMNS}, backend=expected.backend), expected)

    @pytest.mark.parametrize("dtype", ["f4", ">f8", "i2"])
    def test_memory_maps_of_other_kinds(self, dtype, table, tmp_path):
        X = _mapped(tmp_path, table.X.astype(dtype))
        expected = SufficientStatistics.from_data(np.array(X, dtype=float)[:, COLUMNS], table.y, SET, period=PERIOD)
        assert_same(gather({"X": X, "y": table.y, "inputs": COLUMNS}, backend=expected.backend), expected)

    @given(
        sizes=st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any),
        batch=st.sampled_from([1, 10, 300, 10**6]),
        backend=st.sampled_from(["dense", "finufft"]),
        kind=st.sampled_from(["arrays", "frames", "lists", "one buffer"]),
        seed=st.integers(0, 3),
    )
    @settings(max_examples=40, deadline=None)
    def test_any_chunks(self, sizes, batch, backend, kind, seed):
        table = Table.make(sum(sizes), seed)
        parts = [table.rows(start, stop) for start, stop in pairwise(np.cumsum([0, *sizes]))]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("torusgp.data.sources._chunk.CHUNK_ROWS", batch)
            patch.setattr("torusgp.data.sources._chunks.CHUNK_ROWS", batch)
            chunks = CHUNKS_OF_KIND[kind](parts, max(sizes))
            assert_same(gather({"X": chunks, "inputs": COLUMNS}, backend=backend), table.statistics(backend))

    def test_single_rows(self, table):
        assert_same(gather({"X": chunks_of(table, 1), "inputs": COLUMNS}), table.statistics())

    @pytest.mark.parametrize("inputs", [None, [0, 1, 2], ["a", "b", "c"]])
    def test_by_default_inputs_are_all_there_are(self, inputs, table, tmp_path):
        stored = store_parquet(table, tmp_path) | {"inputs": inputs}
        expected = SufficientStatistics.from_data(
            table.X, table.y, SET, period=PERIOD, sample_weight=table.sample_weight, noise_scale=table.noise_scale
        )
        assert_same(gather(stored, backend=expected.backend), expected)

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            ([0, 1], r"3 inputs are needed.*got \[0, 1\], the source has 3 input"),
            ([0, 1, 3], "no input 3: the source has 3 input"),
            ([0, 1, -1], "no input -1"),
            ([0, 1, "a"], "no input 'a'"),
        ],
    )
    def test_inputs_that_are_not_there(self, inputs, message, table):
        with pytest.raises(ValueError, match=message):
            gather(store_list(table, None) | {"inputs": inputs})

    def test_the_number_of_inputs_has_to_be_that_of_the_dimensions(self, table):
        with pytest.raises(ValueError, match=r"3 inputs are needed.* the source has 2 input"):
            gather({"X": table.X[:, :2], "y": table.y})

    def test_names_of_a_frame(self, table):
        frame = table.frame()
        stored = {"X": frame[["a", "c"]], "y": frame["first"], "inputs": ["c", "a", "c"]}
        expected = SufficientStatistics.from_data(table.X[:, COLUMNS], table.y[:, 0], SET, period=PERIOD)
        assert_same(gather(stored, backend=expected.backend), expected)

    def test_rows_are_reported(self, table, tmp_path):
        seen = []
        gather(store_parquet(table, tmp_path), progress=seen.append)
        assert seen == [*range(0, len(table), CHUNK), len(table)]

    def test_a_bar_is_shown(self, table, tmp_path, capsys):
        gather(store_parquet(table, tmp_path), progress=True)
        assert re.search(r"\[#{30}\] 100 %  333 rows .* rows/s  in 0 s\n", capsys.readouterr().err)

    def test_progress_of_another_kind(self, table):
        with pytest.raises(ValueError, match=r"progress must be True, False or a function .* got 'yes'"):
            gather(store_list(table, None), progress="yes")


_EXTRAS = ("sample_weight", "noise_scale")


def _mapped(folder, array):
    mapped = np.memmap(folder / "mapped", dtype=array.dtype, mode="w+", shape=array.shape)
    mapped[:] = array
    mapped.flush()
    return np.memmap(folder / "mapped", dtype=array.dtype, mode="r", shape=array.shape)


def _in_one_buffer(parts, size):
    """Chunks whose arrays are used again for the next one."""
    buffers = [np.empty((size, *array.shape[1:])) for array in parts[0].arrays()]
    for part in parts:
        for buffer, array in zip(buffers, part.arrays(), strict=True):
            buffer[: len(array)] = array
        yield tuple(buffer[: len(part)] for buffer in buffers)


CHUNKS_OF_KIND = {
    "arrays": lambda parts, size: [part.arrays() for part in parts],
    "frames": lambda parts, size: [tuple(map(pd.DataFrame, part.arrays())) for part in parts],
    "lists": lambda parts, size: [tuple(array.tolist() for array in part.arrays()) for part in parts],
    "one buffer": _in_one_buffer,
}


class TestTakenUpAgain:
    """Every row is counted exactly once, however often a pass is broken off."""

    @pytest.mark.parametrize("kind", STORES)
    def test_the_result_is_the_same(self, kind, table, tmp_path, path):
        done = break_off(STORES[kind](table, tmp_path), path)
        assert 0 < done < len(table)
        assert_same(resumable(STORES[kind](table, tmp_path), path), table.statistics())
        assert Checkpoint(path).n_rows == len(table)

    @pytest.mark.parametrize("kind", ["memmap", "parquet", "parquet folder", "csv", "csv.gz"])
    def test_unchanged_files_are_not_read_again(self, kind, table, tmp_path, path, monkeypatch):
        stored = STORES[kind](table, tmp_path)
        done = break_off(stored, path)
        read = count_reads(monkeypatch)
        resumable(stored, path)
        assert sum(read) == len(table) - done

    @pytest.mark.parametrize("kind", ["list", "function", "zarr"])
    def test_others_are_read_again_and_compared(self, kind, table, tmp_path, path, monkeypatch):
        stored = STORES[kind](table, tmp_path)
        break_off(stored, path)
        read, seen = count_reads(monkeypatch), []
        resumable(stored, path, progress=seen.append)
        assert sum(read) == len(table)
        assert seen == sorted(seen)
        assert seen[-1] == len(table)

    @pytest.mark.parametrize("kind", ["memmap", "parquet", "csv"])
    def test_touched_files_are_read_again_and_compared(self, kind, table, tmp_path, path, monkeypatch):
        break_off(STORES[kind](table, tmp_path), path)
        stored = STORES[kind](table, tmp_path)
        read = count_reads(monkeypatch)
        assert_same(resumable(stored, path), table.statistics())
        assert sum(read) == len(table)

    @pytest.mark.parametrize("kind", ["memmap", "parquet", "csv", "list"])
    def test_broken_off_after_every_chunk(self, kind, table, tmp_path, path):
        stored = STORES[kind](table, tmp_path)
        done = [break_off(stored, path, n_rows) for n_rows in range(1, len(table) - CHUNK, CHUNK)]
        assert done == sorted(set(done))
        assert_same(resumable(stored, path), table.statistics())

    @pytest.mark.parametrize("kind", ["memmap", "parquet", "csv", "list"])
    def test_a_complete_pass_is_not_repeated(self, kind, table, tmp_path, path, monkeypatch):
        stored = STORES[kind](table, tmp_path)
        first = resumable(stored, path)
        monkeypatch.setattr(SufficientStatistics, "update", None)
        assert_same(resumable(stored, path), first, error=0)

    @pytest.mark.parametrize("kind", ["list", "parquet folder"])
    def test_chunks_that_were_added_are_counted(self, kind, table, tmp_path, path):
        some = 5 * CHUNK
        resumable(STORES[kind](table.rows(0, some), tmp_path), path)
        assert_same(resumable(STORES[kind](table, tmp_path), path), table.statistics())

    @pytest.mark.parametrize("batch", [1, 3 * CHUNK, 10**6])
    def test_small_chunks_wait_for_each_other(self, batch, table, path, monkeypatch):
        monkeypatch.setattr("torusgp.data.sources._chunk.CHUNK_ROWS", batch)

        def chunks():
            yield from chunks_of(table)[:DONE]
            raise BrokenOffError

        with pytest.raises(BrokenOffError):
            gather({"X": chunks, "inputs": COLUMNS}, checkpoint=path, checkpoint_seconds=1000)
        assert Checkpoint(path).n_rows == DONE * CHUNK  # an error of the source loses nothing
        assert_same(resumable(store_list(table, None), path), table.statistics())

    @pytest.mark.parametrize(("seconds", "n_writes"), [(0, N_CHUNKS + 1), (10**5, 2)])
    def test_time_between_writes(self, seconds, n_writes, table, tmp_path, path, monkeypatch):
        saves, save = [], Checkpoint.save
        monkeypatch.setattr(Checkpoint, "save", lambda self, *rest: (saves.append(self.n_rows), save(self, *rest)))
        gather(store_parquet(table, tmp_path), checkpoint=path, checkpoint_seconds=seconds)
        assert saves[0] == 0
        assert saves[-1] == len(table)
        assert len(saves) in (n_writes, n_writes + 1)  # the last rows may have been written already

    def test_a_checkpoint_per_chunk_shows_that_the_counts_add_up(self, table, tmp_path, path):
        seen = []

        def look(n_rows):
            point = Checkpoint(path)
            found = SufficientStatistics.from_archive(point.content["statistics"], point.arrays)
            seen.append(n_rows)
            assert point.n_rows == n_rows
            assert found.n_samples == table.sample_weight[:n_rows].sum()

        resumable(store_parquet(table, tmp_path), path, progress=look)
        assert len(seen) == N_CHUNKS + 2


class TestKilled:
    """SIGKILL at random moments, in the middle of the work and of writes."""

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
    @pytest.mark.parametrize("n_kills", [6, pytest.param(20, marks=pytest.mark.slow)])
    def test_many_times(self, n_kills, tmp_path):
        kinds = ("memmap", "parquet", "generator")
        command = [sys.executable, "-m", "tests.engine.killed_passes", str(tmp_path), str(n_kills), *kinds]
        found = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
        assert found.returncode == 0, found.stderr
        for kind, report in zip(kinds, json.loads(found.stdout), strict=True):
            self.check(report, n_kills)
            expected = SufficientStatistics.load(tmp_path / kind / "undisturbed")
            assert expected.n_samples == report["n_rows"]
            assert_same(SufficientStatistics.load(tmp_path / kind / "result"), expected)

    @staticmethod
    def check(report, n_kills):
        *killed, last = report["attempts"]
        assert len(killed) == n_kills
        assert all(one["signal"] == 9 for one in killed)
        assert last["signal"] == last["failed"] == 0
        # each attempt begins with what the one before had counted, but for the batch that was being written
        assert killed[0]["rows_at_start"] == 0
        for before, one in pairwise(report["attempts"]):
            counted = before["rows_at_start"] + before["rows_counted"]
            assert counted - report["rows_of_a_batch"] <= one["rows_at_start"] <= counted
        assert last["rows_at_start"] > 0
        assert last["rows_at_start"] + last["rows_counted"] == report["n_rows"]
        # some kills fell into the writing of a file, and some did not
        writes = [one for one in killed if one["while_writing"]]
        assert 0 < len(writes) < n_kills
        assert all(one["leftovers"] for one in writes)
        assert report["leftovers"] == []


class TestNoRoom:
    """A checkpoint that cannot be written is an error; the last one that could be is good."""

    MESSAGE = r"checkpoint .*checkpoint cannot be written after \d+ rows: {}\. The last one that was written is intact"

    def check(self, table, path, make_full, make_room, reason):
        """The disk becomes full in the middle of a pass, and the pass is repeated after room was made."""

        def fill(n_rows):
            if n_rows == DONE * CHUNK:
                make_full()

        try:
            with pytest.raises(OSError, match=self.MESSAGE.format(reason)):
                resumable(store_list(table, None), path, progress=fill)
        finally:
            make_room()
        assert [one.name for one in path.parent.iterdir()] == [path.name]
        assert Checkpoint(path).n_rows == DONE * CHUNK
        assert_same(resumable(store_list(table, None), path), table.statistics())

    def test_files_may_not_grow(self, table, path):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.check(
            table,
            path,
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1])),
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before),
            "File too large",
        )

    def test_full_disk(self, table, tmp_path):
        disk = tmp_path / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("a small file system cannot be mounted here")
        filler = disk / "filler"

        def fill():
            with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
                while file.write(bytes(4096)):
                    pass

        try:
            (disk / "folder").mkdir()
            self.check(table, disk / "folder" / "checkpoint", fill, filler.unlink, "No space left on device")
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    @pytest.mark.parametrize("function", ["os.fsync", "os.replace", "numpy.savez"])
    def test_any_step_may_fail(self, function, table, path, monkeypatch):
        with pytest.MonkeyPatch.context() as patch:

            def fail(*arguments, **more):
                raise OSError(errno.ENOSPC, "No space left on device")

            self.check(table, path, lambda: patch.setattr(function, fail), patch.undo, "No space left on device")

    def test_a_source_that_fails_on_a_full_disk(self, table, path, monkeypatch):
        """The first thing to mend is named; nothing is lost either way."""

        def chunks():
            yield from chunks_of(table)[:DONE]
            monkeypatch.setattr("os.fsync", _raise_no_space)
            raise BrokenOffError

        with pytest.raises(OSError, match="No space left"):
            resumable({"X": chunks, "inputs": COLUMNS}, path)
        monkeypatch.undo()
        assert Checkpoint(path).n_rows > 0
        assert_same(resumable(store_list(table, None), path), table.statistics())

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ("folder", "It is there already, and is not a file"),
            ("file/checkpoint", "file is not a folder"),
            ("nowhere/checkpoint", r"cannot be written after 0 rows: .*folder .*nowhere does not exist"),
        ],
    )
    def test_unwritable_places_are_told_before_the_work(self, place, message, table, tmp_path, monkeypatch):
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("")
        monkeypatch.setattr(SufficientStatistics, "update", None)
        with pytest.raises(OSError, match=message):
            resumable(store_list(table, None), tmp_path / place)

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc, which nobody can write to")
    def test_a_folder_that_even_root_cannot_write_to(self, table, monkeypatch):
        monkeypatch.setattr(SufficientStatistics, "update", None)
        with pytest.raises(OSError, match=r"checkpoint .*/proc/checkpoint cannot be written after 0 rows"):
            resumable(store_list(table, None), "/proc/checkpoint")


def _raise_no_space(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


class TestAnotherSource:
    """What was counted must not change; what was not may."""

    KINDS = ("memmap", "zarr", "parquet", "parquet folder", "csv", "csv.gz", "list", "function", "frames", "array")

    @pytest.mark.parametrize("name", ["X", "y", "sample_weight", "noise_scale"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_a_number_that_was_counted_has_changed(self, kind, name, table, tmp_path, path):
        break_off(STORES[kind](table, tmp_path), path)
        before = path.read_bytes()
        stored = STORES[kind](table.changed(50, name, 1.25), tmp_path)
        for _ in range(2):  # a refusal is not forgotten
            with pytest.raises(
                CheckpointError, match=r"not the one that .*checkpoint was written for.*Delete that file"
            ):
                resumable(stored, path)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("kind", KINDS)
    def test_two_numbers_have_changed_places(self, kind, table, tmp_path, path):
        break_off(STORES[kind](table, tmp_path), path)
        changed = table.changed([50, 51], "y", table.y[[51, 50]])
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable(STORES[kind](changed, tmp_path), path)

    @pytest.mark.parametrize("name", ["X", "y"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_signs_have_changed(self, kind, name, table, tmp_path, path):
        break_off(STORES[kind](table, tmp_path), path)
        values = getattr(table, name)
        changed = table.changed([50, 51], name, -values[[50, 51]])
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable(STORES[kind](changed, tmp_path), path)

    @pytest.mark.parametrize("kind", KINDS)
    def test_what_is_still_to_come_may_change(self, kind, table, tmp_path, path):
        break_off(STORES[kind](table, tmp_path), path)
        changed = table.changed(len(table) - 5, "y", 1.25)
        assert_same(resumable(STORES[kind](changed, tmp_path), path), changed.statistics())

    @pytest.mark.parametrize("kind", KINDS)
    def test_fewer_chunks_than_were_counted(self, kind, table, tmp_path, path):
        break_off(STORES[kind](table, tmp_path), path)
        for file in tmp_path.rglob("*.parquet"):
            file.unlink()
        with pytest.raises(
            CheckpointError, match=r"was written for: .* but (it ends after [23]|they are other ones now)"
        ):
            resumable(STORES[kind](table.rows(0, 2 * CHUNK), tmp_path), path)

    def test_a_new_file_among_those_that_were_counted(self, table, tmp_path, path):
        stored = STORES["parquet folder"](table, tmp_path)
        break_off(stored, path)
        write_parquet(table.rows(0, CHUNK), tmp_path / "rows" / "001a.parquet")
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable(stored, path)

    @pytest.mark.parametrize("size", [CHUNK // 2, CHUNK + 1])
    def test_other_chunks(self, size, table, tmp_path, path):
        break_off(store_list(table, tmp_path), path)
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable({"X": chunks_of(table, size), "inputs": COLUMNS}, path)

    def test_other_chunks_of_the_same_memory_map(self, table, tmp_path, path):
        break_off(store_memmap(table, tmp_path), path)
        maps = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "weight", "scale")]
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable({"X": ArraySource(*maps, chunk_rows=CHUNK + 1), "inputs": COLUMNS}, path)

    def test_another_part_of_the_same_memory_map(self, table, tmp_path, path):
        np.save(tmp_path / "X.npy", table.X)
        np.save(tmp_path / "y.npy", table.y)
        X, y = (np.load(tmp_path / name, mmap_mode="r") for name in ("X.npy", "y.npy"))
        break_off({"X": ArraySource(X[:300], y[:300], chunk_rows=CHUNK), "inputs": COLUMNS}, path)
        for start, step in ((1, 1), (0, -1)):
            rows = slice(start, start + 300) if step == 1 else slice(299, None, -1)
            with pytest.raises(CheckpointError, match="they are other ones now"):
                resumable({"X": ArraySource(X[rows], y[rows], chunk_rows=CHUNK), "inputs": COLUMNS}, path)

    def test_a_private_memory_map_is_compared(self, table, tmp_path, path):
        """What was changed in memory alone is not in the file that has a time of change."""
        np.save(tmp_path / "X.npy", table.X)
        X = np.load(tmp_path / "X.npy", mmap_mode="c")
        stored = {"X": ArraySource(X, table.y, chunk_rows=CHUNK), "inputs": COLUMNS}
        break_off(stored, path)
        X[3, 0] = 0.5
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable(stored, path)
        X[3, 0] = table.X[3, 0]
        statistics = resumable(stored, path)
        assert_same(
            statistics,
            SufficientStatistics.from_data(table.X[:, COLUMNS], table.y, SET, period=PERIOD, backend="finufft"),
        )

    def test_a_file_that_changes_while_it_is_read(self, table, tmp_path, path):
        """Its state at the beginning is what counts, so the change is found."""
        stored = store_memmap(table, tmp_path)

        def change_and_stop(n_rows):
            if n_rows == CHUNK:
                np.save(tmp_path / "y.npy", table.changed(5).y)
                touch(tmp_path / "y.npy")
            if n_rows == DONE * CHUNK:
                raise BrokenOffError

        with pytest.raises(BrokenOffError):
            resumable(stored, path, progress=change_and_stop)
        y = np.load(tmp_path / "y.npy", mmap_mode="r")
        maps = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("X", "weight", "scale")]
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable({"X": ArraySource(maps[0], y, *maps[1:], chunk_rows=CHUNK), "inputs": COLUMNS}, path)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"index_set": hyperbolic_cross(3, 3)}, "another frequencies"),
            ({"period": (1.5, 2.0, 7.5)}, "another period"),
            ({"backend": "dense"}, "another backend"),
            ({"tolerance": 1e-9}, "another tolerance"),
            ({"inputs": ["c", "a", "a"]}, "another choice of columns"),
            ({"inputs": ["b", "a", "b"]}, "other columns: .*'inputs': .'c', 'a'.*'inputs': .'b', 'a'"),
            ({"y": ["second", "first"]}, "other columns: .*'targets'"),
            ({"y": "first"}, "another number of outputs"),
            ({"sample_weight": None}, "other columns: .*'sample_weight': 'weight'.*'sample_weight': None"),
            ({"noise_scale": "weight"}, "other columns: .*'noise_scale': 'scale'.*'noise_scale': 'weight'"),
        ],
    )
    def test_another_question(self, options, message, table, tmp_path, path):
        stored = store_parquet(table, tmp_path)
        break_off(stored, path)
        before = path.read_bytes()
        given = {"index_set": SET, "period": PERIOD, "backend": "finufft"} | stored | options
        with pytest.raises(CheckpointError, match=f"{message}.*Delete that file to start anew"):
            SufficientStatistics.from_source(**given, checkpoint=path)
        assert path.read_bytes() == before

    def test_arrays_with_weights_or_without(self, table, tmp_path, path):
        break_off(store_list(table, None), path)
        with pytest.raises(CheckpointError, match="other columns"):
            resumable({"X": [chunk[:3] for chunk in chunks_of(table)], "inputs": COLUMNS}, path)

    def test_another_file(self, table, path):
        table.statistics().save(path)
        before = path.read_bytes()
        with pytest.raises(ValueError, match="holds a SufficientStatistics, not a Checkpoint"):
            resumable(store_list(table, None), path)
        path.write_bytes(before[:1000])
        with pytest.raises(ValueError, match="is not a torusgp file, or it is damaged"):
            resumable(store_list(table, None), path)


BAD_ROW = 5 * CHUNK + 7
BAD_CHUNKS = [
    (lambda X, y: (_with(X, np.nan), y), r"chunk 5, row 7: X\[:, 1\] is nan, it must be finite \(1 such row"),
    (lambda X, y: (_with(X, -np.inf), y), r"chunk 5, row 7: X\[:, 1\] is -inf"),
    (lambda X, y: (X, _with(y, np.inf)), r"chunk 5, row 7: y\[:, 1\] is inf"),
    (lambda X, y: (_with(X.astype(object), "text"), y), r"chunk 5, row 7: X\[:, 1\] is 'text', which is not a number"),
    (lambda X, y: (_with(X.astype(object), None), y), r"chunk 5, row 7: X\[:, 1\] is nan"),
    (lambda X, y: (_with(X.astype(object), 1j), y), r"chunk 5, row 7: X\[:, 1\] is 1j, which is not a number"),
    (lambda X, y: (_with(X.astype(object), 10**400), y), r"chunk 5, row 7: X\[:, 1\] is 1000"),
    (lambda X, y: (X + 0j, y), r"chunk 5, row 0: X\[:, 0\] is .*j\), which is not a number"),
    (lambda X, y: (X.astype("M8[s]"), y), r"chunk 5, row 0: X\[:, 0\] is datetime.datetime.*, which is not a number"),
    (lambda X, y: (X.astype("M8[ns]"), y), r"chunk 5: X does not hold numbers, but datetime64\[ns\]"),
    (lambda X, y: (np.ma.masked_array(X, _at(X)), y), r"chunk 5, row 7: X\[:, 1\] is nan"),
    (lambda X, y: ([*X.tolist()[:-1], [1.0]], y), "chunk 5: X is not a table, its rows differ in length"),
    (lambda X, y: (X[:, :2], y), r"chunk 5: X has 2 column\(s\), expected are 3"),
    (lambda X, y: (X[:, 0], y), r"chunk 5: X must have two axes, rows and columns; its shape is \(40,\)"),
    (lambda X, y: (X, y[:, 0]), r"chunk 5: y has 1 column\(s\), expected are 2"),
    (lambda X, y: (X, y[1:]), "chunk 5: y has 39 rows, X has 40"),
    (lambda X, y: (X, y, np.ones(len(X))), "chunk 5: of sample_weight and noise_scale it has sample_weight.*neither"),
    (lambda X, y: (X,), r"chunk 5 must be a tuple \(X, y\).* got tuple of 1"),
    (lambda X, y: X, "chunk 5 must be a tuple .* got ndarray of 40"),
    (lambda X, y: None, "chunk 5 must be a tuple .* got NoneType"),
]


def _with(array, value):
    array = array.copy()
    array[7, 1] = value
    return array


def _at(array):
    return np.arange(array.size).reshape(array.shape) == 7 * array.shape[1] + 1


def _unequal(table, **changes):
    return table.frame().assign(**changes)


class TestBadRows:
    """The error names the place; what was counted is kept, and after mending the result is exact."""

    def check(self, bad, good, path, expected, message, error=SourceError):
        with pytest.raises(error, match=message):
            resumable(bad(), path)
        done = Checkpoint(path).n_rows
        assert 0 < done < 333
        with pytest.raises(error, match=message):  # again, and nothing is counted twice
            resumable(bad(), path)
        assert Checkpoint(path).n_rows == done
        assert_same(resumable(good(), path), expected)

    @pytest.mark.parametrize(("change", "message"), BAD_CHUNKS, ids=range(len(BAD_CHUNKS)))
    def test_of_chunks(self, change, message, table, path):
        chunks = [one[:2] for one in chunks_of(table)]
        bad = [*chunks[:5], change(*chunks[5]), *chunks[6:]]
        expected = SufficientStatistics.from_data(table.X[:, COLUMNS], table.y, SET, period=PERIOD, backend="finufft")
        self.check(
            lambda: {"X": bad, "inputs": COLUMNS},
            lambda: {"X": chunks, "inputs": COLUMNS},
            path,
            expected,
            message,
        )

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda X: X.drop(columns="b"), r"chunk 5: X has the columns \['a', 'c'\].*'b' makes the difference"),
            (lambda X: X.assign(d=1.0), r"chunk 5: X has the columns .*'d' makes the difference"),
            (lambda X: X.assign(b="text"), "chunk 5, row 0: b is 'text', which is not a number"),
            (lambda X: X.assign(b=pd.NaT), "chunk 5, row 0: b is NaT, which is not a number"),
            (lambda X: X.assign(b=X["b"].where(X["b"] < 8)), r"chunk 5, row \d+: b is nan"),
        ],
        ids=["missing", "new", "text", "no time", "no number"],
    )
    def test_of_frames(self, change, message, table, tmp_path, path):
        stored = STORES["frames"](table, tmp_path)
        bad = list(stored["X"])
        bad[5] = (change(bad[5][0]), *bad[5][1:])
        self.check(lambda: stored | {"X": bad}, lambda: stored, path, table.statistics(), message)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    @pytest.mark.parametrize(
        ("kind", "place"),
        [
            ("array", rf"ndarray, chunk 5, row {BAD_ROW}: "),
            ("memmap", rf"X\.npy, chunk 5, row {BAD_ROW}: "),
            ("zarr", rf"X\.zarr, chunk 5, row {BAD_ROW}: "),
            ("parquet", rf"rows\.parquet, row group 5 \(chunk 5\), row {BAD_ROW}: "),
            ("parquet folder", r"005\.parquet, row group 0 \(chunk 5\), row 7: "),
            ("csv", rf"rows\.csv( \(chunk 5\))?, line {BAD_ROW + 2}: "),
            ("csv.gz", rf"rows\.csv\.gz( \(chunk 5\))?, line {BAD_ROW + 2}: "),
            ("list", "chunk 5, row 7: "),
        ],
    )
    @pytest.mark.parametrize("name", ["X", "y", "sample_weight", "noise_scale"])
    def test_numbers_that_are_not_finite(self, kind, place, name, value, table, tmp_path, path):
        bad = table.changed(BAD_ROW, name, value)
        self.check(
            lambda: STORES[kind](bad, tmp_path),
            lambda: STORES[kind](table, tmp_path),
            path,
            table.statistics(),
            rf"{place}.*(is {value}, it must be finite|inf in column .* is infinite)",
        )

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("sample_weight", -1.0, "(weight|sample_weight) is -1.0, it must be finite and at least zero"),
            ("noise_scale", 0.0, "(scale|noise_scale) is 0.0, it must be finite and positive"),
        ],
    )
    @pytest.mark.parametrize("kind", ["memmap", "parquet", "csv", "list"])
    def test_weights_and_scales(self, kind, name, value, message, table, tmp_path, path):
        bad = table.changed(BAD_ROW, name, value)
        self.check(
            lambda: STORES[kind](bad, tmp_path),
            lambda: STORES[kind](table, tmp_path),
            path,
            table.statistics(),
            message,
        )

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda line: line[:-30], r"rows.csv, line 209: 6 value\(s\), but the first line names 7"),
            (lambda line: line + ",1", r"rows.csv, line 209: 8 value\(s\), but the first line names 7"),
            (lambda line: "text" + line[20:], "rows.csv, line 209: 'text.* in column 'a' is not a number"),
            (lambda line: line[line.index(",") :], r"rows.csv \(chunk 5\), line 209: a is nan"),
        ],
        ids=["cut", "long", "text", "missing"],
    )
    def test_lines_of_a_csv_file(self, change, message, table, tmp_path, path):
        def bad():
            stored = store_csv(table, tmp_path)
            lines = stored["X"].read_text().splitlines()
            lines[BAD_ROW + 1] = change(lines[BAD_ROW + 1])
            stored["X"].write_text("\n".join(lines) + "\n")
            touch(stored["X"])
            return stored

        self.check(bad, lambda: store_csv(table, tmp_path), path, table.statistics(), message)

    def test_a_compressed_file_that_is_cut_short(self, tmp_path, path, monkeypatch):
        table = Table.make(8000)  # longer than the buffers of the reader
        monkeypatch.setattr("torusgp.data.sources._csv._BLOCK_CHARACTERS", 50_000)

        def bad():
            stored = STORES["csv.gz"](table, tmp_path)
            whole = stored["X"].read_bytes()
            stored["X"].write_bytes(whole[: len(whole) * 3 // 4])
            return stored

        with pytest.raises(SourceError, match=r"rows.csv.gz is no gzip file, or a damaged one"):
            resumable(bad(), path)
        assert 0 < Checkpoint(path).n_rows < len(table)
        assert_same(resumable(STORES["csv.gz"](table, tmp_path), path), table.statistics())

    def test_a_damaged_row_group(self, table, tmp_path, path):
        def bad():
            stored = store_parquet(table, tmp_path)
            content = bytearray(stored["X"].read_bytes())
            for position in _column_chunk(stored["X"], 5):
                content[position] ^= 0xFF
            stored["X"].write_bytes(content)
            touch(stored["X"])
            return stored

        message = r"rows.parquet, row group 5 \(chunk 5\), from row 200 on, cannot be read: .*CRC checksum"
        self.check(bad, lambda: store_parquet(table, tmp_path), path, table.statistics(), message)

    def test_a_later_file_that_is_mended(self, table, tmp_path, path, monkeypatch):
        """Files that were counted and have not been touched are not read again."""
        stored = STORES["parquet folder"](table, tmp_path)
        write_parquet(table.rows(5 * CHUNK, 6 * CHUNK).changed(7, "X", np.nan), tmp_path / "rows" / "005.parquet")
        with pytest.raises(SourceError, match=r"005\.parquet.*row 7: c is nan"):
            resumable(stored, path)
        assert Checkpoint(path).n_rows == 5 * CHUNK
        STORES["parquet folder"](table, tmp_path)
        read = count_reads(monkeypatch)
        assert_same(resumable(stored, path), table.statistics())
        assert sum(read) == len(table) - 5 * CHUNK

    @pytest.mark.parametrize("kind", ["file", "folder"])
    def test_a_column_that_one_file_lacks(self, kind, table, tmp_path, path):
        stored = STORES["parquet folder"](table, tmp_path)
        file = tmp_path / "rows" / "005.parquet"
        table.rows(5 * CHUNK, 6 * CHUNK).frame().drop(columns="a").to_parquet(file)
        paths = stored["X"] if kind == "folder" else sorted(stored["X"].iterdir())
        with pytest.raises(SourceError, match=r"005\.parquet: column 'a' is missing; there are \['b', 'c'"):
            resumable(stored | {"X": paths}, path)
        assert not path.exists()  # what can be known before the work is told before

    def test_a_zarr_chunk_that_is_damaged(self, table, tmp_path, path):
        def bad():
            stored = STORES["zarr"](table, tmp_path)
            (tmp_path / "X.zarr" / "c" / "5" / "0").write_bytes(b"damaged")
            return stored

        message = r"X\.zarr, chunk 5 \(from row 200 on\) cannot be read: "
        self.check(bad, lambda: STORES["zarr"](table, tmp_path), path, table.statistics(), message)

    def test_what_a_generator_raises_comes_through(self, table, path):
        def chunks():
            yield from chunks_of(table)[:5]
            raise ConnectionResetError("the database is gone")

        self.check(
            lambda: {"X": chunks, "inputs": COLUMNS},
            lambda: store_list(table, None),
            path,
            table.statistics(),
            "the database is gone",
            ConnectionResetError,
        )

    def test_a_bad_row_among_those_that_were_counted(self, table, tmp_path, path):
        """It must not be taken for the state that was counted, once it is read again."""
        stored = store_memmap(table, tmp_path)
        break_off(stored, path)
        before = path.read_bytes()
        bad = store_memmap(table.changed(3, "X", np.nan), tmp_path)
        for _ in range(2):
            with pytest.raises(SourceError, match=r"chunk 0, row 3: X\[:, 0\] is nan"):
                resumable(bad, path)
        assert path.read_bytes() == before
        other = store_memmap(table.changed(3, "X", 0.5), tmp_path)
        with pytest.raises(CheckpointError, match="they are other ones now"):
            resumable(other, path)
        assert_same(resumable(store_memmap(table, tmp_path), path), table.statistics())


def _column_chunk(path, group):
    """Some bytes in the middle of the data of a row group."""
    import pyarrow.parquet

    column = pyarrow.parquet.ParquetFile(path).metadata.row_group(group).column(0)
    start = column.dictionary_page_offset or column.data_page_offset
    middle = start + column.total_compressed_size // 2
    return range(middle, middle + 4)


class TestMemory:
    """What a pass needs does not depend on the number of rows."""

    @staticmethod
    def peak(n_chunks, rows=5000):
        rng = np.random.default_rng(0)

        def chunks():
            for _ in range(n_chunks):
                yield rng.uniform(size=(rows, 2)), rng.normal(size=rows)

        tracemalloc.start()
        try:
            SufficientStatistics.from_source(chunks, tensor(2, 3), backend="finufft", n_threads=1, period=1.0)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_of_python(self, monkeypatch):
        monkeypatch.setattr("torusgp.data.sources._chunk.CHUNK_ROWS", 10_000)
        self.peak(2)  # what is loaded on the way
        assert self.peak(40) < 1.1 * self.peak(10)

    @pytest.mark.slow
    @pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
    @pytest.mark.parametrize("kind", ["memmap", "parquet", "one row group", "csv", "zarr", "generator"])
    def test_of_the_process(self, kind, tmp_path):
        peaks = []
        for number, n_rows in enumerate((2_000_000, 8_000_000)):
            folder = tmp_path / str(number)
            folder.mkdir()
            command = [sys.executable, "-m", "tests.engine.memory_of_a_pass", kind, str(folder)]
            for step in ("write", "read"):
                found = subprocess.run(
                    [*command, step, str(n_rows)],
                    capture_output=True,
                    text=True,
                    cwd=Path(__file__).parents[2],
                    check=False,
                )
                assert found.returncode == 0, found.stderr
            peaks.append(int(found.stdout))
        assert peaks[1] < peaks[0] + 70e6  # the rows take 144 MB more


def test_a_pass_without_a_checkpoint_writes_nothing(table, tmp_path):
    stored = store_parquet(table, tmp_path)
    before = sorted(tmp_path.iterdir())
    gather(stored)
    assert sorted(tmp_path.iterdir()) == before


def test_a_total_that_was_given_is_shown(table, capsys):
    gather({"X": ChunkSource(chunks_of(table), n_rows=999), "inputs": COLUMNS}, progress=True)
    assert " 33 %  333 rows" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "module"), [("rows.parquet", "pyarrow"), ("rows.csv", "pandas")])
def test_missing_extras(module, name, table, tmp_path, monkeypatch):
    (tmp_path / name).write_bytes(gzip.compress(b"anything"))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'need[s]? {module}. Install it with: pip install "torusgp\[io\]"'):
        gather({"X": tmp_path / name, "y": "y"})
