"""The benchmark of forecasts: its parts that need no time."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.forecasts import coverage, load


def test_naive_errors_are_those_of_yesterday_and_of_last_week(tmp_path):
    time = pd.date_range("2001-12-01", periods=24 * 14, freq="h")
    day = (time - time[0]).days.to_numpy()
    pd.DataFrame({"time_local": time, "load_MW": 10.0 * day}).to_csv(tmp_path / "load.csv", index=False)
    forecasts = pd.DataFrame({"time_local": time[-24:], "observed": 130.0, "mean": 128.0, "std": 1.0})
    assert load.naive_errors(tmp_path / "load.csv", forecasts) == {"yesterday's value": 10.0, "last week's value": 70.0}
    assert not load.inside_95(forecasts).any()


@pytest.mark.parametrize("kind", coverage.KINDS)
def test_simulated_sales_are_repeatable(kind):
    frame = coverage.simulate(kind, 3)
    assert len(frame) == coverage.N_KNOWN + coverage.N_AHEAD
    pd.testing.assert_frame_equal(frame, coverage.simulate(kind, 3))
    figures = coverage.figures_of(kind, np.full(coverage.N_AHEAD, 0.95), np.linspace(1, 2, coverage.N_AHEAD))
    assert all(one["met"] in (True, None) for one in figures)
    assert figures[-1]["value"] == 0.5
