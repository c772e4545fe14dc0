"""Cells of images with 30 % of the pixels missing.

130 x 130 pixels, coordinates in pixels (row, column). Cells have a random tilt and vectors of length 130 / u with u
uniform in [8, 20], so at least 8 repeats along an axis. The signal has three harmonics of amplitude 1, 0.5 and 0.25 and
random phases along the two shortest reciprocal vectors (hexagonal: three). The noise is normal, its standard deviation
uniform in [0.2, 1] times that of the signal. Even seeds miss pixels at random, odd seeds a square hole somewhere.
Success: the same lattice, and each vector within the larger of 0.2 % and three Cramer-Rao standard deviations.
"""

import time

import numpy as np

from benchmarks.periods.bounds import Signal, cell_covariance, judge_cell
from benchmarks.periods.runner import failure_lines, group_by, markdown_table, median, root_mean_square

KINDS = ("square", "rectangular", "hexagonal", "oblique")
SIDE = 130  # pixels
REPEATS = (8.0, 20.0)
AMPLITUDES = (1.0, 0.5, 0.25)
NOISE = (0.2, 1.0)  # in standard deviations of the signal
MISSING = 0.3
LEAST_RATIO = 1.1  # of the two lengths of a rectangle, or it is a square
ANGLE = (60.0, 80.0)  # degrees, of an oblique cell


def missing():
    return ""


def cases(kinds, seeds):
    return [(kind, seed) for seed in seeds for kind in kinds]


def make_cell(kind, rng, side=SIDE):
    """A cell of the kind with a random tilt, rows its vectors, in pixels."""
    longer, shorter = np.sort(side / rng.uniform(*REPEATS, 2))[::-1]
    angle = 90.0
    if kind == "square":
        shorter = longer
    elif kind == "rectangular":
        while longer < LEAST_RATIO * shorter:
            longer, shorter = np.sort(side / rng.uniform(*REPEATS, 2))[::-1]
    elif kind == "hexagonal":
        shorter, angle = longer, 60.0
    else:
        angle = rng.uniform(*ANGLE)
    tilt = rng.uniform(0, 2 * np.pi)
    directions = tilt + np.radians([0.0, angle])
    return np.array([[longer], [shorter]]) * np.column_stack([np.cos(directions), np.sin(directions)])


def shortest_waves(cell, n_directions):
    """Integer wave vectors of the shortest reciprocal vectors, no two of them opposite."""
    grid = np.array([(i, j) for i in range(-6, 7) for j in range(-6, 7) if (i, j) > (0, 0)])
    grid = grid[np.gcd(*grid.T) == 1]
    order = np.argsort(np.linalg.norm(grid @ np.linalg.inv(cell).T, axis=1), kind="stable")
    return grid[order[:n_directions]]


def make_image(kind, seed, side=SIDE):
    """Pixels kept (n, 2), their values, the signal and the standard deviation of the noise."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    cell = make_cell(kind, rng, side)
    directions = shortest_waves(cell, 3 if kind == "hexagonal" else 2)
    wave_vectors = np.vstack([harmonic * directions for harmonic in range(1, len(AMPLITUDES) + 1)])
    amplitudes = np.repeat(AMPLITUDES, len(directions))
    phases = rng.uniform(0, 2 * np.pi, len(amplitudes))
    weights = amplitudes[:, None] * np.column_stack([np.cos(phases), np.sin(phases)])
    signal = Signal(np.linalg.inv(cell), wave_vectors, weights)
    kept = np.ones((side, side), dtype=bool)
    if seed % 2:
        hole = round(np.sqrt(MISSING) * side)
        row, column = rng.integers(0, side - hole + 1, 2)
        kept[row : row + hole, column : column + hole] = False
    else:
        kept.flat[rng.permutation(kept.size)[: round(MISSING * kept.size)]] = False
    X = np.argwhere(kept).astype(float)
    clean = signal(X)
    noise_std = rng.uniform(*NOISE) * clean.std()
    return X, clean + noise_std * rng.normal(size=len(X)), signal, noise_std


def measure(kind, seed, side=SIDE):
    """Search for the cell of one image."""
    from torusgp import find_period

    X, y, signal, noise_std = make_image(kind, seed, side)
    cell = np.linalg.inv(signal.G)
    covariance = cell_covariance(signal, X, noise_std)
    start = time.perf_counter()
    search = find_period(X, y, lattice=True)
    seconds = time.perf_counter() - start
    row = {
        "kind": kind,
        "seed": seed,
        "missing": "hole" if seed % 2 else "random",
        "noise": float(noise_std / signal(X).std()),
        "seconds": seconds,
        "n_reported": len(search),
        "rank": rank_of_truth([found.period for found in search.candidates], cell, covariance),
    }
    if not len(search):
        return row | {"success": False, "failure": f"none reported; rank of the truth {row['rank']}"} | describe(cell)
    judgement = judge_cell(search[0].period, cell, covariance)
    std = judgement.pop("std", None)
    if std is not None and np.shape(search[0].period_std) == np.shape(cell):
        stated = np.linalg.norm(search[0].period_std, axis=1)
        row["stated_over_bound"] = float(np.sqrt(np.mean((stated / std) ** 2)))
    row |= judgement | {"gain": float(search[0].gain)}
    return row | describe(cell, search[0].period)


def rank_of_truth(candidates, cell, covariance):
    """Position, from 1, of the first candidate that spans the true lattice; 0 if none does."""
    judged = (judge_cell(candidate, cell, covariance) for candidate in candidates)
    return next((rank for rank, judgement in enumerate(judged, 1) if "relative_error" in judgement), 0)


def describe(cell, found=None):
    """Cells as text for the table."""

    def text(rows):
        return "; ".join(" ".join(f"{entry:.4f}" for entry in row) for row in rows)

    return {"true": text(cell)} | ({} if found is None else {"found": text(np.asarray(found))})


def summary(rows):
    lines = []
    for (kind, how), group in group_by(rows, "kind", "missing").items():
        lines.append(
            {
                "kind": kind,
                "missing": how,
                "cases": len(group),
                "successes": sum(row["success"] for row in group),
                "same lattice": sum("relative_error" in row for row in group),
                "error / bound (rms)": root_mean_square(group, "error_over_bound"),
                "error (median, %)": 100 * median(group, "relative_error"),
                "bound (median, %)": 100 * median(group, "bound"),
                "stated std / bound (rms)": root_mean_square(group, "stated_over_bound"),
                "seconds (median)": median(group, "seconds"),
            }
        )
    return f"{markdown_table(lines)}\n\n{failure_lines(rows)}"
