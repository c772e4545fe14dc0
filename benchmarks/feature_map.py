"""Columns of the basis against cos and sin of a matrix product: 10^5 rows, three dimensions, 1001 columns."""

import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from torusgp import TorusKernel
from torusgp.engine.basis import columns
from torusgp.kernels.index_sets import adaptive

RESULTS = Path(__file__).parent / "results" / "feature_map.json"
N_SAMPLES = 100_000
N_TURNS = 5


def plain(phases, frequencies):
    angles = phases @ frequencies.T
    return np.cos(angles), np.sin(angles)


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def main(arguments=None):
    frequencies = adaptive(TorusKernel(length_scale=0.3), 1001, dimension=3).frequencies
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, (N_SAMPLES, 3))
    times = []
    with threadpool_limits(1):
        for _ in range(N_TURNS):
            slow, (cosines, sines) = timed(plain, phases, frequencies[1:].astype(float))
            fast, features = timed(columns, phases, frequencies)
            times.append((slow, fast))
            difference = max(np.abs(features[:, 1::2] - cosines).max(), np.abs(features[:, 2::2] - sines).max())
            del cosines, sines, features
    slow, fast = np.median(times, axis=0)
    ratio = float(np.median([a / b for a, b in times]))
    print(f"cos and sin {slow:.2f} s, columns {fast:.2f} s, ratio {ratio:.1f}, largest difference {difference:.1e}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"plain": slow, "columns": fast, "ratio": ratio, "difference": difference}))


if __name__ == "__main__":
    main()
