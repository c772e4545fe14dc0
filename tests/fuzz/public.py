"""Everything else that is public, with one hostile argument: models of tables, views, surfaces, sums, sources, data."""

import matplotlib as mpl
import numpy as np
import pandas as pd
from sklearn.base import clone

from tests.fuzz.inputs import draw
from tests.fuzz.verdicts import outcome
from tests.images.made_images import make_lattice_image
from torusgp import (
    CalendarPhases,
    Circle,
    Line,
    PanelModel,
    SufficientStatistics,
    TableModel,
    TorusGPClassifier,
    TorusGPRegressor,
    TorusKernel,
    analysis,
    find_lattice,
    mean_negative_log_loss_scorer,
    plotting,
    sources,
    surfaces,
    write_report,
)
from torusgp.kernels.index_sets import tensor

mpl.use("Agg")
# Fitted models and the like, by name: whoever gives something else there hears so from Python.
OBJECTS = {"model", "estimator", "kernel", "index_set", "fit", "path", "paths", "points", "observable", "checkpoint"}
X = np.column_stack([np.arange(60) * 7 % 60 / 6, np.arange(60) * 11 % 12])
Y = np.sin(2 * np.pi * X[:, 0] / 10) + np.cos(2 * np.pi * X[:, 1] / 12) + 0.1 * np.cos(np.arange(60) ** 2)
SET, KERNEL = tensor(2, 2), TorusKernel(length_scale=[1.0, 0.5], period=[10.0, 12.0])


def frame():
    """Rows of a table with times, numbers, levels and counts."""
    hours = np.arange(60)
    return pd.DataFrame(
        {
            "time": pd.date_range("2024-01-01", periods=60, freq="h"),
            "x": np.cos(hours) + 1.5,
            "shop": np.where(hours % 3 == 0, "a", "b"),
            "y": np.sin(2 * np.pi * hours / 24) + 0.1 * np.cos(hours**2) + 2,
        }
    )


