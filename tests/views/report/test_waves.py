import re

import numpy as np
import pytest

from tests.views.report.pages import Page, charts, fit, make_rows
from torusgp.kernels.index_sets import tensor
from torusgp.views.analysis import effect
from torusgp.views.report import render_report
from torusgp.views.report._waves import MeanWaves, week_moves_in

PERIOD = (24.0, 7.0)
NAMES = ["hour_of_day", "day_of_week"]


def museum(whole_days, radius=4):
    """Ten weeks, hour by hour, whose weekends are later; and the columns of a calendar."""
    hours = np.arange(70 * 24.0)
    hour, week = hours % 24, hours / 24 % 7
    peak = np.where(week < 5, 11, 15)
    y = np.exp(3 * (np.cos(2 * np.pi * (hour - peak) / 24) - 1)) + 0.05 * np.random.default_rng(0).normal(size=1680)
    X = np.column_stack([hour, np.floor(week) if whole_days else week])
    return fit(X, y, period=PERIOD, index_set=tensor(2, radius), noise_variance=0.0025), X, y


def test_means_of_waves_are_those_over_the_rows():
    X, y = make_rows((24.0, 7.0, 3.0))
    model = fit(X[:, :3], y, period=(24.0, 7.0, 3.0), index_set=tensor(3, 2))
    theta, waves = model.fitted_.phases(X), MeanWaves(model)
    for frequency in ([4, 0, 0], [1, -3, 0], [0, 2, 4], [-2, 1, 3], [0, 0, -1], [1, 1, 1]):
        assert waves(frequency) == pytest.approx(np.exp(1j * theta @ frequency).mean(), abs=1e-10)
    assert waves([5, 0, 0]) is None
    assert waves([1, -5, 0]) is None


def test_whole_days_are_found_in_the_sums():
    waves = MeanWaves(museum(True)[0])
    assert waves.levels(1, 7.0) == pytest.approx(np.arange(7))
    assert waves.levels(0, 24.0) is None  # which would take 24 waves
    assert not waves.week_moves(0, 1)
    assert MeanWaves(museum(True, 3)[0]).levels(1, 7.0) is None


def test_days_that_move_on_with_the_hour_are_found_in_the_sums_and_in_rows():
    model, X, _ = museum(False)
    assert MeanWaves(model).week_moves(0, 1)
    assert MeanWaves(model).levels(1, 7.0) is None
    assert week_moves_in(model, X, 0, 1)
    assert not week_moves_in(model, museum(True)[1], 0, 1)
    assert not week_moves_in(model, make_rows(PERIOD)[0], 0, 1)


@pytest.mark.parametrize("whole_days", [True, False])
@pytest.mark.parametrize("told", ["by the sums", "by rows", "by the caller"])
def test_profiles_of_a_day_are_predictions_of_that_day(whole_days, told):
    model, X, y = museum(whole_days, 3 if told == "by the caller" else 4)
    rows = (X, y) if told == "by rows" else ()
    said = {"whole_days": whole_days} if told == "by the caller" else {}
    page = Page(render_report(model, *rows, input_names=NAMES, **said))
    of_day, of_hour = sorted(
        charts(page.section("interactions")), key=lambda one: one.data["labels"][0] != "hour_of_day: "
    )

    def predicted(hour, day):
        return model.predict(np.column_stack(np.broadcast_arrays(hour, day + (0 if whole_days else hour / 24))))

    x = np.linspace(0, 24, len(of_day.data["x"]))
    for i, day in enumerate((0, 2, 4, 5)):
        np.testing.assert_allclose(of_day.y_values(i), predicted(x, day), atol=0.01)
    assert len(of_hour.data["x"]) == 7  # what lies between days does not exist
    for i, hour in enumerate((0, 6, 12, 18)):
        np.testing.assert_allclose(of_hour.y_values(i), predicted(hour, np.arange(7)), atol=0.01)


def test_extremes_of_whole_days_are_days():
    page = Page(render_report(museum(True)[0], input_names=NAMES))
    (caption,) = (one.caption for one in charts(page.section("effects")) if one.title.startswith("Effect of day"))
    days = re.findall(r"\((.+?)\)", caption)
    assert len(days) == 2
    assert set(days) <= {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}


def test_what_the_sums_do_not_tell_is_not_known():
    assert MeanWaves(museum(True)[0]).has_parts(1, 7) is True
    assert MeanWaves(museum(False)[0]).has_parts(1, 7) is False
    assert MeanWaves(museum(True, 3)[0]).has_parts(1, 7) is None


def test_lines_of_whole_days_have_no_hours():
    model = museum(True)[0]
    page = Page(render_report(model, input_names=NAMES))
    (chart,) = (one for one in charts(page.section("effects")) if one.title.startswith("Effect of day"))
    assert [line[0] for line in chart.data["lines"]] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    np.testing.assert_allclose(chart.y_values(), effect(model, 1)(np.arange(7.0)), atol=0.003)
    assert not re.search(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+:\d\d", page.source)
