"""Tables with rows that repeat, and with words that may stand for nothing."""

import warnings

import numpy as np
import pandas as pd

from tests.fuzz.verdicts import FindingError, outcome
from torusgp import TableModel
from torusgp.tables.backtest import FEWEST_ROWS, hold_out
from torusgp.tables.findings import Repeats

MARKS = (
    "NA",
    "None",
    "null",
    "n/a",
    "nan",
    "NaN",
    "#N/A",
    "<NA>",
    "?",
    "-",
    "-999",
    "-999.0",
    " NA ",
    "missing",
    "NIL",
)
LEVELS = ("a", "b", "Namibia", "0", "TRUE")


def repeated_table(rng):
    """Rows of which some are there several times, shuffled; and where each comes from."""
    n = int(rng.choice([25, 40, 80, 200]))
    frame = pd.DataFrame(index=range(n))
    for number in range(int(rng.integers(1, 4))):
        kind = rng.integers(3)
        values = (rng.normal(size=n), rng.integers(0, 12, n).astype(float), rng.choice(LEVELS[:4], n))[kind]
        frame[f"x{number}"] = values
    frame["y"] = rng.normal(size=n) if rng.random() < 0.7 else rng.integers(0, 3, n).astype(float)
    times = rng.choice([np.ones(n, dtype=int), np.full(n, 3), rng.integers(1, 6, n), 1 + 40 * (np.arange(n) == 0)])
    origin = rng.permutation(np.repeat(np.arange(n), times))
    return frame.iloc[origin].reset_index(drop=True)


def repeats(rng):
    """No hold-out parts rows of equal inputs, none holds out everything or nothing, and a fit counts the copies."""
    frame = repeated_table(rng)
    X, y = frame.drop(columns="y"), frame["y"].to_numpy()
    categories = [name for name in X if X[name].dtype.kind not in "biuf"]
    found = Repeats(X, y, categories)
    share = float(rng.uniform(0.01, 0.6))
    held, words = hold_out(len(frame), None, share, random_state=int(rng.integers(99)), repeats=found)
    if not 0 < held.sum() <= max(1, round(share * len(frame))):
        raise FindingError(f"{held.sum()} of {len(frame)} rows are held out instead of {share:.3g}")
    if "together" in words:
        learned = set(map(tuple, X[~held].to_numpy().tolist()))
        parted = [row for row in map(tuple, X[held].to_numpy().tolist()) if row in learned]
        if parted:
            raise FindingError(f"rows of the inputs {parted[0]} are on both sides of a hold-out")
        if len(learned) < FEWEST_ROWS:
            raise FindingError(f"{len(learned)} different inputs are left to learn from")
    if len(frame) > 120 or rng.random() < 0.5:
        return "parted" if "together" in words else "drawn"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = TableModel("y", inputs=list(X), n_components=9)
        if outcome(lambda: table.fit(frame)) == "refused":
            return "refused"
    counted = (table.quality_["equal_inputs"], table.quality_["duplicates"])
    if counted != (X.duplicated().sum(), frame.duplicated().sum()):
        raise FindingError(f"{counted} rows of equal inputs, and of an equal target, too, are told")
    return "fitted"


def marks(folder, rng):
    """A file and a DataFrame of one table are read alike: the same predictions, or the same error."""
    n = int(rng.choice([25, 60]))
    shop, x = rng.choice(LEVELS, n).astype(object), rng.normal(size=n).round(3).astype(str).astype(object)
    chosen = list(rng.choice(MARKS, int(rng.integers(1, 4)), replace=False))
    for column in (shop, x):
        for mark in chosen:
            if rng.random() < 0.5:
                column[rng.integers(0, n, int(rng.integers(1, 4)))] = mark
        if rng.random() < 0.3:
            column[rng.integers(0, n, 2)] = None
    frame = pd.DataFrame({"shop": shop, "x": x, "y": rng.normal(size=n)})
    missing = (None, chosen[0], chosen, [*chosen, -999], list(MARKS))[int(rng.integers(5))]
    path = folder / "marks.csv"
    frame.to_csv(path, index=False, sep=str(rng.choice([",", ";", "\t"])))
    told = {"missing": missing, "drop_missing": bool(rng.random() < 0.5)}
    later = pd.DataFrame({"shop": ["a", "b", None], "x": 0.5})
    results = []
    for rows in (path, frame):
        table = TableModel("y", terms="category(shop) + line(x)", n_components=9, **told)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = table.fit(rows)
                known = later if "shop" in fitted.inputs_.empty_levels else later[:2]
                results.append((fitted.n_dropped_, fitted.predict(known)["mean"].tolist()))
        except ValueError as error:
            text = str(error).replace(str(path), "the table")
            results.append(text.partition(" in column ")[2] or text.partition(" miss a value")[0])
    if results[0] != results[1]:
        raise FindingError(f"a file gives {results[0]}, its DataFrame {results[1]} (missing={missing!r})")
    return "refused" if isinstance(results[0], str) else "fitted"
