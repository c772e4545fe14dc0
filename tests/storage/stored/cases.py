"""What is stored, once per layout: ``python -m tests.storage.stored.cases FOLDER`` writes those of the current one.

Inputs and targets are multiples of powers of two, the same bits on every machine, since checkpoints compare digests.
"""

import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from torusgp import SufficientStatistics, TableModel, TorusGPRegressor
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
    return model.fit_and_judge(make_frame())


def make_statistics():
    X, y = make_rows()
    return SufficientStatistics.from_data(X, y, tensor(2, 1), period=[24, 7], noise_scale=1 + X[:, 1] / 8)


def predict(model):
    """Means and standard deviations at a few points."""
    points = make_points()
    if hasattr(model, "feature_names_in_"):
        points = pd.DataFrame(points, columns=model.feature_names_in_)
    return model.predict(points, return_std=True)


def write(folder):
    """Write every file of the current layout, and what has to come out of them."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    regressor, lattice, table, statistics = (
        make_regressor(),
        make_lattice_regressor(),
        make_table_model(),
        make_statistics(),
    )
    regressor.save(folder / "regressor.npz", notes={"from": "tests"})
    lattice.save(folder / "lattice.npz")
    table.save(folder / "table.npz")
    statistics.save(folder / "statistics.npz")
    # a sample of all rows would not get past the place where the chunks end
    with suppress(InterruptedError), patch("torusgp.estimators.regressor_streams.SAMPLE_ROWS", CHUNK):
        make_stream_model().fit(broken_off, checkpoint=folder / "checkpoint.npz")
    expected = {f"regressor_{name}": value for name, value in zip(("mean", "std"), predict(regressor), strict=True)}
    expected |= {f"lattice_{name}": value for name, value in zip(("mean", "std"), predict(lattice), strict=True)}
    expected["lattice_period"], expected["lattice_period_std"] = lattice.kernel_.period, lattice.period_std_
    expected["table"] = table.predict(make_frame()[:5]).to_numpy()
    linear, center = statistics.linear()
    expected |= {"gram": linear.gram, "moments": linear.moments, "center": center}
    np.savez(folder / "expected.npz", **expected)


if __name__ == "__main__":
    write(sys.argv[1])
