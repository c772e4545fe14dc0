"""What a regression takes, against what there is."""

import os
import tracemalloc

import numpy as np
import pytest

from tests.engine.backends.devices import check_device
from torusgp.engine.backends import GramSums, TooLargeError, _resources, check_resources, estimate_resources
from torusgp.engine.inference import LinearStatistics, evidence
from torusgp.kernels.index_sets import adaptive
from torusgp.kernels.kernel import TorusKernel

GIBI = 2**30


@pytest.fixture
def memory(monkeypatch):
    """Set how much memory is free, on the machine and on a device."""

    def set_free(machine, device=None):
        monkeypatch.setattr(_resources, "available_memory", lambda: machine)
        monkeypatch.setattr(_resources, "_device_memory", lambda name: device)

    return set_free


def test_what_fits_is_returned(memory):
    memory(16 * GIBI)
    needed = check_resources(20_001, 10**6, "dense")
    assert needed.memory == 4 * 8 * 20_001**2
    assert needed.device_memory == 0
    assert needed.seconds == pytest.approx((1e6 * 20_001**2 + 100 * 2 / 3 * 20_001**3) * 4e-11)


def test_what_does_not_fit_says_everything(memory):
    memory(8 * 10**9)
    with pytest.raises(TooLargeError) as error:
        check_resources(20_001, 10**6, "dense")
    message = str(error.value)
    for part in (
        "20001 components",
        "12.8 GB of memory",
        "backend='dense'",
        "8 GB are free",
        "10 h for 1e+06 rows and 100 evaluations",
        "at most 15811 of them",
        "device='cuda'",
    ):
        assert part in message
    assert isinstance(error.value, MemoryError)


def test_no_work_takes_no_time_to_speak_of(memory):
    memory(10**9)
    with pytest.raises(TooLargeError, match=r"1 GB are free\. Use at most"):
        check_resources(20_001, 0, "dense", n_evaluations=0)


def test_the_number_of_components_that_is_named_fits(memory):
    memory(10**9)
    with pytest.raises(TooLargeError, match=r"at most \d+ of them") as error:
        check_resources(10_001, 1, "dense")
    most = int(str(error.value).split("at most ")[1].split()[0])
    check_resources(most, 1, "dense")
    with pytest.raises(TooLargeError):
        check_resources(most + 1, 1, "dense")


@pytest.mark.parametrize(
    ("backend", "device", "n_outputs", "matrices", "device_matrices"),
    [
        ("dense", None, 1, 4, 0),
        ("dense", None, 3, 6, 0),
        ("finufft", None, 1, 3, 0),
        ("finufft", "cuda", 1, 1, 3),
        ("torch", "cpu", 1, 4, 0),
        ("torch", "cuda", 1, 1, 4),
    ],
)
def test_matrices_are_counted(backend, device, n_outputs, matrices, device_matrices):
    needed = estimate_resources(1000, 1000, backend, device, n_outputs=n_outputs)
    assert needed.memory == matrices * 8_000_000
    assert needed.device_memory == device_matrices * 8_000_000


def test_a_device_is_checked_too_and_is_faster(memory):
    memory(16 * GIBI, 64 * GIBI)
    on_device = check_resources(20_001, 10**7, "torch", "cuda")
    assert on_device.seconds < 0.01 * check_resources(20_001, 10**7, "dense").seconds
    memory(16 * GIBI, 10**9)
    with pytest.raises(TooLargeError, match=r"memory of 'cuda' with backend='torch'.* 1 GB are free.* backend='dense'"):
        check_resources(20_001, 10**7, "torch", "cuda")


def test_torch_without_a_device_is_checked_where_it_will_run(memory):
    check_device("cpu")
    memory(GIBI, GIBI)
    with pytest.raises(TooLargeError, match=r"20001 components need"):
        check_resources(20_001, 1, "torch")


