r"""Lines of models of tables in files of layout 1, which were estimated beside the regressor.

The regressor was fitted to targets less a line. With :math:`m_t` what it makes of the times of the rows, a prediction
at :math:`(x, t)` is its own, and :math:`b_0 t + (b - b_0) (t - m_t(x))`, its variance larger by
:math:`(t - m_t(x))^2 \mathrm{var}(b)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.kernels.axes import Slope
from torusgp.tables.models._slopes import SlopeEstimate
from torusgp.tables.models._terms import TIME
from torusgp.tables.models._time_axis import TimeAxis


@dataclass(frozen=True)
class FittedWithLine(FittedTorusGP):
    """A fitted model with the time of the line among its inputs."""

    line: dict[str, Any] = field(default_factory=dict)
    time_input: int = -1
    zero: float = 0.0

    def mean(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Mean, with the line."""
        time, left = self._time_and_left(X)
        more = self.line["taken_off"] * time + (self.line["slope"] - self.line["taken_off"]) * left
        return super().mean(X) + more[:, None]

    def mean_and_variance(self, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance, with the line."""
        _, variance = super().mean_and_variance(X)
        return self.mean(X), variance + self.line["variance"] * self._time_and_left(X)[1][:, None] ** 2

    def _time_and_left(self, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times, and what the regressor leaves of them."""
        time = np.asarray(X[:, self.time_input], dtype=float) - self.zero
        weights = np.asarray(self.line["weights"], dtype=np.float64)
        return time, time - self.line["level"] - self.values(X, weights[:, None])[:, 0]


def with_line(table: Any, content: dict[str, Any]) -> None:
    """Give a table model the line that its file has beside the regressor.

    Parameters
    ----------
    table : TableModel
        With regressor and inputs.
    content : dict
        The line.
    """
    model, axis, zero = table.model_, TimeAxis(**content["axis"]), 0.0
    if axis.kind == "number":  # inputs hold the numbers themselves
        axis, zero = replace(axis, zero=0.0), float(axis.zero)
    table.inputs_ = replace(table.inputs_, model=table.inputs_.model + Slope(axis.column), axis=axis)
    names = table.inputs_.names
    model.feature_names_in_, model.n_features_in_ = np.array(names, dtype=object), len(names)
    fit = model.fit_
    parts = {one.name: getattr(fit.fitted, one.name) for one in fields(FittedTorusGP) if not one.name.startswith("_")}
    line = FittedWithLine(**parts, line=content, time_input=names.index(axis.column), zero=zero)
    model.set_fit(replace(fit, fitted=line))
    table.terms = Slope(TIME)
    table.slopes_ = [SlopeEstimate(axis.column, content["slope"], float(np.sqrt(content["variance"])), axis.unit, True)]
