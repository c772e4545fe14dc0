import numpy as np
import pytest

from torusgp import Circle, Line, Slope, TorusGPRegressor
from torusgp.fitting.curvature import bounds_reached, standard_errors
from torusgp.fitting.learning import curvature, log_evidence_and_gradient
from torusgp.fitting.prior import NOISE


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = np.sin(2 * np.pi * X[:, 0]) + np.cos(4 * X[:, 1]) + 0.3 * rng.normal(size=300)
    return TorusGPRegressor(Circle(0, 1) + Line(1) + Slope(0), n_components=61).fit(X, y).fitted_


def test_curvature_is_the_matrix_of_second_derivatives():
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = curvature(lambda x: matrix @ x + x**2, np.array([0.3, -0.2]))
    np.testing.assert_allclose(found, matrix + np.diag([0.6, -0.4]), atol=1e-9)


def test_errors_are_those_of_the_inverse_curvature_of_the_evidence(fitted):
    here = fitted.parameters
    free = [(name, i) for name in here for i in range(len(here[name])) if here.entry(name).learned[i]]

    def evidence(steps):
        at = here
        for (name, i), step in zip(free, steps, strict=True):
            value = at[name].copy()
            value[i] *= np.exp(step)
            at = at.with_value(name, value)
        return log_evidence_and_gradient(fitted.linear, fitted.prior, fitted.index_set.frequencies, at)[0]

    unit = 0.02 * np.eye(len(free))
    hessian = [
        [(evidence(a + b) - evidence(a - b) - evidence(b - a) + evidence(-a - b)) / (4 * 0.02**2) for b in unit]
        for a in unit
    ]
    assert all(bound is None for name in here for bound in bounds_reached(fitted, name))
    expected = np.sqrt(np.diag(np.linalg.inv(-np.array(hessian))))
    found = standard_errors(fitted)
    np.testing.assert_allclose([found[name][i] / here[name][i] for name, i in free], expected, rtol=0.02)
    assert np.isnan(found["slope of x0: variance"]).all()  # it was not learned


def test_what_is_at_a_bound_has_no_error(fitted):
    name = next(iter(fitted.parameters))
    at_bound = fitted.parameters.with_value(name, fitted.parameters.entry(name).upper)
    other = type(fitted)(fitted.prior, at_bound, fitted.index_set, fitted.statistics, fitted.center)
    assert bounds_reached(other, name) == ["upper"]
    errors = standard_errors(other)
    assert np.isnan(errors[name]).all()
    assert np.isnan(errors[NOISE]).all() or (errors[NOISE] > 0).all()


@pytest.mark.parametrize("rounding", [1e-12, -1e-12])
def test_what_the_evidence_does_not_depend_on_has_no_error(fitted, monkeypatch, rounding):
    """As the length scale of a term without variance, where rounding alone curves the evidence."""
    name, whole = next(iter(fitted.parameters)), standard_errors(fitted)

    def flat_along_the_first(gradient, point):
        matrix = curvature(gradient, point)
        matrix[0], matrix[:, 0] = 0, 0
        matrix[0, 0] = rounding
        return matrix

    monkeypatch.setattr("torusgp.fitting.curvature.curvature", flat_along_the_first)
    errors = standard_errors(fitted)
    assert np.isnan(errors[name]).all()
    assert 0 < errors[NOISE][0] <= whole[NOISE][0]