def test_transforms_take_time_by_dimension_not_by_columns():
    times = [
        estimate_resources(size, 10**7, "finufft", dimension=dimension, n_evaluations=0).seconds
        for size, dimension in [(101, 2), (1001, 2), (101, 3)]
    ]
    assert times[0] == times[1] < times[2]


def test_unknown_memory_stops_nothing(memory):
    memory(None)
    check_resources(10**6, 10**6, "dense")


def test_few_columns_are_not_worth_a_look(monkeypatch):
    monkeypatch.setattr(_resources, "available_memory", lambda: pytest.fail("memory was looked at"))
    check_resources(1001, 10**6, "dense")


# What the machine says --------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A machine with 32 GiB free; what its files say can be added."""
    monkeypatch.setattr(_resources, "_ROOT", tmp_path)

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    write("proc/meminfo", f"MemTotal: 99999999 kB\nMemAvailable: {32 * 2**20} kB\n")
    return write


def test_the_memory_of_the_machine_is_read(files):
    assert _resources.available_memory() == 32 * GIBI


@pytest.mark.parametrize("path", ["/", "/a", "/a/b"])
def test_limits_of_control_groups_count(files, path):
    files("proc/self/cgroup", f"0::{path}\n")
    folder = f"sys/fs/cgroup{path}"
    files(f"{folder}/memory.max", f"{8 * GIBI}\n")
    files(f"{folder}/memory.current", f"{5 * GIBI}\n")
    files(f"{folder}/memory.stat", f"anon 17\ninactive_file {2 * GIBI}\n")
    assert _resources.available_memory() == 5 * GIBI  # files that were read can be given up


def test_groups_above_count_too(files):
    files("proc/self/cgroup", "0::/a/b\n")
    for folder, limit in (("a", 4), ("a/b", 8)):
        files(f"sys/fs/cgroup/{folder}/memory.max", str(limit * GIBI))
        files(f"sys/fs/cgroup/{folder}/memory.current", str(GIBI))
    assert _resources.available_memory() == 3 * GIBI


def test_limits_of_older_systems_count(files):
    files("proc/self/cgroup", "12:cpu:/x\n5:memory,hugetlb:/x\n")
    files("sys/fs/cgroup/memory/x/memory.limit_in_bytes", str(8 * GIBI))
    files("sys/fs/cgroup/memory/x/memory.usage_in_bytes", str(6 * GIBI))
    assert _resources.available_memory() == 2 * GIBI


@pytest.mark.parametrize("limit", ["max", "", str(2**63 - 4096)])
def test_no_limit_is_none(files, limit):
    files("proc/self/cgroup", "0::/\n")
    files("sys/fs/cgroup/memory.max", limit)
    files("sys/fs/cgroup/memory.current", str(GIBI))
    assert _resources.available_memory() == 32 * GIBI


def test_where_nobody_tells_nothing_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr(_resources, "_ROOT", tmp_path)
    monkeypatch.delattr(os, "sysconf")
    assert _resources.available_memory() is None


# The counts ---------------------------------------------------------------------------------------------------------


def test_the_peak_is_as_counted():
    """Sums, Gram matrix, factor, and one matrix for the gradient or the covariance."""
    index_set = adaptive(TorusKernel(period=1.0), 1001, dimension=4)
    frequencies, size = index_set.frequencies, index_set.n_components
    rng = np.random.default_rng(0)
    tracemalloc.start()
    try:
        sums = GramSums(frequencies, 1)
        sums.add_chunk(rng.uniform(size=(64, 4)), np.ones(64), rng.normal(size=(64, 1)))
        tracemalloc.reset_peak()
        linear = LinearStatistics(sums.gram(frequencies), sums.moments(frequencies), np.ones(1), 64.0)
        result = evidence(linear, np.ones(size), 0.1)
        result.gradient()
        first = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        result.covariance()
        second = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    allowed = estimate_resources(size, 64, "dense").memory + 0.5 * 8 * size**2  # blocks that are gathered
    assert first < allowed
    assert second < allowed
