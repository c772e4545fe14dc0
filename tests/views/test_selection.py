"""What a learned index set found, told."""

import json

import numpy as np
import pytest

from torusgp import TorusGPRegressor
from torusgp.cli._info import file_info
from torusgp.views.plotting import SelectionDisplay
from torusgp.views.selection import selection_summary


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 2 * np.pi, (1000, 5))
    y = np.cos(X[:, 0] + X[:, 2] - X[:, 4]) + 0.5 * np.cos(2 * X[:, 1]) + 0.3 * rng.normal(size=1000)
    return TorusGPRegressor(period=2 * np.pi, index_set="learned").fit(X, y)


def test_orders_and_shares_are_those_of_the_function(model):
    found = selection_summary(model)
    assert found.orders == {1: 1, 3: 1}
    assert list(found.interactions) == ["x0 \u00d7 x2 \u00d7 x4", "x1"]
    np.testing.assert_allclose(list(found.interactions.values()), [0.8, 0.2], atol=0.02)
    assert str(found).startswith("2 frequencies: 1 of order 1, 1 of order 3; x0")


def test_the_last_round_is_the_set_that_was_kept(model):
    found = selection_summary(model)
    assert found.rounds[-1].n_components == model.index_set_.n_components == 5
    assert found.noise_factor >= 1


def test_information_on_a_file_tells_the_selection(model, tmp_path):
    model.save(tmp_path / "model.npz")
    content = json.loads(json.dumps(file_info(tmp_path / "model.npz")))
    assert content["selection"]["orders"] == {"1": 1, "3": 1}
    assert len(content["selection"]["rounds"]) == len(model.fit_.learned.rounds)


def test_a_stored_model_tells_the_same(model, tmp_path):
    model.save(tmp_path / "model.npz")
    assert (
        selection_summary(TorusGPRegressor.load(tmp_path / "model.npz")).to_dict() == selection_summary(model).to_dict()
    )


def test_a_set_that_was_not_learned_is_refused():
    X = np.random.default_rng(0).uniform(0, 1, (30, 1))
    model = TorusGPRegressor(period=1.0).fit(X, np.sin(2 * np.pi * X[:, 0]))
    with pytest.raises(ValueError, match="was not learned: index_set='auto'"):
        selection_summary(model)


def test_the_display_shows_rounds_and_shares(model):
    pytest.importorskip("matplotlib")
    display = SelectionDisplay.from_estimator(model).plot()
    left, right = display.axes_
    assert len(left.lines[0].get_xdata()) == len(display.summary.rounds) - 1
    assert left.lines[1].get_xdata()[0] == model.index_set_.n_components
    assert [one.get_text() for one in right.get_yticklabels()] == list(display.summary.interactions)


def test_a_constant_has_no_interactions():
    rng = np.random.default_rng(1)
    X, y = rng.uniform(0, 2 * np.pi, (200, 4)), rng.normal(size=200)
    with pytest.warns(UserWarning, match="little evidence"):
        model = TorusGPRegressor(period=2 * np.pi, index_set="learned").fit(X, y)
    found = selection_summary(model)
    assert sum(found.orders.values()) == (model.index_set_.n_components - 1) // 2
