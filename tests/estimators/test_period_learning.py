"""The regressor with a period that is found or learned, and with slow change beside it."""

import numpy as np
import pytest
from sklearn.base import clone

from tests.expressions import circles
from torusgp import Circle, Line, Slope, TorusGPRegressor
from torusgp.estimators.short_form import slow_change
from torusgp.fitting.problem import LEARNABLE
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.lattices import canonical_signs, shortest_basis
from torusgp.kernels.spectra import Heat

STANDARD_ERRORS = 4  # within which an estimate has to lie
OPTIMUM = 1e-3  # of the largest prediction: where two climbs to the same maximum of the evidence stop
WITH_PERIOD, WITH_LATTICE = (*LEARNABLE[:3], "period"), (*LEARNABLE[:3], "lattice")
PERIOD = 4.7
CELL = np.array([[3.0, 0.4], [-0.5, 2.2]])


def make_series(n=150, slope=0.05, n_outputs=None, seed=0):
    """Rows over 60 units of a function of period 4.7 beside a line; outputs differ in phase."""
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 60, (n, 1))
    phase = 2 * np.pi * t / PERIOD + np.arange(n_outputs or 1)
    y = 3 + slope * t + np.sin(phase) + 0.6 * np.cos(2 * phase) + 0.2 * rng.normal(size=phase.shape)
    return t, y if n_outputs else y[:, 0]


def make_plane(n=200, seed=0):
    """Rows of a function of period 24 along the first input and 7 along the second, beside a line."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2)) * [90, 50]
    u, v = 2 * np.pi * (X / [24, 7]).T
    return X, np.sin(u) * (1 + 0.5 * np.sin(v)) + np.cos(v) + X @ [0.02, -0.01] + 0.2 * rng.normal(size=n)


def make_lattice(n=250, seed=0):
    """Rows of a function on an oblique lattice."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 20, (n, 2))
    u, v = 2 * np.pi * np.linalg.solve(CELL.T, X.T)
    return X, np.sin(u) + np.cos(v) + np.cos(u + v) + 0.2 * rng.normal(size=n)


def assert_close(found, expected, std):
    assert (np.abs(found - expected) <= STANDARD_ERRORS * np.asarray(std)).all()


DATA = {
    "series": (make_series(), {}),
    "two outputs": (make_series(n_outputs=2), {}),
    "plane": (make_plane(), {}),
    "one of two inputs": (
        (np.hstack([make_series()[0] % 1, make_series()[0]]), make_series()[1]),
        {
            "kernel": Circle(1, "auto") + Line(1, "matern52", length_scale_bounds=(15.0, 600.0)) + Slope(1),
            "period": None,
        },
    ),
}


@pytest.fixture(scope="module", params=DATA)
def fitted(request):
    """A model with a found period and slow change, and points to predict at, within the data and around them."""
    (X, y), parameters = DATA[request.param]
    model = TorusGPRegressor(**{"period": "auto", "n_components": 61} | parameters).fit(X, y)
    points = np.random.default_rng(9).uniform(X.min(axis=0) - 3, X.max(axis=0) + 3, (12, X.shape[1]))
    return model, points


@pytest.fixture(scope="module")
def series():
    return TorusGPRegressor(period="auto", n_components=31).fit(*make_series())


@pytest.fixture(scope="module")
def lattice():
    return TorusGPRegressor(period="auto", learn=WITH_LATTICE).fit(*make_lattice())


# --- periods that are found --------------------------------------------------------------------------------------


def test_a_period_is_found_and_used(series):
    (found,) = series.period_search_
    assert series.period_ == found.period
    assert series.period_std_ == found.period_std
    assert_close(series.period_, PERIOD, series.period_std_)
    assert series.score(*make_series(seed=1)) > 0.9


def test_found_and_given_period_are_the_same_model(series):
    X, y = make_series()
    expression = Circle(0, series.period_) + slow_change(X)
    given = TorusGPRegressor(expression, index_set=series.index_set_).fit(X, y)
    np.testing.assert_allclose(series.predict(X), given.predict(X), atol=OPTIMUM * np.abs(y).max())
    assert series.log_marginal_likelihood_ == pytest.approx(given.log_marginal_likelihood_, abs=0.01)


