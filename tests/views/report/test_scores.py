"""What the page says of the rows: how many there were, how predictions fared, and when a model is worth nothing."""

import numpy as np
import pytest
from sklearn.base import clone

from tests.views.report.pages import Page, fit, make_rows
from torusgp.kernels.index_sets import tensor
from torusgp.views.report import render_report
from torusgp.views.report._facts import Judgement as RowScores
from torusgp.views.report._facts import is_fitted_to
from torusgp.views.report._scores import Score, explains_nothing
from torusgp.views.scores import Scores

PERIOD = (24.0, 7.0)
HELD_OUT = Scores(874, "the last 20 %, from May on", 0.35, 0.37, 0.94, 0.951)
WORTHLESS = Scores(874, "the last 20 %, from May on", 2.5, 2.4, -0.01, 0.951)


def make_page(judgement=None, weight=None, rows=(None, None), **arguments):
    X, y = make_rows(PERIOD)
    model = fit(X, y, period=PERIOD, index_set=tensor(2, 2))
    if weight is not None:
        model = clone(model).fit(X, y, sample_weight=np.full(len(X), weight))
    return Page(render_report(model, *rows, judgement=judgement, **arguments))


def text_of(page):
    return page.root.find("body").all_text().replace("\N{NO-BREAK SPACE}", " ")


class TestNumberOfRows:
    def test_rows_that_count_less_are_rows_all_the_same(self):
        page = make_page(weight=1 / 2.169, n_rows=240)
        opening = page.root.find("p", class_="opening").text
        assert opening.startswith("The model learned from 240 rows, worth 111 independent ones, how target depends")
        (cell,) = page.facts()["rows fitted"]
        assert (cell.text, cell.attributes["data-value"]) == ("240 rows, worth 111 independent ones", "240")

    def test_rows_that_count_as_one_each_are_just_rows(self):
        for page in (make_page(), make_page(n_rows=240), make_page(weight=1.0, n_rows=240)):
            assert page.root.find("p", class_="opening").text.startswith("The model learned from 240 rows how")
            assert page.facts()["rows fitted"][0].text == "240 rows"

    def test_whole_weights_are_repetitions(self):
        assert "learned from 480 rows how" in text_of(make_page(weight=2.0))
        assert "learned from 240 rows, counted as 480, how" in text_of(make_page(weight=2.0, n_rows=240))

    def test_weights_that_are_no_number_of_rows_are_not_called_so(self):
        assert "learned from rows whose weights add up to 111 how" in text_of(make_page(weight=1 / 2.169))

    def test_a_detail_takes_the_place_of_a_fact(self):
        facts = [*make_page(details={"rows fitted": "240 (3 dropped)", "place": "here"}).root.find_all("table")][:2]
        names = [[row.children[0].text for row in table.find_all("tr")] for table in facts]
        assert names[0][0] == "rows fitted"
        assert "rows fitted" not in names[1]
        assert "place" in names[1]

    def test_the_rows_of_the_fit_are_recognised_whatever_they_count(self):
        X, y = make_rows(PERIOD)
        assert "the 240 rows it was fitted to" in text_of(make_page(weight=1 / 2.169, n_rows=240, rows=(X, y)))
        model = fit(X, y, period=PERIOD, index_set=tensor(2, 1))
        assert not is_fitted_to(model, y, 239)

    @pytest.mark.parametrize("n_rows", [0, 2.5, "many"])
    def test_it_has_to_be_a_number(self, n_rows):
        with pytest.raises(ValueError, match="n_rows must be a number of rows"):
            make_page(n_rows=n_rows)


