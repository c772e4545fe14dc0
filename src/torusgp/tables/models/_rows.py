"""Rows of a table as a model takes them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torusgp.data.tables import TableError, complete_rows, import_pandas, place_of_row, read_table, without_marks
from torusgp.tables.clock import check_zone
from torusgp.tables.words import TABLE, word


@dataclass(frozen=True)
class Rows:
    """Complete rows: inputs, targets, what orders them, known standard deviations of their noise, and their file."""

    X: Any
    y: np.ndarray
    order: Any
    scale: np.ndarray | None
    source: str | Path = TABLE

    def sorted(self):
        """The rows in their order."""
        if self.order is None:
            return self
        return self.take(self.order.reset_index(drop=True).sort_values(kind="stable").index.to_numpy())

    def take(self, chosen):
        """Some of the rows."""
        return Rows(
            self.X.iloc[chosen],
            self.y[chosen],
            None if self.order is None else self.order.iloc[chosen],
            None if self.scale is None else self.scale[chosen],
            self.source,
        )


def check_order(order, timeline, source):
    """Raise if what orders rows differs from what the model was fitted to: numbers or times, with a zone or without."""
    are_numbers = (order.dtype.kind != "M", isinstance(timeline.last, float))
    has, had = ("numbers" if one else "times" for one in are_numbers)
    if has != had:
        raise TableError(f"Column {order.name!r} of {source} has {has}, but the model was fitted to {had}.")
    if has == "times":  # those of a calendar may be on one clock by now, but still count from different moments
        check_zone(order, timeline.zone, source)


def row_times(inputs, order):
    """Times of rows as numbers, in days where they are dates; None if they are an input of the regressor."""
    if order is None or inputs.needs_time:
        return None
    if order.dtype.kind != "M":
        return order.to_numpy(dtype=float)
    times = order if order.dt.tz is None else order.dt.tz_convert("UTC").dt.tz_localize(None)
    return (times.to_numpy() - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")


def to_table(frame, source, missing=None):
    """A table, empty where values stand for nothing, and where it comes from; it is read if it is a file."""
    if isinstance(frame, str | Path):
        return read_table(frame, missing), frame
    if hasattr(frame, "to_pandas"):  # of polars or Arrow; times keep their zones
        frame = frame.to_pandas()
    if not isinstance(frame, import_pandas().DataFrame):
        raise TypeError(f"A table must be a pandas DataFrame or the name of a file, got {type(frame).__name__}.")
    return without_marks(frame, missing), source


def numbered(frame, source):
    """The table with its rows counted from 0, as errors need it; a file was read that way."""
    return frame.reset_index(drop=True) if source == TABLE else frame


def read_noise(frame, name, source, inputs):
    """Known standard deviations of the rows, checked; None if there are none."""
    if name is None:
        return None
    scale = inputs.read_numbers(frame, name, source)
    bad = np.flatnonzero(scale <= 0)
    if len(bad):
        others = f" {len(bad)} values of this column are not." if len(bad) > 1 else ""
        raise TableError(
            f"{place_of_row(scale.index[bad[0]], source)}: {scale.iloc[bad[0]]:g} in column {name!r} is no "
            f"standard deviation or exposure, which has to be positive.{others}"
        )
    return scale


def unless_input(column, columns):
    """A column that may be there, unless it is one of the inputs."""
    return [] if column is None or column.name in columns else [column]


def find_complete(columns, source, drop):
    """Which rows miss nothing; if some do and may not be left out, an error that says how to allow it."""
    try:
        return complete_rows(columns, source, drop=drop)
    except TableError as error:
        hint = "" if drop else f" That is what {word('drop_missing')} does."
        raise TableError(f"{error}{hint}") from error
