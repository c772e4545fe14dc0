"""Chunks of rows: how they are distinguished and put together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.sources.stores import Table
from torusgp.data.sources import Chunk
from torusgp.data.sources._chunk import batches, joined


def make_chunk(n_rows=100, seed=0):
    return Chunk(*Table.make(n_rows, seed).arrays())


@given(
    row=st.integers(0, 99),
    name=st.sampled_from(["X", "y", "sample_weight", "noise_scale"]),
    bit=st.integers(0, 63),
)
def test_no_change_of_a_bit_leaves_the_digest(row, name, bit):
    chunk, changed = make_chunk(), make_chunk()
    getattr(changed, name).reshape(100, -1)[row, -1:].view(np.uint64)[:] ^= np.uint64(1) << np.uint64(bit)
    assert changed.digest() != chunk.digest()


@given(rows=st.lists(st.integers(0, 99), min_size=2, max_size=2, unique=True))
def test_the_order_of_rows_is_part_of_the_digest(rows):
    order = np.arange(100)
    order[rows] = order[rows[::-1]]
    assert make_chunk().take(order).digest() != make_chunk().digest()


@pytest.mark.parametrize("name", ["X", "y"])
@pytest.mark.parametrize("rows", [slice(2), slice(None, None, 2), slice(None)], ids=["two", "every second", "all"])
def test_changed_signs_change_the_digest(name, rows):
    chunk, changed = make_chunk(), make_chunk()
    getattr(changed, name)[rows] *= -1
    assert changed.digest() != chunk.digest()


@given(
    changes=st.sets(st.tuples(st.integers(0, 99), st.integers(0, 63)), min_size=1, max_size=6),
)
def test_no_changes_of_bits_cancel(changes):
    chunk, changed = make_chunk(), make_chunk()
    for row, bit in changes:
        changed.y.reshape(100, -1)[row, -1:].view(np.uint64)[:] ^= np.uint64(1) << np.uint64(bit)
    assert changed.digest() != chunk.digest()


def test_a_change_deep_in_a_large_chunk():
    X = np.zeros((100_000, 2))
    digest = Chunk(X, X[:, :1]).digest()
    for row in (0, 33_333, 99_999):
        changed = X.copy()
        changed[row, 1] = -0.0
        assert Chunk(changed, X[:, :1]).digest() != digest


def test_the_digest_knows_what_came_before_and_how_it_was_cut():
    chunk = make_chunk()
    first, second = chunk.take(slice(0, 60)), chunk.take(slice(60, 100))
    digests = {
        chunk.digest(),
        second.digest(first.digest()),
        first.digest(second.digest()),
        second.digest(second.digest(first.digest())),
        make_chunk(0).digest(chunk.digest()),
        Chunk(chunk.X, chunk.y).digest(),
        Chunk(chunk.X, chunk.y, chunk.sample_weight).digest(),
        Chunk(chunk.X, chunk.y, None, chunk.sample_weight).digest(),
    }
    assert len(digests) == 8


def test_the_digest_is_of_the_numbers_and_not_of_their_order_in_memory():
    chunk = make_chunk()
    other = Chunk(np.asfortranarray(chunk.X), chunk.y[::-1].copy()[::-1], chunk.sample_weight, chunk.noise_scale)
    assert other.digest() == chunk.digest()
    assert make_chunk().digest() == chunk.digest()


def test_digests_stay_the_same_from_version_to_version():
    """Or checkpoints would be refused by the next version."""
    X = np.arange(6.0).reshape(3, 2)
    chunk = Chunk(X, X[:, :1])
    assert chunk.digest() == "9fb3ece994b5e4c56a66ec4da0cee2c9"
    assert chunk.digest(chunk.digest()) == "1828a6b77d0a151ecedd8506672b70bb"


def test_parts_are_joined():
    chunk = make_chunk()
    whole = joined([chunk.take(slice(0, 1)), chunk.take(slice(1, 1)), chunk.take(slice(1, 100))])
    assert whole.digest() == chunk.digest()
    assert joined([chunk]) is chunk
    assert joined([Chunk(chunk.X, chunk.y)] * 2).sample_weight is None


class TestBatches:
    @given(sizes=st.lists(st.integers(0, 30), max_size=20), enough=st.integers(1, 50))
    def test_all_chunks_come_in_order(self, sizes, enough):
        chunks = [make_chunk(size) for size in sizes]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("torusgp.data.sources._chunk.CHUNK_ROWS", enough)
            found = list(batches(iter(chunks)))
        assert [id(chunk) for batch, _ in found for chunk in batch] == [id(chunk) for chunk in chunks]
        assert [last for _, last in found] == [False] * (len(found) - 1) + [True]
        for batch, last in found:
            n_rows = sum(map(len, batch))
            assert n_rows >= enough or last
            assert n_rows - (len(batch[-1]) if batch else 0) < enough

    def test_what_is_due_does_not_wait(self):
        chunks = [make_chunk(1) for _ in range(4)]
        due = iter([False, True, False, False])
        assert [len(batch) for batch, _ in batches(chunks, lambda: next(due))] == [2, 2]

    def test_what_was_read_comes_before_the_error(self):
        def chunks():
            yield make_chunk(3)
            yield make_chunk(4)
            raise KeyError("broken")

        found = batches(chunks())
        batch, last = next(found)
        assert [len(chunk) for chunk in batch] == [3, 4]
        assert last
        with pytest.raises(KeyError, match="broken"):
            next(found)
