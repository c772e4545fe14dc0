r"""A robot arm: how far its hand is from a point, as a function of the angles of its joints.

In the style of the later version of the paper (Tompkins and Ramos, Periodic Kernel Approximation by Index Set Fourier
Series Features, UAI 2019), which adds robotics; its data and set-up are not at hand. A planar arm of D links of the
lengths 1, 0.8, 0.64, ... has its hand at :math:`\sum_d l_d (\cos, \sin)(\theta_1 + \dots + \theta_d)`; the target is
the distance from (1, 1/2). Every joint turns the rest of the arm, so that all angles interact, in sums. Shifted and
scaled to mean 0 and variance 1 over the torus; observations have noise of standard deviation 0.05. Warped features are
the paper's baselines.
"""

import numpy as np

from paper.analytic import judge
from paper.common import (
    SEED,
    SEQUENCES,
    legend_above,
    log_columns,
    markdown_table,
    new_figure,
    paragraphs,
    plain_log_values,
    select,
    style,
)

TITLE = "A robot arm"
DIMENSIONS = (3, 5)
METHODS = ("ENHC", "adaptive", "learned set", *SEQUENCES)
COLUMNS = (51, 101, 201, 401, 801)
N_TRAIN, N_TEST = 2000, 2000
NOISE_STD = 0.05
SHRINKAGE = 0.8  # of each link to the one before
POINT = (1.0, 0.5)
TICKS = (30, 100, 300, 1000)


def missing(folder):
    return ""


def distance(X):
    """Distance of the hand from the point; X in turns."""
    directions = np.cumsum(2 * np.pi * np.asarray(X), axis=1)
    links = SHRINKAGE ** np.arange(directions.shape[1])
    return np.hypot(np.cos(directions) @ links - POINT[0], np.sin(directions) @ links - POINT[1])


def make_data(dimension):
    """Training inputs and noisy targets, test inputs, noisy targets and the distance itself there, scaled."""
    rng = np.random.default_rng(SEED)
    reference = distance(rng.uniform(size=(200_000, dimension)))
    X_test, X_train = (rng.uniform(size=(n, dimension)) for n in (N_TEST, N_TRAIN))
    truth, values = ((distance(X) - reference.mean()) / reference.std() for X in (X_test, X_train))
    y_test, y_train = (f + NOISE_STD * rng.normal(size=len(f)) for f in (truth, values))
    return X_train, y_train, X_test, y_test, truth


def measure(dimension, method, n_columns):
    """One fit, judged at the test points."""
    row = {"dimension": dimension, "method": method, "budget": n_columns}
    return row | judge(method, n_columns, *make_data(dimension))


def run(pool, quick, folder):
    dimensions = DIMENSIONS[:1] if quick else DIMENSIONS
    columns = COLUMNS[1:2] if quick else COLUMNS
    cases = [(D, method, size) for D in dimensions for method in METHODS for size in columns]
    return {
        "settings": {"dimensions": dimensions, "n_train": N_TRAIN, "n_test": N_TEST, "noise_std": NOISE_STD},
        "rows": pool.map("robot arm", measure, cases, lambda dimension, method, size: size * size),
    }


def draw(record):
    dimensions = record["settings"]["dimensions"]
    figure, axes = new_figure(1, len(dimensions), 4.6, 3.6)
    for ax, dimension in zip(axes[0], dimensions, strict=True):
        for method in METHODS:
            rows = select(record["rows"], dimension=dimension, method=method)
            label = f"{method}+W" if method in SEQUENCES else method
            ax.plot([row["budget"] for row in rows], [row["rmse"] for row in rows], **style(method), label=label)
        log_columns(ax, TICKS)
        plain_log_values(ax)
        ax.set(xlabel="components, at most", title=f"{dimension} joints")
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("RMSE of the distance (its standard deviation is 1)")
    legend_above(figure, axes[0, :1], 6)
    return {"robot": figure}


def describe(record):
    settings = record["settings"]
    header = ["joints", "components", *(f"{method}+W" if method in SEQUENCES else method for method in METHODS)]
    tables = []
    for measured in ("rmse", "mnll"):
        lines = []
        for dimension in settings["dimensions"]:
            groups = [select(record["rows"], dimension=dimension, method=method) for method in METHODS]
            lines += [
                [dimension, same[0]["budget"], *(f"{row[measured]:.3f}" for row in same)]
                for same in zip(*groups, strict=True)
            ]
        tables.append(f"{measured.upper()}:\n\n{markdown_table(header, lines)}")
    return paragraphs(
        "![Errors of the distance of a robot's hand against components, by method](robot.png)",
        "In the style of the later version of the paper (Tompkins and Ramos, UAI 2019), which adds robotics; its data "
        "and set-up are not at hand, so that nothing here stands beside a number of that paper. A planar arm with "
        f"links of the lengths 1, {SHRINKAGE:g}, {SHRINKAGE**2:.2g}, ... turns at every joint; the target is the "
        "distance of "
        f"its hand from the point ({POINT[0]:g}, {POINT[1]:g}), as a function of all angles, with "
        f"{settings['n_train']} rows and noise of a standard deviation of {NOISE_STD:g} of the target's. Baselines are "
        "the paper's: warped random and Halton features. The ENHC has zeta = 0.1 and gamma per axis, as for the "
        "analytic function; adaptive and learned sets are this library's.",
        *tables,
    )
