"""Models of tables name a parameter or an argument that cannot be right."""

import itertools

import numpy as np
import pandas as pd
import pytest

from torusgp import CalendarPhases, PanelModel, TableModel


def frame():
    hours = np.arange(60)
    return pd.DataFrame(
        {
            "time": pd.date_range("2024-01-01", periods=60, freq="h"),
            "shop": np.where(hours % 2, "a", "b"),
            "y": np.sin(2 * np.pi * hours / 24) + 0.1 * np.cos(hours**2),
        }
    )


@pytest.fixture(scope="module")
def fitted():
    return TableModel("y", terms="hour + time", n_components=15, errors="independent").fit(frame())


NAMES = [
    "target", "noise", "exposure", "time", "timezone", "holidays", "whole_days", "drop_missing", "errors", "decimal",
    "date_format", "noise_by",
]  # fmt: skip
WRONG = [3, np.zeros((2, 2)), len]


@pytest.mark.parametrize(
    ("name", "value"),
    # a dictionary of periods names columns, and nothing at all is no period
    [*itertools.product(NAMES, [*WRONG, np.zeros(0), {"a": 1}]), *(("periods", one) for one in WRONG)],
)
def test_a_parameter_is_named(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        TableModel(**{"target": "y", "terms": "hour", name: value}).fit(frame())


@pytest.mark.parametrize("cycles", [3, len, [3], ["text"]])
def test_cycles_of_a_calendar_are_named(cycles):
    with pytest.raises(ValueError, match="cycles must be a sequence"):
        TableModel("y", calendar={"time": cycles}).fit(frame())


@pytest.mark.parametrize("value", [np.zeros(0), "text", None])
def test_whether_a_calendar_counts_whole_days(value):
    with pytest.raises(ValueError, match="whole_days must be True or False"):
        CalendarPhases(whole_days=value).fit_transform(frame()[["time"]])


@pytest.mark.parametrize("value", [0, 1.5, "text", {"a": 1}, []])
def test_components_are_counted(value):
    with pytest.raises(ValueError, match="n_components must be a positive integer"):
        TableModel("y", terms="hour", n_components=value).fit(frame())


@pytest.mark.parametrize("quantiles", [0.5, "text", {"a": 1}, [0], ["text"], [None], len])
def test_quantiles_are_numbers(fitted, quantiles):
    for use in (
        lambda: fitted.predict(frame(), quantiles),
        lambda: fitted.forecast(3, quantiles=quantiles),
        lambda: fitted.backtest(frame(), 6, 2, quantiles=quantiles),
    ):
        with pytest.raises(ValueError, match=r"[qQ]uantiles must be"):
            use()


@pytest.mark.parametrize("origins", [0.5, True, "text", len])
def test_origins_are_a_number_or_times(fitted, origins):
    with pytest.raises(ValueError, match="origins must be a number or a list of times"):
        fitted.backtest(frame(), 6, origins)


@pytest.mark.parametrize("share", [0, 1, "half", None, [0.5]])
def test_a_share_is_held_out(share):
    with pytest.raises(ValueError, match="share of rows to hold out must be between 0 and 1"):
        TableModel("y", terms="hour").fit_and_evaluate(frame(), share)


@pytest.mark.parametrize("name", ["decimal", "date_format", "drop_missing"])
def test_how_tables_are_read_afterwards(fitted, name):
    with pytest.raises(ValueError, match=name):
        fitted.read_as(**{name: np.zeros(2)})
    fitted.predict(frame())  # is left as it was


@pytest.mark.parametrize("by", [3, None, np.zeros(0), ["shop"]])
def test_a_panel_is_by_a_column(by):
    with pytest.raises(ValueError, match="by must be the name of a column"):
        PanelModel(TableModel("y", terms="hour"), by).fit(frame())


@pytest.mark.parametrize("number", [0, 1.5, "all", {}])
def test_processes_are_counted(number):
    with pytest.raises(ValueError, match="n_jobs must be a positive integer"):
        PanelModel(TableModel("y", terms="hour"), "shop", n_jobs=number).fit(frame())
