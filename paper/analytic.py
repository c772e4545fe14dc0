r"""Prediction of an analytic periodic function with interactions, against columns and against training points.

.. math:: f(\theta) = \sum_{d=1}^{D} \tfrac1d \exp\cos(\theta_d + \tfrac12 \sin\theta_{d+1})
          + \tfrac12 \cos(\theta_1 + \theta_2 - \theta_3), \quad \theta_{D+1} = \theta_1,

the last term for D >= 3 only: every input interacts with the next, three of them at once, and later ones matter less.
It is shifted and scaled to mean 0 and variance 1 over the torus; observations have noise of standard deviation 0.1. The
period is known, 1 for every input. All methods learn length scales, signal and noise variance by the evidence.
RMSE is that of the function itself, MNLL that of new observations: no method can have less than 0.5 log(2 pi e 0.01).
"""

import time
import warnings

import numpy as np

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
from torusgp import BayesianFeatureRegressor, TorusGPRegressor, WarpedFourierFeatures, mean_negative_log_loss
from torusgp.kernels.index_sets import energy_norm_hyperbolic_cross

TITLE = "Prediction of an analytic periodic function"
DIMENSIONS = (2, 3, 5, 9)
METHODS = ("ENHC", "adaptive", *SEQUENCES)
COLUMNS = (51, 101, 201, 401, 801)
TRAINING_POINTS = (100, 200, 500, 1000, 2000, 4000)
N_TRAIN, N_TEST = 2000, 2000  # of the sweep over columns, and everywhere
N_COLUMNS = 401  # of the sweep over training points
NOISE_STD = 0.1
SPARSITY = 0.1
MOST_PLAIN = 3  # dimensions up to which gamma is 1 at first, else 2/3: with 1 the smallest cross has 3^D components
FLOOR = 0.5 * np.log(2 * np.pi * np.e * NOISE_STD**2)
TICKS = {"columns": (30, 100, 300, 1000), "n_train": (100, 300, 1000, 3000)}
LEARN = ("length_scale", "signal_variance", "noise_variance")


def missing(folder):
    return ""


def function(X):
    """The function before it is shifted and scaled; X in periods."""
    theta = 2 * np.pi * np.asarray(X)
    weights = 1 / np.arange(1, theta.shape[1] + 1)
    values = np.exp(np.cos(theta + 0.5 * np.sin(np.roll(theta, -1, axis=1)))) @ weights
    return values + 0.5 * np.cos(theta[:, 0] + theta[:, 1] - theta[:, 2]) if theta.shape[1] > 2 else values


def make_data(dimension, n_train):
    """Training inputs and noisy targets, test inputs, noisy targets and the function itself there."""
    rng = np.random.default_rng(SEED)
    reference = function(rng.uniform(size=(200_000, dimension)))
    X_test, X_train = (rng.uniform(size=(n, dimension)) for n in (N_TEST, max(TRAINING_POINTS)))
    truth, values = ((function(X) - reference.mean()) / reference.std() for X in (X_test, X_train))
    y_test, y_train = (f + NOISE_STD * rng.normal(size=len(f)) for f in (truth, values))
    return X_train[:n_train], y_train[:n_train], X_test, y_test, truth


def make_model(method, dimension, n_columns, weights=None):
    if method in SEQUENCES:
        features = WarpedFourierFeatures(
            sequence=SEQUENCES[method],
            n_components=n_columns + 1,
            length_scale=np.sqrt(dimension),  # of the order of the distance between points on D circles
            random_state=SEED,
        )
        return BayesianFeatureRegressor(features, learn=LEARN)
    options = {"n_components": n_columns}
    if method == "ENHC":
        gamma = (1.0 if dimension <= MOST_PLAIN else 2 / 3) if weights is None else weights
        options["index_set"] = cross(dimension, n_components=n_columns, weights=gamma)
    if method == "learned set":
        options["index_set"] = "learned"
    # the paper's processes have mean zero, and targets are centred
    return TorusGPRegressor(period=1.0, learn=LEARN, intercept=False, n_threads=1, **options)


def cross(dimension, *, n_components, weights, max_interaction=None):
    """The energy-norm cross of the sparsity of this experiment."""
    return energy_norm_hyperbolic_cross(
        dimension, n_components=n_components, sparsity=SPARSITY, weights=weights, max_interaction=max_interaction
    )


def measure(sweep, dimension, method, n_columns, n_train):
    """One fit to the function, judged at the test points."""
    row = {"sweep": sweep, "dimension": dimension, "method": method, "budget": n_columns, "n_train": n_train}
    return row | judge(method, n_columns, *make_data(dimension, n_train))


def judge(method, n_columns, X, y, X_test, y_test, truth):
    """Errors of one fit at test points; of the cross a second, with gamma per axis from what the first learned."""
    dimension, weights = X.shape[1], None
    model = make_model(method, dimension, n_columns)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few columns leave out much: that is what is measured
        model.fit(X, y - y.mean())
        if method == "ENHC":
            weights = model.kernel_.refinement_weights(cross, n_columns, dimension=dimension)
            model = make_model(method, dimension, n_columns, weights).fit(X, y - y.mean())
    seconds = time.perf_counter() - start
    mean, std = model.predict(X_test, return_std=True)
    mean = mean + y.mean()
    return {
        "columns": n_columns + 1 if method in SEQUENCES else model.index_set_.n_components,
        "rmse": np.sqrt(np.mean((mean - truth) ** 2)),
        "mnll": mean_negative_log_loss(y_test, mean, std),
        "noise_std": np.sqrt(model.noise_variance_),
        "length_scale": (model.transformer_ if method in SEQUENCES else model).kernel_.length_scale,
        "weights": weights,
        "seconds": seconds,
    }


