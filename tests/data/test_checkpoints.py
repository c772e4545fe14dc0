"""Checkpoints: what they remember, when they are written, and what is left of writes that were killed."""

import os
import subprocess
import sys

import numpy as np
import pytest

from torusgp import SufficientStatistics
from torusgp.data.checkpoints import _KIND, _LAYOUT, Checkpoint, CheckpointError, exclusive
from torusgp.data.sources import ArraySource, ChunkSource
from torusgp.kernels.index_sets import tensor
from torusgp.storage.archives import save_archive

X, Y = np.arange(40.0).reshape(20, 2), np.arange(20.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint"


def make_source(X=X, y=Y, n_rows=4):
    return ArraySource(X, y, chunk_rows=n_rows)


def count_some(path, n_chunks, source=None, **options):
    """Count chunks and write."""
    source = make_source() if source is None else source
    point = Checkpoint(path, **options)
    remaining = point.remaining(source)
    point.count([next(remaining) for _ in range(n_chunks)])
    point.save(source, {"what": "ever"}, {"sums": np.ones(3)})
    return point


def test_a_new_one_knows_nothing(path):
    point = Checkpoint(path)
    assert (point.n_chunks, point.n_rows, point.content, point.arrays) == (0, 0, None, None)
    assert not path.exists()
    assert [len(chunk) for chunk in point.remaining(make_source())] == [4] * 5


def test_what_was_written_is_read(path):
    count_some(path, 2)
    point = Checkpoint(str(path))
    assert (point.n_chunks, point.n_rows, point.content) == (2, 8, {"what": "ever"})
    np.testing.assert_array_equal(point.arrays["sums"], np.ones(3))
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in point.remaining(make_source())]), X[8:])


def test_all_may_be_counted(path):
    count_some(path, 5)
    assert list(Checkpoint(path).remaining(make_source())) == []


def test_none_may_be_counted(path):
    count_some(path, 0)
    assert len(list(Checkpoint(path).remaining(make_source()))) == 5


def test_it_goes_on_from_one_to_the_next(path):
    for n_chunks in (1, 2, 2):
        count_some(path, n_chunks)
    assert Checkpoint(path).n_rows == 20


def test_rows_that_are_compared_are_reported(path):
    count_some(path, 3)
    seen = []
    Checkpoint(path).remaining(make_source(), seen.append)
    assert seen == [4, 8, 12]


def test_a_change_of_what_was_counted_is_refused_at_once(path):
    """Before the first chunk is asked for."""
    count_some(path, 2)
    with pytest.raises(CheckpointError, match=r"of that, 2 chunks with 8 rows were counted, but they are other ones"):
        Checkpoint(path).remaining(make_source(X + 1))
    with pytest.raises(CheckpointError, match="but it ends after 1"):
        Checkpoint(path).remaining(make_source(X[:4], Y[:4]))
    with pytest.raises(CheckpointError, match=r"other columns: .*'inputs': 2.*now they are .*'inputs': 3"):
        Checkpoint(path).remaining(make_source(np.zeros((20, 3))))


def test_changed_signs_are_refused(path):
    count_some(path, 2)
    with pytest.raises(CheckpointError, match="but they are other ones now"):
        Checkpoint(path).remaining(make_source(y=-Y))


def test_the_kind_of_source_may_change(path):
    """The rows count, not where they come from."""
    count_some(path, 2)
    chunks = [(X[start : start + 4], Y[start : start + 4]) for start in range(0, 20, 4)]
    assert len(list(Checkpoint(path).remaining(ChunkSource(chunks)))) == 3


