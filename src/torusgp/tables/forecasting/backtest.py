"""How forecasts from several times of the past have fared, by how far ahead they were, beside a naive forecast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torusgp.views.scores import Scores

_MOST_GROUPS = 24  # of horizons, if there are more steps than this
SHOWN = ("mae", "rmse", "wape", "mase", "pinball", "crps", "middle", "coverage80", "coverage")


@dataclass(frozen=True)
class HorizonScores:
    """Scores of the forecasts so many steps ahead.

    Attributes
    ----------
    first, last : int
        Steps ahead, from 1 on.
    scores, naive : Scores
        Of the model, and of the seasonal naive forecast for the same rows.
    """

    first: int
    last: int
    scores: Scores
    naive: Scores

    @property
    def name(self) -> str:
        """The steps in words."""
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from several origins, compared with what came.

    Attributes
    ----------
    target : str
        Column that was forecast.
    horizon, step : str
        How far ahead, and what a step is, in words.
    season : str
        Season of the naive forecast: the one that forecasts the rows before the first origin best.
    scores, naive : Scores
        Of all forecasts: of the model, and of the seasonal naive forecast for the same rows.
    by_horizon : tuple of HorizonScores
        The same by steps ahead.
    origins : list
        Last times that were known.
    n_fits : int
        Number of fits; forecasts from other origins use the fit before.
    forecasts : pandas.DataFrame or None
        One row for each forecast: ``origin``, the time, ``step``, ``observed``, ``mean``, ``std``, quantiles and
        ``naive``. None if it was read from a file.
    """

    target: str
    horizon: str
    step: str
    season: str
    scores: Scores
    naive: Scores
    by_horizon: tuple[HorizonScores, ...]
    origins: tuple[Any, ...]
    n_fits: int
    forecasts: Any = None

    @property
    def beats_naive(self) -> bool:
        """Whether the mean absolute error is below that of the seasonal naive forecast."""
        return bool(self.scores.mae < self.naive.mae)  # type: ignore[operator]

    def to_frame(self) -> Any:
        """Scores by horizon as a table.

        Returns
        -------
        pandas.DataFrame
            Columns ``steps``, ``rows``, scores of the model, and those of the naive forecast with ``naive_`` before.
        """
        import pandas

        records = [
            {"steps": one.name, "rows": one.scores.n_rows}
            | {name: getattr(one.scores, name) for name in SHOWN}
            | {f"naive_{name}": getattr(one.naive, name) for name in SHOWN}
            for one in self.by_horizon
        ]
        return pandas.DataFrame(records)

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold of it: all but the forecasts."""
        return {
            "target": self.target,
            "horizon": self.horizon,
            "step": self.step,
            "season": self.season,
            "scores": self.scores.to_json(),
            "naive": self.naive.to_json(),
            "by_horizon": [
                {"first": one.first, "last": one.last, "scores": one.scores.to_json(), "naive": one.naive.to_json()}
                for one in self.by_horizon
            ],
            "origins": [str(origin) for origin in self.origins],
            "n_fits": self.n_fits,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Backtest:
        """Backtest from what :meth:`to_json` gave, without its forecasts."""
        return cls(
            **(
                content
                | {"scores": Scores.from_json(content["scores"]), "naive": Scores.from_json(content["naive"])}
                | {"origins": tuple(content["origins"])}
                | {
                    "by_horizon": tuple(
                        HorizonScores(
                            one["first"], one["last"], Scores.from_json(one["scores"]), Scores.from_json(one["naive"])
                        )
                        for one in content["by_horizon"]
                    )
                }
            )
        )


def horizon_groups(steps: Any) -> list[tuple[int, int]]:
    """First and last steps of the groups by which errors are shown.

    Parameters
    ----------
    steps : sequence of int
        Steps ahead of forecasts.

    Returns
    -------
    list of pairs
        One for each step that there is, or groups of about the same number of steps.

    Examples
    --------
    >>> horizon_groups([1, 2, 3, 2, 1])
    [(1, 1), (2, 2), (3, 3)]
    >>> len(horizon_groups(range(1, 8761)))
    24
    """
    there = np.unique(np.asarray(steps, dtype=int))
    if len(there) <= _MOST_GROUPS:
        return [(int(step), int(step)) for step in there]
    return [(int(part[0]), int(part[-1])) for part in np.array_split(there, _MOST_GROUPS)]


def shown_horizons(by_horizon: Sequence[HorizonScores], number: int = 6) -> list[HorizonScores]:
    """A few horizons from the first to the last, closer together at the beginning.

    Parameters
    ----------
    by_horizon : sequence of HorizonScores
        All of them.
    number : int, default=6
        How many at most.

    Returns
    -------
    list of HorizonScores
    """
    if len(by_horizon) <= number:
        return list(by_horizon)
    chosen = np.unique(np.round(np.geomspace(1, len(by_horizon), number)).astype(int)) - 1
    return [by_horizon[i] for i in chosen]
