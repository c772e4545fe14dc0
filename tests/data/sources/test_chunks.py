"""Iterables of chunks: read once or again, and only as far as needed."""

import numpy as np
import pytest

from tests.data.sources.stores import CHUNK, chunks_of
from torusgp.data.sources import ChunkSource, SourceError


def test_a_list_can_be_read_again(table):
    source = ChunkSource(chunks_of(table))
    first, second = list(source.chunks()), list(source.chunks())
    assert [chunk.digest() for chunk in first] == [chunk.digest() for chunk in second]


def test_a_function_is_called_for_each_pass(table):
    calls = []
    source = ChunkSource(lambda: (calls.append(1), iter(chunks_of(table)))[1])
    for _ in range(3):
        assert sum(map(len, source.chunks())) == len(table)
    assert len(calls) == 3


def test_an_iterator_cannot_be_read_again(table):
    source = ChunkSource(iter(chunks_of(table)))
    list(source.chunks())
    with pytest.raises(SourceError, match="can be read once: give a list, or a function that opens it"):
        source.chunks()


def test_no_more_is_read_than_needed(table):
    read = []

    def chunks():
        for number, chunk in enumerate(chunks_of(table)):
            read.append(number)
            yield chunk

    source = ChunkSource(chunks)
    assert read == [0]
    source.sample(CHUNK + 1)
    assert read == [0, 1]
    passed = source.chunks()
    for _ in range(3):
        next(passed)
    assert read == [0, 1, 2]


def test_a_sample_has_to_come_first(table):
    source = ChunkSource(chunks_of(table))
    source.chunks()
    with pytest.raises(SourceError, match="before the chunks are read"):
        source.sample(3)


@pytest.mark.parametrize(
    ("y", "ndim"), [(np.zeros(4), 1), (np.zeros((4, 1)), 2), ([0.0] * 4, 1), ([[0.0, 1.0]] * 4, 2)]
)
def test_the_shape_of_the_targets(y, ndim):
    source = ChunkSource([([], []), (np.zeros((4, 2)), y)])
    assert source.y_ndim == ndim
    assert source.n_outputs == (1 if ndim == 1 else np.shape(y)[1])


def test_chunks_do_not_change_with_the_arrays_they_came_from(table, monkeypatch):
    X, y = np.zeros((5, 2)), np.zeros(5)

    def chunks():
        for value in range(3):
            X[:], y[:] = value, value
            yield X, y

    source = ChunkSource(chunks)
    source.sample(10)
    assert [chunk.X[0, 0] for chunk in list(source.chunks())] == [0, 1, 2]