def run(pool, quick, folder):
    dimensions = (2, 5) if quick else DIMENSIONS
    columns = (31, 61) if quick else COLUMNS
    points = (100, 300) if quick else TRAINING_POINTS
    n_train, n_columns = (300, 61) if quick else (N_TRAIN, N_COLUMNS)
    cases = [("columns", D, method, size, n_train) for D in dimensions for method in METHODS for size in columns]
    cases += [
        ("points", D, method, n_columns, n) for D in dimensions for method in METHODS for n in points if n != n_train
    ]
    rows = pool.map("analytic", measure, cases, lambda sweep, D, method, size, n: size * size * n)
    both = [row | {"sweep": "points"} for row in rows if row["budget"] == n_columns and row["sweep"] == "columns"]
    rows = sorted(rows + both, key=lambda row: row["n_train"])  # one fit serves both sweeps
    return {
        "settings": {
            "dimensions": dimensions,
            "noise_std": NOISE_STD,
            "sparsity": SPARSITY,
            "n_train": n_train,
            "n_test": N_TEST,
            "n_columns": n_columns,
            "mnll_floor": FLOOR,
        },
        "rows": rows,
    }


def draw(record):
    settings = record["settings"]
    dimensions = settings["dimensions"]
    figure, axes = new_figure(4, len(dimensions), 3.4, 2.7, sharex="row")
    panels = (
        ("columns", "columns", "rmse", "RMSE"),
        ("columns", "columns", "mnll", "excess MNLL (nats)"),
        ("points", "n_train", "rmse", "RMSE"),
        ("points", "n_train", "mnll", "excess MNLL (nats)"),
    )
    labels = {"columns": "components", "n_train": "training points"}
    for ax_row, (sweep, key, measured, name) in zip(axes, panels, strict=True):
        for ax, dimension in zip(ax_row, dimensions, strict=True):
            for method in METHODS:
                rows = select(record["rows"], sweep=sweep, dimension=dimension, method=method)
                values = np.array([row[measured] for row in rows])
                if measured == "mnll":
                    values = np.maximum(values - settings["mnll_floor"], 1e-3)
                label = f"{method}+W" if method in SEQUENCES else method
                ax.plot([row[key] for row in rows], values, **style(method), label=label)
            fixed = f"N = {settings['n_train']}" if sweep == "columns" else f"{settings['n_columns']} components"
            log_columns(ax, TICKS[key])
            ax.set_xlabel(labels[key])
            plain_log_values(ax)
            ax.set_title(f"D = {dimension}, {fixed}", fontsize=10)
            ax.grid(alpha=0.3)
        ax_row[0].set_ylabel(name)
    legend_above(figure, axes[0, :1], 5)
    return {"analytic": figure}


def describe(record):
    settings = record["settings"]
    parts = []
    for measured, name in (("rmse", "RMSE"), ("mnll", "MNLL")):
        lines = []
        for dimension in settings["dimensions"]:
            for sweep in ("columns", "points"):
                groups = [select(record["rows"], sweep=sweep, dimension=dimension, method=method) for method in METHODS]
                for same in zip(*groups, strict=True):
                    what = f"{same[0]['n_train']} points, {same[0]['budget']} components"
                    lines.append([dimension, what, *(f"{row[measured]:.3f}" for row in same)])
        lines = [line for i, line in enumerate(lines) if line not in lines[:i]]
        header = ["D", "setting", *(f"{method}+W" if method in SEQUENCES else method for method in METHODS)]
        parts.append(f"{name}:\n\n{markdown_table(header, lines)}")
    return paragraphs(
        "![Errors against components and against training points, by dimension and method](analytic.png)",
        "The function is this project's own: the paper's stands in its supplement, which is not at hand, so that no "
        "verdict on it is one on the paper's figure. f(theta) = sum over d of exp(cos(theta_d + sin(theta_(d+1)) / 2)) "
        "/ d, and for D >= 3 also cos(theta_1 + theta_2 - theta_3) / 2; every input interacts with the next. Mean 0 "
        "and variance 1, noise of standard "
        f"deviation {NOISE_STD:g}; RMSE is that of the function, MNLL that of new observations, drawn above the least "
        f"possible {settings['mnll_floor']:.3f}. The period is known; length scales and variances are learned by the "
        f"evidence. ENHC: zeta = {SPARSITY:g}, and gamma per axis, by `TorusKernel.refinement_weights` from the length "
        "scales that a first fit learns with gamma = 1 (2/3 for D >= 5); the cross has its own sizes, at most the "
        "components named. With 401 components and 2000 points gamma is " + gamma_text(record) + ".",
        *parts,
    )


def gamma_text(record):
    """Weights of the cross, by dimension."""
    n_columns, n_train = record["settings"]["n_columns"], record["settings"]["n_train"]
    rows = select(record["rows"], method="ENHC", sweep="columns", budget=n_columns, n_train=n_train)
    return "; ".join(f"({', '.join(f'{w:.2f}' for w in row['weights'])})" for row in rows)
