import numpy as np
import pytest

from tests.surfaces.known import DIHEDRALS
from torusgp import Circle, Line, TorusGPRegressor
from torusgp.surfaces import find_stationary_points, minimum_energy_path
from torusgp.views.plotting import SurfaceDisplay


@pytest.fixture(scope="module")
def model():
    X = DIHEDRALS.grid(12)
    noise = 0.05 * np.random.default_rng(0).normal(size=len(X))
    return TorusGPRegressor(period=360).fit(X, DIHEDRALS.function(X) + noise)


def test_contours_show_the_range_of_the_data_with_minima_paths_and_data(model):
    points = find_stationary_points(model)
    path = minimum_energy_path(model, *points.minima[:2], points=points)
    X = DIHEDRALS.grid(12)
    display = SurfaceDisplay.from_estimator(model, X + 360, points=points, paths=[path], n_points=41).plot()
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (-180, 180)
    np.testing.assert_allclose(np.sort(display.observed, axis=0), np.sort(X, axis=0))
    first, second = np.meshgrid(*display.grid)
    np.testing.assert_allclose(display.values.ravel(), model.predict(np.column_stack([first.ravel(), second.ravel()])))
    labels = display.ax_.get_legend_handles_labels()[1]
    assert labels == ["data", "minimum-energy path", "minimum", "saddle point", "maximum"]
    drawn = display._cut(path.points)
    assert ((np.abs(drawn) <= 180) | np.isnan(drawn)).all()
    steps = np.abs(np.diff(drawn, axis=0))
    assert np.nanmax(steps) < 20  # gaps where a period ends


def test_data_from_zero_are_shown_from_zero():
    X = DIHEDRALS.grid(8) % 360
    model = TorusGPRegressor(period=360).fit(X, DIHEDRALS.function(X))
    assert [(ticks[0], ticks[-1]) for ticks in SurfaceDisplay.from_estimator(model).grid] == [(0, 360), (0, 360)]
    radians = TorusGPRegressor(period=2 * np.pi).fit(np.radians(X - 180), DIHEDRALS.function(X))
    grid = SurfaceDisplay.from_estimator(radians).grid
    np.testing.assert_allclose(grid[0][[0, -1]], [-np.pi, np.pi])


def test_other_models_are_refused():
    X = np.random.default_rng(0).uniform(0, 3, (30, 1))
    with pytest.raises(ValueError, match="two circles or lines"):
        SurfaceDisplay.from_estimator(TorusGPRegressor(Circle(0, 3.0)).fit(X, np.sin(X[:, 0])))


def test_a_line_is_shown_over_its_range():
    X = np.random.default_rng(0).uniform([0, -180], [3, 180], (60, 2))
    kernel = Line(0) * Circle(1, 360)
    display = SurfaceDisplay.from_estimator(TorusGPRegressor(kernel).fit(X, np.sin(X[:, 0])), X).plot()
    assert display.ax_.get_xlim() == pytest.approx((X[:, 0].min(), X[:, 0].max()))
