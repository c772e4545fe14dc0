"""Sums and predictions on a device against the dense reference."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.backends.devices import DEVICES, check_device
from torusgp.engine.backends import DensePredictor, GramSums, choose_backend, make_predictor, make_sums
from torusgp.engine.backends import _torch as torch_module
from torusgp.engine.backends import _torch_device as device_module
from torusgp.engine.backends._torch import TorchPredictor, TorchSums
from torusgp.engine.backends._torch_device import PRECISIONS, resolve_device, round_to_tf32, rounding, single_products
from torusgp.engine.basis import columns
from torusgp.engine.inference import LinearStatistics, Posterior
from torusgp.kernels.index_sets import adaptive, hyperbolic_cross
from torusgp.kernels.kernel import TorusKernel

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

SUM_ERROR = 1e-13  # per row: sums of products that are exact to a few units of the last of 53 bits
PREDICTION_ERROR = 1e-11  # of values of order one, through triangles with a condition number of some hundreds
FREQUENCIES = hyperbolic_cross(2, 5).frequencies


@pytest.fixture(params=DEVICES)
def device(request):
    return check_device(request.param)


@pytest.fixture
def small_pieces(monkeypatch):
    """Few rows in a chunk, fewer in a product, and several blocks of few columns."""
    monkeypatch.setattr(device_module, "_CHUNK_BYTES", {"cpu": 30_000, "cuda": 30_000})
    monkeypatch.setattr(device_module, "_ROWS_AT_ONCE", dict.fromkeys(PRECISIONS, 7))
    monkeypatch.setattr(torch_module, "_BLOCK", 16)
    monkeypatch.setattr(torch_module, "_COPY_ENTRIES", 100)


def make_rows(n=150, dimension=2, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    phases = rng.uniform(0, 2 * np.pi, (n, dimension))
    return phases, rng.uniform(0.1, 2, n), rng.normal(size=(n, n_outputs))


def sums_of(rows, device, frequencies=FREQUENCIES, precision="float64"):
    sums = TorchSums(frequencies, rows[2].shape[1], device, precision)
    sums.add_chunk(*rows)
    return sums


def dense_sums_of(rows, frequencies=FREQUENCIES):
    sums = GramSums(frequencies, rows[2].shape[1])
    sums.add_chunk(*rows)
    return sums


def check_equal_sums(found, expected, error, frequencies=FREQUENCIES):
    """Compare sums; zero asks for equality."""
    gram = found.gram(frequencies)
    np.testing.assert_allclose(gram, expected.gram(frequencies), rtol=0, atol=error)
    np.testing.assert_array_equal(gram, gram.T)
    np.testing.assert_allclose(found.moments(frequencies), expected.moments(frequencies), rtol=0, atol=error)
    np.testing.assert_allclose(found.constant_sums()[0], expected.constant_sums()[0], rtol=0, atol=error)
    np.testing.assert_allclose(found.constant_sums()[1], expected.constant_sums()[1], rtol=0, atol=error)


# Sums -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [1, 2, 4, 6])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_sums_equal_dense(device, dimension, n_outputs):
    frequencies = adaptive(TorusKernel(length_scale=0.5, period=1.0), 201, dimension=dimension).frequencies
    rows = make_rows(3000, dimension, n_outputs)
    check_equal_sums(
        sums_of(rows, device, frequencies), dense_sums_of(rows, frequencies), 3000 * SUM_ERROR, frequencies
    )


def test_many_columns_equal_dense(device):
    frequencies = adaptive(TorusKernel(period=1.0), 1501, dimension=5).frequencies  # two blocks, without small_pieces
    rows = make_rows(500, 5, 1)
    check_equal_sums(sums_of(rows, device, frequencies), dense_sums_of(rows, frequencies), 500 * SUM_ERROR, frequencies)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("size", [1, 2, 8, 9, 16, 17])
def test_pieces_of_any_size_equal_dense(device, size):
    rows = make_rows()
    frequencies = FREQUENCIES[:size]
    check_equal_sums(sums_of(rows, device, frequencies), dense_sums_of(rows, frequencies), 150 * SUM_ERROR, frequencies)


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_pieces_change_nothing_in_single_precision(device, precision, request):
    rows = make_rows()
    whole = sums_of(rows, device, precision=precision)
    request.getfixturevalue("small_pieces")
    check_equal_sums(sums_of(rows, device, precision=precision), whole, 150 * 1e-6)


def test_no_rows_add_nothing(device):
    sums = sums_of(make_rows(0), device)
    assert not sums.gram(FREQUENCIES).any()
    assert not sums.moments(FREQUENCIES).any()


def test_a_row_without_precision_is_as_if_it_were_not_there(device):
    phases, precision, targets = make_rows()
    precision[::2] = 0.0
    counted = precision > 0
    check_equal_sums(
        sums_of((phases, precision, targets), device),
        sums_of((phases[counted], precision[counted], targets[counted]), device),
        150 * SUM_ERROR,
    )


def test_rows_that_cannot_be_written_are_read(device):
    rows = make_rows()
    for part in rows:
        part.setflags(write=False)
    check_equal_sums(sums_of(rows, device), dense_sums_of(rows), 150 * SUM_ERROR)


@pytest.mark.parametrize("vector", [True, False])
def test_sums_add_with_rescaled_targets(device, vector):
    phases, precision, targets = make_rows()
    first, second = slice(0, 60), slice(60, None)
    factor, offset = (np.array([2.0, -0.5]), np.array([0.3, 1.0])) if vector else (2.0, 0.3)
    whole = dense_sums_of((phases, precision, np.vstack([targets[first], factor * targets[second] + offset])))
    parts = sums_of((phases[first], precision[first], targets[first]), device)
    parts.add(sums_of((phases[second], precision[second], targets[second]), device), factor, offset)
    check_equal_sums(parts, whole, 150 * SUM_ERROR)


@pytest.mark.usefixtures("small_pieces")
def test_sums_hold_subsets_in_any_order_only(device):
    sums = sums_of(make_rows(), device)
    subset, chosen = FREQUENCIES[[0, 5, 2]], [0, 9, 10, 3, 4]
    np.testing.assert_array_equal(sums.gram(subset), sums.gram(FREQUENCIES)[np.ix_(chosen, chosen)])
    np.testing.assert_array_equal(sums.moments(subset), sums.moments(FREQUENCIES)[chosen])
    check_equal_sums(sums.subset(subset), sums, 0.0, subset)
    assert sums.holds(subset)
    assert not sums.holds(np.array([[0, 0], [7, 7]]))
    np.testing.assert_array_equal(sums.covered(), FREQUENCIES)


@pytest.mark.usefixtures("small_pieces")
def test_dense_sums_take_the_arrays_over_and_give_them_back(device):
    sums = sums_of(make_rows(), device)
    dense, back = GramSums(FREQUENCIES, 2), TorchSums(FREQUENCIES, 2, device)
    dense.set_arrays(sums.to_arrays())
    back.set_arrays(dense.to_arrays())
    for other in (dense, back):
        check_equal_sums(other, sums, 0.0)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_pickle_goes_on_where_it_was(device, precision):
    first, second = make_rows(), make_rows(seed=1)
    sums = sums_of(first, device, precision=precision)
    restored = pickle.loads(pickle.dumps(sums))
    assert (restored.device, restored.precision) == (device, precision)
    for one in (sums, restored):
        one.add_chunk(*second)
    check_equal_sums(restored, sums, 150 * SUM_ERROR)


def test_a_pickle_of_an_absent_device_opens_on_the_cpu():
    restored = TorchSums.__new__(TorchSums)
    restored.__setstate__({**sums_of(make_rows(), "cpu").__getstate__(), "device": "cuda:99"})
    assert restored.device == "cpu"
    check_equal_sums(restored, sums_of(make_rows(), "cpu"), 0.0)


# Precisions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float32", "tf32"])
@pytest.mark.parametrize("repeated", [True, False], ids=["equal-rows", "random-rows"])
@pytest.mark.parametrize("seed", range(3))
def test_errors_stay_within_what_is_stated(device, precision, repeated, seed):
    # In equal rows nothing averages out: errors are those of one product, which the bound is made for.
    phases, weight, targets = make_rows(6000, 2, 1, seed)
    if repeated:
        phases[:], weight[:] = phases[0], 1.0
    found = sums_of((phases, weight, targets), device, precision=precision)
    expected = dense_sums_of((phases, weight, targets))
    error = np.abs(found.gram(FREQUENCIES) - expected.gram(FREQUENCIES)).max() / weight.sum()
    assert error <= found.rounding == rounding(precision)
    if repeated:  # and the bound is not idle: the products are those of this precision
        assert error > {"float32": 2.0**-27, "tf32": 2.0**-14}[precision]
    for exact in (lambda sums: sums.moments(FREQUENCIES), lambda sums: sums.gram(FREQUENCIES)[0]):
        error = 6000 * (10 * SUM_ERROR if repeated else SUM_ERROR)
        np.testing.assert_allclose(exact(found), exact(expected), rtol=0, atol=error)


def test_double_precision_is_as_exact_as_dense(device):
    rows = make_rows(50_000, 2, 1)
    F = columns(rows[0], FREQUENCIES).astype(np.longdouble)
    exact = (F.T * rows[1]) @ F
    errors = [np.abs(sums.gram(FREQUENCIES) - exact).max() for sums in (sums_of(rows, device), dense_sums_of(rows))]
    assert errors[0] < 16 * max(errors[1], np.finfo(float).eps * rows[1].sum())


@given(value=st.floats(-(2.0**20), 2.0**20, width=32).filter(lambda value: value == 0 or abs(value) > 1e-30))
def test_eleven_bits_are_the_nearest(value):
    tensor = torch.tensor([value], dtype=torch.float32)
    round_to_tf32(tensor)
    rounded = float(tensor[0])
    spacing = 2.0 ** (np.floor(np.log2(abs(value))) - 10) if value else 1.0
    assert abs(rounded - value) <= spacing / 2
    assert rounded % spacing == 0


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("before", [False, True])
def test_the_setting_of_products_is_put_back(precision, before, monkeypatch):
    settings = torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(settings, "fp32_precision") else "allow_tf32"
    sums, seen = TorchSums(FREQUENCIES, 2, "cpu", precision), []
    monkeypatch.setattr(sums, "_add_products", lambda columns, sign: seen.append(getattr(settings, name)))
    with single_products("tf32" if before else "float32"):
        chosen = getattr(settings, name)
        sums.add_chunk(*make_rows())
        assert getattr(settings, name) == chosen
        assert seen
        assert set(seen) <= ({"tf32", True} if precision == "tf32" else {"ieee", False})


def test_the_setting_of_products_is_put_back_after_an_error():
    settings = torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(settings, "fp32_precision") else "allow_tf32"
    before = getattr(settings, name)
    with pytest.raises(ZeroDivisionError), single_products("tf32"):
        raise ZeroDivisionError
    assert getattr(settings, name) == before


def test_unknown_precision_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"precision must be one of 'float64', 'float32', 'tf32', got 'half'"):
        TorchSums(FREQUENCIES, 1, "cpu", "half")


# Predictions ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def predictors(device):
    """Both predictors of the same posterior of two outputs, and points."""
    phases, precision, targets = make_rows()
    sums = dense_sums_of((phases, precision, targets))
    prior = np.random.default_rng(1).uniform(0.1, 1, (2 * len(FREQUENCIES) - 1, 2))
    statistics = LinearStatistics(sums.gram(FREQUENCIES), sums.moments(FREQUENCIES), precision @ targets**2, 150.0)
    posterior = Posterior(statistics, prior, np.array([0.1, 0.3]))
    points = make_rows(90, seed=3)[0]
    return DensePredictor(FREQUENCIES, posterior), TorchPredictor(FREQUENCIES, posterior, device), points


VERBS = {
    "mean": lambda predictor, points: predictor.mean(points, predictor.posterior.weights),
    "variance": lambda predictor, points: predictor.variance(points, 1),
    "mean_and_variance": lambda predictor, points: np.stack(predictor.mean_and_variance(points, 1)),
    "covariance": lambda predictor, points: predictor.covariance(points, 0),
    "gradient": lambda predictor, points: predictor.gradient(points, predictor.posterior.weights, waves()),
    "gradient_variance": lambda predictor, points: predictor.gradient_variance(points, waves(), 1),
    "adjoint": lambda predictor, points: predictor.adjoint(points, np.cos(points)),
    "phase_gradient": lambda predictor, points: predictor.phase_gradient(points, *form(len(points))),
}


def waves():
    return np.vstack([FREQUENCIES.T, FREQUENCIES.sum(axis=1)]).astype(float)


def form(n):
    rng = np.random.default_rng(2)
    size = 2 * len(FREQUENCIES) - 1
    root = rng.normal(size=(size, size))
    return rng.normal(size=(n, 2)), root @ root.T / size, rng.normal(size=(size, 2))


@pytest.mark.parametrize("pieces", [False, True], ids=["whole", "pieces"])
@pytest.mark.parametrize("verb", VERBS)
def test_predictions_equal_dense(predictors, verb, pieces, request):
    dense, found, points = predictors
    if pieces:
        request.getfixturevalue("small_pieces")
    expected = VERBS[verb](dense, points)
    np.testing.assert_allclose(VERBS[verb](found, points), expected, atol=PREDICTION_ERROR * np.abs(expected).max())


@pytest.mark.parametrize("verb", ["mean", "variance"])
def test_predictions_at_no_points_are_empty(predictors, verb):
    _, found, points = predictors
    assert len(VERBS[verb](found, points[:0])) == 0


def test_factors_on_the_device_are_used_as_they_are(predictors, monkeypatch):
    from torusgp.engine.backends._torch_algebra import TorchFactor

    dense, found, points = predictors
    posterior = found.posterior
    lower = torch.from_numpy(posterior.factors[0].copy()).to(found.device)
    factor = TorchFactor(lower, found.device)
    expected = dense.variance(points, 0)
    posterior._results[0] = replace(posterior._results[0], factor=factor)
    monkeypatch.setattr(TorchFactor, "lower", property(lambda self: pytest.fail("the factor left the device")))
    np.testing.assert_allclose(found.variance(points, 0), expected, rtol=1e-10)


def test_variances_are_those_of_several_blocks_too(predictors, monkeypatch):
    from torusgp.engine.backends import _torch

    dense, found, points = predictors
    monkeypatch.setattr(_torch, "_BLOCK", 16)
    np.testing.assert_allclose(found.variance(points, 0), dense.variance(points, 0), rtol=1e-10)


def test_a_pickled_predictor_predicts_the_same(predictors):
    _, found, points = predictors
    expected = found.variance(points, 0)
    restored = pickle.loads(pickle.dumps(found))
    assert restored.device == found.device
    np.testing.assert_allclose(restored.variance(points, 0), expected, rtol=1e-12)


# Devices --------------------------------------------------------------------------------------------------------------


def test_by_default_a_gpu_is_used_if_there_is_one():
    assert resolve_device(None) == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["gpu", "cpu:0", "cuda:", "cuda:x", "mps", 3])
def test_unknown_device(name):
    with pytest.raises(ValueError, match=r"device must be None, 'cpu', 'cuda' or a numbered one as 'cuda:1', got"):
        resolve_device(name)


def test_an_absent_gpu_is_named():
    with pytest.raises(
        ValueError, match=r"device='cuda:99' is not available: PyTorch .* sees \d+ GPU\(s\)\. Use device=No"
    ):
        resolve_device("cuda:99")


@pytest.mark.parametrize(
    "use",
    [
        lambda: choose_backend("torch", FREQUENCIES, 10),
        lambda: choose_backend("auto", FREQUENCIES, 10, "cuda"),
        lambda: make_sums("torch", FREQUENCIES, 1, None, None),
        lambda: make_predictor("torch", FREQUENCIES, None, None),
    ],
    ids=["choose-torch", "choose-device", "sums", "predictor"],
)
def test_without_pytorch_the_install_line_is_given(use, monkeypatch):
    monkeypatch.setattr(device_module, "torch", None)
    with pytest.raises(ImportError, match=r'pip install "torusgp\[torch\]"'):
        use()
