"""The comparison with other methods: its parts that need no time."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks import open as open_models
from benchmarks import page, scaling, tables
from benchmarks.engine import PeriodicProduct
from benchmarks.noise import simulations, tides
from benchmarks.open import births, co2, star
from benchmarks.peers import arms, comparison, problems, runner
from benchmarks.peers.common import N_BLOCKS, blocks, held_out, on_circles, some_rows
from benchmarks.peers.outcomes import outcomes, wins
from benchmarks.peers.report import number
from torusgp import Circle, TorusGPRegressor, TorusKernel, mean_negative_log_loss
from torusgp.kernels.resolve import resolve
from torusgp.kernels.sums import SumKernel

LENGTH_SCALE = (0.7, 1.9)
PERIOD = np.array([24.0, 7.0])


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform(-50, 50, (12, 2))


def test_distances_on_circles_give_the_kernel_of_torusgp(points):
    gamma = 1 / (2 * np.array(LENGTH_SCALE) ** 2)
    circles = on_circles(points, PERIOD) * np.sqrt(np.tile(gamma, 2))
    squares = ((circles[:, None] - circles) ** 2).sum(axis=-1)
    np.testing.assert_allclose(np.exp(-squares), TorusKernel(length_scale=LENGTH_SCALE, period=PERIOD)(points))


def test_kernel_of_the_exact_process_is_that_of_torusgp(points):
    expected = TorusKernel(length_scale=LENGTH_SCALE, period=PERIOD)(points)
    np.testing.assert_allclose(PeriodicProduct(LENGTH_SCALE, PERIOD)(points), expected)


def test_kernel_of_gpytorch_is_that_of_torusgp(points):
    torch = pytest.importorskip("torch")
    pytest.importorskip("gpytorch")
    from benchmarks.peers.gpytorch_models import PeriodicProductKernel

    kernel = PeriodicProductKernel(ard_num_dims=2).double()
    kernel.lengthscale = torch.tensor([LENGTH_SCALE])
    found = kernel(torch.as_tensor(2 * np.pi * points / PERIOD)).to_dense().detach().numpy()
    expected = TorusKernel(length_scale=kernel.lengthscale.detach().numpy()[0], period=PERIOD)(points)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("losses", "flat"),
    [([3, 3, 2, 2], False), ([3, 3, 3, 3], True), ([2, 2, 3, 3], True), ([3, 3, 3], False)],
    ids=["falling", "flat", "rising", "short"],
)
def test_flat_loss(losses, flat):
    pytest.importorskip("gpytorch")
    from benchmarks.peers.gpytorch_models import is_flat

    assert is_flat(losses, 2, 1e-3) == flat


def test_problems_are_not_additive_and_have_the_noise_they_say():
    for function, dimension in ((problems.toy_function, 2), (problems.ring_function, 6)):
        X, y, truth = problems.make_rows(function, dimension, 4_000, random_state=3)
        assert np.std(y - truth) == pytest.approx(problems.NOISE_STD, rel=0.05)
        phases, step = 2 * np.pi * X, np.eye(dimension)
        mixed = function(phases + step[0] + step[1]) - function(phases + step[0]) - function(phases + step[1])
        assert np.std(mixed + function(phases)) > 0.1
        np.testing.assert_allclose(function(phases + 2 * np.pi * step[0]), function(phases), atol=1e-12)


def test_missing_data_are_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("TORUSGP_DATA", str(tmp_path))
    with pytest.raises(problems.MissingDataError, match="vic_elec"):
        problems.electricity()


@pytest.mark.parametrize("n_samples", [50, 777, 20_000])
def test_whole_blocks_are_held_out(n_samples):
    out, block = held_out(n_samples), blocks(n_samples)
    assert (np.diff(block) >= 0).all()
    assert len(np.unique(block)) == N_BLOCKS
    assert not set(block[out]) & set(block[~out])
    assert out.mean() == pytest.approx(0.2, abs=0.02)


def test_some_rows_are_distinct_and_the_same_every_time():
    rows = some_rows(1_000, 100)
    assert len(np.unique(rows)) == 100
    np.testing.assert_array_equal(rows, some_rows(1_000, 100))
    np.testing.assert_array_equal(some_rows(10, 100), np.arange(10))


def test_ratios_are_those_of_the_same_turn():
    assert runner.ratio([2.0, 20.0, 200.0], [1.0, 10.0, 100.0]) == 2.0
    assert runner.ratio([8.0], [1.0, 4.0, 7.0]) == 2.0


def test_differences_count_standard_errors_of_blocks():
    rng = np.random.default_rng(0)
    y = rng.normal(size=5_000)
    reference = (np.zeros(5_000), np.ones(5_000))
    assert runner.differences(y, reference, reference) == {"rmse difference": 0.0, "mnll difference": 0.0}
    shifted = (np.full(5_000, 0.1), np.ones(5_000))
    found = runner.differences(y, shifted, reference)
    loss = (y - 0.1) ** 2 - y**2
    means = loss.reshape(N_BLOCKS, -1).mean(axis=1)
    assert found["rmse difference"] == pytest.approx(loss.mean() / (means.std(ddof=1) / np.sqrt(N_BLOCKS)))
    assert found["mnll difference"] == pytest.approx(found["rmse difference"])  # unit variance: half the squares
    swapped = runner.differences(y, reference, shifted)
    assert swapped["rmse difference"] == pytest.approx(-found["rmse difference"])


class _Constant:
    """A method that predicts the mean."""

    def fit(self, X, y):
        self._mean, self._std = np.mean(y), np.std(y)
        self.details = {"rows": len(X), "columns": 1, "noise std": float(self._std)}
        return self

    def predict(self, X):
        return np.full(len(X), self._mean), np.full(len(X), self._std)


class _Failing(_Constant):
    def predict(self, X):
        raise RuntimeError("nothing to say")


def _arms(second=_Constant):
    return [arms.Arm(arms.TORUS, lambda _: _Constant()), arms.Arm(arms.RANDOM, lambda _: second())]


def test_methods_take_turns_and_are_judged_on_held_out_rows():
    problem = problems.toy(200, 300)
    rows, failures = runner.compare(problem, _arms(), 3, report=lambda *line, **_: None)
    assert not failures
    assert [row["label"] for row in rows] == [arms.TORUS, arms.RANDOM]
    for row in rows:
        error = problem.y_test - np.mean(problem.y)
        assert row["turns"] == 3
        assert row["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))
        assert row["mnll"] == pytest.approx(
            mean_negative_log_loss(problem.y_test, problem.y_test - error, np.full(300, np.std(problem.y)))
        )
        assert row["rmse difference"] == 0.0
    assert rows[0]["fit ratio"] == 1.0


def test_a_method_that_fails_is_left_out_with_its_reason():
    rows, failures = runner.compare(problems.toy(100, 100), _arms(_Failing), 2, report=lambda *line, **_: None)
    assert [row["label"] for row in rows] == [arms.TORUS]
    assert "nothing to say" in failures[arms.RANDOM]


def test_equal_columns_are_compared_with_each_other():
    chosen = arms.make_arms(PERIOD, arms.QUICK, (arms.TORUS, arms.NYSTROEM), (None, 101))
    assert [arm.label for arm in chosen] == [
        arms.TORUS,
        arms.NYSTROEM,
        f"{arms.TORUS}, 101 columns",
        f"{arms.NYSTROEM}, 101 columns",
    ]
    assert chosen[3].reference == chosen[2].label
    assert chosen[1].make(77).n_components == 77
    assert chosen[2].make(None).n_components == 101


def test_every_method_of_a_case_is_described_and_drawn():
    from benchmarks.peers.figures import STYLES

    named = {name for case in comparison.CASES for name in case.names}
    assert named <= set(arms.describe(arms.Settings()))
    assert named <= set(STYLES)


def _row(name, reference=arms.TORUS, **changes):
    row = {
        "arm": name,
        "label": name,
        "reference": reference,
        "turns": 3,
        "fit seconds": 1.0,
        "fit ratio": 1.0,
        "predict seconds": 0.1,
        "predict ratio": 1.0,
        "rmse": 0.3,
        "function rmse": 0.02,
        "mnll": 0.2,
        "coverage": 0.95,
        "rmse difference": 0.0,
        "mnll difference": 0.0,
        "details": {"rows": 2000, "columns": 201, "noise std": 0.3},
    }
    return row | changes


def _case(problem, *rows, noise=0.3, correlation=0.0):
    return {
        "problem": problem,
        "title": problems.TITLES[problem],
        "rows": 20_000,
        "held-out rows": 10_000,
        "dimension": 2,
        "noise std": noise,
        "residual correlation": correlation,
        "seconds": 1.0,
        "results": [_row(arms.TORUS), *rows],
    }


def _record(*cases):
    return {
        "quick": False,
        "versions": {"python": "3"},
        "settings": arms.describe(arms.Settings()),
        "cases": list(cases),
        "left out": [{"what": "electricity", "why": "no data"}],
    }


@pytest.mark.parametrize(
    ("changes", "met"),
    [
        ({"fit ratio": 12.0}, True),
        ({"fit ratio": 8.0}, False),
        ({"fit ratio": 12.0, "rmse": 0.29, "rmse difference": -5.0}, False),
        ({"fit ratio": 12.0, "rmse": 0.29999, "rmse difference": -0.5}, True),
    ],
    ids=["faster", "too slow", "less accurate", "chance"],
)
def test_speed_is_required_at_an_equal_error(changes, met):
    (outcome,) = outcomes(_record(_case("toy", _row(arms.EXACT, **changes))))
    assert outcome["met"] is met


@pytest.mark.parametrize(
    ("changes", "met"),
    [
        ({"rmse": 0.31}, True),
        ({"rmse": 0.29}, False),
        ({"rmse": 0.3}, False),
        ({"rmse": 0.31, "fit ratio": 0.9}, False),
    ],
    ids=["better", "worse", "equal", "slower"],
)
def test_accuracy_is_required_at_equal_columns(changes, met):
    (outcome,) = outcomes(_record(_case("ring", _row(arms.NYSTROEM, **changes))))
    assert outcome["met"] is met


@pytest.mark.parametrize(("loss", "met"), [(0.21, True), (0.19, False)], ids=["least", "not least"])
def test_least_log_loss_is_required(loss, met):
    (outcome,) = outcomes(_record(_case("electricity", _row(arms.BOOSTING, mnll=loss))))
    assert outcome["met"] is met


def test_every_win_of_another_method_is_named():
    assert wins(_case("toy", _row(arms.EXACT, rmse=0.31, mnll=0.25, **{"fit ratio": 30.0}))) == []
    assert wins(_case("toy", _row(arms.EXACT, rmse=0.3 * (1 - 1e-6)))) == []  # the same in all digits that are shown
    for changes, word in (
        ({"rmse": 0.29, "rmse difference": -0.3}, "chance"),
        ({"rmse": 0.29, "rmse difference": -9.0}, "RMSE is lower"),
        ({"mnll": 0.1, "mnll difference": -9.0}, "log loss is lower"),
        ({"fit ratio": 0.5, "rmse": 0.33}, "fits in 0.5 of the time"),
        ({"predict ratio": 0.5, "rmse": 0.33}, "10.0% higher"),
    ):
        (sentence,) = wins(_case("toy", _row(arms.EXACT, **changes)))
        assert arms.EXACT in sentence
        assert word in sentence


def test_wins_are_explained_by_the_numbers():
    better = {"rmse": 0.2, "rmse difference": -9.0}
    case = _case("ring", _row(arms.NYSTROEM, **better))
    case["results"][0]["details"]["noise std"] = 0.8
    assert "noise of standard deviation 0.80, and the data have 0.30" in wins(case)[0]
    case = _case("electricity", _row(arms.BOOSTING, **better), noise=None, correlation=0.97)
    assert "correlate by 0.97" in wins(case)[0]


def test_page_shows_outcomes_wins_and_what_was_left_out(tmp_path):
    pytest.importorskip("matplotlib")
    record = _record(
        _case("toy", _row(arms.EXACT, **{"fit ratio": 30.0, "fit seconds": 30.0})),
        _case("electricity", _row(arms.BOOSTING, mnll=0.19, **{"mnll difference": -3.0}), noise=None),
    )
    (tmp_path / "peers.json").write_text(json.dumps(record))
    rows = [
        {"part": part, "rows": 10, "dimension": 2, "columns": 5, "arm": arm, "best": 1.0, "median": 2.0, **ratio}
        for part in page.PARTS
        for arm, ratio in (
            ("statistics, finufft", {"bare transforms": 1.25}),
            ("bare transform", {"bare transforms": 1.0}),
        )
    ]
    (tmp_path / "scaling.json").write_text(json.dumps({"quick": True, "versions": {"numpy": "2"}, "results": rows}))
    text = page.write(tmp_path).read_text()
    for words in ("| yes |", "| **no** |", "Where another method does better", "no data", "(`--quick`)", "1.25"):
        assert words in text
    for name in ("peers.png", "scaling.png"):
        assert (tmp_path / name).stat().st_size > 10_000
        assert name in text


def test_page_without_results_says_so(tmp_path):
    assert page.write(tmp_path).read_text().count("Not run.") == 2


@pytest.mark.parametrize(("value", "text"), [(0.01234, "0.0123"), (12.34, "12.3"), (1234.5, "1234")])
def test_numbers_have_no_exponent(value, text):
    assert number(value) == text


@pytest.mark.parametrize("dimension", [1, 3, 4])
def test_arms_of_scaling_run(dimension):
    rows = scaling.measure("dimension", *scaling.make_chain(50, dimension), 1.0, 27, n_turns=2, with_fit=False)
    names = [row["arm"] for row in rows]
    assert ("bare transform" in names) == ("statistics, finufft" in names) == (dimension <= 3)
    assert "statistics, dense" in names
    assert all(0 < row["best"] <= row["median"] for row in rows)


class TestOpenModels:
    @pytest.mark.parametrize("folder", [None, "empty"])
    def test_parts_without_data_are_left_out(self, folder, monkeypatch, tmp_path, capsys):
        monkeypatch.delenv("TORUSGP_DATA", raising=False)
        if folder is not None:
            monkeypatch.setenv("TORUSGP_DATA", str(tmp_path))
        open_models.main(["--results", str(tmp_path / "open.json")])
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in lines] == list(open_models.PARTS)
        for line, part in zip(lines, open_models.PARTS.values(), strict=True):
            assert "left out" in line
            assert part.FILE in line
        assert not (tmp_path / "open.json").exists()

    def test_both_processes_of_carbon_dioxide_have_the_same_kernel(self):
        X = np.random.default_rng(0).uniform(1958, 2004, (30, 1))
        model = resolve(co2.fourier_process().kernel, X)
        variances = np.array([term.variance for term in model.terms])
        scales = tuple(term.length_scale for term in model.terms)
        ours = SumKernel(model.torus, model.terms, scales, variances, model.period).gram(X, X)
        exact = co2.exact_process().kernel
        np.testing.assert_allclose(ours, exact.k1(X), rtol=1e-12)  # the second one is the noise

    def test_most_of_the_gap_of_a_made_star_is_cut_out(self, tmp_path):
        times = np.concatenate([np.arange(130, 220, 0.1), np.arange(700, 790, 0.1)])
        pd.DataFrame({"time": times, "flux_ppt": np.sin(times)}).to_csv(tmp_path / "star.csv", index=False)
        X, y = star.read(tmp_path / "star.csv")
        assert (X.time.iloc[0], np.diff(X.time).max()) == (0.0, pytest.approx(star.EMPTY))
        np.testing.assert_allclose(y, np.sin(times))

    def test_paired_differences_count_weeks(self):
        first = np.repeat([1.0, 3.0, 2.0], 7)
        mean, error = births.paired_difference(np.append(first, 99.0), np.zeros(22))  # a day of no whole week
        assert mean == pytest.approx(2.0)
        assert error == pytest.approx(1 / np.sqrt(3))


def test_simulated_series_of_correlated_noise_in_small_form():
    results = [simulations.simulate(kind, 140, seed) for seed, kind in enumerate(simulations.KINDS.values())]
    assert all(len(effects) == 2 and inside.shape == (6,) for effects, inside in results)
    assert all(0 <= share <= 1 for effects, _ in results for share in effects)
    assert np.mean([inside for _, inside in results]) > 0.7


def test_tidal_lines_are_told_by_their_multiples():
    hours = np.arange(24.0 * 120)
    day, month = tides.PERIODS["day"], tides.PERIODS["month"]
    level = np.cos(4 * np.pi * hours / day) + 0.3 * np.sin(2 * np.pi * hours * (1 / day - 1 / month))
    circles = [Circle("time", period) for period in tides.PERIODS.values()]
    level = level + 0.1 * np.random.default_rng(0).normal(size=len(hours))
    model = TorusGPRegressor(circles[0] * circles[1] * circles[2] * circles[3], n_components=101)
    found = tides.constituents(model.fit(pd.DataFrame({"time": hours}), level), hours.mean())
    assert [multiples for multiples, _, _ in found[:2]] == [(2, 0, 0), (1, -1, 0)]
    for (_, amplitude, error), truth in zip(found, (1.0, 0.3), strict=False):
        assert abs(amplitude - truth) < 5 * error < 0.1
    assert (len(tides.STANDARD.split()), len(tides.MORE.split())) == (37, 23)


def test_the_command_is_run_on_tables(tmp_path):
    """What the benchmark of tables reads of its answer is there."""
    hours = np.arange(24.0 * 10)
    demand = np.cos(2 * np.pi * hours / 24) + 0.1 * np.random.default_rng(0).normal(size=len(hours))
    np.savetxt(tmp_path / "data.csv", np.column_stack([hours, demand]), delimiter=",", header="t,y", comments="")
    words = ("--target", "y", "--period", "t=24", "--components", 15, "-o", tmp_path / "model.npz")
    content, seconds = tables.command("fit", tmp_path / "data.csv", *words)
    assert content["n_components"] <= 15
    assert {"r2", "mnll", "coverage"} <= set(content["holdout"])
    assert seconds > 0
