"""A classifier that follows scikit-learn's rules."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from torusgp import Category, Circle, Line, TorusGPClassifier, TorusGPRegressor
from torusgp.kernels.index_sets import tensor


@parametrize_with_checks([TorusGPClassifier(n_components=15, learn=("signal_variance",))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # some checks have thirty inputs, of which all pairs interact
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks([TorusGPClassifier()])
def test_scikit_learn_checks_of_the_default(estimator, check):
    check(estimator)


def make_data(n=300, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 24, (n, 1))
    angle = 2 * np.pi * X[:, 0] / 24
    scores = np.stack([3 * np.cos(angle - 2 * np.pi * k / n_classes) for k in range(n_classes)], axis=1)
    labels = np.array(["a", "b", "c", "d"])[np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)]
    truth = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return X, labels, truth


OPTIONS = {"period": 24.0, "index_set": tensor(1, 5)}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_truth(n_classes):
    X, y, truth = make_data(1500, n_classes)
    model = TorusGPClassifier(**OPTIONS).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found - truth).mean() < 0.03
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(found))
    assert (model.predict(X) == model.classes_[found.argmax(axis=1)]).all()
    decision = model.decision_function(X)
    assert decision.shape == ((len(X),) if n_classes == 2 else (len(X), 3))
    mean, std = model.predict_latent(X[:5], return_std=True)
    assert mean.shape == std.shape == decision[:5].shape
    parts = model.predict_parts(X[:5])
    assert parts.shape == ((5, 1) if n_classes == 2 else (5, 1, 3))


def test_two_classes_are_a_regressor_of_zeros_and_ones():
    X, y, _ = make_data()
    classifier = TorusGPClassifier(**OPTIONS).fit(X, y)
    regressor = TorusGPRegressor(likelihood="bernoulli", **OPTIONS).fit(X, (y == "b").astype(float))
    np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], regressor.predict(X), atol=1e-9)
    assert classifier.log_marginal_likelihood_ == pytest.approx(regressor.log_marginal_likelihood_)


def test_class_weights_are_sample_weights():
    X, y, _ = make_data(200)
    weighted = TorusGPClassifier(class_weight={"a": 3.0, "b": 1.0}, **OPTIONS).fit(X, y)
    by_row = TorusGPClassifier(**OPTIONS).fit(X, y, sample_weight=np.where(y == "a", 3.0, 1.0))
    np.testing.assert_allclose(weighted.predict_proba(X), by_row.predict_proba(X), atol=1e-8)
    plain = TorusGPClassifier(**OPTIONS).fit(X, y)
    assert weighted.predict_proba(X)[:, 0].mean() > plain.predict_proba(X)[:, 0].mean() + 0.05
    assert TorusGPClassifier(class_weight="balanced", **OPTIONS).fit(X, y).predict(X).shape == (200,)


def test_it_works_within_scikit_learn():
    X, y, _ = make_data(150)
    pipeline = make_pipeline(FunctionTransformer(lambda X: X), TorusGPClassifier(**OPTIONS))
    found = cross_val_predict(pipeline, X, y, method="predict_proba", cv=3)
    assert log_loss(y, found) < 0.6
    search = GridSearchCV(TorusGPClassifier(**OPTIONS), {"length_scale": [0.5, 2.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.7
    calibrated = CalibratedClassifierCV(TorusGPClassifier(**OPTIONS), cv=2).fit(X, y)
    assert calibrated.predict_proba(X).shape == (150, 2)
    assert clone(search.best_estimator_).get_params()["period"] == 24.0


def test_expressions_with_names_and_categories():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {"hour": rng.uniform(0, 24, 300), "place": rng.choice(["x", "y"], 300), "depth": rng.uniform(0, 1, 300)}
    )
    odds = 2 * np.cos(2 * np.pi * frame["hour"] / 24) + 2 * (frame["place"] == "x") - 1
    y = (rng.uniform(size=300) < 1 / (1 + np.exp(-odds))).astype(int)
    model = TorusGPClassifier(Circle("hour", 24) + Category("place") + Line("depth")).fit(frame, y)
    assert model.term_names_ == ("hour", "place", "depth")
    assert model.score(frame, y) > 0.7


@pytest.mark.parametrize("n_classes", [2, 3])
def test_saved_models_predict_the_same(n_classes, tmp_path):
    X, y, _ = make_data(200, n_classes)
    model = TorusGPClassifier(class_weight="balanced", **OPTIONS).fit(X, y)
    model.save(tmp_path / "model")
    again = TorusGPClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-12)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.class_weight == "balanced"


class TestBadInput:
    X = np.linspace(0, 1, 10)[:, None]

    def test_one_class_only(self):
        with pytest.raises(ValueError, match="one class only"):
            TorusGPClassifier(period=1.0).fit(self.X, ["a"] * 10)

    def test_labels_of_mixed_types(self):
        y = np.array(["a"] * 9 + [1], dtype=object)
        with pytest.raises(ValueError, match="row 0 has 'a' and row 9 has 1"):
            TorusGPClassifier(period=1.0).fit(self.X, y)

    def test_numbers_that_are_no_classes(self):
        with pytest.raises(ValueError, match="continuous"):
            TorusGPClassifier(period=1.0).fit(self.X, np.linspace(0, 1, 10))