class TestRowsHeldOut:
    def test_they_say_at_the_top_how_good_the_model_is(self):
        page = make_page(judgement=HELD_OUT)
        text = text_of(page)
        assert "does not say how good" not in text
        assert "On 874 rows held out when it was fitted (the last 20 %, from May on), its typical error was" in text
        assert "It explained 94 % of their variance" in text
        strong = [one.text.replace("\N{NO-BREAK SPACE}", " ") for one in page.root.find_all("strong")]
        assert strong[:2] == ["0.35", "95.1 %"]
        tiles = [[part.text for part in tile.children] for tile in page.root.find_all("div", class_="tile")]
        assert tiles[0] == ["typical error", "0.35", "on rows held out"]
        assert page.section("predictions") is None

    def test_what_their_mean_would_be_off_by_follows_from_r2(self):
        rng = np.random.default_rng(0)
        observed = rng.normal(size=300)
        mean, std = observed + 0.4 * rng.normal(size=300), np.full(300, 0.4)
        noted = Score.from_holdout(Scores.from_predictions(observed, mean, std, "some"))
        given = Score.from_judgement(RowScores.from_predictions(observed, mean, std), "new")
        for name in ("n_rows", "rmse", "spread", "log_loss", "r2"):
            assert getattr(noted, name) == pytest.approx(getattr(given, name), rel=1e-12)
        assert noted.coverage[0.95] == given.coverage[0.95]

    def test_they_are_told_from_the_rows_that_are_given(self):
        X, y = make_rows(PERIOD, seed=3)
        page = make_page(judgement=HELD_OUT, rows=(X, y), holdout=True)
        facts = page.facts()
        assert facts["these rows"][0].text == "240, new to the model"
        assert facts["held out at the fit"][0].text == "874 rows"
        for name in ("RMSE", "R²", "mean negative log loss"):
            for rows in ("these rows", "held out at the fit"):
                assert f"{rows}: {name}" in facts
        assert float(facts["held out at the fit: RMSE"][0].attributes["data-value"]) == 0.35
        text = text_of(page)
        assert text.index("On 240 rows it was not fitted to") < text.index("On 874 rows held out")
        assert page.root.find("div", class_="tile").all_text().endswith("on new rows")

    def test_they_tell_more_than_the_rows_of_the_fit(self):
        page = make_page(judgement=HELD_OUT, rows=make_rows(PERIOD))
        text = text_of(page)
        assert text.index("On 874 rows held out") < text.index("On the 240 rows it was fitted to")
        assert page.root.find("div", class_="tile").all_text().endswith("on rows held out")

    def test_new_rows_that_fare_far_worse_are_mentioned(self):
        X, y = make_rows(PERIOD, seed=3)
        said = "times as large as on those held out when it was fitted: has something changed since?"
        assert said in text_of(make_page(judgement=HELD_OUT, rows=(X, 3 * y), holdout=True))
        assert said not in text_of(make_page(judgement=HELD_OUT, rows=(X, y), holdout=True))

    def test_they_are_those_of_one_target(self):
        X, y = make_rows(PERIOD)
        model = fit(X, np.column_stack([y, y]), period=PERIOD, index_set=tensor(2, 1))
        with pytest.raises(ValueError, match="judgement is that of one target, but the model has 2"):
            render_report(model, judgement=HELD_OUT)


class TestIntervals:
    def advice(self, coverage, n_held_out, **arguments):
        page = make_page(judgement=Scores(n_held_out, "some", 0.35, 0.37, 0.94, coverage), **arguments)
        (tile,) = (one for one in page.root.find_all("div", class_="tile") if "intervals" in one.all_text())
        return tile.children[2].text, text_of(page).partition("95 % intervals held")[2].partition(".By its")[0]

    def test_they_are_called_right_within_chance_only(self):
        tile, said = self.advice(0.918, 292)
        assert tile == "somewhat too narrow"
        assert "as they should" not in said
        tile, said = self.advice(1.0, 96)
        assert tile == "wider than needed"
        assert "predictions are better than stated" in said
        tile, said = self.advice(0.897, 29)
        assert tile == "within what chance allows"
        assert "within what chance allows for 29 rows, which are few to tell" in said

    def test_correlated_rows_allow_more(self):
        correlated = {"weight": 1 / 9, "n_rows": 240}  # nine are worth one for a mean, 4.6 for intervals
        tile, said = self.advice(0.918, 292, **correlated)
        assert tile == "within what chance allows"
        assert "for 292 rows, worth 64 independent ones, which are few to tell" in said
        assert self.advice(0.8, 292, **correlated)[0] == "too narrow"

    def test_rows_of_the_fit_do_not_tell(self):
        page = make_page(rows=make_rows(PERIOD))
        (tile,) = (one for one in page.root.find_all("div", class_="tile") if "intervals" in one.all_text())
        assert tile.children[2].text == "on fitted rows"


