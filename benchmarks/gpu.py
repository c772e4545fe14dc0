"""Sums, factors, predictions and a whole fit on a device: six dimensions, 4095 columns.

Rates of sums count 2 n M^2 operations for n rows and M columns, as a plain matrix product would take, although only
the upper half is computed. Errors are those against the dense sums of the CPU, relative to the number of rows.

    python -m benchmarks gpu                         # a GPU if there is one: a few minutes
    python -m benchmarks gpu --device cpu --quick    # half a minute; figures say little
"""

import argparse
import gc
import json
import statistics
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.engine import describe_machine, figure, format_table
from torusgp import Torch, TorusGPRegressor, TorusKernel
from torusgp.engine.backends import GramSums
from torusgp.engine.backends._torch import TorchPredictor, TorchSums
from torusgp.engine.backends._torch_algebra import TorchAlgebra
from torusgp.engine.backends._torch_device import PRECISIONS, DeviceColumns, resolve_device, rounding, torch
from torusgp.engine.inference import LinearStatistics, Posterior, evidence
from torusgp.kernels.index_sets import adaptive

RESULTS = Path(__file__).parent / "results" / "gpu.json"
DIMENSION = 6
KERNEL = TorusKernel(length_scale=1.0)
NOISE = 0.3
DATA_ROWS = 10**6  # rows that are made at once


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    n_columns: int
    n_rows: int  # of the sums
    n_compared: int  # of those that the CPU sums too
    n_points: int
    orders: tuple  # of the matrices that are factored
    n_fitted: int
    n_turns: int


FULL = Sizes(4095, 2_000_000, 20_000, 1_000_000, (4096, 16384), 10_000_000, 3)
QUICK = Sizes(301, 20_000, 5_000, 5_000, (256, 1024), 20_000, 1)


def make_data(n_rows, seed=0):
    """Phases and a smooth function of them with noise; made in parts, so that memory is that of the result."""
    X, y = np.empty((n_rows, DIMENSION)), np.empty(n_rows)
    rng = np.random.default_rng(seed)
    for start in range(0, n_rows, DATA_ROWS):
        rows = slice(start, min(start + DATA_ROWS, n_rows))
        size = rows.stop - rows.start
        X[rows] = rng.uniform(0, 2 * np.pi, (size, DIMENSION))
        a, b, c, d, e, f = X[rows].T
        y[rows] = np.exp(np.cos(a) * np.cos(b)) + np.sin(c + 1.5 * np.sin(d))
        y[rows] += np.exp(np.cos(e - f)) * np.sin(a + 2 * e) + np.cos(b + d + f + np.sin(a))
        y[rows] += NOISE * rng.normal(size=size)
    return X, y


class Clock:
    """Seconds of work on a device, with all that it was given finished."""

    def __init__(self, device, n_turns):
        self._device, self._n_turns = device, n_turns

    def __call__(self, work):
        """Median over some turns, after one that is not counted."""
        work()
        return statistics.median(self._once(work) for _ in range(self._n_turns))

    def _once(self, work):
        self._finish()
        start = time.perf_counter()
        work()
        self._finish()
        return time.perf_counter() - start

    def _finish(self):
        if self._device != "cpu":
            torch.cuda.synchronize(self._device)


def benchmark_sums(sizes, device, clock):
    """Rows and operations in a second, of each precision, and errors."""
    frequencies = adaptive(KERNEL, sizes.n_columns, dimension=DIMENSION).frequencies
    n_columns = 2 * len(frequencies) - 1
    X, y = make_data(sizes.n_rows)
    ones = np.ones(len(X))
    few = slice(0, sizes.n_compared)
    reference = GramSums(frequencies, 1)
    reference.add_chunk(X[few], ones[few], y[few, None])
    expected = reference.gram(frequencies)
    operations = 2 * sizes.n_rows * n_columns**2
    found = [figure("columns", n_columns), figure("rows", sizes.n_rows)]
    for precision in PRECISIONS:
        sums = TorchSums(frequencies, 1, device, precision)
        seconds = clock(lambda sums=sums: sums.add_chunk(X, ones, y[:, None]))
        compared = TorchSums(frequencies, 1, device, precision)
        compared.add_chunk(X[few], ones[few], y[few, None])
        difference = (compared.gram(frequencies) - expected) / sizes.n_compared
        bound = 1e-13 if precision == "float64" else rounding(precision)
        target = 40 if precision == "float64" and device != "cpu" and sizes is FULL else None
        found += [
            figure(f"{precision} (million rows/s)", sizes.n_rows / seconds / 1e6),
            figure(f"{precision} (Tflop/s)", operations / seconds / 1e12, at_least=target),
            figure(f"{precision}, largest error of F'F / n", float(np.abs(difference).max()), at_most=bound),
            figure(f"{precision}, mean error of the diagonal / n", np.diag(difference).mean()),
        ]
    return found + benchmark_parts(sizes, device, clock, frequencies)


def benchmark_parts(sizes, device, clock, frequencies):
    """What the sums are made of: columns, and plain products of matrices of their size."""
    n_rows = min(16384, sizes.n_rows)
    columns = DeviceColumns(frequencies, device)
    workspace = columns.workspace(n_rows)
    phases = torch.rand((n_rows, DIMENSION), dtype=torch.float64, device=device)
    scale = torch.ones((n_rows, 1), dtype=torch.float64, device=device)
    matrix = columns.evaluate(phases, scale, workspace)
    building = clock(lambda: columns.evaluate(phases, scale, workspace))
    product = clock(lambda: matrix.T @ matrix)
    return [
        figure("columns alone (million rows/s)", n_rows / building / 1e6),
        figure("one plain product of columns, float64 (Tflop/s)", 2 * n_rows * columns.width**2 / product / 1e12),
    ]