def actions(folder):
    """Functions with good arguments: each is called, and may be asked for more."""
    first, second = 2 * np.pi * (X / [10, 12]).T
    two_minima = np.cos(2 * first) + 0.3 * np.cos(first) + np.cos(second)
    torus = TorusGPRegressor(period=[10.0, 12.0], n_components=41).fit(X, two_minima)
    sums = TorusGPRegressor(Circle(0, 10.0) + Line(1), n_components=15, learn=()).fit(X, Y)
    table = TableModel("y", terms="hour + x", n_components=15, errors="independent").fit(frame())
    alone = TableModel("y", terms="hour + time", n_components=15).fit(frame())
    chosen = TorusGPRegressor(period=[10.0, 12.0], index_set="learned", n_components=9).fit(X, Y)
    statistics = SufficientStatistics.from_data(X, Y, SET, period=[10.0, 12.0])
    minima = surfaces.find_stationary_points(torus)
    both = {"model": sums, "dimensions": 0}
    of_sums = {"index_set": SET, "period": [10.0, 12.0], "sample_weight": None, "noise_scale": None}
    options = {"tolerance": None, "n_threads": None, "device": None, "precision": "float64", "backend": "dense"}
    table_options = {
        "target": "y", "periods": None, "calendar": None, "inputs": ["time", "x"], "terms": None, "lags": None,
        "holidays": None, "time": None, "timezone": None, "whole_days": True, "decimal": "auto", "date_format": "auto",
        "noise": None, "likelihood": "normal", "exposure": None, "noise_by": None, "errors": "independent",
        "kernel": "squared_exponential", "n_components": 9, "drop_missing": False, "missing": None, "unit": "",
        "verbose": 0,
    }  # fmt: skip
    ahead = {"horizon": 3, "future": None, "quantiles": [0.1, 0.5]}
    held_out = {"frame": frame(), "holdout": 0.2, "start": None, "refit": True, "random_state": 0}
    origins = {"frame": frame(), "horizon": 6, "origins": 2, "every": None, "refit": False, "quantiles": [0.5]}
    searched = {"image": make_lattice_image([[5.0, 0.0], [0.0, 6.0]], (24, 24), noise=0.1).image, "mask": None}
    drawn = {"estimator": sums, "X": X, "y": Y, "output": 0}
    return {
        "table": (lambda **given: TableModel(**given).fit(frame()).predict(frame()), table_options),
        "table predict": (table.predict, {"frame": frame(), "quantiles": [0.1, 0.9]}),
        "table forecast": (alone.forecast, ahead),
        "table evaluate": (table.evaluate, {"frame": frame()}),
        "table holdout": (lambda **given: TableModel("y", inputs=["x"]).fit_and_evaluate(**given), held_out),
        "backtest": (table.backtest, origins),
        "read as": (
            clone(table).fit(frame()).read_as,
            {"decimal": None, "date_format": None, "missing": None, "drop_missing": None},
        ),
        "table save": (table.save, {"path": folder / "table", "notes": 1}),
        "table report": (table.report, {"path": folder / "page", "frame": frame(), "title": "A", "new_rows": None}),
        "panel": (
            lambda fit, forecast, **given: PanelModel(**given).fit(fit).forecast(**forecast),
            {"model": TableModel("y", inputs=["time"], errors="independent", n_components=9), "by": "shop",
             "n_jobs": None, "fit": frame(), "forecast": ahead},
        ),
        "classifier": (
            lambda X, y, sample_weight, at, **given: TorusGPClassifier(**given).fit(X, y, sample_weight).predict(at),
            {"kernel": None, "period": 10.0, "length_scale": 1.0, "index_set": "auto", "n_components": 9,
             "learn": ("length_scale",), "intercept": True, "class_weight": None, "backend": "auto", "X": X,
             "y": Y > 0, "sample_weight": None, "at": X},
        ),
        "calendar": (
            lambda times, **given: CalendarPhases(**given).fit_transform(times),
            {"times": frame()[["time"]], "cycles": ("day",), "timezone": None, "column": None, "whole_days": True},
        ),
        "sobol": (analysis.sobol_indices, {"model": sums, "max_order": None, "n_samples": 10, "random_state": 0}),
        "sobol interval": (analysis.sobol_indices(sums, n_samples=10).interval, {"coverage": 0.9}),
        "effect": (analysis.effect, {**both, "joint": False, "grid": None, "n_points": 5}),
        "attribution": (
            plotting.AttributionDisplay.from_estimator,
            {"estimator": sums, "max_order": None, "coverage": 0.9, "output": 0, "n_samples": 10, "random_state": 0},
        ),
        "calibration": (plotting.CalibrationDisplay.from_estimator, {**drawn, "levels": [0.5, 0.9]}),
        "coefficients": (plotting.CoefficientDisplay.from_kernel, {"kernel": KERNEL, "index_set": SET}),
        "effect plot": (
            plotting.EffectDisplay.from_estimator,
            {"estimator": sums, "dimensions": [0], "joint": False, "grid": None, "n_points": 5, "output": 0},
        ),
        "parts": (
            plotting.PartsDisplay.from_estimator,
            {"estimator": sums, "terms": None, "n_points": 5, "output": 0, "names": None, "target": None},
        ),
        "prediction": (
            plotting.PredictionDisplay.from_estimator,
            {**drawn, "features": [0], "at": None, "limits": None, "n_points": 5, "include_noise": True,
             "coverage": 0.9},
        ),
        "residuals": (plotting.ResidualDisplay.from_estimator, drawn),
        "chosen": (plotting.SelectionDisplay.from_estimator, {"estimator": chosen, "output": 0, "n_interactions": 2}),
        "spectrum": (plotting.SpectrumDisplay.from_estimator, {"estimator": sums, "output": 0}),
        "surface": (
            plotting.SurfaceDisplay.from_estimator,
            {"estimator": torus, "X": X, "points": None, "paths": (), "n_points": 9, "output": 0},
        ),
        "report": (
            write_report,
            {"model": sums, "path": folder / "page.html", "X": X, "y": Y, "title": None, "target": None, "unit": "",
             "input_units": None, "output": 0},
        ),
        "stationary": (surfaces.find_stationary_points, {"model": torus, "min_significance": 2.0, "output": 0}),
        "path": (
            surfaces.minimum_energy_path,
            {"model": torus, "start": [2.6, 6.0], "end": [7.4, 6.0], "points": minima, "output": 0},
        ),
        "boltzmann": (
            surfaces.boltzmann_average,
            {"model": torus, "temperature": 1.0, "observable": lambda X: X[:, 0], "sizes": (8, 8), "output": 0},
        ),
        "free energy": (
            surfaces.free_energy,
            {"model": torus, "temperature": 1.0, "inputs": [0], "sizes": (8, 8), "output": 0},
        ),
        "suggest": (
            surfaces.suggest,
            {"model": torus, "n": 1, "path": None, "with_gradient": False, "output": 0, "random_state": 0},
        ),
        "lattice": (find_lattice, {**searched, "n_components": 21, "strain_degree": 1}),
        "sums": (
            lambda X, y, **given: SufficientStatistics.from_data(X, y, **given).linear(),
            {"X": X, "y": Y, **of_sums, **options},
        ),
        "sums of a source": (
            lambda X, **given: SufficientStatistics.from_source(X, **given).linear(),
            {"X": [(X, Y)], "y": None, "inputs": None, "checkpoint": None, "checkpoint_seconds": 0, "progress": None,
             **of_sums, **options},
        ),
        "update": (statistics.empty().update, {"X": X, "y": Y, "sample_weight": None, "noise_scale": None}),
        "subset": (statistics.subset, {"index_set": SET}),
        "source": (
            lambda **given: [len(one) for one in sources.as_source(**given).chunks()],
            {"X": X, "y": Y, "sample_weight": None, "noise_scale": None, "inputs": None},
        ),
        "array source": (
            lambda n, **given: sources.ArraySource(**given).sample(n),
            {"X": X, "y": Y, "sample_weight": None, "noise_scale": None, "chunk_rows": 7, "n": 5},
        ),
        "chunk source": (
            lambda n, **given: sources.ChunkSource(**given).sample(n), {"chunks": [(X, Y)], "n_rows": None, "n": 5}
        ),
        "kernel": (KERNEL.coefficients, {"frequencies": SET.frequencies}),
        "kernel phases": (KERNEL.phases, {"X": X}),
        "largest": (KERNEL.largest, {"n_components": 5}),
        "kernel error": (KERNEL.truncation_error, {"index_set": SET}),
        "weights": (KERNEL.refinement_weights, {"index_set": "euclidean", "n_components": 21, "dimension": 2}),
        "scorer": (mean_negative_log_loss_scorer, {"estimator": torus, "X": X, "y": Y}),
    }  # fmt: skip


def case(known, rng):
    """Call something with one hostile argument, or two."""
    name = sorted(known)[int(rng.integers(len(known)))]
    function, given = known[name]
    names = sorted(set(given) - OBJECTS)
    hostile = rng.choice(names, min(len(names), int(rng.integers(1, 3))), replace=False)

    def use():
        result = function(**{**given, **{str(one): draw(rng) for one in hostile}})
        if hasattr(result, "plot") and name not in ("table", "report"):
            result.plot()
            mpl.pyplot.close("all")

    outcome(use)
    return name
