"""The benchmark of periods in a smaller form: a few seeds of each part, and checks of the bound that it judges by."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("benchmarks.periods", reason="the benchmarks come with a checkout, not with the source package")

from benchmarks.periods import lattices, nulls, series, textures
from benchmarks.periods.bounds import cell_covariance, frequency_covariance, judge_cell

CORRELATED = ("sheet", "smooth-field")  # seconds each: much stands out of the noise and has to be judged
SIDE = 60  # pixels of the images on which the bound is checked


def estimate(signal, X, y, n_steps=5):
    """G by Gauss-Newton steps from the true one, weights fitted anew at each."""
    for _ in range(n_steps):
        columns = signal.columns(X)
        weights = np.linalg.lstsq(columns, y, rcond=None)[0]
        signal = replace(signal, offset=weights[0], weights=weights[1:].reshape(2, -1).T)
        full = np.hstack([signal.jacobian(X), columns])
        step = np.linalg.lstsq(full, y - signal(X), rcond=None)[0][: signal.G.size]
        signal = replace(signal, G=signal.G + step.reshape(signal.G.shape))
    return signal.G


@pytest.mark.parametrize("kind", lattices.KINDS)
def test_jacobian_is_the_finite_difference(kind):
    X, _, signal, _ = lattices.make_image(kind, seed=0, side=SIDE)
    jacobian = signal.jacobian(X)
    step = 1e-6  # cycles per pixel: a phase changes by 4e-4 over the image, its cube is below the tolerance
    for entry in range(signal.G.size):
        shift = step * np.eye(signal.G.size)[entry].reshape(signal.G.shape)
        difference = replace(signal, G=signal.G + shift)(X) - replace(signal, G=signal.G - shift)(X)
        np.testing.assert_allclose(difference / (2 * step), jacobian[:, entry], atol=1e-6 * np.abs(jacobian).max())


@pytest.mark.parametrize(("kind", "seed"), [("hexagonal", 0), ("oblique", 1)])
def test_least_squares_reaches_the_bound_of_the_cell(kind, seed):
    X, _, signal, noise_std = lattices.make_image(kind, seed, side=SIDE)
    covariance = cell_covariance(signal, X, noise_std)
    rng = np.random.default_rng(0)
    cell = np.linalg.inv(signal.G)
    errors = []
    for _ in range(60):
        y = signal(X) + noise_std * rng.normal(size=len(X))
        errors.append((np.linalg.inv(estimate(signal, X, y)) - cell).ravel())
    squares = np.einsum("ni,ij,nj->n", errors, np.linalg.inv(covariance), errors) / cell.size
    assert squares.mean() == pytest.approx(1, abs=4 * np.sqrt(2 / cell.size / len(errors)))  # four deviations


def test_least_squares_reaches_the_bound_of_two_periods():
    times, _, signal, noise_std, _ = series.make_series("two-periods", seed=0)
    X = times[:, None]
    covariance = frequency_covariance(signal, X, noise_std)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(100):
        y = signal(X) + noise_std * rng.normal(size=len(X))
        errors.append((estimate(signal, X, y) - signal.G).ravel())
    squares = np.einsum("ni,ij,nj->n", errors, np.linalg.inv(covariance), errors) / 2
    assert squares.mean() == pytest.approx(1, abs=4 * np.sqrt(2 / 2 / len(errors)))


def test_judgement_knows_bases_sublattices_and_small_errors():
    X, _, signal, noise_std = lattices.make_image("oblique", seed=0, side=SIDE)
    cell, covariance = np.linalg.inv(signal.G), cell_covariance(signal, X, noise_std)
    other_basis = np.array([[2, 1], [1, 1]]) @ cell
    assert judge_cell(other_basis, cell, covariance)["success"]
    assert judge_cell(other_basis * 1.0019, cell, covariance)["success"]
    tiny = 1e-12 * covariance
    assert not judge_cell(other_basis * 1.0021, cell, tiny)["success"]
    for change in (np.diag([2, 1]), np.diag([1, 0.5]), np.array([[1, 0.5], [0, 1]])):
        judgement = judge_cell(change @ cell, cell, covariance)
        assert not judgement["success"]
        assert "another lattice" in judgement["failure"]


def test_errors_of_two_periods_do_not_depend_on_the_order():
    true = np.array([2.0, 1.0])
    for found in ([2.002, 1.0], [1.0, 2.002], [1.0, 2.002, 7.0]):
        np.testing.assert_allclose(series.relative_errors(found, true), [0.001, 0], atol=1e-12)
    assert np.isinf(series.relative_errors([2.0], true)).any()


@pytest.mark.parametrize(("kind", "seed"), [("square", 0), ("oblique", 1)], ids=["square-random", "oblique-hole"])
def test_lattice_is_found(kind, seed):
    row = lattices.measure(kind, seed)
    assert row["success"], row["failure"]
    assert row["error_over_bound"] < 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", lattices.KINDS)
def test_lattices_are_found(kind):
    rows = [lattices.measure(kind, seed) for seed in range(10)]
    assert all(row["success"] for row in rows), [row["failure"] for row in rows]
    # efficient: the errors are those of the bound, not only within the tolerance
    assert np.sqrt(np.mean([row["error_over_bound"] ** 2 for row in rows])) < 1.6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", series.KINDS)
def test_two_periods_are_found(kind, seed):
    row = series.measure(kind, seed, lomb_scargle=False)
    assert row["success"], row["failure"]


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind.startswith(CORRELATED) else ()) for kind in nulls.KINDS]
)
def test_nothing_is_reported_where_there_is_nothing(kind):
    row = nulls.measure(kind, seed=0)
    assert row["success"], row["failure"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", nulls.KINDS)
def test_false_alarms_are_rare(kind):
    rows = [nulls.measure(kind, seed) for seed in range(1, 21)]
    alarms = [row["failure"] for row in rows if not row["success"]]
    assert len(alarms) <= 2, alarms  # a rate of 2 % gives more than 2 in 20 with probability 0.7 %


@pytest.mark.slow
@pytest.mark.skipif(bool(textures.missing()), reason=textures.missing() or "the data are there")
@pytest.mark.parametrize("kind", textures.KINDS)
def test_texture_is_filled_in_at_least_as_well_as_in_the_paper(kind):
    row = textures.measure(kind, 0, 793, "")
    rmse, mnll = textures.PAPER[kind]
    assert row["rmse"] <= rmse
    assert row["mnll"] <= mnll
