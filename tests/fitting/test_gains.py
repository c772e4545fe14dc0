"""What further columns would add to the evidence, against the evidence itself."""

import numpy as np
import pytest

from tests.engine.backends.devices import DEVICES, check_device
from tests.expressions import prior_of
from torusgp import Category, Circle, Line, Slope, TorusGPRegressor
from torusgp.engine.inference import evidences
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting import gains as module
from torusgp.fitting.gains import RowGains, RowModel, SumGains, gains, joint_gains, paying
from torusgp.fitting.prior import NOISE
from torusgp.fitting.rows import Compute, Rows, RowSource
from torusgp.kernels.candidates import Patterns
from torusgp.kernels.resolve import Layout

KERNELS = {
    "circles": Circle(0, 1.0, length_scale=0.5) * Circle(1, 1.0, length_scale=0.5),
    "line": Circle(0, 1.0) * Line(1, length_scale=0.3, range=(0, 1)),
    "category": Circle(0, 1.0) * Category(2, levels=(0, 1, 2)),
    "plain": Circle(0, 1.0) * Line(1, length_scale=0.3, range=(0, 1)) + Slope(1),
}
CHOSEN = np.array([[1, 0], [2, 0], [1, 1]])
CANDIDATES = np.array([[0, 1], [1, -1], [3, 0], [2, 1]])


def make_model(name, n_outputs=1, n_rows=200):
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(size=(n_rows, 2)), rng.integers(0, 3, n_rows)])
    y = rng.normal(size=(n_rows, n_outputs)) + np.cos(2 * np.pi * X[:, :1])
    prior, parameters = prior_of(KERNELS[name], noise=np.full(n_outputs, 0.4), intercept=True)
    coordinates, plain = Layout(prior.torus, tuple(one.input for one in prior.columns))(X)
    weight = rng.uniform(0.5, 2.0, n_rows)
    rows = Rows(coordinates, y, weight, rng.uniform(0.5, 2.0, n_rows), plain)
    return rows, prior, parameters


def statistics_of(rows, parameters, index_set):
    return SufficientStatistics.from_data(
        rows.X,
        rows.y,
        index_set,
        period=parameters.period,
        sample_weight=rows.sample_weight,
        noise_scale=rows.noise_scale,
        plain=rows.plain,
        backend="dense",
    )


def model_of(patterns, rows, prior, parameters, center=True):
    index_set = patterns.to_index_set()
    linear = statistics_of(rows, parameters, index_set).linear(index_set, center)[0]
    variances = prior.variances(parameters, index_set.frequencies)
    results = evidences(linear, variances, parameters[NOISE])
    log_evidence = sum(one.log_evidence for one in results)
    return RowModel(prior, center, index_set, parameters, results, rows), log_evidence


def row_gains(prior, center=True, **compute):
    return RowGains(lambda rows: RowSource(rows, prior, Compute(**compute), center, "learned"))


