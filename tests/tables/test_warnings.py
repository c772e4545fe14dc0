"""Warnings of models of tables: cycles seen too seldom, rows far off, errors far from normal, error bars too small."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tests.published_data import needs_demand
from torusgp import Circle, Line, Slope
from torusgp.data.datasets import load_electricity_demand
from torusgp.data.tables import read_table
from torusgp.tables.clock import count_turns, few_turns
from torusgp.tables.findings import are_outlying
from torusgp.tables.inputs import TableInputs
from torusgp.tables.model import TableModel


def told_by(fit, *arguments, **options):
    """Messages of the warnings of a fit."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        fit(*arguments, **options)
    return [str(one.message) for one in told]


def make_load(n_days, seed=2):
    """Half-hourly rows from a Monday on, whose weekends are lower."""
    time = pd.date_range("2024-03-04", periods=48 * n_days, freq="30min")
    hour, is_weekend = np.arange(len(time)) % 48 / 2, time.day_of_week.to_numpy() >= 5
    load = 50 + 20 * np.cos(2 * np.pi * (hour - 14) / 24) - 15 * is_weekend
    return pd.DataFrame({"time": time, "load": load + np.random.default_rng(seed).normal(0, 3, len(time))})


class TestFewTurns:
    def calendar(self, *cycles):
        return TableInputs(Line("time"), ("time", cycles), "time", None)

    @pytest.mark.parametrize(
        ("periods", "step", "cycles", "few"),
        [
            (14, "D", ("week",), []),
            (13, "D", ("week",), ["week"]),
            (24, "MS", ("year",), []),  # the last month counts, too
            (23, "MS", ("year",), ["year"]),
            (2 * 365, "D", ("week", "month", "year"), []),
            (60, "D", ("month", "year"), ["month", "year"]),
            (61, "D", ("month", "year"), ["year"]),
        ],
    )
    def test_cycles_of_the_calendar_are_counted(self, periods, step, cycles, few):
        time = pd.Series(pd.date_range("2023-01-01", periods=periods, freq=step), name="time")
        inputs = self.calendar(*cycles)
        for order in (time, time.dt.tz_localize("Europe/Berlin"), time.sample(frac=1, random_state=0)):
            assert [turns.name for turns in few_turns(inputs, order)] == few
        assert few_turns(inputs, None) == []

    def test_periods_of_the_column_that_orders_rows(self):
        model = Circle("t", 24) * Circle("t", "auto") * Circle("t", 168) * Circle("phi", 360)
        inputs = TableInputs(model, None, "t", None)
        found = count_turns(inputs, pd.Series(np.arange(240.0), name="t"))
        assert [(turns.name, turns.number) for turns in found] == [("24", 10.0), ("168", 240 / 168)]
        assert [str(turns) for turns in found if turns.are_few] == ["1.4 periods of 't' (168)"]

    @pytest.mark.parametrize(("n_days", "covered"), [(10, "1.4"), (6, "0.86")])
    def test_they_are_told_instead_of_what_follows(self, n_days, covered):
        table = TableModel("load", calendar={"time": ["day", "week"]})
        assert told_by(table.fit_and_evaluate, make_load(n_days)) == [
            f"The rows cover {covered} weeks: what is said of day_of_week rests on less than two of them. Give more "
            "rows, or leave out week."
        ]

    def test_with_a_line_there_is_one_warning_too(self):
        table = TableModel("load", calendar={"time": ["day", "week"]}, terms=Slope("time"))
        (message,) = told_by(table.fit_and_evaluate, make_load(10))
        assert message.startswith("The rows cover 1.4 weeks")
        (message,) = told_by(table.fit_and_evaluate, make_load(6))
        assert "less than one turn of week" in message

    def test_two_weeks_are_enough(self):
        assert told_by(TableModel("load", calendar={"time": ["day", "week"]}).fit, make_load(14)) == []


def make_energies(n_rows=400, n_outliers=0, seed=0):
    rng = np.random.default_rng(seed)
    phi, psi = rng.uniform(-180, 180, (2, n_rows))
    energy = np.cos(np.radians(phi)) + 0.5 * np.sin(np.radians(phi + psi)) + 0.1 * rng.normal(size=n_rows)
    chosen = np.sort(rng.permutation(n_rows)[:n_outliers])
    energy[chosen] += 15
    return pd.DataFrame({"phi": phi, "psi": psi, "energy": energy}), chosen