def benchmark_factors(sizes, device, clock):
    """Cholesky factors, diagonals of inverses, and evaluations of the evidence with its gradient."""
    found = []
    for order in sizes.orders:
        rng = np.random.default_rng(0)
        some = rng.normal(size=(order, 64))
        gram = some @ some.T
        gram[np.diag_indices(order)] += 1000.0
        root = rng.uniform(0.5, 1, order)
        algebra = TorchAlgebra(gram, device)
        factor = algebra.factor(root, 0.1)
        linear = LinearStatistics(gram, rng.normal(size=(order, 1)), np.array([1e6]), 1e3, device=device)
        factoring = clock(lambda algebra=algebra, root=root: algebra.factor(root, 0.1))
        inverting = clock(factor.inverse_diagonal)
        whole = clock(lambda linear=linear, root=root: evidence(linear, root**2, 0.1).gradient())
        found += [
            figure(f"Cholesky factor, order {order} (s)", factoring),
            figure(f"Cholesky factor, order {order} (Tflop/s)", order**3 / 3 / factoring / 1e12),
            figure(f"diagonal of the inverse, order {order} (s)", inverting),
            figure(f"evidence and gradient, order {order} (s)", whole),
        ]
        del algebra, factor, linear, gram
        _release(device)
    return found


def benchmark_prediction(sizes, device, clock):
    """Posterior mean and variance at points."""
    frequencies = adaptive(KERNEL, sizes.n_columns, dimension=DIMENSION).frequencies
    X, y = make_data(min(sizes.n_rows, 200_000))
    sums = TorchSums(frequencies, 1, device)
    sums.add_chunk(X, np.ones(len(X)), y[:, None])
    coefficients = KERNEL.coefficients(frequencies)
    prior = np.append(coefficients[0], 2 * np.repeat(coefficients[1:], 2))[:, None]
    linear = LinearStatistics(
        sums.gram(frequencies), sums.moments(frequencies), np.array([y @ y]), float(len(y)), device=device
    )
    posterior = Posterior(linear, prior, np.array([NOISE**2]))
    predictor = TorchPredictor(frequencies, posterior, device)
    points = make_data(sizes.n_points, seed=1)[0]
    weights = posterior.weights
    means = clock(lambda: predictor.mean(points, weights))
    both = clock(lambda: predictor.mean_and_variance(points, 0))
    return [
        figure("mean (million points/s)", sizes.n_points / means / 1e6),
        figure("mean and variance (million points/s)", sizes.n_points / both / 1e6),
        figure("mean and variance (Tflop/s)", sizes.n_points * len(weights) ** 2 / both / 1e12),
    ]


def benchmark_fit(sizes, device):
    """A whole fit that learns six length scales and both variances, and what it predicts."""
    X, y = make_data(sizes.n_fitted, seed=2)
    lines = []
    backend = Torch(device, transforms=False)
    model = TorusGPRegressor(period=2 * np.pi, n_components=sizes.n_columns, backend=backend, verbose=lines.append)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    seconds = time.perf_counter() - start
    for line in [*lines, *(f"warning: {one.message}" for one in caught)]:
        print(f"  {line}")
    new_X, new_y = make_data(100_000, seed=3)
    start = time.perf_counter()
    mean, std = model.predict(new_X, return_std=True)
    predicting = time.perf_counter() - start
    return [
        figure("rows", sizes.n_fitted),
        figure("columns", model.index_set_.n_components),
        figure("fit with learning (s)", seconds),
        figure("mean and std at 10^5 points (s)", predicting),
        figure("R2 on new data", 1 - np.mean((new_y - mean) ** 2) / new_y.var()),
        figure("noise found / true noise (std)", np.sqrt(model.noise_variance_) / NOISE),
        figure("errors within one std (0.68)", np.mean(np.abs(new_y - mean) < std)),
    ]


def _release(device):
    gc.collect()
    if device != "cpu":
        torch.cuda.empty_cache()


def run(sizes, device):
    """Run everything; a dictionary of groups of figures."""
    clock = Clock(device, sizes.n_turns)
    groups = {}
    for title, part in {
        f"sums, {DIMENSION} dimensions": lambda: benchmark_sums(sizes, device, clock),
        "linear algebra": lambda: benchmark_factors(sizes, device, clock),
        "prediction": lambda: benchmark_prediction(sizes, device, clock),
        "fit with learning": lambda: benchmark_fit(sizes, device),
    }.items():
        if device != "cpu":
            torch.cuda.reset_peak_memory_stats(device)
        start = time.perf_counter()
        groups[title] = part()
        if device != "cpu":
            groups[title].append(figure("memory of the device (GiB)", torch.cuda.max_memory_allocated(device) / 2**30))
        groups[title].append(figure("seconds of this part", time.perf_counter() - start))
        print(format_table({title: groups[title]}), flush=True)
        _release(device)
    return groups


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="cpu, cuda or cuda:1 and so on; by default a GPU if there is one")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    options = parser.parse_args(arguments)
    device = resolve_device(options.device)
    name = "CPU" if device == "cpu" else torch.cuda.get_device_name(device)
    print(f"{name}, PyTorch {torch.__version__}", flush=True)
    groups = run(QUICK if options.quick else FULL, device)
    versions = {**describe_machine(), "torch": torch.__version__, "device": name}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"versions": versions, "groups": groups}, indent=2) + "\n")
    print(f"Written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
