"""Enumeration of index sets with about 10^5 columns: time, and memory relative to the set itself."""

import json
import time
import tracemalloc
from pathlib import Path

import numpy as np

from torusgp import TorusKernel
from torusgp.kernels.index_sets import (
    adaptive,
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    tensor,
    total_order,
)

RESULTS = Path(__file__).parent / "results" / "enumeration.json"
BUDGET = 100_001


def cases():
    for dimension, max_interaction in ((10, None), (100, 2)):
        isotropic = TorusKernel(length_scale=1.0)
        unequal = TorusKernel(length_scale=np.linspace(0.3, 3.0, dimension))
        limit = {"max_interaction": max_interaction}
        yield (
            dimension,
            "adaptive, equal scales",
            lambda k=isotropic, d=dimension, m=limit: adaptive(k, BUDGET, dimension=d, **m),
        )
        yield dimension, "adaptive, unequal scales", lambda k=unequal, m=limit: adaptive(k, BUDGET, **m)
        for family in (tensor, total_order, euclidean, hyperbolic_cross, energy_norm_hyperbolic_cross):
            # unweighted crosses of ten dimensions hold all 3^10 binary vectors and more
            weights = 0.7 if dimension == 10 else 1.0
            yield (
                dimension,
                family.__name__,
                lambda f=family, d=dimension, w=weights, m=limit: f(d, n_components=BUDGET, weights=w, **m),
            )


def main(arguments=None):
    rows = []
    print(f"{'D':>4}  {'set':<30} {'columns':>8} {'seconds':>8} {'peak memory / set':>18}")
    for dimension, name, build in cases():
        times = []
        for _ in range(3):
            start = time.perf_counter()
            index_set = build()
            times.append(time.perf_counter() - start)
        tracemalloc.start()
        build()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        held = index_set.frequencies.nbytes + (0 if index_set.indices is None else index_set.indices.nbytes)
        row = {
            "dimension": dimension,
            "set": name,
            "columns": index_set.n_components,
            "seconds": float(np.median(times)),
            "peak_over_set": peak / held,
        }
        rows.append(row)
        print(f"{dimension:>4}  {name:<30} {row['columns']:>8} {row['seconds']:>8.3f} {row['peak_over_set']:>18.1f}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
