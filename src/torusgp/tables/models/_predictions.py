"""Predicted distributions of the rows of a table, by whatever likelihood, and their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils import check_random_state

from torusgp.fitting.likelihoods import check_likelihood
from torusgp.tables.models._rows import Rows, row_times
from torusgp.views.metrics import deviances
from torusgp.views.scores import LEVELS, Scores

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """Predicted distributions of observations.

    Attributes
    ----------
    mean, std : ndarray of shape (n_rows,)
        Means and standard deviations.
    shown : ndarray of shape (n_rows, n_levels)
        Quantiles that were asked for.
    noise_std : ndarray of shape (n_rows,) or None
        The part of the standard deviations that is noise; None if there are no targets to score.
    deviances : ndarray of shape (n_rows,) or None
        Deviances of the targets, if they are counts or positive.
    quantiles : ndarray of shape (n_rows, n_levels) or None
        Quantiles that scores are made of; None if predictions are normal.
    log_density : ndarray of shape (n_rows,) or None
        Log densities of the targets; None if predictions are normal.
    """

    mean: Array
    std: Array
    shown: Array
    noise_std: Array | None = None
    deviances: Array | None = None
    quantiles: Array | None = None
    log_density: Array | None = None

    @classmethod
    def joined(cls, parts: Sequence[Predictions]) -> Predictions:
        """Predictions of several groups of rows, one after the other."""
        columns = {one.name: [getattr(part, one.name) for part in parts] for one in fields(cls)}
        joined: dict[str, Any] = {
            name: None if values[0] is None else np.concatenate(values) for name, values in columns.items()
        }
        return cls(**joined)

    def take(self, chosen: Any) -> Predictions:
        """Some of the predictions."""
        columns = {one.name: getattr(self, one.name) for one in fields(self)}
        some: dict[str, Any] = {name: None if values is None else values[chosen] for name, values in columns.items()}
        return Predictions(**some)

    def score(self, observed: Array, words: str, **others: Any) -> Scores:
        """Scores of observations; see :meth:`torusgp.views.scores.Scores.from_predictions`."""
        return Scores.from_predictions(
            observed,
            self.mean,
            self.std,
            words,
            noise_std=0.0 if self.noise_std is None else self.noise_std,
            quantiles=self.quantiles,
            log_density=self.log_density,
            deviances=self.deviances,
            **others,
        )


def is_plain(table: Any) -> bool:
    """Whether predictions are normal, with noise that does not change but for known standard deviations."""
    return check_likelihood(table.likelihood).name == "normal" and not table.noise_by


def continues_noise(table: Any) -> bool:
    """Whether the noise of other rows follows from that of the rows of the fit."""
    return table.model_.noise_process_ is not None


def _predict_following(table: Any, rows: Rows, levels: Array, scored: bool) -> Predictions:
    """Predictions of rows whose noise follows from that of rows of the fit."""
    model, ahead = table.model_, forecast_arguments(table, rows)
    mean, std = model.forecast(rows.X, return_std=True, **ahead)
    if model.likelihood_.name == "normal":
        shown = mean[:, None] + ndtri(levels) * std[:, None]
    else:
        shown = model.forecast_quantiles(rows.X, levels, **ahead) if len(levels) else np.empty((len(mean), 0))
    if not scored:
        return Predictions(mean, std, shown)
    _, function_std = model.predict(rows.X, return_std=True, include_noise=False)
    noise_std = np.sqrt(np.maximum(std**2 - function_std**2, 0.0))
    if model.likelihood_.name == "normal":
        return Predictions(mean, std, shown, noise_std)
    # of logarithms that are normal: their mean, and one standard deviation more
    low, high = np.log(model.forecast_quantiles(rows.X, [0.5, float(ndtr(1.0))], **ahead)).T
    density = -0.5 * np.log(2 * np.pi) - np.log(high - low) - 0.5 * ((np.log(rows.y) - low) / (high - low)) ** 2
    quantiles = model.forecast_quantiles(rows.X, LEVELS, **ahead)
    return Predictions(mean, std, shown, noise_std, None, quantiles, density - np.log(rows.y))


def forecast_arguments(table: Any, rows: Rows) -> dict[str, Any]:
    """What forecasts of rows need beside their inputs: times, and known scales of their noise."""
    scale = None if rows.scale is None else rows.scale / table._typical_scale
    return {"time": row_times(table.inputs_, rows.order), "noise_scale": scale}


def predict_rows(table: Any, rows: Rows, levels: Sequence[float] = (), *, scored: bool = False) -> Predictions:
    """Predict the rows of a table.

    Where errors are correlated, the noise of rows to come, and of those in gaps, follows from that of the rows of the
    fit. That of rows at the same times as these does not, nor that of rows whose times are not known.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        Rows, with their targets if they are to be scored.
    levels : sequence of float
        Probabilities of quantiles.
    scored : bool, default=False
        Compute what scores need.

    Returns
    -------
    Predictions
    """
    wanted = np.asarray(levels, dtype=float)
    follows = _follows(table, rows)
    if not follows.any():
        return _predict_alone(table, rows, wanted, scored)
    groups = [
        (np.flatnonzero(chosen), predict(table, rows.take(np.flatnonzero(chosen)), wanted, scored))
        for predict, chosen in ((_predict_following, follows), (_predict_alone, ~follows))
        if chosen.any()
    ]
    places = np.argsort(np.concatenate([places for places, _ in groups]))
    return Predictions.joined([predicted for _, predicted in groups]).take(places)


def _follows(table: Any, rows: Rows) -> NDArray[np.bool_]:
    """Which rows have noise that follows from that of the rows of the fit."""
    follows = np.zeros(len(rows.X), dtype=bool)
    if continues_noise(table) and rows.order is not None:
        timed = np.flatnonzero(rows.order.notna())
        if len(timed):
            some = rows.take(timed)
            follows[timed] = table.model_.can_forecast(some.X, row_times(table.inputs_, some.order))
    return follows


def _predict_alone(table: Any, rows: Rows, levels: Array, scored: bool) -> Predictions:
    """Predictions of rows whose noise follows from no other."""
    model = table.model_
    if is_plain(table):
        noise_std = np.broadcast_to(row_noise_std(table, rows), len(rows.X))
        mean, std = model.predict(rows.X, return_std=True, include_noise=table.noise is None)
        std = np.hypot(std, noise_std) if table.noise is not None else std
        shown = mean[:, None] + ndtri(levels) * std[:, None]
        return Predictions(mean, std, shown, noise_std if scored else None)
    mean, std = model.predict(rows.X, return_std=True, exposure=rows.scale)
    shown = np.empty((len(mean), 0))
    if len(levels):
        shown = model.predict_quantiles(rows.X, levels, exposure=rows.scale)
    if not scored:
        return Predictions(mean, std, shown)
    _, function_std = model.predict(rows.X, return_std=True, include_noise=False, exposure=rows.scale)
    return Predictions(
        mean,
        std,
        shown,
        np.sqrt(np.maximum(np.where(np.isfinite(std), std, 0.0) ** 2 - function_std**2, 0.0)),
        deviances(model.likelihood_, rows.y, mean, 1.0 if rows.scale is None else rows.scale),
        model.predict_quantiles(rows.X, LEVELS, exposure=rows.scale),
        model.log_predictive_density(rows.X, rows.y, exposure=rows.scale),
    )


def draw_rows(table: Any, rows: Rows, n_draws: int, random_state: Any) -> Array:
    """Draw observations of rows to come, jointly.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        Rows; their targets do not matter.
    n_draws : int
        Number of draws.
    random_state : int, RandomState or None
        Determines the draws.

    Returns
    -------
    ndarray of shape (n_draws, n_rows)
    """
    random_state = check_random_state(random_state)
    if continues_noise(table):
        return table.model_.sample_forecast(rows.X, n_draws, random_state, **forecast_arguments(table, rows)).T
    if not is_plain(table):
        return table.model_.sample_y(rows.X, n_draws, random_state, include_noise=True, exposure=rows.scale).T
    values = table.model_.sample_y(rows.X, n_draws, random_state).T
    return values + random_state.normal(size=values.shape) * np.broadcast_to(row_noise_std(table, rows), len(rows.X))


def row_noise_std(table: Any, rows: Rows) -> Any:
    """Standard deviation of the noise of rows: one number, or one for each where they are known up to a factor."""
    typical = np.sqrt(table.model_.noise_variance_)
    return typical if rows.scale is None else typical * rows.scale / table._typical_scale