def test_periods_along_two_inputs_are_found():
    model = TorusGPRegressor(period="auto", n_components=61).fit(*make_plane())
    assert_close(model.period_, [24, 7], model.period_std_)
    assert model.score(*make_plane(seed=1)) > 0.85


def test_what_is_known_of_two_inputs_stays():
    model = TorusGPRegressor(period=[24, "auto"], learn=WITH_PERIOD, n_components=101).fit(*make_plane())
    assert model.period_[0] == pytest.approx(24, rel=1e-12)
    assert model.period_std_[0] == 0
    assert_close(model.period_[1], 7, model.period_std_[1])
    assert 0 < model.period_std_[1] < 0.1


def test_superposed_periods_of_one_input_are_found():
    X, y = make_series(200)
    y = y + 0.8 * np.sin(2 * np.pi * X[:, 0] / 11.9)
    model = TorusGPRegressor(Circle(0, "auto") * Circle(0, 11.9) + Slope(0), n_components=101).fit(X, y)
    assert model.period_[1] == 11.9
    assert_close(model.period_[0], PERIOD, model.period_std_[0])
    assert model.score(X, y) > 0.95


def test_the_period_moves_with_the_units(series):
    X, y = make_series()
    moved = TorusGPRegressor(period="auto", n_components=31).fit(60 * X + 5, 10 * y - 3)
    assert moved.period_ == pytest.approx(60 * series.period_, rel=1e-4)
    assert moved.period_std_ == pytest.approx(60 * series.period_std_, rel=0.01)
    np.testing.assert_allclose(moved.predict(60 * X + 5), 10 * series.predict(X) - 3, atol=0.02)


def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X = np.arange(80.0)[:, None]  # on a grid, the highest frequency does not depend on the number of rows
    y = np.sin(2 * np.pi * X[:, 0] / 9.3) + 0.02 * X[:, 0] + 0.2 * rng.normal(size=80)
    counts = rng.integers(1, 4, 80)
    model = TorusGPRegressor(period="auto", n_components=15)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.period_ == pytest.approx(repeated.period_, rel=1e-4)
    for one, other in zip(weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, atol=0.01)


def test_rows_of_known_large_noise_do_not_hide_the_period():
    X, y = make_series()
    rng = np.random.default_rng(1)
    scale = np.where(rng.uniform(size=len(X)) < 0.2, 50.0, 1.0)
    noisy = y + np.where(scale > 1, 15 * rng.normal(size=len(X)), 0)
    model = TorusGPRegressor(period="auto", n_components=31).fit(X, noisy, noise_scale=scale)
    assert_close(model.period_, PERIOD, model.period_std_)
    assert model.score(X, y) > 0.9


def test_nothing_else_is_learned_if_nothing_is_to_be():
    X, y = make_series()
    model = TorusGPRegressor(period="auto", learn=(), length_scale=0.7, noise_variance=0.05).fit(X, y)
    assert model.period_ == model.period_search_[0].period
    assert model.kernel_.length_scale["x0"] == 0.7
    assert model.noise_variance_ == 0.05


def test_another_fit_forgets_the_search():
    X, y = make_series()
    model = TorusGPRegressor(period="auto", learn=()).fit(X, y)
    model.set_params(period=PERIOD).fit(X, y)
    assert not hasattr(model, "period_search_")
    assert not hasattr(model, "period_std_")
    assert model.term_names_ == ("x0",)


# --- periods that are learned ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learned():
    """A model that learned its period from a start four standard errors off, and its rows."""
    X, y = make_series(slope=0.0)
    return TorusGPRegressor(period=4.715, learn=WITH_PERIOD, n_components=31).fit(X, y), X, y


def test_a_period_is_learned_from_nearby(learned):
    model, _, _ = learned
    assert_close(model.period_, PERIOD, model.period_std_)
    assert 0 < model.period_std_ < 0.01


def evidence_at(model, period, X, y):
    """Log evidence of the model as it was learned, with another period."""
    kernel = circles(period, length_scale=model.kernel_.length_scale, variance=model.signal_variance_)
    same = {"noise_variance": model.noise_variance_, "index_set": model.index_set_}
    return TorusGPRegressor(kernel, learn=(), **same).fit(X, y).log_marginal_likelihood_


