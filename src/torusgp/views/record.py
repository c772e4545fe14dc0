"""Rows that pictures of a model draw: its history, rows held out with their predictions, and where errors are large.

A model keeps them since its sums do not tell single rows, and since the predictions of rows held out are those of the
model before it was fitted to all rows.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_ROWS = 60_000  # kept one by one; of more, the lowest and the highest of neighbours
_MOST_UNORDERED = 2_000  # rows without order that are kept: more points hide each other
_FEW_VALUES, _BINS = 31, 24  # different values of an input that keep their own bins, and bins otherwise
_FEWEST_IN_BIN, _ROWS_A_BIN = 5, 12  # rows of a bin, at least and usually
_SHORT = 200  # numbers that are kept as text
_EVEN = 1e-6  # of a step: times that are as even as that are kept as a first one and a step


@dataclass(frozen=True, eq=False)
class ErrorsAlong:
    """Errors of predictions along an input, in bins.

    Attributes
    ----------
    name : str
        Name of the input.
    place : ndarray of float, or list of str
        Mean of the input in each bin, or its levels.
    mean, rms : ndarray
        Mean error, observed minus predicted, and root mean square error.
    n_rows : ndarray of int
        Number of rows.
    """

    name: str
    place: Any
    mean: NDArray[np.float64]
    rms: NDArray[np.float64]
    n_rows: NDArray[np.int64]

    @classmethod
    def from_rows(cls, name: str, values: ArrayLike, error: NDArray[np.float64]) -> Self | None:
        """Errors by the values of an input; None where fewer than two bins have rows enough."""
        values = np.asarray(values)
        if values.dtype.kind not in "fiub":
            values = values.astype(str)
            levels, bins = np.unique(values, return_inverse=True)
        else:
            values = values.astype(float)
            levels, bins = np.unique(np.round(values, 9), return_inverse=True)
            if len(levels) > min(_FEW_VALUES, len(values) // _FEWEST_IN_BIN):
                n_bins = int(np.clip(len(values) // _ROWS_A_BIN, 2, _BINS))
                low, width = values.min(), np.ptp(values) / n_bins
                bins = np.minimum(((values - low) / width).astype(int), n_bins - 1)
        n_rows = np.bincount(bins)
        enough = n_rows >= _FEWEST_IN_BIN
        if enough.sum() < 2:
            return None

        def average(of: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.bincount(bins, of)[enough] / n_rows[enough]

        place = levels[enough].tolist() if values.dtype.kind == "U" else average(values)
        return cls(name, place, average(error), np.sqrt(average(error**2)), n_rows[enough])

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        return {one.name: np.asarray(getattr(self, one.name)).tolist() for one in fields(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Errors from what :meth:`to_json` gave."""
        place = content["place"]
        numbers = {name: np.asarray(content[name]) for name in ("mean", "rms", "n_rows")}
        return cls(content["name"], place if isinstance(place[0], str) else np.asarray(place), **numbers)


