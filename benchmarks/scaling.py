"""Cost of statistics and of fits against rows, columns and dimensions, beside one bare transform; on one thread.

Arms take turns, so that a busy machine slows all of them alike. A bare transform is one type-1 FINUFFT of all rows onto
the modes that the statistics need: no method that looks at every row through these columns can be much cheaper.

    python -m benchmarks.scaling          # about four minutes
    python -m benchmarks.scaling --quick  # some seconds; fewer rows, figures are rough
"""

import argparse
import json
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import finufft
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import page
from benchmarks.engine import PERIOD, TOLERANCE, Turns, describe_machine, make_data
from benchmarks.periods.runner import markdown_table
from torusgp import SufficientStatistics, TorusGPRegressor, TorusKernel
from torusgp.engine.backends import BACKENDS
from torusgp.kernels.index_sets import adaptive

RESULTS = Path(__file__).parent / "results" / "scaling.json"
N_COLUMNS = 401  # where columns do not vary
NUFFT_DIMENSIONS = 3
DENSE_FLOPS = 1e11  # the most that an arm of dense products may cost: a few seconds
FIT_COLUMNS = 1601  # the most of a fit: beyond, factors of matrices are all that it does
BARE = {1: finufft.nufft1d1, 2: finufft.nufft2d1, 3: finufft.nufft3d1}


class BestTurns(Turns):
    """Turns that also tell the shortest time of an arm."""

    def best(self, name):
        return min(self._seconds[name])


def make_chain(n_samples, dimension, random_state=0):
    """A smooth function of any number of phases, each shifting the wave of the one before, with noise; period one."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, 1, (n_samples, dimension))
    phases = 2 * np.pi * X
    waves = np.exp(np.cos(phases - np.cos(np.roll(phases, -1, axis=1)))).mean(axis=1)
    return X, waves + 0.3 * rng.normal(size=n_samples)


def statistics_arms(X, y, period, index_set):
    """Arms that gather the statistics of all rows, with each implementation that can, and one bare transform."""
    dimension, n_columns = X.shape[1], index_set.n_components
    few_products = len(X) * float(n_columns) ** 2 <= DENSE_FLOPS
    possible = {
        "finufft": dimension <= NUFFT_DIMENSIONS,
        "dense": few_products,
        "torch": few_products and find_spec("torch") is not None,
    }

    def gather(backend):
        SufficientStatistics.from_data(
            X, y, index_set, period=period, backend=backend, tolerance=TOLERANCE, n_threads=1
        ).linear()

    arms = {f"statistics, {name}": lambda name=name: gather(name) for name in BACKENDS if possible.get(name)}
    if dimension <= NUFFT_DIMENSIONS:
        phases = TorusKernel(period=period).phases(X)
        points = [np.ascontiguousarray(column) for column in phases.T]
        strengths = 1 + 1j * (y - y.mean()) / y.std()
        modes = tuple(int(4 * k + 1) for k in np.abs(index_set.frequencies).max(axis=0))
        if dimension == 1:
            modes = modes[0]
        transform = BARE[dimension]
        arms["bare transform"] = lambda: transform(*points, strengths, modes, eps=TOLERANCE, isign=1, nthreads=1)
    return arms


def fit_arm(X, y, period, n_columns):
    """An arm that learns all hyperparameters."""

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a number of components that is too small for the function
            TorusGPRegressor(period=period, n_components=n_columns, n_threads=1).fit(X, y)

    return fit


def measure(part, X, y, period, n_columns, n_turns, with_fit=True):
    """Rows of results of all arms for these data and so many components."""
    index_set = adaptive(TorusKernel(length_scale=1.0, period=period), n_columns, dimension=X.shape[1])
    arms = statistics_arms(X, y, period, index_set)
    if with_fit:
        arms["fit with learning"] = fit_arm(X, y, period, n_columns)
    turns = BestTurns(arms, n_turns, clock=time.perf_counter)
    yardstick = "bare transform" if "bare transform" in arms else None
    return [
        {
            "part": part,
            "rows": len(X),
            "dimension": X.shape[1],
            "columns": index_set.n_components,
            "arm": name,
            "best": turns.best(name),
            "median": turns.median(name),
            "bare transforms": turns.ratio(name, yardstick) if yardstick else None,
        }
        for name in arms
    ]


def against_rows(largest, n_turns):
    results = []
    for power in range(3, largest + 1):
        X, y = make_data(10**power)
        turns = max(2, n_turns - 2 * max(0, power - 5))
        results += measure("rows", X, y, PERIOD, N_COLUMNS, turns)
    return results


def against_columns(n_samples, sizes, n_turns):
    X, y = make_data(n_samples)
    results = []
    for size in sizes:
        results += measure("columns", X, y, PERIOD, size, n_turns, with_fit=size <= FIT_COLUMNS)
    return results


def against_dimensions(n_samples, dimensions, n_turns):
    results = []
    for dimension in dimensions:
        results += measure("dimension", *make_chain(n_samples, dimension), 1.0, N_COLUMNS, n_turns)
    return results


def run(quick=False):
    """All rows of results, on one thread."""
    if find_spec("torch") is not None:
        import torch  # here, so that the first turn does not pay for it

        torch.set_num_threads(1)
    with threadpool_limits(1):
        if quick:
            return [
                *against_rows(4, 2),
                *against_columns(5_000, (101, 201, 401), 2),
                *against_dimensions(2_000, (1, 2, 3, 4), 2),
            ]
        return [
            *against_rows(7, 5),
            *against_columns(100_000, (101, 201, 401, 801, 1601, 3201), 3),
            *against_dimensions(20_000, range(1, 9), 3),
        ]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "scaling", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rows, columns and turns")
    options = parser.parse_args(arguments)
    results = run(options.quick)
    RESULTS.parent.mkdir(exist_ok=True)
    record = {"versions": describe_machine(), "quick": options.quick, "results": results}
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    for part in dict.fromkeys(row["part"] for row in results):
        lines = [{key: value for key, value in row.items() if key != "part"} for row in results if row["part"] == part]
        print(f"\nCost against {part}, seconds\n\n{markdown_table(lines)}")
    print(f"\nWritten: {page.write(RESULTS.parent)}")


if __name__ == "__main__":
    main()
