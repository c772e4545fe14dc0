"""Energies with gradients against energies alone: 10^5 points, three dimensions, 1001 components, processor time."""

import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from torusgp import TorusGPRegressor

RESULTS = Path(__file__).parent / "results" / "derivatives.json"
N_POINTS, N_COMPONENTS = 100_000, 1001


def surface(points):
    """Energy of three angles in degrees, and its derivatives, with noise."""
    rng = np.random.default_rng(1)
    frequencies = rng.integers(-3, 4, (12, 3))
    angles = np.radians(points) @ frequencies.T + rng.uniform(0, 2 * np.pi, 12)
    energy = np.cos(angles).sum(axis=1) + 0.1 * rng.normal(size=len(points))
    gradient = np.pi / 180 * (-np.sin(angles) @ frequencies)
    return energy, gradient + 1e-3 * rng.normal(size=points.shape)


def main(arguments=None):
    X = np.random.default_rng(0).uniform(-180, 180, (N_POINTS, 3))
    y, gradient = surface(X)
    times = {}
    with threadpool_limits(1):
        for backend in ("finufft", "dense"):
            for name, slopes in (("energies", {}), ("with gradients", {"X_gradient": X, "gradient": gradient})):
                model = TorusGPRegressor(period=360, n_components=N_COMPONENTS, backend=backend, n_threads=1)
                start = time.process_time()
                model.fit(X, y, **slopes)
                times[f"{backend}, {name}"] = time.process_time() - start
            ratio = times[f"{backend}, with gradients"] / times[f"{backend}, energies"]
            times[f"{backend}, ratio"] = ratio
            print(
                f"{backend}: energies {times[f'{backend}, energies']:.1f} s, with gradients "
                f"{times[f'{backend}, with gradients']:.1f} s, ratio {ratio:.2f}",
                flush=True,
            )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(times))


if __name__ == "__main__":
    main()