def test_the_evidence_falls_by_one_half_at_one_standard_error(learned):
    model, X, y = learned
    best = evidence_at(model, model.period_, X, y)
    assert best == pytest.approx(model.log_marginal_likelihood_, abs=1e-6)
    drops = [best - evidence_at(model, model.period_ + side * model.period_std_, X, y) for side in (1, -1)]
    assert np.mean(drops) == pytest.approx(0.5, abs=0.02)
    assert drops[0] == pytest.approx(drops[1], abs=0.1)  # no slope is left at the maximum


def test_starts_nearby_lead_to_the_same_period(learned):
    model, X, y = learned
    other = TorusGPRegressor(period=4.69, learn=WITH_PERIOD, n_components=31).fit(X, y)
    assert other.period_ == pytest.approx(model.period_, abs=0.1 * model.period_std_)
    assert other.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_, abs=0.05)


def test_learning_after_the_search_agrees_with_it(series):
    X, y = make_series()
    model = TorusGPRegressor(period="auto", learn=WITH_PERIOD, n_components=31).fit(X, y)
    assert model.period_ != series.period_
    assert model.period_ == pytest.approx(series.period_, abs=series.period_std_)
    assert model.period_std_ == pytest.approx(series.period_std_, rel=0.3)
    assert model.log_marginal_likelihood_ >= series.log_marginal_likelihood_ - 1e-3


@pytest.mark.parametrize("backend", ["dense", "finufft"])
def test_periods_of_several_outputs_and_inputs_are_learned(backend):
    X, y = make_plane()
    both = np.column_stack([y, np.roll(y, 1)])
    both[:, 1] = np.cos(2 * np.pi * X[:, 0] / 24) + 0.2 * np.random.default_rng(3).normal(size=len(X))
    model = TorusGPRegressor(period=[24.1, 6.98], learn=WITH_PERIOD, n_components=61, backend=backend).fit(X, both)
    assert model.period_.shape == model.period_std_.shape == (2,)
    assert_close(model.period_, [24, 7], model.period_std_)


def test_superposed_periods_are_learned_together():
    X, y = make_series(slope=0.0)
    y = y + 0.8 * np.sin(2 * np.pi * X[:, 0] / 11.9)
    free = [Circle(0, period, period_bounds=(0.9 * period, 1.1 * period)) for period in (4.71, 11.8)]
    model = TorusGPRegressor(free[0] * free[1], n_components=61).fit(X, y)
    assert_close(model.period_, [PERIOD, 11.9], model.period_std_)
    assert (model.period_std_ < [0.01, 0.1]).all()


def test_everything_but_the_period_can_be_kept():
    X, y = make_series(slope=0.0)
    kernel = 1.5 * Circle(0, 4.71, length_scale=0.8, period_bounds=(4.0, 5.0))
    model = TorusGPRegressor(kernel, learn=(), n_components=31, noise_variance=0.04).fit(X, y)
    assert (model.kernel_.length_scale, model.signal_variance_, model.noise_variance_) == (0.8, 1.5, 0.04)
    assert_close(model.period_, PERIOD, model.period_std_)


def test_a_given_set_of_frequencies_is_kept():
    X, y = make_series(slope=0.0)
    model = TorusGPRegressor(period=4.71, learn=WITH_PERIOD, index_set=tensor(1, 5)).fit(X, y)
    assert model.index_set_ == tensor(1, 5)
    assert_close(model.period_, PERIOD, model.period_std_)


# --- lattices ----------------------------------------------------------------------------------------------------


def test_a_lattice_is_found_and_learned(lattice):
    cell = lattice.period_
    change = cell @ np.linalg.inv(CELL)
    np.testing.assert_allclose(change, np.rint(change), atol=0.02)
    assert abs(round(np.linalg.det(change))) in (1, 2)  # a basis of it, or the centred cell
    assert_close(cell, np.rint(change) @ CELL, lattice.period_std_)
    assert (lattice.period_std_ > 0).all()
    assert lattice.score(*make_lattice(seed=1)) > 0.9


