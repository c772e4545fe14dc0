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
from torusgp import IndexSetFourierFeatures
from torusgp.kernels.index_sets import hyperbolic_cross, tensor
from torusgp.kernels.spectra import Heat, Matern


@parametrize_with_checks([IndexSetFourierFeatures()])
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
    features = IndexSetFourierFeatures(index_set=tensor(2, 1)).fit(frame)
    assert features.get_feature_names_out().tolist() == [
        "constant", "cos(weekday)", "sin(weekday)", "cos(hour)", "sin(hour)",
        "cos(hour + weekday)", "sin(hour + weekday)", "cos(hour - weekday)", "sin(hour - weekday)",
    ]  # fmt: skip
    table = features.set_output(transform="pandas").transform(frame)
    assert list(table.columns) == features.get_feature_names_out().tolist()


def test_one_input_with_two_periods_by_position_or_name():
    frame = pd.DataFrame({"other": np.ones(50), "time": np.arange(50.0)})
    by_name = IndexSetFourierFeatures(period=[24, 168], columns=["time", "time"]).fit(frame)
    by_position = IndexSetFourierFeatures(period=[24, 168], columns=[1, -1]).fit(frame)
    twice = IndexSetFourierFeatures(period=[24, 168]).fit_transform(frame[["time", "time"]].to_numpy())
    assert np.array_equal(by_name.transform(frame), twice)
    assert np.array_equal(by_position.transform(frame), twice)
    assert "cos(time[0] + time[1])" in by_name.get_feature_names_out()


def test_a_set_built_with_few_interactions_implies_the_anova_kernel(data):
    implied = IndexSetFourierFeatures(index_set=hyperbolic_cross(2, 5, max_interaction=1)).fit(data[0])
    named = IndexSetFourierFeatures(index_set="hyperbolic_cross", n_components=21, max_interaction=1).fit(data[0])
    assert implied.kernel_.max_interaction == 1
    assert named.index_set_.max_interaction == 1
    assert np.allclose(np.diag(implied.kernel_(data[0][:3])), 1.0)


def test_weights_auto_follow_the_length_scales(data):
    features = IndexSetFourierFeatures(
        index_set="euclidean", length_scale=[0.2, 2.0], weights="auto", n_components=101
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
        ({"columns": [0, 5]}, "columns holds 5"),
        ({"columns": ["hour"]}, "columns names 'hour'"),
        ({"columns": []}, "columns"),
        ({"columns": "hour"}, "columns.*'hour'"),
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
    with pytest.raises(ValueError, match=r"NaN|infinity|convert"):
        IndexSetFourierFeatures().fit(bad)