class TestOutliers:
    model = TableModel("energy", {"phi": 360, "psi": 360}, n_components=101)

    @pytest.mark.parametrize("n_outliers", [1, 2, 5])
    def test_a_few_rows_far_off_are_named(self, n_outliers, tmp_path):
        frame, chosen = make_energies(n_outliers=n_outliers)
        for fit in (self.model.fit, self.model.fit_and_evaluate):
            (message,) = told_by(fit, frame)
            assert message.startswith(f"{n_outliers} row")
            for row in chosen[:3]:
                assert f"the table, row {row + 1} ({frame['energy'][row]:.4g} instead of " in message
            assert ("and 2 more. " in message) == (n_outliers == 5)
        frame.to_csv(tmp_path / "energies.csv", index=False)
        (message,) = told_by(self.model.fit, read_table(tmp_path / "energies.csv"), source=tmp_path / "energies.csv")
        assert f"energies.csv, line {chosen[0] + 2} (" in message

    def test_rows_are_named_by_the_file_whatever_their_order(self, tmp_path):
        load = make_load(28)
        load.loc[[5, 700], "load"] = 900.0
        load["load"] = load["load"].round(3)
        path = tmp_path / "load.csv"
        load.iloc[::-1].to_csv(path, index=False)
        (message,) = told_by(TableModel("load", calendar={"time": ["day", "week"]}).fit, path)
        lines = path.read_text().splitlines()
        found = [number for number, line in enumerate(lines, start=1) if line.endswith(",900.0")]
        assert message.startswith("2 rows lie")
        assert all(f"line {number} (900 instead" in message for number in found)

    def test_usual_rows_are_not(self):
        for seed in range(5):
            frame, _ = make_energies(seed=seed)
            assert told_by(self.model.fit_and_evaluate, frame) == []
            frame["energy"] += 0.1 * np.random.default_rng(seed).standard_t(5, len(frame))
            assert told_by(self.model.fit_and_evaluate, frame) == []

    def test_known_noise_makes_rows_no_outliers(self):
        frame, chosen = make_energies(n_outliers=5)
        frame["error"] = 0.1
        frame.loc[chosen, "error"] = 10.0
        assert told_by(TableModel(**self.model.get_params() | {"noise": "error"}).fit, frame) == []

    def test_hours_of_larger_errors_are_not(self):
        """Beside those of others, where usual errors are many standard deviations of all rows."""
        frame = make_load(28)
        hour = frame["time"].dt.hour.to_numpy()
        is_busy = (hour >= 12) & (hour < 16)
        errors = np.random.default_rng(0).normal(size=len(frame))
        frame["load"] = 50 + 20 * np.cos(2 * np.pi * hour / 24) + np.where(is_busy, 8.0, 1.0) * errors
        table = TableModel("load", calendar={"time": ["day"]}, n_components=21)
        assert not any("lie many standard deviations" in one for one in told_by(table.fit, frame))
        frame.loc[is_busy.nonzero()[0][7], "load"] = 900.0
        assert any(one.startswith("1 row lies many") for one in told_by(table.fit, frame))

    def test_normal_residuals_have_none(self):
        assert not are_outlying(np.random.default_rng(0).normal(size=10**6)).any()
        assert not are_outlying(np.zeros(100)).any()


class TestErrorsFarFromNormal:
    def test_counts_that_are_mostly_zero(self):
        rng = np.random.default_rng(2)
        time = pd.date_range("2023-01-01", periods=120 * 24, freq="h")
        rate = 0.15 * np.exp(2 * (np.cos(2 * np.pi * (np.arange(len(time)) - 17) / 24) - 1))
        rate[time.day_of_week >= 5] *= 2
        frame = pd.DataFrame({"time": time, "n": rng.poisson(rate)})
        table = TableModel("n", calendar={"time": ["day", "week"]}, n_components=51)
        (message,) = told_by(table.fit_and_evaluate, frame)
        assert f"50 % intervals contain {100 * table.scores_.middle:.0f} % of the rows held out" in message
        assert table.scores_.middle > 0.8

    def test_numbers_without_noise_are_fine(self):
        angles = np.random.default_rng(0).uniform(0, 360, 500)
        frame = pd.DataFrame({"phi": angles, "y": np.exp(np.cos(np.radians(angles)))})
        table = TableModel("y", {"phi": 360})
        assert told_by(table.fit_and_evaluate, frame) == []
        assert table.scores_.middle == 1.0

    def test_intervals_that_are_too_narrow(self):
        frame, _ = make_energies(2000)
        frame["t"] = np.arange(2000.0)
        frame.loc[1600:, "energy"] += np.random.default_rng(0).normal(size=400)
        table = TableModel("energy", {"phi": 360, "psi": 360}, time="t", n_components=101)
        (message,) = told_by(table.fit_and_evaluate, frame)
        assert message.startswith("Intervals are too narrow for the rows held out: 50 % intervals contain ")

    @needs_demand
    def test_demand_of_electricity_is_near_enough(self):
        demand = load_electricity_demand()
        frame = pd.DataFrame({"time": demand.time, "hour": demand.hour_of_day, "demand": demand.demand})
        frame["weekday"], frame["yearday"] = demand.day_of_week, demand.day_of_year
        table = TableModel("demand", {"hour": 24, "weekday": 7, "yearday": 365.25}, time="time", n_components=201)
        assert told_by(table.fit_and_evaluate, frame[::6], start="2013-12-31T13:00") == []