def test_a_learned_cell_is_in_canonical_form(lattice):
    cell = lattice.period_
    assert np.linalg.norm(cell[0]) < np.linalg.norm(cell[1])
    np.testing.assert_array_equal(canonical_signs(cell), cell)


@pytest.fixture(scope="module")
def cartesian():
    """Models of a Cartesian family that started from several bases of one lattice, a little too large."""
    X, y = make_lattice(200)
    bases = [np.eye(2), [[1, 1], [0, 1]], [[0, -1], [1, 1]]]
    models = [
        TorusGPRegressor(
            Heat("cartesian"),
            period=1.002 * np.array(basis) @ CELL,
            length_scale=0.8,
            n_components=61,
            learn=WITH_LATTICE,
        ).fit(X, y)
        for basis in bases
    ]
    return models, bases, X


def test_a_cartesian_model_does_not_depend_on_the_basis(cartesian):
    (first, *others), _, X = cartesian
    mean, std = first.predict(X, return_std=True)
    for other in others:
        assert other.log_marginal_likelihood_ == pytest.approx(first.log_marginal_likelihood_, abs=1e-3)
        same = other.predict(X, return_std=True)
        np.testing.assert_allclose(same[0], mean, atol=OPTIMUM * np.abs(mean).max())
        np.testing.assert_allclose(same[1], std, rtol=OPTIMUM)


def test_learned_cells_span_one_lattice_in_canonical_form(cartesian):
    models, _, _ = cartesian
    reference = shortest_basis(models[0].period_)
    for model in models:
        cell = model.period_
        np.testing.assert_allclose(shortest_basis(cell), reference, atol=1e-3)
        assert np.linalg.norm(cell[0]) < np.linalg.norm(cell[1])
        np.testing.assert_array_equal(canonical_signs(cell), cell)
        change = np.rint(cell @ np.linalg.inv(CELL))
        assert_close(cell, change @ CELL, model.period_std_)


def test_standard_errors_do_not_depend_on_the_basis(cartesian):
    models, _, _ = cartesian
    shared = [model.period_std_[np.abs(model.period_[:, 0] - 0.5).argmin()] for model in models[:2]]
    np.testing.assert_allclose(shared[0], shared[1], rtol=0.01)


def test_periods_along_the_inputs_become_a_cell():
    X, y = make_plane()
    model = TorusGPRegressor(period=[24.1, 6.98], learn=WITH_LATTICE, n_components=61).fit(X, y)
    cell = model.period_
    assert_close(cell, [[0, -7], [24, 0]], model.period_std_)


def test_length_scales_stay_with_their_lattice_vectors():
    X, y = make_lattice()
    fixed = {"learn": ("lattice",), "n_components": 101, "noise_variance": 0.04}
    long_first = TorusGPRegressor(period=CELL, length_scale=[0.7, 1.0], **fixed).fit(X, y)
    short_first = TorusGPRegressor(period=CELL[::-1], length_scale=[1.0, 0.7], **fixed).fit(X, y)
    np.testing.assert_array_equal(long_first.kernel_.length_scale, [1.0, 0.7])
    np.testing.assert_allclose(long_first.period_, short_first.period_, atol=1e-4)
    np.testing.assert_allclose(long_first.predict(X), short_first.predict(X), atol=OPTIMUM)


# --- grids -------------------------------------------------------------------------------------------------------


def test_no_harmonic_is_faster_than_a_grid_can_show():
    t = np.arange(70.0)[:, None]
    y = ((t[:, 0] % 7.3) < 3) + 0.1 * np.random.default_rng(0).normal(size=70)
    model = TorusGPRegressor("matern12", period="auto").fit(t, y)
    harmonics = model.index_set_.frequencies[:, 0]  # the other axis is that of slow change
    assert harmonics.max() / model.period_ <= 0.5
    assert harmonics.max() == int(model.period_ / 2)