@pytest.mark.parametrize(("n_outputs", "center"), [(1, True), (2, True), (1, False)])
@pytest.mark.parametrize("name", KERNELS)
def test_gains_are_differences_of_the_evidence(name, n_outputs, center):
    """Each given the better ones, as far as these pay."""
    rows, prior, parameters = make_model(name, n_outputs)
    chosen = Patterns.of(CHOSEN, prior.torus)
    candidates = Patterns.of(CANDIDATES, prior.torus).without(chosen)
    model, before = model_of(chosen, rows, prior, parameters, center)
    true, left = np.full(len(candidates), np.nan), np.arange(len(candidates))
    grown = chosen
    while len(left):  # brute force: fit again with each
        gain = [model_of(grown + candidates.take([i]), rows, prior, parameters, center)[1] - before for i in left]
        true[left], best = gain, int(np.argmax(gain))
        if gain[best] <= 0:
            break
        grown, before, left = grown + candidates.take([left[best]]), before + gain[best], np.delete(left, best)
    from_rows = row_gains(prior, center)(candidates, model, len(candidates))
    pool = statistics_of(rows, parameters, (chosen + candidates).to_index_set())
    from_sums = SumGains(pool)(candidates, model, len(candidates))
    np.testing.assert_allclose(from_rows, true, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(from_sums, true, rtol=1e-8, atol=1e-8)
    assert len(left) < len(candidates)  # others were given the best


def test_candidates_that_show_the_same_do_not_gain_twice():
    rows, prior, parameters = make_model("circles")
    alike = rows.X[:, 0] + 0.01 * rows.X[:, 1]  # nearly the first input
    rows = Rows(np.column_stack([rows.X[:, 0], alike]), rows.y)
    model, _ = model_of(Patterns.none(prior.torus), rows, prior, parameters)
    candidates = Patterns.of(np.array([[0, 1], [1, 0]]), prior.torus)
    alone = np.array([row_gains(prior)(candidates.take([i]), model, 1)[0] for i in range(2)])
    gain = row_gains(prior)(candidates, model, 2)
    assert alone.min() > 0.9 * alone.max() > 10.0
    assert gain.max() == pytest.approx(alone.max())
    assert gain.min() < 0.05 * gain.max()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", KERNELS)
def test_gains_on_a_device_are_those_of_the_rows(name, device, monkeypatch):
    check_device(device)
    monkeypatch.setattr(module, "_FEW_ROWS", 150)
    monkeypatch.setattr(module, "_FEWER_ROWS", 100)
    rows, prior, parameters = make_model(name, 2)
    candidates = Patterns.of(CANDIDATES, prior.torus)
    model, _ = model_of(Patterns.of(CHOSEN, prior.torus), rows, prior, parameters)
    expected = row_gains(prior, backend="dense")(candidates, model, 4)
    found = row_gains(prior, backend="torch", device=device)(candidates, model, 4)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_only_the_best_are_looked_at_exactly(monkeypatch):
    monkeypatch.setattr(module, "_SHORTLIST", 1)
    rows, prior, parameters = make_model("circles")
    candidates = Patterns.of(CANDIDATES, prior.torus)
    model, _ = model_of(Patterns.of(CHOSEN, prior.torus), rows, prior, parameters)
    assert np.isfinite(row_gains(prior)(candidates, model, 2)).sum() == 2


def test_some_rows_tell_what_the_model_has_of_a_candidate(monkeypatch):
    rows, prior, parameters = make_model("line", n_rows=4000)
    candidates = Patterns.of(CANDIDATES, prior.torus)
    model, _ = model_of(Patterns.of(CHOSEN, prior.torus), rows, prior, parameters)
    exact = row_gains(prior)(candidates, model, 4)
    monkeypatch.setattr(module, "_FEW_ROWS", 2000)
    np.testing.assert_allclose(row_gains(prior)(candidates, model, 4), exact, rtol=0.3, atol=2.0)


@pytest.mark.parametrize("name", KERNELS)
def test_what_does_not_pay_is_dropped_one_by_one(name):
    rows, prior, parameters = make_model(name)
    patterns = Patterns.of(np.vstack([CHOSEN, CANDIDATES]), prior.torus)
    model, before = model_of(patterns, rows, prior, parameters)
    expected = np.ones(len(patterns), dtype=bool)
    while expected.any():  # brute force: fit again without each
        left = np.flatnonzero(expected)
        without = [model_of(patterns.take(np.delete(left, i)), rows, prior, parameters)[1] for i in range(len(left))]
        worst = int(np.argmax(without))
        if before - without[worst] >= 1.0:
            break
        expected[left[worst]], before = False, without[worst]
    np.testing.assert_array_equal(paying(model.results, patterns.columns(), price=1.0), expected)
    assert not expected.all()


def test_columns_that_the_prior_rules_out_do_not_pay():
    rows, prior, parameters = make_model("circles")
    patterns = Patterns.of(np.array([[1, 0], [900, 0]]), prior.torus)
    model, _ = model_of(patterns, rows, prior, parameters)
    assert paying(model.results, patterns.columns(), 0.5).tolist() == [True, False]


@pytest.mark.parametrize("sizes", [(2, 338), (40, 40, 300), (700, 2)])
def test_groups_of_any_size_gain_what_they_gain_one_after_another(sizes):
    """Two categories of 14 levels interact in 338 columns: many times what groups have that came before."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(sum(sizes), sum(sizes))) / np.sqrt(sum(sizes))
    precision, moments = half @ half.T, 5 * rng.normal(size=sum(sizes))
    ends = np.cumsum(sizes)
    groups = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    found = joint_gains([(moments, precision)], groups, len(groups))

    def total(some):
        chosen = np.concatenate([groups[i] for i in some])
        return gains(moments[None, chosen], precision[None, chosen[:, None], chosen], np.ones(1))[0]

    order, expected = [], np.empty(len(groups))
    while len(order) < len(groups):
        before = total(order) if order else 0.0
        left = [i for i in range(len(groups)) if i not in order]
        gain = {i: total([*order, i]) - before for i in left}
        best = max(gain, key=gain.__getitem__)
        order.append(best)
        expected[best] = gain[best]
    assert (expected > 0).all()
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("levels", [(35, 3), pytest.param((14, 14), marks=pytest.mark.slow)])
def test_categories_of_many_levels_interact(levels):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(size=(300, 2)), *(rng.integers(0, n, 300) for n in levels)])
    y = 3 * X[:, 0] + rng.normal(size=levels[0])[X[:, 2].astype(int)] + 0.1 * rng.normal(size=300)
    kernel = Line(0) * Line(1) * Category(2) * Category(3)
    model = TorusGPRegressor(kernel, index_set="learned", n_components=601).fit(X, y)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.95
