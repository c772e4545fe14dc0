"""Subject of a page: a fitted regressor, findings about it, and rows to draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.views.analysis import SobolIndices, effect, sobol_indices
from torusgp.views.dimensions import Dimension, find_dimensions
from torusgp.views.findings import Findings
from torusgp.views.record import Record
from torusgp.views.report._axes import Axis, Clock

_LINE_POINTS = (121, 961)  # of an effect, at least and at most


@dataclass(frozen=True, eq=False)
class Future:
    """Predictions beyond the rows.

    Places are moments as in the record, ``low`` and ``high`` the ends of 95 % intervals.
    """

    place: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Horizons:
    """Errors by how far ahead rows were forecast.

    Root mean square errors by steps ahead, of the model and of a seasonal naive forecast of the same rows.
    """

    steps: NDArray[np.float64]
    rmse: NDArray[np.float64]
    naive_rmse: NDArray[np.float64]
    step: str
    season: str


@dataclass(frozen=True, eq=False)
class Subject:
    """Subject of a page."""

    model: TorusGPRegressor
    findings: Findings
    record: Record | None = None
    future: Future | None = None
    horizons: Horizons | None = None
    output: int = 0
    input_units: Mapping[str, str] = field(default_factory=dict)
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    whole_days: bool = True
    tables: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Dimensions of the function."""
        return find_dimensions(self.model.fitted_)

    def axis(self, dimension: int) -> Axis:
        """Axis of a dimension."""
        one = self.dimensions[dimension]
        name = str(self.model.fitted_.prior.torus.names[one.input])
        return Axis.of_dimension(one, self.input_units.get(name, ""), self.clocks.get(name))

    def target_axis(self, name: str = "", *, zero: bool = False) -> Axis:
        """Axis of the target, or of something in its units."""
        return Axis(name or self.findings.target, self.findings.unit, zero=zero)

    @property
    def function_axis(self) -> Axis:
        """Axis of effects: of the target, or of its logarithm or log odds, which have no unit."""
        scale = check_likelihood(self.model.likelihood).scale_name
        if scale:
            return Axis(f"effect on {scale} of {self.findings.target}", zero=True)
        return self.target_axis(f"effect on {self.findings.target}", zero=True)

    @cached_property
    def indices(self) -> SobolIndices | None:
        """Shares of the variance; None where the function is constant, or explains nothing."""
        if self.findings.grade == "worthless":
            return None
        try:
            return sobol_indices(self.model, n_samples=1)
        except ValueError:  # a constant function has none
            return None

    @cached_property
    def share(self) -> dict[tuple[int, ...], float]:
        """Share of each component."""
        if self.indices is None:
            return {}
        values = self.indices.share.reshape(len(self.indices.components), -1)[:, self.output]
        return {one: float(np.nan_to_num(value)) for one, value in zip(self.indices.components, values, strict=True)}

    def main_effect(self, dimension: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Places, mean and standard deviation of the effect of a dimension."""
        one = self.dimensions[dimension]
        harmonics = np.abs(self.model.index_set_.frequencies).max(axis=0)
        largest = max((int(harmonics[axis]) for axis in one.axes), default=1)
        grid = None
        if self.has_days(dimension):
            grid = np.arange(7.0)
        found = effect(
            self.model,
            dimension,
            grid=grid,
            n_points=None if grid is not None else int(np.clip(8 * largest, *_LINE_POINTS)),
        )
        mean, std = (each.reshape(len(found.grid[0]), -1)[:, self.output] for each in (found.mean, found.std))
        places = np.arange(float(len(one.levels))) if one.kind == "category" else found.grid[0].astype(float)
        return places, mean, std

    def has_days(self, dimension: int) -> bool:
        """True if a dimension is a weekday that has whole days only."""
        return self.whole_days and self.axis(dimension).kind == "weekday"

    def places(self, dimension: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of a dimension as the page draws them."""
        clock = self.clocks.get(str(self.model.fitted_.prior.torus.names[self.dimensions[dimension].input]))
        return values if clock is None or self.dimensions[dimension].is_periodic else clock(values)

    def pair_effect(self, pair: tuple[int, int], *, joint: bool = False) -> tuple[list[Any], Any, Any]:
        """Grid, mean and standard deviation of what two dimensions do together."""
        grid: list[Any] = []
        for d in pair:
            one, kind = self.dimensions[d], self.axis(d).kind
            n_points = {"weekday": 7, "hour": 48, "yearday": 52}.get(kind, 40)
            if one.kind == "category":
                grid.append(np.array(one.levels, dtype=object))
            elif one.is_periodic:
                grid.append(np.arange(n_points) * (one.period or 0.0) / n_points)
            else:
                grid.append(np.linspace(one.low, one.high, n_points))
        kinds = [self.axis(d).kind for d in pair]
        points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
        if not self.whole_days and set(kinds) == {"hour", "weekday"}:
            # at 15:00 on Monday the week has gone on to 0.625
            points[:, kinds.index("weekday")] += points[:, kinds.index("hour")] / 24
        values = effect(self.model, pair, joint=joint, n_points=2)(points, return_std=True)
        mean, std = (each.reshape(*map(len, grid), -1)[..., self.output] for each in values)
        places = [
            np.arange(float(len(values))) if self.dimensions[d].kind == "category" else self.places(d, values)
            for d, values in zip(pair, grid, strict=True)
        ]
        return places, mean, std
