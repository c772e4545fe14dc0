"""Streaming, fitting and predicting in one process for a long time: ``python -m tests.fuzz.soak [--minutes 60]``.

Memory has to stay what it was after the first rounds, and answers bit by bit the same.
"""

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from torusgp import Category, Circle, Line, SufficientStatistics, TorusGPRegressor
from torusgp.kernels.index_sets import hyperbolic_cross

WARM_UP = 5  # rounds after which memory has found its level
SLACK_MIB = 64  # by which allocators move


def rows(n):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 240, n), rng.uniform(-5, 30, n), rng.integers(0, 4, n)])
    return X, np.sin(2 * np.pi * X[:, 0] / 24) + 0.02 * X[:, 1] + 0.2 * (X[:, 2] == 1) + 0.1 * rng.normal(size=n)


def one_round(folder):
    """Everything once; what it gives."""
    X, y = rows(20_000)
    chunks = [(X[i : i + 1000], y[i : i + 1000]) for i in range(0, len(y), 1000)]
    pass_file = folder / "pass"
    pass_file.unlink(missing_ok=True)
    sums = SufficientStatistics.from_source(
        iter([(one[:, :2], target) for one, target in chunks]),
        hyperbolic_cross(2, 8),
        period=(24.0, 40.0),
        n_threads=1,
        checkpoint=pass_file,
    )
    model = TorusGPRegressor(Circle(0, 24) * Line(1) + Category(2), n_components=61, n_threads=1).fit(
        X[:2000], y[:2000]
    )
    model.partial_fit(X[2000:2500], y[2000:2500])
    model.save(folder / "model")
    mean, std = TorusGPRegressor.load(folder / "model").predict(X[:5000], return_std=True)
    return np.concatenate([mean, std, sums.linear()[0].moments.ravel(), model.sample_y(X[:10], random_state=0).ravel()])


def resident_mib():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def main(words):
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.soak")
    parser.add_argument("--minutes", type=float, default=60.0)
    end = time.monotonic() + 60 * parser.parse_args(words).minutes
    first, level, highest, n_rounds = None, 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while time.monotonic() < end or n_rounds <= WARM_UP:
            answer = one_round(Path(folder))
            first = answer if first is None else first
            if not np.array_equal(answer, first):
                print(f"round {n_rounds}: answers differ by up to {np.abs(answer - first).max():.3g}")
                return 1
            level = resident_mib() if n_rounds <= WARM_UP else level
            highest = max(highest, resident_mib())
            n_rounds += 1
    print(f"{n_rounds} rounds, the same answers; {level:.0f} MiB after {WARM_UP} rounds, {highest:.0f} MiB at most")
    return int(highest > level + SLACK_MIB)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
