import numpy as np
import pandas as pd
import pytest

from tests.views.report.pages import case, fit, make_rows
from torusgp.kernels.index_sets import tensor
from torusgp.views.report._labels import Dimension, describe_dimensions, describe_inputs, describe_targets


@pytest.fixture(scope="module")
def model():
    X, y = make_rows((24.0, 7.0), 30)
    return fit(pd.DataFrame(X, columns=["hour", "day_of_week"]), y, period=(24.0, 7.0), index_set=tensor(2, 1))


def test_names_are_those_of_the_fit_unless_others_are_given(model):
    dimensions = describe_dimensions(model, describe_inputs(model))
    assert [one.name for one in dimensions] == ["hour", "day_of_week"]
    assert [one.calendar for one in dimensions] == [None, "day_of_week"]
    given = describe_dimensions(model, describe_inputs(model, ["a\n b", None], ["h", None]))
    assert [(one.name, one.unit) for one in given] == [("a b", "h"), ("x1", "")]


def test_a_calendar_column_with_another_period_is_a_number(model):
    (dimension, _) = describe_dimensions(model, describe_inputs(model, ["day_of_week", "b"]))
    assert dimension.calendar is None


def test_an_input_with_two_periods_has_two_names():
    model = case("repeated")[0]
    names = [one.name for one in describe_dimensions(model, describe_inputs(model, ["t"], ["s"]))]
    assert names == ["t (period 7.3\N{NO-BREAK SPACE}s)", "t (period 11.9\N{NO-BREAK SPACE}s)"]


def test_directions_of_a_cell_have_the_unit_of_its_inputs():
    model = case("cell")[0]
    same = describe_dimensions(model, describe_inputs(model, None, ["Å", "Å"]))
    assert [one.unit for one in same] == ["Å", "Å"]
    assert [one.period for one in same] == pytest.approx(np.linalg.norm(model.fitted_.parameters.period, axis=1))
    mixed = describe_dimensions(model, describe_inputs(model, None, ["Å", "nm"]))
    assert [one.unit for one in mixed] == ["", ""]


def test_targets_bring_their_names(model):
    assert [one.name for one in describe_targets(model, pd.Series([1.0], name="demand"))] == ["demand"]
    assert [one.name for one in describe_targets(model, np.zeros(3))] == ["target"]
    several = case("outputs")[0]
    assert [one.name for one in describe_targets(several)] == ["output 0", "output 1"]
    frame = pd.DataFrame(np.zeros((1, 2)), columns=["a", "b"])
    assert [(one.name, one.unit) for one in describe_targets(several, frame, units="MW")] == [("a", "MW"), ("b", "MW")]


@pytest.mark.parametrize("argument", [["a"], "ab", ["a", "b", "c"]], ids=["few", "text", "many"])
def test_a_wrong_number_of_names_is_an_error(model, argument):
    with pytest.raises(ValueError, match="input_names must hold 2"):
        describe_inputs(model, argument)


@pytest.mark.parametrize(
    ("calendar", "period", "value", "said"),
    [
        ("hour_of_day", 24.0, 0.0, "0:00"),
        ("hour_of_day", 24.0, 23.9999999, "0:00"),
        ("hour_of_day", 24.0, 13.5, "13:30"),
        ("hour_of_day", 24.0, 25.0, "1:00"),
        ("day_of_week", 7.0, 4.9999999, "Sat"),
        ("day_of_week", 7.0, 2.5, "Wed 12:00"),
        ("day_of_week", 7.0, 7.0, "Mon"),
        ("day_of_year", 365.25, 0.0, "1 Jan"),
        ("day_of_year", 365.25, 364.9, "31 Dec"),
        ("day_of_year", 365.25, 58.9, "28 Feb"),
        (None, 360.0, 370.0, "370\N{NO-BREAK SPACE}h"),
    ],
)
def test_values_of_a_calendar_are_put_into_words(calendar, period, value, said):
    assert Dimension("name", "h", period, calendar).describe(value) == said


def test_the_days_of_a_year_are_those_of_the_calendar():
    days = np.arange("2023-01-01", "2023-12-31", dtype="datetime64[D]")
    dimension = Dimension("day_of_year", "", 365.25, "day_of_year")
    places = (np.arange(len(days)) + 0.5) * 365.25 / 365  # stretched, as the calendar does
    said = [dimension.describe(place) for place in places]
    wanted = [f"{day.day} {day:%b}" for day in days.astype(object)]
    assert sum(one == other for one, other in zip(said, wanted, strict=True)) > 0.99 * len(days)


@pytest.mark.parametrize("period", [24.0, 7.0, 360.0, 1.0, 12.0, 7.3, 365.25])
def test_ticks_and_quarters_lie_within_the_period(period):
    for calendar in (None, {24.0: "hour_of_day", 7.0: "day_of_week", 365.25: "day_of_year"}.get(period)):
        dimension = Dimension("name", "", period, calendar)
        places, labels = dimension.ticks() or ([], [])
        assert len(places) == len(labels)
        assert all(0 <= place <= period for place in places)
        quarters = dimension.quarters()
        assert len(set(quarters.tolist())) == 4
        assert ((quarters >= 0) & (quarters < period)).all()
