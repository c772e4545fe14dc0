import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.conftest import TOLERANCE
from torusgp import Category, Circle, IndexSetFourierFeatures, Line, Slope, TorusKernel
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat, Matern


@parametrize_with_checks([IndexSetFourierFeatures(period=1.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 50, (300, 2))
    y = np.sin(2 * np.pi * X[:, 0] / 24) * np.cos(2 * np.pi * X[:, 1] / 7)
    return X, y


def test_pipeline_with_ridge_and_grid_search(data):
    X, y = data
    pipeline = make_pipeline(IndexSetFourierFeatures(period=[24, 7]), Ridge(1e-3))
    grid = {
        "indexsetfourierfeatures__length_scale": [0.01, 1.0, [1.0, 2.0]],
        "indexsetfourierfeatures__n_components": [1, 51],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["indexsetfourierfeatures__n_components"] == 51
    assert search.best_params_["indexsetfourierfeatures__length_scale"] != 0.01
    assert search.best_score_ > 0.99


def test_pipeline_with_logistic_regression(data):
    X, y = data
    assert (
        make_pipeline(IndexSetFourierFeatures(period=[24, 7]), LogisticRegression()).fit(X, y > 0).score(X, y > 0)
        > 0.95
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_input_is_kept(data, dtype):
    X = data[0].astype(dtype)
    features = IndexSetFourierFeatures(period=[24, 7]).fit(X)
    assert features.transform(X).dtype == dtype
    assert np.abs(features.transform(X) - features.transform(X.astype(float))).max() <= TOLERANCE["float32"]


def test_float32_phases_are_reduced_in_float64():
    X = np.array([[2.0**24], [2.0**24 + 2]], dtype=np.float32)  # large, but exact in float32
    features = IndexSetFourierFeatures(period=3.0).fit(X)
    exact = features.transform(np.array([[1.0], [0.0]]))  # the remainders by three
    assert np.abs(features.transform(X) - exact).max() <= TOLERANCE["float32"]


def test_names_of_the_columns():
    frame = pd.DataFrame(np.random.default_rng(0).uniform(size=(5, 2)), columns=["hour", "weekday"])
    features = IndexSetFourierFeatures(index_set=tensor(2, 1), period=1.0).fit(frame)
    assert features.get_feature_names_out().tolist() == [
        "constant", "cos(weekday)", "sin(weekday)", "cos(hour)", "sin(hour)",
        "cos(hour + weekday)", "sin(hour + weekday)", "cos(hour - weekday)", "sin(hour - weekday)",
    ]  # fmt: skip
    table = features.set_output(transform="pandas").transform(frame)
    assert list(table.columns) == features.get_feature_names_out().tolist()


def test_one_input_with_two_periods_by_position_or_name():
    frame = pd.DataFrame({"other": np.ones(50), "time": np.arange(50.0)})
    by_name = IndexSetFourierFeatures(Circle("time", 24) * Circle("time", 168)).fit(frame)
    by_position = IndexSetFourierFeatures(Circle(1, 24) * Circle(-1, 168)).fit(frame)
    twice = IndexSetFourierFeatures(period=[24, 168]).fit_transform(frame[["time", "time"]].to_numpy())
    assert np.array_equal(by_name.transform(frame), twice)
    assert np.array_equal(by_position.transform(frame), twice)
    assert "cos(time[0] + time[1])" in by_name.get_feature_names_out()


def test_products_of_features_are_the_kernel_of_an_expression():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"hour": rng.uniform(0, 24, 60), "warmth": rng.uniform(-5, 30, 60)})
    frame["shop"] = np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    hour = Circle("hour", 24)
    warmth = Line("warmth", length_scale=8.0, tolerance=1e-6)
    features = IndexSetFourierFeatures(hour * warmth + 0.5 * Category("shop") * hour, n_components=801).fit(frame)
    phi = features.transform(frame)
    assert phi.shape == (60, features.index_set_.n_components)
    assert features.truncation_error_ < 1e-3
    gram = features.kernel_(frame.to_numpy())
    np.testing.assert_allclose(np.diag(gram), 1.5)
    assert np.abs(phi @ phi.T - gram).max() <= features.truncation_error_ + 1e-12


def test_a_set_built_with_few_interactions_implies_the_anova_kernel(data):
    implied = IndexSetFourierFeatures(index_set=hyperbolic_cross(2, 5, max_interaction=1), period=1.0).fit(data[0])
    named = IndexSetFourierFeatures(index_set="hyperbolic_cross", n_components=21, max_interaction=1, period=1.0).fit(
        data[0]
    )
    assert implied.kernel_.max_interaction == 1
    assert named.index_set_.max_interaction == 1
    assert np.allclose(np.diag(implied.kernel_(data[0][:3])), 1.0)


def test_weights_auto_follow_the_length_scales(data):
    features = IndexSetFourierFeatures(
        index_set="euclidean", length_scale=[0.2, 2.0], weights="auto", n_components=101, period=1.0
    ).fit(data[0])
    plain = clone(features).set_params(weights=1.0).fit(data[0])
    assert features.truncation_error_ < plain.truncation_error_


def test_pickle_and_clone(data):
    features = IndexSetFourierFeatures([Matern(2.5), Heat()], period=[24, 7]).fit(data[0])
    restored = pickle.loads(pickle.dumps(features))
    assert np.array_equal(restored.transform(data[0]), features.transform(data[0]))
    assert np.array_equal(clone(features).fit(data[0]).transform(data[0]), features.transform(data[0]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"period": -1.0}, "period.*-1.0"),
        ({"period": [1.0, 2.0, 3.0]}, "of length 3 cannot describe 2 periodic input"),
        ({"length_scale": 0.0}, "length_scale.*0.0"),
        ({"kernel": "unknown"}, "'unknown'"),
        ({"index_set": "circle"}, "index_set.*'circle'"),
        ({"index_set": tensor(3, 1)}, "index_set has dimension 3"),
        ({"n_components": 0}, "n_components.*0"),
        ({"n_components": "many"}, "n_components.*'many'"),
        ({"kernel": Circle(5, 24)}, "There is no input 5"),
        ({"kernel": Circle("hour", 24)}, "There is no input 'hour'"),
        ({"kernel": Circle(0, 24), "period": 24}, "belong to the short form"),
        ({"kernel": Circle(0, 24) + Slope(1)}, "'slope of x1' is a plain column, not a kernel"),
        ({"period": "auto"}, "A feature map has no targets to find a period in"),
        ({"weights": "best", "index_set": "tensor"}, "weights.*'best'"),
        ({"weights": 2.0, "index_set": "tensor"}, "weights.*2.0"),
        ({"max_interaction": 0}, "max_interaction.*0"),
    ],
)
def test_bad_parameters_are_named(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        IndexSetFourierFeatures(**parameters).fit(data[0])


@pytest.mark.parametrize("bad", [[[np.nan, 1.0]], [[np.inf, 1.0]], [["a", "b"]]])
def test_bad_inputs_are_refused(bad):
    with pytest.raises(ValueError, match=r"NaN|infinity|is no number"):
        IndexSetFourierFeatures(period=1.0).fit(bad)


class TestKernelAsItIs:
    """A TorusKernel instead of what it is made of."""

    KERNELS = (
        TorusKernel(length_scale=0.7, period=2.0),
        TorusKernel("matern52", length_scale=[0.7, 1.1], period=[2.0, 3.0]),
        TorusKernel("matern32", length_scale=0.9, period=[[2.0, 0.0], [1.0, 2.0]]),
        TorusKernel(length_scale=0.7, period=2.0, max_interaction=1),
        TorusKernel(Circle(0, 2.0) * Line(1, length_scale=2.0, range=(0, 3)) + 0.5 * Circle(0, 2.0)),
    )

    @pytest.mark.parametrize("kernel", KERNELS, ids=repr)
    def test_products_of_features_are_the_kernel(self, kernel):
        X = np.random.default_rng(0).uniform(0, 3, (40, 2))
        features = IndexSetFourierFeatures(kernel, n_components=1500).fit(X)
        phi = features.transform(X)
        assert features.kernel_ is kernel
        assert np.abs(phi @ phi.T - kernel(X)).max() <= features.truncation_error_ + 1e-9
        assert features.truncation_error_ < 0.05

    def test_it_is_the_short_form(self):
        X = np.random.default_rng(0).uniform(0, 3, (40, 2))
        given = {"length_scale": [0.7, 1.1], "period": [2.0, 3.0]}
        ours = IndexSetFourierFeatures(TorusKernel("matern52", **given)).fit(X)
        theirs = IndexSetFourierFeatures("matern52", **given).fit(X)
        np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()

    def test_a_category_keeps_its_levels(self):
        kernel = TorusKernel(Category(0, levels=["a", "b", "c"]) * Circle(1, 2.0))
        X = np.array([["a", 0.1], ["c", 0.4], ["b", 1.9]], dtype=object)
        features = IndexSetFourierFeatures(kernel, n_components=400).fit(X)
        phi = features.transform(X)
        np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-6)

    @pytest.mark.parametrize(
        ("kernel", "options", "message"),
        [
            (TorusKernel(period=2.0), {"period": 3.0}, "belong to the short form; TorusKernel.* has its own: leave"),
            (TorusKernel(period=2.0), {"length_scale": 0.5}, "belong to the short form"),
            (TorusKernel(period=2.0), {"max_interaction": 1}, "belong to the short form"),
            (TorusKernel(), {}, "has no period, so it has no inputs"),
            (
                TorusKernel(Circle(0, 2.0) + Circle(1, 3.0) + Circle(2, 4.0)),
                {},
                "inputs x0, x1, x2, but X has 2",
            ),
        ],
    )
    def test_what_does_not_fit_is_told(self, kernel, options, message):
        with pytest.raises(ValueError, match=message):
            IndexSetFourierFeatures(kernel, **options).fit(np.zeros((5, 2)))
