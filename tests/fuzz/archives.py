"""Files of every kind, mutated byte by byte, and crafted with right checksums: a clear error, or the same model."""

import copy
import json
import tracemalloc

import numpy as np
import pandas as pd

from tests.fuzz.verdicts import FindingError, check_finite, outcome
from torusgp import Category, Circle, Line, Slope, SufficientStatistics, TableModel, TorusGPRegressor
from torusgp.kernels.index_sets import tensor
from torusgp.storage.archives import _read_arrays, save_archive

JUNK = (None, "text", "", -1, 0, 1.5, 1e300, float("nan"), float("inf"), [], {}, [[]], True, 10**30)
ARRAYS = (
    lambda a: a * np.nan,
    lambda a: a * np.inf,
    lambda a: a * 0,
    lambda a: -a,
    lambda a: a.ravel(),
    lambda a: a.ravel()[:0],
    lambda a: a.ravel()[:1].reshape(()) if a.size else a,
    lambda a: np.array("x"),
    lambda a: a * 1e200,
    lambda a: np.stack([a, a]),
    lambda a: a.T,
    lambda a: a.astype(np.float32),
    lambda a: np.ones((1, 1)),
    lambda a: a * 1j,
    lambda a: np.zeros(0),
)


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


def make_chunks():
    X, y = make_rows(N_CHUNKS * CHUNK)
    for start in range(0, len(y), CHUNK):
        yield X[start : start + CHUNK], y[start : start + CHUNK]


class Files:
    """One file of each kind in a folder, how it is used, and what that gives."""

    def __init__(self, folder):
        self.folder = folder
        X, y = make_rows()
        mixed = np.column_stack([X, np.arange(len(X)) % 3])
        kernel = Circle(0, 24) * Line(1) + Category(2) + Slope(1)
        TorusGPRegressor(kernel, n_components=31).fit(mixed, y).save(folder / "open")
        TorusGPRegressor(period=[24, 7], n_components=31).fit(X, y).save(folder / "short")
        TableModel("load", {"angle": 7}).fit(make_frame()).save(folder / "table")
        SufficientStatistics.from_data(X, y, tensor(2, 2), period=[24.0, 7.0]).save(folder / "sums")
        self.resume(folder / "pass")
        self.expected = {kind: self.use(kind, folder / kind) for kind in ("open", "short", "table", "sums", "pass")}

    @staticmethod
    def resume(path):
        return TorusGPRegressor(period=[24, 7], n_components=31).fit(make_chunks(), checkpoint=path)

    def use(self, kind, path):
        points = make_points()
        if kind == "sums":
            return SufficientStatistics.load(path).linear()[0].moments
        if kind == "table":
            return TableModel.load(path).predict(make_frame(8)).to_numpy()
        if kind == "pass":
            return np.stack(self.resume(path).predict(points, return_std=True))
        points = np.column_stack([points, [0, 1, 2, 0, 1]]) if kind == "open" else points
        return np.stack(TorusGPRegressor.load(path).predict(points, return_std=True))


def mutated(files, rng):
    """Some bytes changed, cut out, doubled or put in."""
    kind = rng.choice(list(files.expected))
    content, path = bytearray((files.folder / kind).read_bytes()), files.folder / "mutated"
    for _ in range(int(rng.integers(1, 4))):
        place, size = int(rng.integers(len(content))), int(rng.integers(1, 20))
        change = rng.integers(4)
        if change == 0:
            content[place : place + size] = rng.bytes(min(size, len(content) - place))
        elif change == 1:
            del content[place : place + size]
        elif change == 2:
            content[place:place] = content[place : place + size]
        else:
            content[place] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)
    result = use_within_memory(files, kind, path)
    if not isinstance(result, str) and not np.array_equal(result, files.expected[kind]):
        raise FindingError(f"a mutated {kind} gives other numbers")
    return kind


def crafted(files, rng):
    """One part replaced by junk, with a right digest: nothing but a clear error or finite numbers may come of it."""
    kind = rng.choice(list(files.expected))
    arrays, path = _read_arrays(files.folder / kind), files.folder / "crafted"
    header = json.loads(arrays.pop("header").tobytes())
    content = header["content"]
    if rng.random() < 0.5:
        name = rng.choice(sorted(arrays))
        change = int(rng.integers(-1, len(ARRAYS)))
        if change < 0:
            del arrays[name]
        else:
            with np.errstate(all="ignore"):
                arrays[name] = np.asarray(ARRAYS[change](arrays[name]))
    else:
        parent, key = pick(content, rng)
        if rng.random() < 0.15:
            del parent[key]
        else:
            parent[key] = copy.copy(JUNK[int(rng.integers(len(JUNK)))])
    save_archive(path, header["kind"], header["version"], content, arrays)
    result = use_within_memory(files, kind, path)
    if not isinstance(result, str):
        check_finite(result)
    return kind


def use_within_memory(files, kind, path):
    tracemalloc.start()
    result = outcome(lambda: files.use(kind, path), names=str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    if peak > 2 * path.stat().st_size + 100 * 2**20:
        raise FindingError(f"{peak / 2**20:.0f} MiB for a file of {path.stat().st_size} bytes")
    return result


def pick(value, rng):
    """A place in nested dictionaries and lists, which may be anywhere."""
    parent, key = None, None
    while isinstance(value, dict | list) and len(value) and (parent is None or rng.random() < 0.85):
        parent = value
        key = rng.choice(sorted(value)) if isinstance(value, dict) else int(rng.integers(len(value)))
        value = parent[key]
    return parent, key
