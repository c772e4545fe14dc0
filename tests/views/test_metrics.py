"""The loss against the normal density."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import cross_val_score

from torusgp import TorusGPRegressor, mean_negative_log_loss, mean_negative_log_loss_scorer


@pytest.mark.parametrize("shape", [(20,), (20, 3)])
def test_loss_is_the_mean_negative_log_density(shape):
    rng = np.random.default_rng(0)
    y, mean, std = rng.normal(size=shape), rng.normal(size=shape), rng.uniform(0.1, 2, shape)
    assert mean_negative_log_loss(y, mean, std) == pytest.approx(-norm.logpdf(y, mean, std).mean(), rel=1e-14)


@pytest.mark.parametrize("std", [0.0, -1.0, np.nan])
def test_std_must_be_positive(std):
    with pytest.raises(ValueError, match="y_std must be positive"):
        mean_negative_log_loss([0.0, 0.0], [0.0, 0.0], [1.0, std])


@pytest.mark.parametrize("wrong", [{}, len, "text", [], [np.nan], [np.inf], [[1.0], [2.0, 3.0]], None])
@pytest.mark.parametrize("name", ["y_true", "y_mean"])
def test_what_holds_no_numbers_is_named(name, wrong):
    with pytest.raises((ValueError, TypeError), match=rf"{name} must (hold|be)|Shapes must agree"):
        mean_negative_log_loss(**({"y_true": [0.0], "y_mean": [0.0], "y_std": [1.0]} | {name: wrong}))


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"Shapes must agree, got y_true \(2,\), y_mean \(2, 1\)"):
        mean_negative_log_loss(np.zeros(2), np.zeros((2, 1)), np.ones(2))


@pytest.mark.parametrize("columns", [None, 1, 2])
def test_the_scorer_is_minus_the_loss_in_cross_validation(columns):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 1))
    y = np.sin(2 * np.pi * X) + 0.1 * rng.normal(size=(60, columns or 1))
    y = y if columns else y[:, 0]
    model = TorusGPRegressor(n_components=11, learn=(), noise_variance=0.01)
    scores = cross_val_score(model, X, y, cv=3, scoring=mean_negative_log_loss_scorer)
    last = slice(40, 60)
    mean, std = model.fit(np.delete(X, np.r_[last], axis=0), np.delete(y, np.r_[last], axis=0)).predict(
        X[last], return_std=True
    )
    assert scores[-1] == pytest.approx(-mean_negative_log_loss(y[last], mean, std))
