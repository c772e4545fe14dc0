"""Random and quasi-random features: their products are the kernel, their derivatives those of the features."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.conftest import TOLERANCE
from tests.exact_regression import HEXAGONAL, central_differences
from torusgp import Circle, IndexSetFourierFeatures, WarpedFourierFeatures
from torusgp.estimators.warped_features import SEQUENCES
from torusgp.kernels.spectra import Matern

FAMILIES = ["squared_exponential", "matern12", "matern32", "matern52"]
N_FREQUENCIES = 2**15
FIVE_STANDARD_ERRORS = 5 / np.sqrt(N_FREQUENCIES)  # of a mean of cosines, whose variance is at most one
# Halton's discrepancy in the plane of one circle falls like this, up to a constant that is less than one here
DISCREPANCY = np.log(N_FREQUENCIES) ** 2 / N_FREQUENCIES


@parametrize_with_checks([WarpedFourierFeatures(), WarpedFourierFeatures("matern32", sequence="halton")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def points(n_samples, dimension, seed=0):
    return np.random.default_rng(seed).uniform(-3, 3, (n_samples, dimension))


def test_an_odd_number_of_columns_lacks_the_last_sine():
    X = points(10, 2)
    even, odd = (WarpedFourierFeatures(n_components=n, random_state=0).fit(X) for n in (8, 7))
    np.testing.assert_allclose(odd.transform(X), even.transform(X)[:, :7])
    slope = np.random.default_rng(1).normal(size=(10, 7))
    padded = np.hstack([slope, np.zeros((10, 1))])
    for name, gradient in odd.parameter_gradient(X, slope).items():
        np.testing.assert_allclose(gradient, even.parameter_gradient(X, padded)[name])
    assert list(odd.get_feature_names_out()) == list(even.get_feature_names_out())[:7]


def largest_error(features, X):
    phi = features.fit_transform(X)
    return np.abs(phi @ phi.T - features.kernel_(X)).max()


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("kernel", FAMILIES)
@pytest.mark.parametrize("parameters", [{"length_scale": 0.7}, {"length_scale": [0.6, 1.5], "period": [1.0, 2.5]}])
def test_products_approach_the_kernel(kernel, sequence, parameters):
    X = points(25, np.size(parameters["length_scale"]))
    features = WarpedFourierFeatures(
        kernel, sequence=sequence, n_components=2 * N_FREQUENCIES, random_state=0, **parameters
    )
    assert largest_error(features, X) < FIVE_STANDARD_ERRORS


@pytest.mark.parametrize("sequence", ["halton", "generalized_halton"])
def test_a_sequence_is_much_better_than_chance_on_one_circle(sequence):
    features = WarpedFourierFeatures(sequence=sequence, length_scale=0.7, n_components=2 * N_FREQUENCIES)
    assert largest_error(features, points(25, 1)) < DISCREPANCY < 0.2 * FIVE_STANDARD_ERRORS


def test_any_smoothness_and_a_cell():
    X = points(25, 2)
    features = WarpedFourierFeatures(
        Matern(0.9), period=HEXAGONAL, length_scale=[0.9, 1.3], n_components=2 * N_FREQUENCIES, random_state=0
    )
    assert largest_error(features, X) < FIVE_STANDARD_ERRORS


@pytest.mark.parametrize("kernel", ["squared_exponential", "matern52"])
def test_it_approximates_what_the_index_set_does(kernel):
    X = points(25, 2)
    shared = {"length_scale": [0.8, 1.1], "period": [1.0, 2.0]}
    random = WarpedFourierFeatures(kernel, n_components=2 * N_FREQUENCIES, random_state=0, **shared).fit_transform(X)
    series = IndexSetFourierFeatures(kernel, n_components=2001, **shared).fit(X)
    exact = series.transform(X) @ series.transform(X).T
    assert np.abs(random @ random.T - exact).max() < FIVE_STANDARD_ERRORS + series.truncation_error_


def test_every_product_of_a_row_with_itself_is_one():
    phi = WarpedFourierFeatures(n_components=6, random_state=0).fit_transform(points(10, 3))
    np.testing.assert_allclose((phi**2).sum(axis=1), 1.0, rtol=TOLERANCE["rounding"])


def test_features_by_definition():
    X = points(7, 2)
    features = WarpedFourierFeatures(length_scale=[0.5, 2.0], period=[1.0, 3.0], n_components=8, random_state=0)
    phi = features.fit_transform(X)
    assert features.frequencies_.shape == (4, 4)
    for row, x in zip(phi, X, strict=True):
        first, second = 2 * np.pi * x / [1.0, 3.0]
        circles = [np.cos(first) / 0.5, np.sin(first) / 0.5, np.cos(second) / 2, np.sin(second) / 2]
        angles = [np.dot(frequency, circles) for frequency in features.frequencies_]
        np.testing.assert_allclose(row, np.concatenate([np.cos(angles), np.sin(angles)]) / 2, atol=1e-12)


@pytest.mark.parametrize(("period", "shift"), [([1.0, 2.5], np.diag([1.0, 2.5])), (HEXAGONAL, np.array(HEXAGONAL))])
def test_a_shift_by_a_period_changes_nothing(period, shift):
    X = points(10, 2)
    features = WarpedFourierFeatures("matern12", period=period, n_components=50, random_state=0).fit(X)
    for vector in shift:
        moved = features.transform(X + 3 * vector)
        # heavy tails: an angle of 1e4 radians multiplies the rounding of a phase
        np.testing.assert_allclose(moved, features.transform(X), atol=1e-9)


def test_a_rectangular_cell_is_the_same_as_periods():
    X = points(10, 2)
    periods = WarpedFourierFeatures(period=[1.0, 2.5], random_state=0).fit_transform(X)
    cell = WarpedFourierFeatures(period=np.diag([1.0, 2.5]), random_state=0).fit_transform(X)
    np.testing.assert_allclose(cell, periods, atol=1e-11)


class TestRandomness:
    def test_the_same_state_gives_the_same_features(self):
        X = points(10, 2)
        one, other = (WarpedFourierFeatures(random_state=3).fit_transform(X) for _ in range(2))
        np.testing.assert_array_equal(one, other)
        legacy = WarpedFourierFeatures(random_state=np.random.RandomState(3)).fit_transform(X)
        np.testing.assert_array_equal(one, legacy)

    def test_other_states_give_others(self):
        X = points(10, 2)
        states = [0, 1, None, None]
        found = [WarpedFourierFeatures(random_state=state).fit_transform(X) for state in states]
        assert len({features.tobytes() for features in found}) == 4

    @pytest.mark.parametrize("sequence", ["halton", "generalized_halton"])
    def test_sequences_do_not_depend_on_it(self, sequence):
        X = points(10, 2)
        one, other = (WarpedFourierFeatures(sequence=sequence, random_state=s).fit_transform(X) for s in (0, 1))
        np.testing.assert_array_equal(one, other)

    def test_the_two_sequences_differ(self):
        one, other = (
            WarpedFourierFeatures(sequence=sequence).fit(points(3, 2)).frequencies_
            for sequence in ("halton", "generalized_halton")
        )
        assert not np.allclose(one, other)

    def test_of_the_data_only_the_number_of_columns_matters(self):
        one, other = (WarpedFourierFeatures(random_state=0).fit(points(5, 2, seed)) for seed in (0, 1))
        np.testing.assert_array_equal(one.frequencies_, other.frequencies_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_input_is_kept(dtype):
    X = points(20, 2).astype(dtype)
    features = WarpedFourierFeatures(random_state=0).fit(X)
    assert features.transform(X).dtype == dtype
    assert np.abs(features.transform(X) - features.transform(X.astype(float))).max() <= TOLERANCE["float32"]


def test_float32_phases_are_reduced_in_float64():
    X = np.array([[2.0**24], [2.0**24 + 2]], dtype=np.float32)  # large, but exact in float32
    features = WarpedFourierFeatures(period=3.0, random_state=0).fit(X)
    exact = features.transform(np.array([[1.0], [0.0]]))  # the remainders by three
    assert np.abs(features.transform(X) - exact).max() <= TOLERANCE["float32"]


def test_names_of_the_columns():
    frame = pd.DataFrame(points(5, 1), columns=["hour"])
    features = WarpedFourierFeatures(n_components=4, random_state=0).fit(frame)
    assert features.get_feature_names_out().tolist() == ["cos0", "cos1", "sin0", "sin1"]
    table = features.set_output(transform="pandas").transform(frame)
    assert list(table.columns) == features.get_feature_names_out().tolist()


def test_pickle_clone_and_pipeline():
    X = points(200, 2)
    y = np.sin(2 * np.pi * X[:, 0]) * np.cos(2 * np.pi * X[:, 1])
    features = WarpedFourierFeatures("matern52", random_state=0).fit(X)
    restored = pickle.loads(pickle.dumps(features))
    np.testing.assert_array_equal(restored.transform(X), features.transform(X))
    np.testing.assert_array_equal(clone(features).fit(X).transform(X), features.transform(X))
    assert make_pipeline(WarpedFourierFeatures(random_state=0), Ridge(1e-3)).fit(X, y).score(X, y) > 0.99


class TestParameters:
    @pytest.fixture(params=["squared_exponential", "matern32"])
    def fitted(self, request):
        features = WarpedFourierFeatures(
            request.param,
            period=[1.0, 7.0, 2.0],
            length_scale=[0.7, 1.2, 0.9],
            n_components=20,
            random_state=0,
        )
        X = points(15, 3)
        return features.fit(X), X, np.random.default_rng(1).normal(size=(15, 20))

    def test_other_parameters_with_the_same_frequencies(self, fitted):
        features, X, _ = fitted
        before = features.transform(X)
        changed = features.with_parameters(np.array([0.5, 1.0, 2.0]), np.array([1.1, 6.0, 2.5]))
        afresh = clone(features).set_params(length_scale=[0.5, 1.0, 2.0], period=[1.1, 6.0, 2.5]).fit(X)
        np.testing.assert_array_equal(changed.transform(X), afresh.transform(X))
        np.testing.assert_array_equal(features.transform(X), before)
        assert features.get_params()["length_scale"] == [0.7, 1.2, 0.9]

    @pytest.mark.parametrize("name", ["length_scale", "period"])
    def test_gradient_is_the_difference_of_the_features(self, fitted, name):
        features, X, slope = fitted
        start = {"length_scale": np.array([0.7, 1.2, 0.9]), "period": np.array([1.0, 7.0, 2.0])}

        def value(vector):
            moved = start | {name: start[name] * np.exp(vector)}
            return (slope * features.with_parameters(**moved).transform(X)).sum()

        differences = central_differences(value, np.zeros(3), step=1e-6)
        # values of order ten, differenced over 2e-6
        np.testing.assert_allclose(features.parameter_gradient(X, slope)[name], differences, rtol=1e-5, atol=1e-5)

    def test_gradient_with_a_cell_is_that_of_the_length_scales_alone(self, fitted):
        slope, X = fitted[2], points(15, 2)
        features = WarpedFourierFeatures(period=HEXAGONAL, length_scale=0.8, n_components=20, random_state=0).fit(X)

        def value(vector):
            return (slope * features.with_parameters(0.8 * np.exp(vector), HEXAGONAL).transform(X)).sum()

        gradient = features.parameter_gradient(X, slope)
        assert list(gradient) == ["length_scale"]
        np.testing.assert_allclose(
            gradient["length_scale"], central_differences(value, np.zeros(2), step=1e-6), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components.*got 0"),
        ({"n_components": -2}, "n_components.*got -2"),
        ({"n_components": 2.0}, r"n_components.*got 2\.0"),
        ({"n_components": "many"}, "n_components.*'many'"),
        ({"sequence": "sobol"}, r"sequence must be one of 'random', 'halton', 'generalized_halton', got 'sobol'"),
        ({"kernel": "heat"}, "kernel must be a squared exponential or a Matern family, got 'heat'"),
        ({"kernel": ["matern12", "matern32"]}, "kernel must be a squared exponential or a Matern family"),
        ({"kernel": "unknown"}, "'unknown'"),
        ({"kernel": Circle(0, 5.0) * Circle(1, 3.0), "period": None}, r"got the expression Circle\(0, 5\.0\)"),
        ({"period": -1.0}, r"period.*-1\.0"),
        ({"period": [1.0, 2.0, 3.0]}, "of length 3 cannot describe 2 periodic input"),
        ({"length_scale": 0.0}, r"length_scale.*0\.0"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        WarpedFourierFeatures(**parameters).fit(points(5, 2))


@pytest.mark.parametrize("bad", [[[np.nan, 1.0]], [[np.inf, 1.0]], [["a", "b"]]])
def test_bad_inputs_are_refused(bad):
    with pytest.raises(ValueError, match=r"NaN|infinity|is no number"):
        WarpedFourierFeatures().fit(bad)


def test_transform_needs_fit():
    with pytest.raises(NotFittedError):
        WarpedFourierFeatures().transform([[0.0]])