def make_star(seconds=0.6, seed=0):
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(0, 60, 400))
    magnitude = np.cos(2 * np.pi * time / 1.37) + seconds * np.cos(2 * np.pi * time / 0.81)
    return pd.DataFrame({"time": time, "mag": magnitude + 0.1 * rng.normal(size=400), "error": 0.1})


class TestErrorBars:
    def test_much_noise_may_be_another_period(self):
        star = make_star()
        one = TableModel("mag", {"time": "auto"}, noise="error", n_components=21)
        (message,) = told_by(one.fit, star)
        assert f"The noise is {one.noise_factor_:.3g} times what 'error' says" in message
        assert "give terms='circle(time, auto) + circle(time, auto)'." in message
        both = TableModel("mag", terms="circle(time, auto) + circle(time, auto)", noise="error", n_components=41)
        assert told_by(both.fit, star) == []
        assert both.noise_factor_ == pytest.approx(1.0, abs=0.15)

    def test_right_ones_are_not_talked_of(self):
        assert told_by(TableModel("mag", {"time": "auto"}, noise="error", n_components=31).fit, make_star(0.0)) == []

    def test_slow_change_has_a_size(self):
        star = make_star(0.0)
        star["mag"] += 0.02 * star["time"]
        table = TableModel("mag", {"time": "auto"}, n_components=21).fit(star)
        summary = table.summary()
        assert summary["has_slow_change"]
        assert "has_trend" not in summary
        assert summary["slow_change_std"] == pytest.approx(0.02 * star["time"].std(), rel=0.05)
        assert summary["function_std"] == pytest.approx(np.sqrt(1 / 2), rel=0.05)


def test_the_function_varies_as_over_the_torus():
    frame, _ = make_energies()
    table = TableModel("energy", {"phi": 360, "psi": 360}, n_components=101).fit(frame)
    grid = np.arange(0.0, 360, 7.5)
    phi, psi = np.meshgrid(grid, grid)
    values = table.model_.predict(pd.DataFrame({"phi": phi.ravel(), "psi": psi.ravel()}))
    assert table.summary()["function_std"] == pytest.approx(values.std(), rel=1e-9)


@pytest.mark.parametrize("time", [None, "t"], ids=["in any order", "in order"])
@pytest.mark.parametrize("harmonic", [10, 40])
def test_a_high_harmonic_alone_is_not_blamed_on_the_period(harmonic, time):
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0, 240, 2000))
    truth = np.cos(2 * np.pi * harmonic * t / 24)
    table = TableModel("y", {"t": 24}, time=time)
    assert told_by(table.fit, pd.DataFrame({"t": t, "y": truth + 0.1 * rng.normal(size=2000)})) == []
    assert np.mean((table.predict(pd.DataFrame({"t": t}))["mean"] - truth) ** 2) < 0.05 * truth.var()


def test_noise_that_changes_with_an_input_is_named():
    """Such as that of a shop whose nights are certain; noise that does not is no reason to say so."""
    frame = make_load(28)
    hour = frame["time"].dt.hour
    truth = 50 + 20 * np.cos(2 * np.pi * (hour - 14) / 24)
    noise = np.random.default_rng(0).normal(0, 1, len(frame))
    for size, is_told in ((np.where((hour >= 9) & (hour < 17), 4.0, 0.1), True), (3.0, False)):
        table = TableModel("load", calendar={"time": ["day"]}, n_components=21)
        told = told_by(table.fit_and_evaluate, frame.assign(load=truth + size * noise))
        named = [one for one in told if "errors changes with hour_of_day" in one and "noise_by=['hour_of_day']" in one]
        assert len(named) == is_told
        assert not any("far from normal" in one for one in told)
