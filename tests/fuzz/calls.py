"""Regressors of every kind, fitted in every way, and hostile calls after the fit: finite numbers or clear errors."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
from dask import array as dask_array

from tests.fuzz.inputs import draw
from tests.fuzz.verdicts import FindingError, check_finite, outcome
from torusgp import (
    ARNoise,
    Category,
    Circle,
    CorrelatedNoise,
    Lattice,
    Line,
    Slope,
    Torch,
    TorusGPRegressor,
    WhiteNoise,
)
from torusgp.fitting.likelihoods import LIKELIHOODS, Gamma, NegativeBinomial, Normal, StudentT
from torusgp.kernels.index_sets import hyperbolic_cross, tensor

TIME, CELL = Circle(0, 24.0), [[24.0, 0.0], [5.0, 10.0]]
MODELS = (
    {"period": [24.0, 10.0, 4.0]},
    {"period": 24.0, "kernel": ["matern32", "heat", "squared_exponential"]},
    {"period": 24.0, "kernel": "auto"},
    {"period": "auto"},
    {"period": ["auto", 10.0, 4.0]},
    {"length_scale": [3.0, 2.0, 1.0]},
    {"kernel": TIME + Line(1) + Category(2)},
    {"kernel": TIME * Category(2) + Slope(1)},
    {"kernel": Lattice((0, 1), CELL) + Line(1)},
    {"kernel": Lattice((0, 1), "auto")},
    {"kernel": Circle(0, "auto") + Line(1)},
    {"kernel": Circle(0, 24.0, period_bounds=(20, 28)) * Line(1)},
    {"kernel": (TIME * Circle(1, 10.0) * Line(1)).limited(2)},
    {"kernel": 0.5 * Line(0, range=(-10, 100)) + Category(2, levels=[0.0, 1.0, 2.0, 3.0, 9.0])},
    {"kernel": Slope(0) + Slope(1, learned=True)},
    {"kernel": Circle("time", 24.0) + Line("angle")},
)
CHOICES = {
    "learn": (
        (),
        ("length_scale",),
        ("noise_variance", "signal_variance"),
        ("length_scale", "signal_variance", "noise_variance", "spectrum"),
        ("length_scale", "signal_variance", "noise_variance", "period"),
        ("length_scale", "signal_variance", "noise_variance", "lattice"),
    ),
    "integrate": (True, False),
    "intercept": (False,),
    "likelihood": (*LIKELIHOODS, StudentT(dof=4), Normal(), Gamma(2.0), NegativeBinomial(3.0)),
    "noise": (
        "correlated",
        "ar",
        ARNoise(2, time=0),
        CorrelatedNoise(time=0),
        CorrelatedNoise(0, [1.0, 0.5]),
        WhiteNoise((0.01, 1.0)),
    ),
    "noise_kernel": (TIME, Line(1), Category(2) + Slope(0)),
    "index_set": ("learned", "adaptive", "total_order", tensor(2, 2), hyperbolic_cross(3, 3)),
    "n_components": (1, 2, 31),
    "noise_variance": (1e-12, [0.1, 0.2], 10.0),
    "length_scale": ([0.5, 1.0, 2.0], 1e-3, 50.0),
    "backend": ("dense", "finufft", "type3", "blocks", "torch", Torch("cpu", "float32")),
    "n_threads": (1, -1),
}
WAYS = ("arrays", "frame", "chunks", "function", "dask", "partial", "gradient", "gradient alone", "refit")
NAMES = ["time", "angle", "level"]


def name_of(given):
    """Name of the likelihood, if it has one."""
    likelihood = given.get("likelihood", "normal")
    name = getattr(likelihood, "name", likelihood)
    return name if isinstance(name, str) else ""


def rows(rng, name, n):
    """Inputs, and targets that the likelihood can have; at times of several outputs."""
    X = np.column_stack([np.arange(n) * 1.5, rng.uniform(0, 10, n), np.arange(n) % 4])
    f = np.sin(2 * np.pi * X[:, 0] / 24) + 0.3 * X[:, 2] + 0.2 * rng.normal(size=n)
    if name in ("poisson", "negative_binomial"):
        return X, rng.poisson(np.exp(f)).astype(float)
    if name == "bernoulli":
        return X, (f > 0.4).astype(float)
    f = np.exp(f) if name in ("log_normal", "gamma") else f
    return X, np.column_stack([f, f**2]) if rng.random() < 0.1 else f


def settings(rng):
    """Parameters of a regressor: each possible alone, at times one hostile."""
    given = {"n_components": 15, **MODELS[int(rng.integers(len(MODELS)))]}
    for name in rng.choice(list(CHOICES), int(rng.choice([0, 1, 1, 2, 2, 3])), replace=False):
        given[str(name)] = CHOICES[name][int(rng.integers(len(CHOICES[name])))]
    if rng.random() < 0.15:
        names = [name for name in inspect.signature(TorusGPRegressor).parameters if name != "verbose"]
        given[str(rng.choice(names))] = draw(rng)
    return given


def extras(rng, n, given):
    """What is known of rows beside their targets, mostly where the model can use it."""
    counts = name_of(given) in ("poisson", "negative_binomial")
    in_time = "noise" in given and not isinstance(given["noise"], WhiteNoise)
    chosen = {}
    for name, value, is_of_use in (
        ("sample_weight", rng.integers(0, 3, n).astype(float), not in_time),
        ("noise_scale", rng.uniform(0.5, 2, n), not counts),
        ("exposure", rng.uniform(0.5, 2, n), counts),
        ("time", np.arange(n) * 1.0, in_time),
    ):
        if rng.random() < (0.2 if is_of_use else 0.02):
            chosen[name] = value if rng.random() < 0.7 else draw(rng)
    return chosen


def way_of(rng, given):
    """How to fit, mostly as the model can be."""
    passes = "noise_kernel" in given or name_of(given) not in ("normal", "log_normal")
    searched = any(isinstance(given.get(name), str) and given[name] == "auto" for name in ("period", "kernel"))
    if rng.random() < 0.85:
        if given.get("kernel") is MODELS[-1]["kernel"]:
            return "frame"
        if "noise" in given and not isinstance(given["noise"], WhiteNoise):
            return str(rng.choice(["arrays", "refit", "frame"]))
        if passes or searched:
            return str(
                rng.choice(["arrays", "refit", "frame"] if rng.random() < 0.5 else ["chunks", "function", "dask"])
            )
    return str(rng.choice(WAYS))


def fit(model, way, X, y, given, rng):
    """Fit in one of the ways there are."""
    n = len(X)
    if way == "frame":
        return model.fit(pd.DataFrame(X, columns=NAMES), y, **given)
    if way in ("chunks", "function"):
        cuts = [slice(0, n // 3), slice(n // 3, n)]
        chunks = [(X[one], y[one]) for one in cuts]
        return model.fit(chunks if way == "chunks" else lambda: iter(chunks), **given)
    if way == "dask":
        rows_each = max(n // 2, 1)
        given = {
            name: dask_array.from_array(value, chunks=rows_each) if np.shape(value) == (n,) else value
            for name, value in given.items()
        }
        X, y = (dask_array.from_array(one, chunks=(rows_each, *one.shape[1:])) for one in (X, y))
        return model.fit(X, y, **given)
    if way == "partial":
        return model.partial_fit(X[: n // 2], y[: n // 2]).partial_fit(X[n // 2 :], y[n // 2 :])
    if way in ("gradient", "gradient alone"):
        slopes = rng.normal(size=(n, 3, *y.shape[1:]))
        slopes[:, 2] = np.nan
        given |= {"X_gradient": X + 0.3 * np.array([1, 1, 0]), "gradient": slopes}
        if rng.random() < 0.2:
            given[str(rng.choice(["X_gradient", "gradient", "gradient_noise_scale"]))] = draw(rng)
        return model.fit(*((None, None) if way == "gradient alone" else (X, y)), **given)
    model.fit(X, y, **given)
    return model.refit(X[1:], y[1:]) if way == "refit" else model


def calls(X, y, folder):
    """Methods with good arguments."""
    points, after = X[:3] + 0.25 * np.array([1, 1, 0]), X[-3:] + np.array([len(X) * 1.5, 0, 0])
    return (
        ("predict", {"X": points}),
        ("predict", {"X": points, "return_std": True, "include_noise": True, "exposure": 2.0}),
        ("predict", {"X": points, "return_cov": True}),
        ("predict", {"X": dask_array.from_array(points, chunks=2), "return_std": True}),
        ("predict_latent", {"X": points, "return_std": True}),
        ("predict_quantiles", {"X": points, "quantiles": [0.1, 0.9], "include_noise": True, "exposure": 1.0}),
        ("log_predictive_density", {"X": X[:3], "y": y[:3], "exposure": None}),
        ("predict_cumulative", {"X": X[:3], "y": y[:3], "exposure": None}),
        ("predict_parts", {"X": points, "return_std": True}),
        ("predict_parts", {"X": points, "return_cov": True}),
        ("sample_y", {"X": points, "n_samples": 2, "random_state": 0, "include_noise": True, "exposure": None}),
        ("sample_y", {"X": points, "n_samples": 2, "random_state": 0}),
        ("sample_parts", {"X": points, "n_samples": 2, "random_state": 0}),
        ("predict_gradient", {"X": points, "return_std": True}),
        ("forecast", {"X": after, "return_std": True, "time": None, "noise_scale": None}),
        ("forecast", {"X": after, "return_cov": True}),
        ("forecast_quantiles", {"X": after, "quantiles": [0.1, 0.9], "time": None, "noise_scale": None}),
        ("sample_forecast", {"X": after, "n_samples": 2, "random_state": 0, "time": None}),
        ("continue_from", {"X": X, "y": y, "noise_scale": None, "time": None}),
        ("refit", {"X": X, "y": y, "sample_weight": None, "noise_scale": None, "exposure": None, "time": None}),
        ("partial_fit", {"X": X, "y": y, "sample_weight": None, "noise_scale": None}),
        ("score", {"X": X, "y": y, "sample_weight": None}),
        ("set_noise_variance", {"noise_variance": 0.3}),
        ("save", {"path": folder / "model", "notes": {"from": "here"}}),
        ("set_params", {}),
    )


def case(folder, rng):
    """Make, fit, and call three methods, one argument of which may be hostile."""
    given, n = settings(rng), int(rng.choice([4, 24, 50]))
    X, y = rows(rng, name_of(given), n)
    way, known = way_of(rng, given), extras(rng, n, given)
    model = outcome(lambda: fit(TorusGPRegressor(**given), way, X, y, known, rng))
    if isinstance(model, str):
        return f"{way}: refused"
    check_same(model, given, way, X, y, known)
    for _ in range(3):
        methods = calls(X, y, folder)
        name, kwargs = methods[int(rng.integers(len(methods)))]
        if name == "set_params":
            what = str(rng.choice(list(CHOICES)))
            kwargs = {what: draw(rng) if rng.random() < 0.5 else CHOICES[what][int(rng.integers(len(CHOICES[what])))]}
        elif rng.random() < 0.5:
            what = str(rng.choice(list(kwargs)))
            if what != "path" and (what != "X" or rng.random() < 0.3):  # a word is a file in the folder at hand
                kwargs = {**kwargs, what: draw(rng)}
        result = outcome(partial(call, model, name, kwargs))
        model = result if isinstance(result, TorusGPRegressor) else model
        if name == "save" and not isinstance(result, str):
            check_loaded(model, folder / "model", X)
    return way


def call(model, name, kwargs):
    """A result, whose numbers are finite; derivatives along categories and of impossible observations are none."""
    result = getattr(model, name)(**kwargs)
    if name in ("predict_gradient", "log_predictive_density"):
        return result
    for one in result if isinstance(result, tuple) else (result,):
        if one is not None and not isinstance(one, TorusGPRegressor):
            check_finite(one)
    return result


def check_same(model, given, way, X, y, known):
    """Where nothing is learned, every backend gives the same, and of circles every way of giving rows."""
    if known or {"noise", "noise_kernel", "index_set"} & set(given) or isinstance(given.get("backend"), Torch):
        return
    if not isinstance(given.get("learn"), tuple) or given["learn"]:
        return
    circles = np.shape(given.get("period")) == (3,)
    ways = ("arrays", "frame", "chunks", "function", "dask") if circles else ("arrays",)
    if way not in ways or not (circles or "kernel" in given):
        return
    other = outcome(lambda: TorusGPRegressor(**{**given, "backend": "dense"}).fit(X, y))
    if isinstance(other, str):
        raise FindingError(f"{way} were taken, and arrays were refused")
    ours, theirs = (outcome(lambda one=one: one.predict(X, return_std=True)) for one in (model, other))
    for mine, right in zip(ours, theirs, strict=True):
        if np.abs(mine - right).max() > 1e-5 * (1e-300 + np.abs(right).max()):
            raise FindingError(f"{way} with {given.get('backend')} predict other numbers than arrays and 'dense'")


def check_loaded(model, path, X):
    """A model that was written predicts the same when it is read."""
    if not path.exists():
        return
    before = outcome(lambda: model.predict(X))
    path_model = TorusGPRegressor.load(path)
    path.unlink()
    if not isinstance(before, str) and not np.array_equal(before, path_model.predict(X)):
        raise FindingError("a model that was read predicts other numbers")
