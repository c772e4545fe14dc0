"""Displays of table models: those of their regressors, with rows that they read from a table."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tests.views.report.cases import fitted, make_case
from torusgp.views import plotting

WITHOUT_ROWS = ("AttributionDisplay", "SpectrumDisplay")
WITH_ROWS = ("CalibrationDisplay", "ResidualDisplay", "PredictionDisplay")


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_a_display_takes_a_table_model(name):
    model, _ = fitted("periodic")
    display = getattr(plotting, name)
    ours, wanted = (vars(display.from_estimator(one)) for one in (model, model.model_))
    assert ours.keys() == wanted.keys()
    for key, value in wanted.items():
        np.testing.assert_equal(ours[key], value)


@pytest.mark.parametrize("name", WITH_ROWS)
def test_a_display_takes_a_table_model_with_its_table(name):
    model, _ = fitted("periodic")
    _, frame = make_case("periodic")
    display = getattr(plotting, name)
    ours = display.from_estimator(model, frame)
    wanted = display.from_estimator(model.model_, *model.read(frame))
    for key, value in vars(wanted).items():
        np.testing.assert_equal(vars(ours)[key], value)
    plt.close(ours.plot().figure_)


def test_effects_parts_and_periodograms_take_a_table_model():
    model, _ = fitted("star")
    assert plotting.PeriodogramDisplay.from_estimator(model).periods
    assert plotting.PartsDisplay.from_estimator(model).parts
    assert plotting.EffectDisplay.from_estimator(model, 0).mean.shape == (201,)
