"""What is stored, once per layout: ``python -m tests.storage.stored.cases FOLDER`` writes those of the current one.

``python -m tests.storage.stored.cases FOLDER NAME ...`` writes or replaces some of them.

Inputs and targets are multiples of powers of two, the same bits on every machine, since checkpoints compare digests.
"""

import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from torusgp import Category, Circle, Line, Slope, SufficientStatistics, TableModel, TorusGPRegressor
from torusgp.kernels.index_sets import tensor

N_CHUNKS, CHUNK = 6, 50


def make_rows(n_samples=200):
    """Inputs in [0, 24) and [0, 7), and targets that repeat with them."""
    k = np.arange(n_samples)
    X = np.stack([k * k * 7919 % 768 / 32, k * 104729 % 448 / 64], axis=1)
    y = np.where(X[:, 0] < 12, 1.0, -1.0) + np.where(X[:, 1] < 5, 0.5, 0.25) * (X[:, 0] % 12) / 8
    return X, y + (k * 37 % 101 - 50) / 512


def make_points():
    """Where models predict."""
    k = np.arange(5)
    return np.stack([k * 5 + 0.5, k * 1.25], axis=1)


def make_frame(n_samples=400):
    """A table with times, every seven hours."""
    X, y = make_rows(n_samples)
    times = pd.Timestamp("2024-01-01", tz="Europe/Berlin") + pd.to_timedelta(np.arange(n_samples) * 7, unit="h")
    hour = times.hour.to_numpy()
    return pd.DataFrame({"when": times.astype(str), "angle": X[:, 1], "load": y + np.where(hour < 8, 2.0, 0.0)})


def make_picture():
    """Pixels whose cell is oblique, (5, 1) and (-1, 7), on an uneven background."""
    rows, columns = np.indices((32, 32)).reshape(2, -1)
    y = np.where((7 * rows + columns) % 36 < 18, 1.0, 0.0) + np.where((5 * columns - rows) % 36 < 12, 0.5, 0.0)
    noise = np.arange(len(y)) * 37 % 101 / 256
    return np.stack([rows, columns], axis=1).astype(float), y + rows / 64 + noise


def make_chunks():
    X, y = make_rows(N_CHUNKS * CHUNK)
    for start in range(0, len(y), CHUNK):
        yield X[start : start + CHUNK], y[start : start + CHUNK]


def broken_off():
    yield from islice(make_chunks(), N_CHUNKS // 2)
    raise InterruptedError("the machine was switched off")


def make_stream_model():
    return TorusGPRegressor(period=[24, 7], n_components=25, learn=("noise_variance",))


def make_regressor():
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=["hour", "weekday"])
    model = TorusGPRegressor(
        kernel=["matern52", "squared_exponential"], period=[24, 7], index_set="hyperbolic_cross", n_components=25
    )
    return model.fit(frame, np.stack([y, 2 - y**2], axis=1), sample_weight=1 + np.arange(len(y)) % 3)


def make_lattice_regressor():
    X, y = make_picture()
    model = TorusGPRegressor(period="auto", n_components=25, learn=("noise_variance", "lattice"))
    return model.fit(X, y)


def make_table_model():
    model = TableModel("load", {"angle": 7}, {"when": ["day"]}, timezone="Europe/Berlin", n_components=25)
    return model.fit_and_evaluate(make_frame())


def make_open_frame(n_samples=200):
    """A repeating input, one that does not repeat, and levels."""
    X, y = make_rows(n_samples)
    shop = np.array(["north", "south", "west"], dtype=object)[np.arange(n_samples) * 7 % 3]
    price = np.arange(n_samples) % 16 / 4
    y = y + np.where(shop == "west", 1.0, 0.0) - price / 8 + X[:, 1] ** 2 / 64
    return pd.DataFrame({"hour": X[:, 0], "warmth": X[:, 1], "shop": shop, "price": price}), y


def make_open_regressor():
    frame, y = make_open_frame()
    hour = Circle("hour", 24)
    kernel = hour * Line("warmth", range=(-1, 8)) + Category("shop") * hour + Category("shop") + Slope("price")
    return TorusGPRegressor(kernel, n_components=61).fit(frame, y)


def make_statistics():
    X, y = make_rows()
    return SufficientStatistics.from_data(X, y, tensor(2, 1), period=[24, 7], noise_scale=1 + X[:, 1] / 8)


def predict(model):
    """Means and standard deviations at a few points."""
    points = make_points()
    if hasattr(model, "feature_names_in_"):
        points = pd.DataFrame(points, columns=model.feature_names_in_)
    return model.predict(points, return_std=True)


def predict_open(model):
    """Means and standard deviations of the open model, and of its terms, also beyond the range and at a new level."""
    frame, _ = make_open_frame(5)
    frame.loc[3, ["shop", "warmth"]] = ["east", 12.0]
    return *model.predict(frame, return_std=True), *model.predict_parts(frame, return_std=True)


def write_regressor(folder):
    model = make_regressor()
    model.save(folder / "regressor.npz", notes={"from": "tests"})
    return dict(zip(("regressor_mean", "regressor_std"), predict(model), strict=True))


def write_lattice(folder):
    model = make_lattice_regressor()
    model.save(folder / "lattice.npz")
    expected = dict(zip(("lattice_mean", "lattice_std"), predict(model), strict=True))
    return {**expected, "lattice_period": model.period_, "lattice_period_std": model.period_std_}


def write_open(folder):
    model = make_open_regressor()
    model.save(folder / "open.npz")
    names = ("open_mean", "open_std", "open_parts", "open_parts_std")
    return dict(zip(names, predict_open(model), strict=True))


def write_table(folder):
    model = make_table_model()
    model.save(folder / "table.npz")
    return {"table": model.predict(make_frame()[:5]).to_numpy()}


def write_statistics(folder):
    statistics = make_statistics()
    statistics.save(folder / "statistics.npz")
    linear, center = statistics.linear()
    return {"gram": linear.gram, "moments": linear.moments, "center": center}


def write_checkpoint(folder):
    # a sample of all rows would not get past the place where the chunks end
    with suppress(InterruptedError), patch("torusgp.estimators.passes.SAMPLE_ROWS", CHUNK):
        make_stream_model().fit(broken_off, checkpoint=folder / "checkpoint.npz")
    return {}


WRITERS = {
    "regressor": write_regressor,
    "lattice": write_lattice,
    "open": write_open,
    "table": write_table,
    "statistics": write_statistics,
    "checkpoint": write_checkpoint,
}


def write(folder, *names):
    """Write files of the current layout, all of them by default, and what has to come out of them."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    if (folder / "expected.npz").exists():
        with np.load(folder / "expected.npz") as archive:
            expected = dict(archive)
    for name in names or WRITERS:
        expected |= WRITERS[name](folder)
    np.savez(folder / "expected.npz", **expected)


if __name__ == "__main__":
    write(*sys.argv[1:])