@pytest.mark.filterwarnings("ignore:The .* components leave out")  # pixels show no more of a sharp edge
@pytest.mark.parametrize("index_set", ["adaptive", "tensor"])
def test_no_wave_of_a_lattice_is_faster_than_pixels_can_show(index_set):
    X = np.stack(np.meshgrid(np.arange(20.0), 0.5 * np.arange(24.0)), axis=-1).reshape(-1, 2)
    cell = np.array([[4.1, 0.6], [-0.7, 3.3]])
    u, v = 2 * np.pi * np.linalg.solve(cell.T, X.T)
    y = (np.cos(u) + np.cos(v) > 0.5) + 0.1 * np.random.default_rng(0).normal(size=len(X))
    model = TorusGPRegressor(
        period=cell, learn=WITH_LATTICE, index_set=index_set, n_components=121, length_scale=0.3
    ).fit(X, y)
    waves = model.index_set_.frequencies @ np.linalg.inv(model.period_).T
    assert (np.abs(waves) <= np.array([0.5, 1.0]) * (1 + 1e-6)).all()


def test_a_set_that_was_given_is_used_as_it_is():
    t = np.arange(100.0)[:, None]
    y = np.sin(2 * np.pi * t[:, 0] / 9.3) + 0.1 * np.random.default_rng(0).normal(size=100)
    model = TorusGPRegressor(period="auto", index_set=hyperbolic_cross(2, 8)).fit(t, y)
    assert model.index_set_ == hyperbolic_cross(2, 8)
    model.set_params(learn=WITH_PERIOD).fit(t, y)
    assert model.index_set_ == hyperbolic_cross(2, 8)
    assert_close(model.period_, 9.3, model.period_std_)


# --- predictions with slow change --------------------------------------------------------------------------------


def test_a_shift_by_the_period_changes_slow_parts_only(fitted):
    model, points = fitted
    shift = np.zeros(points.shape[1])
    shift[-np.size(model.period_) :] = model.period_
    parts = [model.predict_parts(where) for where in (points + shift, points)]
    change = model.predict(points + shift) - model.predict(points)
    np.testing.assert_allclose(parts[0][:, 0], parts[1][:, 0], atol=1e-8)
    np.testing.assert_allclose((parts[0] - parts[1])[:, 1:].sum(axis=1), change, atol=1e-8)
    assert np.abs(change).max() > 0.01


@pytest.mark.filterwarnings("ignore:.* points lie beyond the range")  # each on its own, so they are right
def test_standard_deviations_are_the_diagonal_of_the_covariance(fitted):
    model, points = fitted
    for include_noise in (True, False):
        mean, std = model.predict(points, return_std=True, include_noise=include_noise)
        same, covariance = model.predict(points, return_cov=True, include_noise=include_noise)
        variance = np.einsum("nn...->n...", covariance)
        np.testing.assert_allclose(std**2, variance, rtol=1e-6)
        np.testing.assert_allclose(mean, same, atol=1e-8)
        np.testing.assert_allclose(mean, model.predict(points), atol=1e-8)


def test_slow_parts_are_uncertain_too(fitted):
    model, points = fitted
    _, std = model.predict_parts(points, return_std=True)
    assert (std[:, 1] > 0).all()
    far = points + 200.0 * np.isin(np.arange(points.shape[1]), np.arange(points.shape[1])[-np.size(model.period_) :])
    near = model.predict(points, return_std=True, include_noise=False)[1]
    assert (model.predict(far, return_std=True, include_noise=False)[1] > 1.5 * near).all()


