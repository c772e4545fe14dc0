"""How predictions fare: figures as they are defined, and the rules that call them good or bad."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri
from scipy.stats import norm
from sklearn.metrics import r2_score, root_mean_squared_error

from torusgp.views.findings import verdict
from torusgp.views.scores import Scores


def make_noise(memory, n_rows, seed=0):
    """Noise of variance one that keeps a share of itself from row to row."""
    white = np.random.default_rng(seed).normal(size=n_rows + 2000)
    return lfilter([np.sqrt(1 - memory**2)], [1, -memory], white)[2000:]


class TestFigures:
    def test_figures_are_those_of_their_definitions(self):
        rng = np.random.default_rng(0)
        observed, mean, std = rng.normal(size=300), rng.normal(size=300), rng.uniform(0.5, 2, 300)
        found = Scores.from_predictions(observed, mean, std, "some")
        assert found.rmse == pytest.approx(root_mean_squared_error(observed, mean))
        assert found.r2 == pytest.approx(r2_score(observed, mean))
        assert found.mnll == pytest.approx(-np.mean(norm.logpdf(observed, mean, std)))
        assert found.coverage == np.mean(np.abs(observed - mean) < ndtri(0.975) * std)
        assert Scores.from_json(found.to_json()) == found
        assert np.isnan(Scores.from_predictions(np.ones(3), np.ones(3), np.ones(3), "").r2)


class TestSkill:
    def test_skill_is_the_share_of_squares_that_is_saved(self):
        rng = np.random.default_rng(0)
        signal, noise = rng.normal(size=(2, 5000))
        good = Scores.from_predictions(signal + noise, signal, np.ones(5000), "", constant=0.0)
        assert good.skill == pytest.approx(0.5, abs=4 * good.skill_std)
        assert good.skill_std < 0.02
        assert not good.explains_nothing
        # its error is how much it varies
        draws = rng.normal(size=(400, 2, 200))
        found = [Scores.from_predictions(a + b, a, np.ones(200), "", constant=0.0) for a, b in draws]
        errors = [one.skill_std for one in found]
        assert np.std([one.skill for one in found]) == pytest.approx(np.mean(errors), rel=0.15)

    def test_few_good_rows_and_many_weak_ones_are_not_nothing(self):
        rng = np.random.default_rng(0)
        few = rng.normal(size=4)
        assert not Scores.from_predictions(few, 0.9 * few, np.ones(4), "", constant=0.0).explains_nothing
        signal, noise = 0.15 * rng.normal(size=20000), rng.normal(size=20000)
        weak = Scores.from_predictions(signal + noise, signal, np.ones(20000), "", constant=0.0)
        assert 0 < weak.skill < 0.05
        assert not weak.explains_nothing

    def test_noise_is_nothing(self):
        rng = np.random.default_rng(1)
        verdicts = []
        for _ in range(200):
            observed, guess = rng.normal(size=300), 0.1 * rng.normal(size=300)
            verdicts.append(Scores.from_predictions(observed, guess, np.ones(300), "", constant=0.0))
        assert np.mean([one.explains_nothing for one in verdicts]) > 0.95
        # where the skill is not known, R2 decides
        assert Scores.from_predictions(observed, guess, np.ones(300), "").explains_nothing
        assert not Scores.from_predictions(observed[:10], guess[:10], np.ones(10), "").explains_nothing

    def test_a_level_that_changes_does_not_count_against_what_repeats(self):
        rng = np.random.default_rng(2)
        signal = np.sin(np.arange(400.0))
        observed = 3 + signal + 0.3 * rng.normal(size=400)
        found = Scores.from_predictions(observed, signal, np.ones(400), "", constant=0.0)
        assert found.r2 < 0
        assert not found.explains_nothing


class TestBias:
    def test_chance_is_no_bias(self):
        rng = np.random.default_rng(0)
        biased = []
        for seed in range(200):
            error = make_noise(0.9, 400, seed)
            biased.append(
                Scores.from_predictions(error, np.zeros(400), np.ones(400), "", noise_std=1.0, redundancy=1.0).is_biased
            )
        assert np.mean(biased) < 0.05
        shifted = make_noise(0.9, 400) + 3
        found = Scores.from_predictions(shifted, np.zeros(400), np.ones(400), "", noise_std=1.0, redundancy=1.0)
        assert found.is_biased
        assert found.bias == pytest.approx(shifted.mean())
        uncertain = Scores.from_predictions(shifted, np.zeros(400), np.full(400, 3.0), "", redundancy=1.0)
        assert not uncertain.is_biased
        white = rng.normal(size=400)
        known = Scores.from_predictions(white, np.zeros(400), np.ones(400), "", noise_std=1.0, redundancy=4.0)
        assert known.bias_std == pytest.approx(max(white.std(), 1.0) * np.sqrt(4 / 400), rel=1e-6)
        assert Scores.from_predictions(white, np.zeros(400), np.ones(400), "").bias is None

    def test_a_level_is_missed_if_r2_is_negative_for_its_mean_error_alone(self):
        signal = np.sin(np.arange(400.0))
        noise = make_noise(0.9, 400, 1)
        options = {"noise_std": 0.1, "redundancy": 1.0}

        def evaluate(observed, std=0.1):
            return Scores.from_predictions(observed, signal, np.full(400, std), "", **options)

        shifted = evaluate(signal + 0.3 * noise + 2)
        assert shifted.r2 < 0
        assert shifted.misses_level
        assert not evaluate(signal + 0.3 * noise).misses_level  # R2 is positive
        assert not evaluate(-signal + 0.1).misses_level  # the pattern itself is wrong
        assert not evaluate(signal + 2, std=3.0).misses_level  # within what the model says that it does not know
        assert not Scores.from_predictions(signal + 2, signal, np.ones(400), "").misses_level  # nothing is known of it


class TestIntervals:
    def evaluate(self, errors, std, **options):
        return Scores.from_predictions(errors, np.zeros(len(errors)), np.full(len(errors), std), "", **options)

    def test_the_middle_is_the_share_in_half_of_the_distribution(self):
        errors = np.random.default_rng(0).normal(size=40000)
        for std in (0.5, 1.0, 2.0):
            found = self.evaluate(errors, std)
            assert found.middle == pytest.approx(2 * ndtr(0.6744898 * std) - 1, abs=0.01)
            assert found.is_too_narrow == (found.middle < 0.3)
            assert found.is_too_wide == (found.middle > 0.7)
        assert Scores.from_json(found.to_json()) == found
        old = {name: value for name, value in found.to_json().items() if not name.startswith("middle")}
        assert not Scores.from_json(old).is_too_wide

    def test_its_error_is_how_much_it_varies(self):
        rng = np.random.default_rng(1)
        found = [self.evaluate(rng.normal(size=200), 1.0) for _ in range(500)]
        assert np.std([one.middle for one in found]) == pytest.approx(found[0].middle_std, rel=0.15)
        assert not any(one.is_too_narrow or one.is_too_wide for one in found)
        slow = self.evaluate(np.repeat(rng.normal(size=20), 50), 1.0, redundancy=1.0)
        assert slow.middle_std > 4 * self.evaluate(rng.normal(size=1000), 1.0, redundancy=1.0).middle_std

    @pytest.mark.parametrize(("degrees", "is_far"), [(2.2, True), (5, False), (10, False)])
    def test_heavy_tails_matter_if_they_are_very_heavy(self, degrees, is_far):
        errors = np.random.default_rng(0).standard_t(degrees, 100000)
        assert self.evaluate(errors, errors.std()).is_too_wide == is_far


def test_few_rows_do_not_show_that_the_level_has_changed():
    """Of one row held out, chance alone made an alarm of two in three."""
    rng = np.random.default_rng(0)
    for n_rows in (1, 2, 3):
        alarms = 0
        for _ in range(300):
            observed = rng.normal(size=n_rows)
            scores = Scores.from_predictions(
                observed, np.zeros(n_rows), np.full(n_rows, 1.005), "rows", noise_std=1.0, redundancy=1.0
            )
            alarms += scores.is_biased
        assert alarms <= 6


class TestVerdicts:
    def scores(self, **changes):
        return Scores(
            **({"n_rows": 1000, "rows": "some", "rmse": 1.0, "mnll": 1.0, "r2": 0.9, "coverage": 0.95} | changes)
        )

    @pytest.mark.parametrize(
        ("n_rows", "coverage", "word"),
        [
            (1000, 0.951, "as stated"),
            (1000, 0.93, "slightly narrow"),
            (1000, 0.968, "slightly wide"),
            (1000, 0.988, "wide"),
            (1000, 0.91, "narrow"),
            (1000, 0.85, "far too narrow"),
            (292, 0.918, "narrow"),
            (29, 0.897, "few rows"),
            (3, 1.0, "few rows"),
            (18, 0.56, "far too narrow"),
            (9, 0.56, "far too narrow"),
        ],
    )
    def test_what_a_share_inside_intervals_says(self, n_rows, coverage, word):
        assert self.scores(n_rows=n_rows, coverage=coverage).intervals == word

    def test_autocorrelated_rows_say_less_but_never_excuse_intervals_that_hold_half(self):
        assert self.scores(n_rows=1800, coverage=0.91, coverage_std=0.03).intervals == "lasting errors"
        assert self.scores(n_rows=50, coverage=0.91, coverage_std=0.04).intervals == "few rows"
        assert self.scores(coverage=0.56, coverage_std=0.3).intervals == "far too narrow"

    def test_the_shape_of_errors_is_told_before_their_size(self):
        middle = {"middle_std": 0.01}
        assert self.scores(coverage=0.979, coverage_std=0.02, middle=0.75, **middle).intervals == "wide"
        assert self.scores(coverage=0.94, middle=0.8, **middle).intervals == "heavy tails"
        assert self.scores(coverage=1.0, middle=0.07, **middle).intervals == "two groups"
        assert self.scores(coverage=0.9, middle=0.2, **middle).intervals == "narrow"

    @pytest.mark.parametrize(
        ("r2", "grade"), [(0.99, "excellent"), (0.85, "good"), (0.5, "fair"), (0.2, "weak"), (-1e-5, "worthless")]
    )
    def test_grades(self, r2, grade):
        assert self.scores(r2=r2).grade == grade

    def test_nothing_can_be_explained_of_equal_rows(self):
        assert self.scores(r2=float("nan")).grade == "unknown"


@pytest.mark.parametrize(("n_rows", "few"), [(1800, False), (30, True)])
def test_many_rows_are_not_called_few(n_rows, few):
    rng = np.random.default_rng(0)
    y = np.convolve(rng.normal(size=n_rows + 400), np.ones(400) / 20, "valid")[:n_rows]
    std, more = np.full(n_rows, 1.1), {"constant": 9.0, "redundancy": 200.0}
    scores = Scores.from_predictions(y, np.zeros(n_rows), std, "held out", **more)
    said = verdict(scores, "y")
    assert ("so few" in said) == few
    assert ("within chance as errors last long" in said) == (not few)