@dataclass(frozen=True, eq=False)
class Record:
    """Rows that pictures of a model draw.

    Attributes
    ----------
    along : str
        Column that rows are drawn along: what orders them, or the only input; empty if there is none.
    kind : {"time", "number", ""}
        What it holds: times as milliseconds of a clock since 1970, or numbers.
    is_ordered : bool
        Whether it orders the rows, so that the last ones were held out.
    n_rows : int
        Number of rows, of which at most 60,000 are kept.
    place, observed : ndarray of shape (n_kept,)
        Where rows lie along it, and their targets. Without such a column, only rows that have predictions.
    mean, low, high : ndarray of shape (n_kept,)
        Predictions and 95 % intervals of rows that the model had not seen; not a number for others.
    errors : tuple of ErrorsAlong
        Errors of these rows along each input.
    """

    along: str
    kind: str
    is_ordered: bool
    n_rows: int
    place: NDArray[np.float64]
    observed: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    errors: tuple[ErrorsAlong, ...] = ()

    @classmethod
    def from_rows(
        cls,
        observed: NDArray[np.float64],
        *,
        along: str = "",
        place: Any = None,
        is_ordered: bool = False,
        unseen: NDArray[np.bool_] | None = None,
        predicted: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None = None,
        inputs: Mapping[str, Any] | None = None,
    ) -> Self:
        """Record of rows in their order.

        Parameters
        ----------
        observed : ndarray of shape (n_rows,)
            Targets.
        along, place, is_ordered
            Name and values of the column that rows are drawn along, times or numbers, if there is one.
        unseen : ndarray of bool, shape (n_rows,), optional
            Which rows have predictions of a model that had not seen them.
        predicted : tuple of three ndarrays of shape (n_unseen,), optional
            Mean and ends of 95 % intervals of these.
        inputs : mapping of str to array-like of length n_unseen, optional
            Their inputs, by name.
        """
        n_rows = len(observed)
        unseen = np.zeros(n_rows, dtype=bool) if unseen is None else np.asarray(unseen)
        columns = np.full((3, n_rows), np.nan)
        if predicted is not None:
            columns[:, unseen] = np.stack(predicted)
        kind, numbers = ("", np.zeros(n_rows)) if place is None else _to_numbers(place)
        errors = []
        if predicted is not None and unseen.any():
            error = observed[unseen] - columns[0, unseen]
            errors = [ErrorsAlong.from_rows(name, values, error) for name, values in (inputs or {}).items()]
        kept = _kept(observed, unseen, has_place=place is not None)
        return cls(
            along if place is not None else "",
            kind,
            is_ordered,
            n_rows,
            numbers[kept],
            observed[kept],
            columns[0, kept],
            columns[1, kept],
            columns[2, kept],
            errors=tuple(one for one in errors if one is not None),
        )

    @property
    def is_unseen(self) -> NDArray[np.bool_]:
        """Mask of the rows that have predictions."""
        return np.isfinite(self.mean)

    def to_json(self) -> dict[str, Any]:
        """Content for JSON, in 16 bits a number."""
        content: dict[str, Any] = {name: getattr(self, name) for name in ("along", "kind", "is_ordered", "n_rows")}
        content |= {"place": pack(self.place, bits=32), "observed": pack(self.observed)}
        content["unseen"] = np.flatnonzero(np.diff(np.concatenate([[False], self.is_unseen, [False]]))).tolist()
        content |= {name: pack(getattr(self, name)[self.is_unseen]) for name in ("mean", "low", "high")}
        content["errors"] = [one.to_json() for one in self.errors]
        return content

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Record from what :meth:`to_json` gave."""
        packed: dict[str, Any] = {name: unpack(content[name]) for name in ("place", "observed")}
        edges = np.zeros(len(packed["place"]) + 1, dtype=int)
        edges[content["unseen"]] = 1
        unseen = np.cumsum(edges)[:-1] % 2 == 1
        for name in ("mean", "low", "high"):
            packed[name] = np.full(len(unseen), np.nan)
            packed[name][unseen] = unpack(content[name])
        return cls(
            **{name: content[name] for name in ("along", "kind", "is_ordered", "n_rows")},
            **packed,
            errors=tuple(map(ErrorsAlong.from_json, content["errors"])),
        )


def pack(values: ArrayLike, bits: int = 16) -> Any:
    """Numbers in few bytes: as they are if they are few, as a first one and a step, or in 16 or 32 bits each.

    Parameters
    ----------
    values : array-like of shape (n,)
        Numbers, or not a number.
    bits : {16, 32}, default=16
        Size of each.

    Returns
    -------
    list or dict
        For JSON; :func:`unpack` reads it, and the script of the page.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.random.default_rng(0).normal(size=1000)
    >>> bool(np.abs(unpack(pack(values)) - values).max() < 1e-4), pack(range(1000))
    (True, {'start': 0.0, 'step': 1.0, 'n': 1000})
    """
    values = np.asarray(values, dtype=float)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    if len(values) <= _SHORT:
        unit = (high - low) or abs(high) or 1.0
        digits = int(np.clip(7 - np.floor(np.log10(unit)), 0, 30))
        return [None if np.isnan(value) else round(value, digits) for value in values.tolist()]
    step = (values[-1] - values[0]) / (len(values) - 1)
    if step and len(finite) == len(values) and np.abs(np.diff(values) - step).max() <= _EVEN * abs(step):
        return {"start": float(values[0]), "step": float(step), "n": len(values)}
    least = float(np.min(np.diff(values))) if len(finite) == len(values) else 0.0
    if least > 0 and (np.diff(values) / least).max() < 2**16:
        counts = np.rint(np.diff(values) / least)
        if np.abs(np.diff(values) / least - counts).max() <= _EVEN:  # rows are missing from even ones
            data = base64.b64encode(counts.astype("<u2").tobytes()).decode()
            return {"start": float(values[0]), "least": least, "data": data}
    steps = 2**bits - 2  # one more stands for what is not a number
    scaled = np.where(np.isfinite(values), (values - low) / ((high - low) or 1.0) * steps, steps + 1)
    whole = np.rint(scaled).astype("<u4" if bits == 32 else "<u2")
    return {"low": low, "high": high, "bits": bits, "data": base64.b64encode(whole.tobytes()).decode()}


def unpack(packed: Any) -> NDArray[np.float64]:
    """Numbers that :func:`pack` packed."""
    if isinstance(packed, list):
        return np.array([np.nan if value is None else value for value in packed], dtype=float)
    if "step" in packed:
        return packed["start"] + packed["step"] * np.arange(packed["n"])
    if "least" in packed:
        counts = np.frombuffer(base64.b64decode(packed["data"]), dtype="<u2").astype(float)
        return packed["start"] + packed["least"] * np.concatenate([[0.0], np.cumsum(counts)])
    whole = np.frombuffer(base64.b64decode(packed["data"]), dtype="<u4" if packed["bits"] == 32 else "<u2")
    steps = 2 ** packed["bits"] - 2
    values = packed["low"] + (packed["high"] - packed["low"]) * whole / steps
    return np.where(whole > steps, np.nan, values)


def to_milliseconds(times: Any) -> NDArray[np.float64]:
    """Times of pandas as milliseconds since 1970 on their own clock."""
    times = times.dt.tz_localize(None) if times.dt.tz is not None else times
    return times.to_numpy(dtype="datetime64[ms]").astype(np.int64).astype(float)


def _to_numbers(place: Any) -> tuple[str, NDArray[np.float64]]:
    if getattr(getattr(place, "dtype", None), "kind", "") == "M" or "datetime" in str(getattr(place, "dtype", "")):
        return "time", to_milliseconds(place)
    return "number", np.asarray(place, dtype=float)


def _kept(observed: NDArray[np.float64], unseen: NDArray[np.bool_], has_place: bool) -> NDArray[np.int64]:
    """Positions of the rows that are kept: all, the lowest and highest of neighbours, or some that have predictions."""
    if not has_place:
        chosen = np.flatnonzero(unseen)
        if len(chosen) > _MOST_UNORDERED:
            chosen = np.random.default_rng(0).choice(chosen, _MOST_UNORDERED, replace=False)
        return np.sort(chosen)
    n_rows = len(observed)
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    starts = np.linspace(0, n_rows, MOST_ROWS // 2 + 1).astype(int)
    pairs = [
        (low + observed[low:high].argmin(), low + observed[low:high].argmax())
        for low, high in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    return np.unique(np.array(pairs))
