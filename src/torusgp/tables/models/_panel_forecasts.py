"""Forecasts of several series in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torusgp.tables.forecast import Forecast


@dataclass(frozen=True)
class PanelForecast:
    """Forecasts of several series.

    Attributes
    ----------
    by : str
        Column of the levels.
    forecasts : dict of str to Forecast
        The forecasts, by their levels.
    """

    by: str
    forecasts: dict[str, Forecast]

    def aggregate(self, span="all", how="sum", **options):
        """Forecast what is made of the values of spans, for each level; see :meth:`Forecast.aggregate`."""
        found = {level: one.aggregate(span, how, **options) for level, one in self.forecasts.items()}
        return PanelForecast(self.by, found)

    def to_frame(self, n_draws: int = 0, random_state: Any = 0) -> Any:
        """The forecasts as one table, whose first column has the levels; see :meth:`Forecast.to_frame`."""
        import pandas

        found = []
        for level, one in self.forecasts.items():
            part = one.to_frame(n_draws, random_state)
            part.insert(0, self.by, level)
            found.append(part)
        return pandas.concat(found, ignore_index=True)