def test_gradient_is_the_difference_of_the_prediction(fitted):
    model, points = fitted
    gradient, step = model.predict_gradient(points), 1e-5
    assert gradient.shape[:2] == points.shape
    for d, shift in enumerate(step * np.eye(points.shape[1])):
        difference = (model.predict(points + shift) - model.predict(points - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[:, d], difference, atol=1e-5)


def test_variance_of_the_gradient_is_the_mixed_difference_of_the_covariance(fitted):
    model, points = fitted
    _, std = model.predict_gradient(points, return_std=True)
    step, n = 1e-3, len(points)
    for d, shift in enumerate(step * np.eye(points.shape[1])):
        both = np.vstack([points + shift, points - shift])
        _, covariance = model.predict(both, return_cov=True, include_noise=False)
        # what the set leaves out has no slope that is known: it is counted as independent between points
        covariance = (covariance.T - np.eye(2 * n) * np.reshape(model.fitted_.rest_variance, (-1, 1, 1))).T
        covariance = covariance.reshape(covariance.shape[:2] + std.shape[2:])
        ahead, behind, mixed = covariance[:n, :n], covariance[n:, n:], covariance[:n, n:]
        variance = np.einsum("nn...->n...", ahead + behind - 2 * mixed) / (2 * step) ** 2
        np.testing.assert_allclose(std[:, d] ** 2, variance, rtol=1e-3, atol=1e-8)


def test_draws_have_the_mean_and_the_covariance_of_the_prediction(fitted):
    model, points = fitted
    draws = model.sample_y(points, 4000, random_state=0).reshape(12, -1, 4000)
    mean, covariance = model.predict(points, return_cov=True, include_noise=False)
    mean, covariance = mean.reshape(12, -1), covariance.reshape(12, 12, -1)
    covariance = covariance - np.eye(12)[..., None] * model.fitted_.rest_variance  # draws are of the set's functions
    for output in range(mean.shape[1]):
        scale = np.sqrt(np.diag(covariance[..., output]).max())
        np.testing.assert_allclose(draws[:, output].mean(axis=1), mean[:, output], atol=0.08 * scale)
        np.testing.assert_allclose(np.cov(draws[:, output]), covariance[..., output], atol=0.12 * scale**2)


def test_the_same_state_draws_the_same_functions_at_any_points(fitted):
    model, points = fitted
    whole, part = (model.sample_y(where, 3, random_state=1) for where in (points, points[4:]))
    np.testing.assert_allclose(part, whole[4:], atol=1e-8)


def test_an_expression_has_no_slow_change_but_what_it_says():
    X, y = make_series(slope=0.0)
    model = TorusGPRegressor(Circle(0, "auto"), learn=()).fit(X, y)
    assert model.term_names_ == ("x0",)
    np.testing.assert_allclose(model.predict(X + model.period_), model.predict(X), atol=1e-8)


def test_a_given_period_has_no_slow_change():
    X, y = make_series()
    assert TorusGPRegressor(period=PERIOD, learn=()).fit(X, y).term_names_ == ("x0",)
    assert len(TorusGPRegressor(period="auto", learn=()).fit(X, y).term_names_) == 3


def test_slow_change_explains_what_does_not_repeat(series):
    X, y = make_series()
    flat = TorusGPRegressor(period=series.period_, n_components=31).fit(X, y)
    assert series.noise_variance_ == pytest.approx(0.04, rel=0.4)
    assert flat.noise_variance_ > 5 * series.noise_variance_
    ends = series.predict_parts([[5.0], [55.0]])[:, 1:].sum(axis=1)
    assert (ends[1] - ends[0]) / 50 == pytest.approx(0.05, abs=0.01)


# --- storage and scikit-learn ------------------------------------------------------------------------------------


def assert_same_predictions(one, other, points):
    for first, second in zip(one.predict(points, return_std=True), other.predict(points, return_std=True), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)
    np.testing.assert_allclose(one.predict_gradient(points), other.predict_gradient(points), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.sample_y(points, 2, 0), other.sample_y(points, 2, 0), rtol=1e-9)


def test_a_file_holds_period_and_slow_change(fitted, tmp_path):
    model, points = fitted
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    assert_same_predictions(model, loaded, points)
    np.testing.assert_array_equal(loaded.period_, model.period_)
    np.testing.assert_array_equal(loaded.period_std_, model.period_std_)
    assert type(loaded.period_std_) is type(model.period_std_)
    assert str(loaded.get_params()) == str(model.get_params())
    assert loaded.log_marginal_likelihood_ == pytest.approx(model.log_marginal_likelihood_)


def test_a_file_holds_a_learned_cell(lattice, tmp_path):
    lattice.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    assert_same_predictions(lattice, loaded, make_lattice(20, seed=3)[0])
    np.testing.assert_array_equal(loaded.period_, lattice.period_)
    np.testing.assert_array_equal(loaded.period_std_, lattice.period_std_)


@pytest.mark.parametrize("unknown", ["auto", None])
def test_a_file_holds_a_period_that_is_known_in_part(unknown, tmp_path):
    X, y = make_plane()
    model = TorusGPRegressor(period=[24, unknown], learn=(), n_components=31, noise_variance=0.5).fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = TorusGPRegressor.load(tmp_path / "model.npz")
    assert list(loaded.period) == [24, unknown]
    assert_same_predictions(model, loaded, X[:10])


def test_progress_goes_to_a_function_that_is_not_saved(tmp_path):
    lines = []
    model = TorusGPRegressor(period="auto", learn=WITH_PERIOD, n_components=31, verbose=lines.append)
    model.fit(*make_series())
    assert any("sinusoids stand out" in line for line in lines)
    assert any("components, log evidence" in line for line in lines)
    assert any(line.startswith("period [4.") for line in lines)
    model.save(tmp_path / "model.npz")
    assert TorusGPRegressor.load(tmp_path / "model.npz").verbose == 0


def test_a_clone_learns_the_same(series):
    copy = clone(series)
    assert copy.get_params() == series.get_params()
    X, y = make_series()
    np.testing.assert_array_equal(copy.fit(X, y).predict(X), series.predict(X))


# --- what cannot work --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"period": "auto"},
        {"period": ["auto"]},
        {"period": 5.0, "learn": ("period",)},
        {"period": 5.0, "learn": ("lattice",)},
        {"kernel": Circle(0, "auto")},
        {"kernel": Circle(0, 5.0, period_bounds=(4.0, 6.0))},
    ],
)
def test_rows_that_come_in_parts_tell_no_period(parameters):
    with pytest.raises(ValueError, match=r"partial_fit cannot learn (a|the) period"):
        TorusGPRegressor(**parameters).partial_fit(*make_series())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"period": "auto", "learn": ("period", "lattice")}, "learn holds both 'period' and 'lattice'"),
        ({"period": np.eye(2), "learn": ("period",)}, "learn holds 'period', but period is a cell"),
        ({"period": "weekly"}, "period must be numbers or 'auto', got 'weekly'"),
        ({"period": [24, "auto"], "learn": ("lattice",)}, "learn holds 'lattice', which needs period='auto'"),
        ({"period": [24, "auto", 7]}, "period of length 3 cannot describe 2 periodic"),
        ({"kernel": circles([1.0, 1.0]) + Circle(0, "auto") * Circle(0, "auto") * Circle(1, "auto")}, "has several"),
    ],
)
def test_what_makes_no_sense_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        TorusGPRegressor(**parameters).fit(*make_plane())