class TestDue:
    @pytest.fixture
    def clock(self, monkeypatch):
        class Clock:
            now = 1000.0

        monkeypatch.setattr("torusgp.data.checkpoints.time", type("time", (), {"monotonic": lambda: Clock.now}))
        return Clock

    def test_after_so_many_seconds(self, path, clock):
        point = Checkpoint(path, seconds=30)
        assert not point.due()
        clock.now += 29
        assert not point.due()
        clock.now += 1
        assert point.due()
        point.save(make_source(), {}, {})
        assert not point.due()
        clock.now += 30
        assert point.due()

    def test_writes_that_take_long_are_rare(self, path, clock, monkeypatch):
        point = Checkpoint(path, seconds=30)

        def slowly(*arguments):
            clock.now += 10

        monkeypatch.setattr("torusgp.data.checkpoints.save_archive", slowly)
        point.save(make_source(), {}, {})
        clock.now += 199
        assert not point.due()
        clock.now += 1
        assert point.due()

    def test_one_slow_write_is_not_held_against_the_others(self, path, clock, monkeypatch):
        point = Checkpoint(path, seconds=30)
        durations = iter([10, 0])
        monkeypatch.setattr(
            "torusgp.data.checkpoints.save_archive", lambda *rest: setattr(clock, "now", clock.now + next(durations))
        )
        for wait in (200, 30):
            point.save(make_source(), {}, {})
            clock.now += wait
            assert point.due()

    @pytest.mark.parametrize("seconds", [-1, float("nan")])
    def test_seconds_that_make_no_sense(self, path, seconds):
        with pytest.raises(ValueError, match=f"must be at least zero, got {seconds}"):
            Checkpoint(path, seconds)


class TestLeftovers:
    def test_those_of_its_own_are_removed(self, path, monkeypatch):
        with monkeypatch.context() as patch:
            # what a kill leaves: nothing is cleaned up
            patch.setattr("pathlib.Path.unlink", lambda *arguments, **options: None)
            patch.setattr(os, "replace", _killed)
            with pytest.raises(KeyboardInterrupt):
                count_some(path, 1)
        leftovers = list(path.parent.iterdir())
        assert len(leftovers) == 1
        assert leftovers[0].name.startswith("checkpoint.")
        Checkpoint(path)
        assert list(path.parent.iterdir()) == []

    @pytest.mark.parametrize(
        "name",
        [
            "checkpoint",
            "checkpoint.part",
            "checkpoint2.abcdefgh.part",
            "checkpoint.2.abcdefgh.part",
            "other.abcdefgh.part",
            "checkpoint.abcdefgh",
        ],
    )
    def test_other_files_stay(self, path, name):
        save_archive(path.parent / name, _KIND, _LAYOUT, _EMPTY, {})
        Checkpoint(path)
        assert (path.parent / name).exists()

    def test_names_are_not_patterns(self, tmp_path):
        (tmp_path / "a1.abcdefgh.part").write_text("")
        (tmp_path / "a[1].abcdefgh.part").write_text("")
        Checkpoint(tmp_path / "a[1]")
        assert [path.name for path in tmp_path.iterdir()] == ["a1.abcdefgh.part"]


_EMPTY = {
    "position": {"chunks": 0, "rows": 0, "digest": "", "stamps": None, "layout": None},
    "saved": {"what": "ever"},
}


def _killed(*arguments):
    raise KeyboardInterrupt


class TestOneAtATime:
    def test_a_second_pass_is_refused_while_one_lasts(self, path):
        message = rf"in use by another pass \(process {os.getpid()}\)"
        with exclusive(path), pytest.raises(CheckpointError, match=message), exclusive(path):
            pytest.fail("two passes at once")
        with exclusive(path):
            pass
        assert not list(path.parent.glob("*.lock"))

    def test_a_killed_process_leaves_no_lock(self, path):
        code = (
            "import time; from torusgp.data.checkpoints import exclusive\n"
            f"with exclusive({str(path)!r}): print(flush=True); time.sleep(60)"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            with pytest.raises(CheckpointError, match=f"process {process.pid}"), exclusive(path):
                pytest.fail("two passes at once")
            process.kill()
        with exclusive(path):
            pass

    def test_a_pass_is_refused_while_another_one_reads(self, path):
        def chunks():
            yield X[:4], Y[:4]
            SufficientStatistics.from_source(make_source(), tensor(2, 1), period=1.0, checkpoint=path)

        with pytest.raises(CheckpointError, match="in use by another pass"):
            SufficientStatistics.from_source(chunks, tensor(2, 1), period=1.0, checkpoint=path)
