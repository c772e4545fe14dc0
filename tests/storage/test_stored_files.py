"""Files of every layout so far are read, and say what they said when they were written."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.storage.stored.cases import (
    CHUNK,
    N_CHUNKS,
    make_chunks,
    make_frame,
    make_picture,
    make_rows,
    make_stream_model,
    predict,
    predict_open,
)
from torusgp import SufficientStatistics, TableModel, TorusGPRegressor
from torusgp.data.checkpoints import CheckpointError
from torusgp.estimators.settings import Torch
from torusgp.storage.archives import load_archive, save_archive

LAYOUTS = sorted((Path(__file__).parent / "stored").glob("layout_*"))
TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}  # another machine's Cholesky factor

pytestmark = [
    pytest.mark.filterwarnings("ignore:The .* components leave out"),
    pytest.mark.filterwarnings("ignore:.* was written by an older version"),
]


@pytest.fixture(params=LAYOUTS, ids=lambda folder: folder.name)
def folder(request):
    return request.param


@pytest.fixture
def expected(folder):
    with np.load(folder / "expected.npz") as archive:
        return dict(archive)


def test_there_are_two_layouts():
    assert [folder.name for folder in LAYOUTS] == ["layout_1", "layout_2"]


@pytest.mark.parametrize("name", ["regressor", "lattice"])
def test_models_predict_what_they_did(folder, expected, name):
    mean, std = predict(TorusGPRegressor.load(folder / f"{name}.npz"))
    np.testing.assert_allclose(mean, expected[f"{name}_mean"], **TOLERANCE)
    np.testing.assert_allclose(std, expected[f"{name}_std"], **TOLERANCE)


def test_models_of_the_first_layout_subtract_the_mean_as_if_it_were_known():
    model = TorusGPRegressor.load(LAYOUTS[0] / "regressor.npz")
    assert model.intercept is True
    assert not np.any(model.intercept_variance_)


def test_models_keep_what_was_learned_and_noted(folder, expected):
    assert TorusGPRegressor.load(folder / "regressor.npz").notes_ == {"from": "tests"}
    lattice = TorusGPRegressor.load(folder / "lattice.npz")
    np.testing.assert_allclose(lattice.period_, expected["lattice_period"], **TOLERANCE)
    np.testing.assert_allclose(lattice.period_std_, expected["lattice_period_std"], **TOLERANCE)


def test_slow_change_is_in_every_prediction(folder):
    """The background of the picture rises by one half from the first row of pixels to the last."""
    model = TorusGPRegressor.load(folder / "lattice.npz")
    points = make_picture()[0][:200]
    shift = 3 * model.period_[0]
    change = model.predict(points + shift) - model.predict(points)
    np.testing.assert_allclose(change, shift[0] / 64, atol=0.1)
    step, n = 1e-4, len(points)
    gradient, std = model.predict_gradient(points, return_std=True)
    for d, along in enumerate(step * np.eye(2)):
        difference = model.predict(points + along) - model.predict(points - along)
        np.testing.assert_allclose(gradient[:, d], difference / (2 * step), atol=1e-5)
    covariance = model.predict(points, return_cov=True)[1]
    np.testing.assert_allclose(np.diag(covariance), model.predict(points, return_std=True)[1] ** 2, rtol=1e-6)
    draws = model.sample_y(points[:20], 2000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), model.predict(points[:20]), atol=0.05)
    assert std.shape == (n, 2)


def test_open_models_predict_what_they_did(folder, expected):
    if folder.name == "layout_1":
        pytest.skip("one product of circles was all there was")
    found = predict_open(TorusGPRegressor.load(folder / "open.npz"))
    for ours, name in zip(found, ("mean", "std", "parts", "parts_std"), strict=True):
        np.testing.assert_allclose(ours, expected[f"open_{name}"], **TOLERANCE)


def test_rows_are_added_to_models(folder):
    model = TorusGPRegressor.load(folder / "regressor.npz")
    before = model.n_samples_seen_
    X, y = make_rows(20)
    model.partial_fit(pd.DataFrame(X, columns=["hour", "weekday"]), np.stack([y, y], axis=1))
    assert model.n_samples_seen_ == before + 20


def test_models_of_tables_predict_what_they_did(folder, expected):
    if not (folder / "table.npz").exists():
        pytest.skip("the layout of tables has not changed yet")
    model = TableModel.load(folder / "table.npz")
    np.testing.assert_allclose(model.predict(make_frame()[:5]).to_numpy(), expected["table"], **TOLERANCE)
    assert model.scores_ is not None
    assert model.summary()


def test_lines_of_the_first_layout_go_on():
    model = TableModel.load(LAYOUTS[0] / "table_with_line.npz")  # fitted to the frame below, by trend="linear"
    with np.load(LAYOUTS[0] / "table_with_line_expected.npz") as archive:
        expected = dict(archive)
    frame = make_frame()[:5]
    np.testing.assert_allclose(model.predict(frame).to_numpy(), expected["rows"], **TOLERANCE)
    frame["when"] = frame["when"].str.replace("2024", "2025")
    np.testing.assert_allclose(model.predict(frame).to_numpy(), expected["later"], **TOLERANCE)
    (slope,) = model.summary()["slopes"]
    assert (slope["column"], slope["per"]) == ("when", "year")
    assert abs(slope["slope"] - 365.25 * 24 / 7 / 128) < 3 * slope["std"]
    assert repr(model.terms) == "Slope('time')"


def test_statistics_are_what_they_were(folder, expected):
    statistics = SufficientStatistics.load(folder / "statistics.npz")
    linear, center = statistics.linear()
    np.testing.assert_allclose(linear.gram, expected["gram"], **TOLERANCE)
    np.testing.assert_allclose(linear.moments, expected["moments"], **TOLERANCE)
    np.testing.assert_allclose(center, expected["center"], **TOLERANCE)


def test_passes_are_taken_up(folder, tmp_path):
    path = shutil.copy(folder / "checkpoint.npz", tmp_path)
    resumed = make_stream_model().fit(make_chunks, checkpoint=path)
    whole = make_stream_model().fit(make_chunks)
    assert resumed.n_samples_seen_ == whole.n_samples_seen_
    # learning the noise began elsewhere, with what the first rows had shown
    np.testing.assert_allclose(predict(resumed), predict(whole), rtol=1e-5)


def test_passes_from_before_a_parameter_was_added(folder, tmp_path):
    path = tmp_path / "checkpoint.npz"
    content, arrays, _ = load_archive(folder / "checkpoint.npz", "Checkpoint", 2)
    more = content["saved"]["more"]
    if folder.name == "layout_1":
        del more["parameters"]["dict"]["center"]
    else:
        del more["estimator"]["dict"]["intercept"]
    save_archive(path, "Checkpoint", 1 if folder.name == "layout_1" else 2, content, arrays)
    with pytest.raises(CheckpointError, match="other parameters"):
        make_stream_model().set_params(intercept=False).fit(make_chunks, checkpoint=path)
    assert make_stream_model().fit(make_chunks, checkpoint=path).n_samples_seen_ == N_CHUNKS * CHUNK


def test_passes_from_before_the_digest_was_changed(tmp_path):
    path = shutil.copy(LAYOUTS[0] / "checkpoint.npz", tmp_path)
    with pytest.warns(UserWarning, match=f"older version of torusgp, whose digest .* the {3 * CHUNK} rows"):
        assert make_stream_model().fit(make_chunks, checkpoint=path).n_samples_seen_ == N_CHUNKS * CHUNK


def test_passes_know_their_source(folder, tmp_path):
    path = shutil.copy(folder / "checkpoint.npz", tmp_path)

    def other_chunks():
        for X, y in make_chunks():
            yield X, y + 1

    with pytest.raises(CheckpointError, match=f"{3 * CHUNK} rows were counted, but they are other ones now"):
        make_stream_model().fit(other_chunks, checkpoint=path)


def test_parameters_that_moved_into_expressions_are_carried_over(tmp_path):
    pytest.importorskip("torch", reason="a device needs PyTorch")
    content, arrays, _ = load_archive(LAYOUTS[0] / "regressor.npz", "TorusGPRegressor", 1)
    old = content["parameters"]["dict"]
    changes = {"signal_variance": 2.5, "length_scale_bounds": {"tuple": [0.1, 9.0]}, "device": "cpu"}
    save_archive(tmp_path / "model", "TorusGPRegressor", 1, content | {"parameters": {"dict": old | changes}}, arrays)
    model = TorusGPRegressor.load(tmp_path / "model")
    (term,) = model.kernel.terms
    assert term.variance == 2.5
    assert [factor.length_scale_bounds for factor in term.factors] == [(0.1, 9.0)] * 2
    assert [factor.period for factor in term.factors] == [24, 7]
    assert model.backend == Torch("cpu")
    np.testing.assert_array_equal(predict(model), predict(TorusGPRegressor.load(LAYOUTS[0] / "regressor.npz")))


def test_passes_whose_targets_had_slow_change_subtracted_are_refused(tmp_path):
    path = tmp_path / "checkpoint.npz"
    content, arrays, _ = load_archive(LAYOUTS[0] / "checkpoint.npz", "Checkpoint", 1)
    save_archive(path, "Checkpoint", 1, content, {**arrays, "trend_weights": np.zeros((3, 1))})
    with pytest.raises(CheckpointError, match="subtracted slow change"):
        make_stream_model().fit(make_chunks, checkpoint=path)
