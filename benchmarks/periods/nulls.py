"""Data without a period: how often one is reported.

Series of 500 values at regular or irregular (uniform random) times: noise, a line with noise of a tenth of its range,
an exact line, a random walk. Images of 64 x 64 pixels, searched per axis and for a lattice: noise, a plane with noise
of a tenth of its range, an exact plane, a Brownian sheet, and a smooth random field (noise smoothed by a Gaussian of 2
to 8 pixels, plus noise of a tenth of its standard deviation). Success: nothing is reported; at most 2 in 100 may fail.
"""

import time

import numpy as np
from scipy.ndimage import gaussian_filter

from benchmarks.periods.runner import failure_lines, group_by, markdown_table, median

N_SAMPLES = 500
SIDE = 64  # pixels
SMOOTHING = (2.0, 8.0)  # pixels
ALLOWED = 0.02
SERIES = ("noise", "line", "exact-line", "walk")
IMAGES = ("noise", "plane", "exact-plane", "sheet", "smooth-field")
KINDS = (
    *(f"{name}/{times}" for name in SERIES for times in ("regular", "irregular")),
    *(f"{name}/{mode}" for name in IMAGES for mode in ("axes", "lattice")),
)


def missing():
    return ""


def cases(kinds, seeds):
    return [(kind, seed) for seed in seeds for kind in kinds]


def make_null(kind, seed):
    """Inputs and values of one kind; scales and offsets of both are random over some decades."""
    name, how = kind.split("/")
    rng = np.random.default_rng([KINDS.index(kind), seed])
    if how in ("regular", "irregular"):
        span = 10 ** rng.uniform(-1, 3)
        if how == "regular":
            times = np.arange(N_SAMPLES) / N_SAMPLES * span
        else:
            times = np.sort(rng.uniform(0, span, N_SAMPLES))
        X = times[:, None]
        y = _series(name, times / span, rng)
    else:
        X = np.argwhere(np.ones((SIDE, SIDE))).astype(float)
        y = _image(name, rng).ravel()
    return X, 10 ** rng.uniform(-2, 2) * y + 10 * rng.normal()


def _series(name, times, rng):
    noise = rng.normal(size=len(times))
    if name == "noise":
        return noise
    if name == "walk":
        steps = noise * np.sqrt(np.diff(times, prepend=times[0]))
        return np.cumsum(steps)
    slope = rng.choice([-1, 1])
    return slope * times + (0.1 * noise if name == "line" else 0)


def _image(name, rng):
    noise = rng.normal(size=(SIDE, SIDE))
    if name == "noise":
        return noise
    if name == "sheet":
        return np.cumsum(np.cumsum(noise, axis=0), axis=1) / SIDE
    if name == "smooth-field":
        # cut from the middle of a larger field: smoothing mirrors at the borders
        inner = slice(SIDE // 2, 3 * SIDE // 2)
        field = gaussian_filter(rng.normal(size=(2 * SIDE, 2 * SIDE)), rng.uniform(*SMOOTHING))[inner, inner]
        field = (field - field.mean()) / field.std()
        return field + 0.1 * noise
    direction = rng.uniform(0, 2 * np.pi)
    rows, columns = np.indices((SIDE, SIDE)) / SIDE
    plane = np.cos(direction) * rows + np.sin(direction) * columns
    return plane + (0.1 * noise if name == "plane" else 0)


def measure(kind, seed):
    """Search where there is nothing to find."""
    from torusgp import find_period

    X, y = make_null(kind, seed)
    start = time.perf_counter()
    search = find_period(X, y, lattice=kind.endswith("lattice"))
    row = {
        "kind": kind,
        "seed": seed,
        "success": not len(search),
        "n_reported": len(search),
        "seconds": time.perf_counter() - start,
        "best_gain": float(search.candidates[0].gain) if len(search.candidates) else float("nan"),
    }
    if len(search):
        row["found"] = np.array2string(np.asarray(search[0].period), precision=4).replace("\n", ";")
        row["gain"] = float(search[0].gain)
        row["failure"] = f"{row['found']} with gain {row['gain']:.3g}; span {np.ptp(X, axis=0)}"
    return row


def summary(rows):
    lines = []
    for (kind,), group in group_by(rows, "kind").items():
        reported = sum(row.get("n_reported", 0) > 0 for row in group)
        errors = sum("exception" in row for row in group)
        lines.append(
            {
                "kind": kind,
                "cases": len(group),
                "reported": reported,
                f"at most {ALLOWED:.0%}": "yes" if reported + errors <= ALLOWED * len(group) else "NO",
                "errors": errors,
                "best gain (median)": median(group, "best_gain"),
                "seconds (median)": median(group, "seconds"),
            }
        )
    return f"{markdown_table(lines)}\n\n{failure_lines(rows)}"
