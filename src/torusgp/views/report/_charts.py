"""Charts as data, which the script of the page draws: curves and points, bars, and maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from torusgp.views.record import pack
from torusgp.views.report._axes import Axis


def line(
    name: str, x: ArrayLike, y: ArrayLike, low: ArrayLike | None = None, high: ArrayLike | None = None, **more: Any
) -> dict[str, Any]:
    """A curve, with a band if it has ends. ``style`` is its colour; ``gap`` the distance at which it breaks."""
    band = {} if low is None or high is None else {"low": pack(low), "high": pack(high)}
    return {"type": "line", "name": name, "x": pack(x, bits=32), "y": pack(y), **band, **more}


def points(name: str, x: ArrayLike, y: ArrayLike, **more: Any) -> dict[str, Any]:
    """Points."""
    return {"type": "points", "name": name, "x": pack(x, bits=32), "y": pack(y), **more}


def rule(name: str, x: float) -> dict[str, Any]:
    """A vertical line."""
    return {"type": "rule", "name": name, "at": float(x)}


def curves(x: Axis, y: Axis, layers: Sequence[dict[str, Any]], caption: str, **more: Any) -> dict[str, Any]:
    """Chart of curves and points. ``zoom`` lets readers choose a part; ``wide`` fills the page."""
    content = {"kind": "curves", "x": x.to_json(), "y": y.to_json(), "layers": list(layers)}
    return _chart(content, caption, **more)


def bars(labels: Sequence[str], ends: Sequence[ArrayLike], axis: Axis, caption: str, **more: Any) -> dict[str, Any]:
    """Chart of horizontal bars: their values, and the lower and upper ends of intervals."""
    content = {
        "kind": "bars",
        "labels": list(labels),
        "x": axis.to_json(),
        **{name: pack(each) for name, each in zip(("values", "low", "high"), ends, strict=True)},
    }
    return _chart(content, caption, **more)


def heat_map(x: Axis, y: Axis, grid: Sequence[ArrayLike], z: Any, of: Axis, caption: str, **more: Any) -> Any:
    """Map of values above and below zero, of shape (n_x, n_y)."""
    content = {
        "kind": "map",
        "x": x.to_json(),
        "y": y.to_json(),
        "z": of.to_json(),
        "places": [np.asarray(one, dtype=float).tolist() for one in grid],
        "values": pack(np.asarray(z).ravel()),
    }
    return _chart(content, caption, **more)


def _chart(content: dict[str, Any], caption: str, *, wide: bool = False, zoom: bool = False, title: str = "") -> Any:
    return {"data": content | ({"zoom": True} if zoom else {}), "caption": caption, "wide": wide, "title": title}