def test_what_was_taken_off_is_part_of_what_is_compared():
    X, y = make_rows(PERIOD, seed=3)
    line = np.linspace(0.0, 20.0, len(y))
    plain, page = (make_page(rows=(X, y), holdout=True, offset=one) for one in (None, line))
    values = [
        {name: float(cells[0].attributes["data-value"]) for name, cells in one.facts().items() if "rows: " in name}
        for one in (plain, page)
    ]
    for name, value in values[0].items():
        if "R²" not in name and "their mean" not in name:
            assert values[1][name] == pytest.approx(value, rel=1e-9)
    rmse, spread = values[0]["these rows: RMSE"], np.std(y + line)
    assert values[1]["these rows: RMSE of their mean"] == pytest.approx(spread)
    assert values[1]["these rows: R²"] == pytest.approx(1 - (rmse / spread) ** 2)
    fitted = make_page(rows=make_rows(PERIOD), offset=line)
    assert "On the 240 rows it was fitted to" in text_of(fitted)


class TestErrorsInRuns:
    @pytest.fixture
    def slow(self):
        X, y = make_rows(PERIOD, seed=3)
        return X, y + np.repeat([3.0, -3.0, 3.0, -3.0], 60)

    def test_a_model_that_counts_several_rows_as_one_allows_for_them(self, slow):
        text = text_of(make_page(weight=1 / 2.169, n_rows=240, rows=slow, holdout=True))
        assert "they come in runs. The model counts 2.17 rows as one, so bands of effects" in text
        assert "takes for independent" not in text

    def test_a_model_that_counts_each_does_not(self, slow):
        text = text_of(make_page(rows=slow, holdout=True))
        assert "they come in runs, which the model takes for independent" in text
        assert "rows as one" not in text


class TestWorthlessModels:
    def test_it_is_said_first_and_no_shares_are_shown(self):
        page = make_page(judgement=WORTHLESS)
        section = page.root.find("section")
        assert section.children[1].find("strong").text.startswith("The model explains nothing of 874 rows held out")
        text = text_of(page)
        assert "Is each period right, and in the units of its column?" in text
        assert "matters most" not in text
        assert "of the variance" not in page.section("effects").all_text()
        assert page.section("attribution").find("table") is None
        assert "shares would mean nothing" in page.section("attribution").all_text()
        assert "Shares add up" not in page.section("attribution").all_text()
        assert next(page.section("interactions").find_all("figure"), None) is None
        for key in ("effects", "parameters"):
            assert "what it learned means nothing" in page.section(key).all_text()

    def test_a_good_model_is_not_accused(self):
        text = text_of(make_page(judgement=HELD_OUT))
        assert "explains nothing" not in text
        assert "matters most" in text

    @pytest.mark.parametrize(
        ("kinds", "r2", "wanted"),
        [
            (["held out"], [-0.3], True),
            (["held out"], [0.004], True),
            (["held out"], [0.02], False),
            (["held out"], [np.nan], False),
            (["fitted"], [0.0], True),
            (["fitted", "held out"], [0.3, -0.1], True),  # it has learned noise by heart
            (["new", "held out"], [-0.5, 0.9], False),  # something has changed
            ([], [], False),
        ],
    )
    def test_rows_that_it_has_not_seen_decide(self, kinds, r2, wanted):
        def score(kind, value, n_rows=100):
            if kind == "held out":
                return Score.from_holdout(Scores(n_rows, "some", 1.0, 1.0, value, 0.95))
            nothing = bool(value < 0.01)
            return Score(kind, "some rows", n_rows, 1.0, 1.0, 1.0, value, {0.95: 0.95}, nothing)

        assert explains_nothing([score(*pair) for pair in zip(kinds, r2, strict=True)]) is wanted

    def test_few_rows_do_not_tell(self):
        few = Scores(5, "some", 1.0, 1.0, -0.3, 0.95)
        assert not explains_nothing([Score.from_holdout(few)])

    def test_rows_that_are_given_tell_too(self):
        X, y = make_rows(PERIOD, seed=3)
        shuffled = np.random.default_rng(0).permutation(y)
        assert "The model explains nothing of 240 rows it was not fitted to" in text_of(
            make_page(rows=(X, shuffled), holdout=True)
        )


def test_noise_and_intervals_may_be_known_better_than_the_model_knows():
    X, y = make_rows(PERIOD, seed=3)
    page = make_page(rows=(X, y), holdout=True, noise_std=0.7, predicted_std=np.full(240, 1e3), notes=["A line."])
    assert float(page.facts()["noise standard deviation"][0].attributes["data-value"]) == 0.7
    assert float(page.facts()["these rows: in 95\N{NO-BREAK SPACE}% intervals"][0].attributes["data-value"]) == 1.0
    assert "A line." in page.root.find("div", class_="mind").all_text()
