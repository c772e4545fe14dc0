"""Rows that a model keeps for pictures: thinned, packed, and what is told of their errors."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusgp.views.record import MOST_ROWS, ErrorsAlong, Record, pack, unpack


@given(st.integers(1, 900), st.integers(0, 2**32 - 1), st.sampled_from([1e-9, 1.0, 1e9]), st.booleans())
def test_numbers_are_unpacked_to_a_part_of_their_range(n, seed, scale, has_missing):
    rng = np.random.default_rng(seed)
    values = scale * rng.normal(size=n) + 10 * scale
    if has_missing:
        values[rng.random(n) < 0.2] = np.nan
    found = unpack(json.loads(json.dumps(pack(values))))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(values))
    span = np.nanmax(values) - np.nanmin(values) if np.isfinite(values).any() else 0.0
    assert np.nanmax(np.abs(found - values), initial=0.0) <= span / 2**16 + 1e-6 * scale


@pytest.mark.parametrize("dropped", [(), (5, 6, 7, 400), range(0, 700, 3)])
def test_times_with_rows_missing_are_exact_and_short(dropped):
    times = 1.7e12 + 1.8e6 * np.delete(np.arange(1000.0), list(dropped))
    packed = pack(times, bits=32)
    np.testing.assert_array_equal(unpack(packed), times)
    assert len(json.dumps(packed)) < 4 * len(times)


def test_irregular_times_keep_a_billionth_of_their_range():
    times = np.sort(np.random.default_rng(0).uniform(0, 1e10, 5000))
    assert np.abs(unpack(pack(times, bits=32)) - times).max() < 10


def test_rows_beyond_the_limit_keep_the_lowest_and_the_highest():
    n_rows = 3 * MOST_ROWS
    rng = np.random.default_rng(0)
    observed = rng.normal(size=n_rows)
    observed[[17, 99_999]] = -50, 60
    record = Record.from_rows(observed, along="t", place=np.arange(float(n_rows)), is_ordered=True)
    assert record.n_rows == n_rows
    assert len(record.place) <= MOST_ROWS
    for place, value in ((17, -50), (99_999, 60)):
        assert record.observed[record.place == place].tolist() == [value]
    # neighbours: in every stretch of rows the range stays what it was
    for low in range(0, n_rows, 6000):
        inside = (record.place >= low) & (record.place < low + 6000)
        assert record.observed[inside].min() == observed[low : low + 6000].min()
        assert record.observed[inside].max() == observed[low : low + 6000].max()


def make_record():
    time = pd.Series(pd.date_range("2024-01-01", periods=400, freq="h", tz="Europe/Berlin"), name="time")
    observed = np.sin(np.arange(400) / 24)
    unseen = np.arange(400) >= 320
    mean = observed[unseen] + 0.1
    return Record.from_rows(
        observed,
        along="time",
        place=time,
        is_ordered=True,
        unseen=unseen,
        predicted=(mean, mean - 1, mean + 1),
        inputs={"hour": np.arange(320, 400) % 24, "shop": np.where(np.arange(80) % 2, "a", "b")},
    )


def test_a_record_is_read_as_it_was_written():
    record = make_record()
    read = Record.from_json(json.loads(json.dumps(record.to_json())))
    for name in ("place", "observed", "mean", "low", "high"):
        np.testing.assert_allclose(getattr(read, name), getattr(record, name), atol=1e-4)
    np.testing.assert_array_equal(read.is_unseen, record.is_unseen)
    assert (read.along, read.kind, read.is_ordered, read.n_rows) == ("time", "time", True, 400)
    assert [one.name for one in read.errors] == ["hour", "shop"]
    assert read.errors[1].place == ["a", "b"]


def test_errors_are_told_where_they_are():
    record = make_record()
    assert record.kind == "time"
    for one in record.errors:
        np.testing.assert_allclose(one.mean, -0.1)
        np.testing.assert_allclose(one.rms, 0.1)
        assert one.n_rows.sum() == 80
    values = np.linspace(0, 10, 500)
    found = ErrorsAlong.from_rows("x", values, np.where(values > 8, 3.0, 1.0))
    assert found.place[found.rms.argmax()] > 8
    np.testing.assert_allclose(found.rms[found.place < 7.5], 1.0)
    assert ErrorsAlong.from_rows("x", np.zeros(50), np.ones(50)) is None


def test_rows_without_order_are_those_that_have_predictions():
    rng = np.random.default_rng(0)
    unseen = rng.random(5000) < 0.6
    n_unseen = int(unseen.sum())
    record = Record.from_rows(rng.normal(size=5000), unseen=unseen, predicted=tuple(np.zeros((3, n_unseen))))
    assert len(record.observed) == 2000
    assert record.is_unseen.all()
    assert record.along == ""
