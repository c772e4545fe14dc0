"""The paper's textures with a hole, period and cell found from the data.

Grey values scaled to [0, 1] by the image's least and greatest; test rows and columns 32..96 (4225 pixels), training on
the rest; coordinates in pixels. Seconds are those of one fit, and also given as a multiple of one bare FINUFFT
transform of the training pixels onto the modes that the index set needs. There are no seeds.
"""

import os
import time
import warnings
from pathlib import Path

import finufft
import numpy as np

from benchmarks.periods.runner import failure_lines, markdown_table

KINDS = ("pores", "rubber", "tread")
HOLE = slice(32, 97)  # rows and columns
SIZES = (49, 201, 793, "auto")
LEARN = ("length_scale", "signal_variance", "noise_variance", "lattice")
VARIANTS = {"": LEARN, "spectrum": (*LEARN, "spectrum")}
TOLERANCE = 1e-12
N_TURNS = 7  # of the bare transform
# RMSE and MNLL: the paper's Table 1 (its best method by each measure, 793 columns)
PAPER = {"pores": (0.0608, -1.28), "rubber": (0.1024, -0.73), "tread": (0.0617, -1.27)}


def missing():
    folder = os.environ.get("TORUSGP_DATA")
    if not folder:
        return "TORUSGP_DATA does not name the folder with the data"
    absent = [kind for kind in KINDS if not _path(kind).exists()]
    return f"{', '.join(map(str, map(_path, absent)))} not found" if absent else ""


def _path(kind):
    return Path(os.environ["TORUSGP_DATA"]) / "textures" / f"{kind}.png"


def cases(kinds, seeds):
    return [(kind, 0, size, variant) for size in SIZES for variant in VARIANTS for kind in kinds]


def make_texture(kind):
    """Training and test pixels and their grey values."""
    from PIL import Image

    image = np.asarray(Image.open(_path(kind)))
    grey = (image if image.ndim == 2 else image[..., 0]).astype(float)
    grey = (grey - grey.min()) / (grey.max() - grey.min())
    test = np.zeros(grey.shape, dtype=bool)
    test[HOLE, HOLE] = True
    return np.argwhere(~test).astype(float), grey[~test], np.argwhere(test).astype(float), grey[test]


def bare_transform_seconds(model, X, y):
    """Best of several transforms of all rows onto sums and differences of the set's frequencies."""
    dimension = X.shape[1]  # of what repeats; slow change has axes of its own
    phases = model.kernel_.phases(X)[:, :dimension]
    points = [np.ascontiguousarray(np.mod(column, 2 * np.pi)) for column in phases.T]
    modes = tuple(int(4 * k + 1) for k in model.index_set_.frequencies[:, :dimension].max(axis=0))
    strengths = 1 + 1j * (y - y.mean())
    seconds = []
    for _ in range(N_TURNS):
        start = time.perf_counter()
        finufft.nufft2d1(*points, strengths, modes, eps=TOLERANCE, isign=1, nthreads=1)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measure(kind, seed, size, variant):
    """One fit, judged in the hole."""
    from torusgp import TorusGPRegressor, mean_negative_log_loss

    X, y, new_X, new_y = make_texture(kind)
    model = TorusGPRegressor(period="auto", learn=VARIANTS[variant], n_components=size, n_threads=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    mean, std = model.predict(new_X, return_std=True)
    bare = bare_transform_seconds(model, X, y)
    return {
        "kind": kind,
        "seed": seed,
        "size": size,
        "variant": variant,
        "success": True,
        "columns": model.index_set_.n_components,
        "rmse": float(np.sqrt(np.mean((mean - new_y) ** 2))),
        "mnll": mean_negative_log_loss(new_y, mean, std),
        "seconds": seconds,
        "bare_transform_seconds": bare,
        "multiple": seconds / bare,
        "log_evidence": float(model.log_marginal_likelihood_),
        "cell": np.array2string(np.asarray(model.kernel_.period), precision=4).replace("\n", ";"),
        "warnings": " | ".join(str(one.message) for one in caught),
    }


def summary(rows):
    lines = []
    for row in rows:
        if "exception" in row:
            continue
        rmse, mnll = PAPER[row["kind"]]
        lines.append(
            {
                "texture": row["kind"],
                "n_components": row["size"],
                "variant": row["variant"],
                "columns": row["columns"],
                "RMSE": f"{row['rmse']:.4f}",
                "paper's RMSE": rmse,
                "MNLL": f"{row['mnll']:.3f}",
                "paper's MNLL": mnll,
                "cell": row["cell"],
                "seconds": row["seconds"],
                "bare transforms": row["multiple"],
                "warnings": "yes" if row["warnings"] else "",
            }
        )
    table = markdown_table(lines) if lines else "No fit succeeded."
    return f"{table}\n\n{failure_lines(rows)}"
