"""Files of every layout so far are read, and say what they said when they were written."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.storage.stored.cases import CHUNK, N_CHUNKS, make_chunks, make_frame, make_rows, make_stream_model, predict
from torusgp import SufficientStatistics, TableModel, TorusGPRegressor
from torusgp.data.checkpoints import CheckpointError
from torusgp.storage.archives import load_archive, save_archive

LAYOUTS = sorted((Path(__file__).parent / "stored").glob("layout_*"))
TOLERANCE = {"rtol": 1e-8, "atol": 1e-8}  # another machine's Cholesky factor

pytestmark = [
    pytest.mark.filterwarnings("ignore:The .* columns leave out"),
    pytest.mark.filterwarnings("ignore:.* was written by an older version"),
]


@pytest.fixture(params=LAYOUTS, ids=lambda folder: folder.name)
def folder(request):
    return request.param


@pytest.fixture
def expected(folder):
    with np.load(folder / "expected.npz") as archive:
        return dict(archive)


def test_there_is_a_first_layout():
    assert LAYOUTS[0].name == "layout_1"


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
    np.testing.assert_allclose(lattice.kernel_.period, expected["lattice_period"], **TOLERANCE)
    np.testing.assert_allclose(lattice.period_std_, expected["lattice_period_std"], **TOLERANCE)
    assert lattice.trend_ is not None


def test_rows_are_added_to_models(folder):
    model = TorusGPRegressor.load(folder / "regressor.npz")
    before = model.n_samples_seen_
    X, y = make_rows(20)
    model.partial_fit(pd.DataFrame(X, columns=["hour", "weekday"]), np.stack([y, y], axis=1))
    assert model.n_samples_seen_ == before + 20


def test_models_of_tables_predict_what_they_did(folder, expected):
    model = TableModel.load(folder / "table.npz")
    np.testing.assert_allclose(model.predict(make_frame()[:5]).to_numpy(), expected["table"], **TOLERANCE)
    assert model.judgement_ is not None
    assert model.summary()


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
    content, arrays = load_archive(folder / "checkpoint.npz", "Checkpoint", 2)
    parameters = content["saved"]["more"]["parameters"]["dict"]
    del parameters["intercept" if "intercept" in parameters else "center"]  # its name in the first layout
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