def test_noise_has_no_period_to_find():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"period='auto' found 0 of 1 periods: nothing repeats"):
        TorusGPRegressor(period="auto").fit(rng.uniform(0, 60, (150, 1)), rng.normal(size=150))


def test_a_walk_has_no_period_to_find():
    y = np.cumsum(np.random.default_rng(0).normal(size=150))
    with pytest.raises(ValueError, match=r"period='auto' found 0 of 1 periods"):
        TorusGPRegressor(period="auto").fit(np.arange(150.0)[:, None], y)


def test_a_faint_period_is_taken_with_a_warning():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 60, (150, 1))
    y = np.sin(2 * np.pi * t[:, 0] / PERIOD) + rng.normal(size=150)
    with pytest.warns(UserWarning, match=r"its gain in log evidence of .* is below 5: the data may not repeat"):
        model = TorusGPRegressor(period="auto", n_components=31).fit(t, y)
    assert len(model.period_search_) == 0
    assert model.period_ == model.period_search_.candidates[0].period
    assert_close(model.period_, PERIOD, model.period_std_)


def test_the_order_of_the_inputs_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (300, 2)) * [20, 60] + [0, 100]
    y = (
        np.sin(2 * np.pi * X[:, 0] / 2.3)
        + np.cos(2 * np.pi * X[:, 1] / 8.1)
        + X[:, 1] / 15
        + 0.1 * rng.normal(size=300)
    )
    first, second = (TorusGPRegressor(period="auto").fit(inputs, y) for inputs in (X, X[:, ::-1]))
    np.testing.assert_allclose(first.predict(X), second.predict(X[:, ::-1]), atol=5e-3)
    assert first.score(X, y) > 0.99
