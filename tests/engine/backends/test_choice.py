"""The one place that chooses an implementation."""

import subprocess
import sys

import numpy as np
import pytest

from tests.engine.backends.devices import DEVICES, check_device
from torusgp.engine import backends
from torusgp.engine.backends import LapackAlgebra, choose_backend, has_device, make_algebra, make_sums
from torusgp.kernels.index_sets import from_frequencies, tensor, total_order


@pytest.mark.parametrize("name", ["dense", "finufft"])
def test_what_is_asked_for_is_used(name):
    assert choose_backend(name, tensor(2, 2).frequencies, 10) == name


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"backend must be 'auto', 'dense', 'finufft', 'type3', 'blocks', 'torch', got 'magic'"
    ):
        choose_backend("magic", tensor(2, 2).frequencies, 10)


def test_transforms_have_at_most_three_dimensions():
    with pytest.raises(ValueError, match=r"at most 3 dimensions, here are 4\. Use backend='dense'"):
        choose_backend("finufft", tensor(4, 1).frequencies, 10)


def test_a_grid_beyond_memory_is_refused_and_never_chosen():
    frequencies = np.array([[0, 0, 0], [500, 500, 500]])
    with pytest.raises(ValueError, match=r"its grid would take .* GiB"):
        choose_backend("finufft", frequencies, 10)
    assert choose_backend("auto", frequencies, 10**9) == "dense"


@pytest.mark.parametrize(
    ("index_set", "n_samples", "expected"),
    [
        (tensor(2, 10), 1_000_000, "finufft"),
        (tensor(1, 1), 100, "dense"),
        (total_order(5, 4), 1_000_000, "dense"),
        (from_frequencies(np.kron(np.eye(10, dtype=int), np.arange(1, 21)[:, None])), 1_000_000, "blocks"),
        (from_frequencies(np.kron(np.eye(10, dtype=int), np.arange(1, 21)[:, None])), 10_000, "dense"),
    ],
)
def test_the_cheaper_one_is_chosen(index_set, n_samples, expected):
    assert choose_backend("auto", index_set.frequencies, n_samples) == expected


@pytest.fixture
def gpu(monkeypatch):
    """A machine with a GPU, as far as the chooser can tell."""
    check_device("cpu")
    from torusgp.engine.backends import _torch_device

    monkeypatch.setattr(_torch_device, "resolve_device", lambda device: "cuda" if device is None else device)
    return "cuda"


@pytest.mark.parametrize(
    ("index_set", "n_samples", "expected"),
    [
        (tensor(2, 10), 1_000_000, "finufft"),
        (tensor(1, 1), 100, "torch"),
        (total_order(5, 4), 1_000_000, "torch"),
        (total_order(4, 1), 1, "torch"),
    ],
)
def test_a_gpu_takes_what_would_be_dense(gpu, index_set, n_samples, expected):
    assert choose_backend("auto", index_set.frequencies, n_samples, gpu) == expected
    assert choose_backend("auto", index_set.frequencies, n_samples) in ("dense", "finufft")


def test_the_cpu_as_a_device_changes_no_choice():
    check_device("cpu")
    assert choose_backend("auto", total_order(5, 4).frequencies, 10**6, "cpu") == "dense"


@pytest.mark.parametrize("device", [None, *DEVICES])
def test_torch_is_used_if_asked_for(device):
    check_device("cpu" if device is None else device)
    assert choose_backend("torch", tensor(2, 2).frequencies, 10, device) == "torch"


@pytest.mark.parametrize("name", ["dense", "finufft"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_device_needs_torch(name, device):
    with pytest.raises(ValueError, match=rf"device='{device}' cannot be used with backend='{name}'.* backend='torch'"):
        choose_backend(name, tensor(2, 2).frequencies, 10, device)


def test_a_device_that_is_not_there_is_refused():
    check_device("cpu")
    for backend in ("auto", "torch"):
        with pytest.raises(ValueError, match=r"device='cuda:99' is not available"):
            choose_backend(backend, tensor(2, 2).frequencies, 10, "cuda:99")


@pytest.mark.parametrize("name", ["dense", "finufft"])
def test_other_precisions_need_torch(name):
    with pytest.raises(
        ValueError, match=rf"precision='tf32' needs backend='torch': backend='{name}' sums in 'float64'"
    ):
        make_sums(name, tensor(2, 2).frequencies, 1, 1e-12, 1, precision="tf32")


def test_pytorch_is_not_imported_unless_it_is_asked_for():
    check = (
        "import sys, numpy as np, torusgp\n"
        "from torusgp.engine.backends import choose_backend, make_sums, make_predictor, check_resources\n"
        "from torusgp.engine.inference import LinearStatistics, Posterior\n"
        "frequencies = torusgp.index_sets.tensor(4, 1).frequencies\n"
        "name = choose_backend('auto', frequencies, 10)\n"
        "sums = make_sums(name, frequencies, 1, None, None)\n"
        "sums.add_chunk(np.ones((9, 4)), np.ones(9), np.ones((9, 1)))\n"
        "linear = LinearStatistics(sums.gram(frequencies), sums.moments(frequencies), np.ones(1), 9.0)\n"
        "posterior = Posterior(linear, np.ones((len(linear.gram), 1)), np.ones(1))\n"
        "make_predictor(name, frequencies, posterior, None).variance(np.ones((2, 4)), 0)\n"
        "check_resources(len(linear.gram), 9, name)\n"
        "print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False"]


def test_only_large_matrices_are_factored_on_a_device(gpu, monkeypatch):
    check_device("cpu")
    from torusgp.engine.backends import _torch_algebra

    monkeypatch.setattr(_torch_algebra, "TorchAlgebra", lambda gram, device: (len(gram), device))
    limit = backends._FEW_COLUMNS
    assert isinstance(make_algebra(np.eye(limit), gpu), LapackAlgebra)
    assert make_algebra(np.eye(limit + 1), gpu) == (limit + 1, gpu)
    for device in (None, "cpu"):
        assert isinstance(make_algebra(np.eye(limit + 1), device), LapackAlgebra)


def test_sums_state_their_rounding():
    frequencies = tensor(2, 2).frequencies
    assert make_sums("finufft", frequencies, 1, 1e-12, 1).rounding == 1e-12
    exact = make_sums("dense", frequencies, 1, None, 1).rounding
    check_device("cpu")
    by_precision = [
        make_sums("torch", frequencies, 1, None, 1, "cpu", precision).rounding
        for precision in ("float64", "float32", "tf32")
    ]
    assert exact == by_precision[0] == 4 * np.finfo(float).eps
    assert by_precision[0] < by_precision[1] < by_precision[2]


def test_devices_are_there_or_not():
    check_device("cpu")
    assert has_device("cpu")
    assert not has_device("cuda:99")
