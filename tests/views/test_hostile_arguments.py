"""Views and surfaces of a model name an argument that cannot be right."""

import numpy as np
import pytest

from torusgp import (
    Circle,
    Line,
    TorusGPRegressor,
    TorusKernel,
    analysis,
    plotting,
    sources,
    surfaces,
    write_report,
)
from torusgp.views.selection import selection_summary

X = np.column_stack([np.arange(60) * 7 % 60 / 6, np.arange(60) * 11 % 12])
Y = np.sin(2 * np.pi * X[:, 0] / 10) + np.cos(2 * np.pi * X[:, 1] / 12)
KERNEL = TorusKernel(length_scale=[1.0, 0.5], period=[10.0, 12.0])
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def model():
    return TorusGPRegressor(Circle(0, 10.0) + Line(1), n_components=15, learn=()).fit(X, Y)


@pytest.fixture(scope="module")
def torus():
    return TorusGPRegressor(period=[10.0, 12.0], n_components=15, learn=()).fit(X, Y)


@pytest.mark.parametrize("output", [1, -1, "first", None, True, np.zeros(2), 0.0])
def test_an_output_is_a_number_of_a_target(model, torus, output, tmp_path):
    learned = TorusGPRegressor(period=[10.0, 12.0], n_components=9, index_set="learned").fit(X, Y)
    for use in (
        lambda: plotting.SpectrumDisplay.from_estimator(model, output=output),
        lambda: plotting.PartsDisplay.from_estimator(model, output=output),
        lambda: plotting.CalibrationDisplay.from_estimator(model, X, Y, output=output),
        lambda: plotting.ResidualDisplay.from_estimator(model, X, Y, output=output),
        lambda: write_report(model, tmp_path / "page.html", X, Y, output=output),
        lambda: selection_summary(learned, output=output),
        lambda: surfaces.find_stationary_points(torus, output=output),
        lambda: surfaces.free_energy(torus, 1.0, 0, output=output),
    ):
        with pytest.raises(ValueError, match="output must be one of 1 target"):
            use()


@pytest.mark.parametrize("coverage", [0, 1, 1.5, None, "all", [0.5], np.zeros(2)])
def test_a_coverage_is_a_share(model, coverage):
    indices = analysis.sobol_indices(model, n_samples=5)
    for use in (
        lambda: indices.interval(coverage),
        lambda: plotting.PredictionDisplay.from_estimator(model, features=[0], coverage=coverage),
    ):
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
            use()


@pytest.mark.parametrize("number", [-1, 1.5, "many", [3]])
def test_points_are_counted(model, torus, number):
    for use in (
        lambda: analysis.effect(model, 0, n_points=number),
        lambda: plotting.PartsDisplay.from_estimator(model, n_points=number),
        lambda: plotting.PredictionDisplay.from_estimator(model, features=[0], n_points=number),
        lambda: plotting.SurfaceDisplay.from_estimator(torus, n_points=number),
    ):
        with pytest.raises(ValueError, match="n_points must be a positive integer"):
            use()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("features", len, "features must be names or positions"),
        ("features", 0.5, "features must be names or positions"),
        ("limits", "text", "limits must hold numbers"),
        ("limits", [[1, 2], [3, 4]], "limits must be two numbers"),
        ("at", 3, "at must hold 2 values"),
        ("X", 3.0, "X must have two axes"),
    ],
)
def test_what_a_prediction_is_drawn_over(model, name, value, said):
    given = {"features": [0], name: value}
    with pytest.raises(ValueError, match=said):
        plotting.PredictionDisplay.from_estimator(model, **given)


@pytest.mark.parametrize("dimensions", [0.5, len, None, ()])
def test_dimensions_of_an_effect(model, dimensions):
    with pytest.raises(ValueError, match="dimensions"):
        analysis.effect(model, dimensions)


def test_a_grid_of_an_effect_is_no_number(model):
    with pytest.raises(ValueError, match="grid must hold one vector"):
        analysis.effect(model, 0, grid=0.5)


@pytest.mark.parametrize("name", ["terms", "names"])
@pytest.mark.parametrize("value", [0.5, len, [1, 2], [[1]]])
def test_names_of_parts(model, name, value):
    with pytest.raises(ValueError, match=f"{name} must be names"):
        plotting.PartsDisplay.from_estimator(model, **{name: value})


@pytest.mark.parametrize("temperature", [0.0, -1, "warm", None, [1.0], np.inf])
def test_a_temperature_is_a_positive_number(torus, temperature):
    with pytest.raises(ValueError, match="temperature is kT"):
        surfaces.free_energy(torus, temperature, 0)


@pytest.mark.parametrize("sizes", [8, (8,), ("a", "b"), (8, 1), [[8], [8]]])
def test_sizes_of_a_grid(torus, sizes):
    with pytest.raises(ValueError, match="sizes must be 2 numbers of points"):
        surfaces.free_energy(torus, 1.0, 0, sizes=sizes)


@pytest.mark.parametrize("inputs", [0.5, len, True, [True], [2], ["x9"]])
def test_inputs_of_a_free_energy(torus, inputs):
    with pytest.raises(ValueError, match="inputs must be some of"):
        surfaces.free_energy(torus, 1.0, inputs)


@pytest.mark.parametrize("significance", [-1, "high", None, [2.0]])
def test_a_significance_is_a_number(torus, significance):
    with pytest.raises(ValueError, match="min_significance must not be negative"):
        surfaces.find_stationary_points(torus, min_significance=significance)


@pytest.mark.parametrize("chunks", [object, 3, lambda: 3])
def test_chunks_are_iterable(chunks):
    with pytest.raises(ValueError, match="an iterable of"):
        sources.ChunkSource(chunks)


@pytest.mark.parametrize("points", [3.0, np.zeros(2), "text", np.zeros((2, 3))])
def test_points_of_a_kernel(points):
    with pytest.raises(ValueError, match="X must"):
        KERNEL.phases(points)
