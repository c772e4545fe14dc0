"""Rows whose inputs are those of another: none is evaluated by its own copy, and all are named."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from tests.cli.runner import run
from torusgp import TableModel
from torusgp.tables.backtest import hold_out
from torusgp.tables.findings import Repeats

OPTIONS = {"n_components": 101}


def make_noise(n_rows=100, times=3, seed=0):
    """Inputs that say nothing of the target, each row several times, shuffled."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 3)), columns=list("abc")).assign(y=rng.normal(size=n_rows))
    return pd.concat([frame] * times).sample(frac=1, random_state=seed + 1).reset_index(drop=True)


def evaluated(frame, **options):
    """A model of y evaluated on random rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TableModel("y", **OPTIONS, **options).fit_and_evaluate(frame)


def data_findings(model):
    return [one for one in model.findings_ if one.about == "data"]


@pytest.mark.parametrize("seed", range(3))
def test_pure_noise_explains_nothing_however_often_it_is_there(seed):
    model = evaluated(make_noise(seed=seed))
    assert model.scores_.n_rows == 20  # a copy says nothing more
    assert model.scores_.explains_nothing
    assert model.scores_.rows == "20 % of the rows, drawn at random, those of equal inputs together"


def test_rows_that_are_there_twice_are_named_everywhere(tmp_path):
    frame = make_noise()
    first = int(np.flatnonzero(frame.duplicated())[0])
    data = tmp_path / "noise.csv"
    frame.to_csv(data, index=False)
    said = (
        f"200 of 300 rows have the same inputs and the same target as an earlier one; the first is {data}, line "
        f"{first + 2}. Such rows are held out together or not at all. Leave out what is there twice: it makes the "
        "model too sure of itself."
    )
    printed = run("fit", data, "--target", "y", "--components", 101)
    assert printed.exit_code == 0
    assert "".join(said.split()) in "".join(printed.output.split())  # long paths are folded anywhere
    content = json.loads(run("fit", data, "--target", "y", "--components", 101, "--json").stdout)
    assert {"level": "problem", "about": "data", "text": said} in content["findings"]
    assert (content["quality"]["duplicates"], content["quality"]["equal_inputs"]) == (200, 200)
    assert content["holdout"]["rows"].endswith("those of equal inputs together")
    run("report", tmp_path / "noise-model.npz", "-o", tmp_path / "page.html")
    assert "200 of 300 rows have the same inputs and the same target" in (tmp_path / "page.html").read_text()


def test_equal_inputs_with_other_targets_are_held_out_together():
    frame = make_noise()
    frame["y"] += 0.1 * np.random.default_rng(5).normal(size=len(frame))
    model = evaluated(frame)
    assert model.scores_.explains_nothing
    assert [one.text for one in data_findings(model)] == [
        "200 of 300 rows have the same inputs as an earlier one. Such rows are held out together or not at all."
    ]
    assert (model.quality_["duplicates"], model.quality_["equal_inputs"]) == (0, 200)


def test_rows_that_are_all_different_are_drawn_one_by_one():
    model = evaluated(make_noise(times=1))
    assert model.scores_.rows == "20 % of the rows, drawn at random"
    assert (model.quality_["duplicates"], model.quality_["equal_inputs"]) == (0, 0)
    assert data_findings(model) == []
    assert "no duplicates" in model.findings().data


def make_cells(continuous, seed=0):
    """Rows in cells of two categories, of counts or of measurements."""
    rng = np.random.default_rng(seed)
    shop, weekday = rng.choice(list("pqr"), 400), rng.choice(list("ABCDEFG"), 400)
    effect = (shop == "p") * (weekday == "A") + 0.5 * (weekday == "B")
    y = effect + 0.3 * rng.normal(size=400) if continuous else (rng.uniform(size=400) < 0.2 + 0.4 * effect) * 1.0
    return pd.DataFrame({"shop": shop, "weekday": weekday, "y": y})


@pytest.mark.parametrize("continuous", [True, False])
def test_replicates_of_a_cell_of_categories_are_no_copies(continuous):
    model = evaluated(make_cells(continuous))
    assert model.scores_.rows == "20 % of the rows, drawn at random"
    assert data_findings(model) == []


def test_copies_of_rows_in_cells_are_found():
    frame = make_cells(True)
    model = evaluated(pd.concat([frame, frame]))
    assert model.quality_["duplicates"] == 400
    (finding,) = data_findings(model)
    assert finding.level == "problem"


class TestHeldOut:
    """Which rows are held out, without a fit."""

    def repeats(self, columns, y=None, categories=()):
        X = pd.DataFrame(columns)
        return Repeats(X, np.random.default_rng(0).normal(size=len(X)) if y is None else np.asarray(y), categories)

    @pytest.mark.parametrize("seed", range(5))
    def test_groups_are_never_separated_and_the_share_is_kept(self, seed):
        rng = np.random.default_rng(seed)
        repeats = self.repeats({"x": rng.integers(60, size=200), "z": rng.integers(2, size=200)})
        held, _ = hold_out(200, None, 0.25, random_state=seed, repeats=repeats)
        for group in np.unique(repeats.groups):
            assert len(np.unique(held[repeats.groups == group])) == 1
        assert held.sum() == 50

    def test_without_repeats_it_is_the_same_draw(self):
        repeats = self.repeats({"x": np.arange(100.0)})
        draws = [hold_out(100, None, 0.2, random_state=3, repeats=one)[0] for one in (None, repeats)]
        np.testing.assert_array_equal(*draws)

    def test_one_pair_changes_the_draw_by_its_own_rows_at_most(self):
        x = np.arange(100.0)
        x[7] = x[51]
        draws = [hold_out(100, None, 0.2, random_state=3, repeats=one)[0] for one in (None, self.repeats({"x": x}))]
        assert (draws[0] != draws[1]).sum() <= 3

    def test_a_level_with_inputs_of_its_own_is_learned(self):
        shop = np.repeat([f"s{i}" for i in range(40)], 5)
        rng = np.random.default_rng(0)
        x = np.where(np.arange(200) < 100, np.repeat(rng.normal(size=40), 5), rng.normal(size=200))
        for seed in range(10):
            repeats = self.repeats({"x": x, "shop": shop}, categories=["shop"])
            held, _ = hold_out(200, None, 0.2, random_state=seed, repeats=repeats)
            assert set(shop[held & (np.arange(200) < 100)]) == set()
            assert held.any()

    def test_few_different_inputs_are_separated(self):
        repeats = self.repeats({"dose": np.tile(np.arange(10.0), 20)})
        held, words = hold_out(200, None, 0.2, repeats=repeats)
        assert held.sum() == 40
        assert words == "20 % of the rows, drawn at random"

    @pytest.mark.parametrize("kind", ["float", "text", "bool"])
    def test_inputs_of_every_kind_are_compared(self, kind):
        values = {"float": [0.5, -0.0, 0.0, 0.5], "text": ["b", "a", "a", "b"], "bool": [True, False, False, True]}
        assert self.repeats({"x": values[kind]}).groups.tolist() == [0, 1, 1, 0]


def test_few_doses_are_said_to_be_on_both_sides():
    rng = np.random.default_rng(0)
    dose = np.tile(np.arange(10.0), 20)
    frame = pd.DataFrame({"dose": dose, "y": np.sin(dose) + 0.1 * rng.normal(size=200)})
    model = evaluated(frame, terms="line(dose)")
    assert [one.text for one in data_findings(model)] == [
        "190 of 200 rows have the same inputs as an earlier one. They are among the rows held out and among those "
        "learned from, too: the evaluation says how well these inputs are predicted, not how well others are."
    ]


def test_a_fit_without_evaluation_names_them_too():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableModel("y", **OPTIONS).fit(make_noise())
    (finding,) = data_findings(model)
    assert "200 of 300 rows have the same inputs and the same target" in finding.text
    assert "held out" not in finding.text
