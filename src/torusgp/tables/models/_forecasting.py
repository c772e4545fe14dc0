"""Forecasts of a table model: predictions of the rows that come next, and paths of them."""

import numpy as np
from sklearn.utils import check_random_state

from torusgp.tables.forecasting import Forecast
from torusgp.tables.forecasting.forecast import check_levels
from torusgp.tables.models._future import future_table
from torusgp.tables.models._slopes import inflation_roots


def forecast_table(table, horizon, future, quantiles, source):
    """Forecast of the rows after those that a model has seen; see :meth:`TableModel.forecast`."""
    levels = check_levels(quantiles)
    frame, times, source = future_table(table, horizon, future, source)
    rows, _ = table._read_inputs(frame, source)
    return forecast_rows(table, rows, times, levels)


def forecast_rows(table, rows, times, levels):
    """Forecast of rows whose inputs are known.

    Parameters
    ----------
    table : TableModel
        Fitted model.
    rows : Rows
        Rows without targets.
    times : pandas.Series
        Their times.
    levels : tuple of float
        Probabilities of quantiles.

    Returns
    -------
    Forecast
    """
    mean, std = table._predict(rows)
    return Forecast(
        table.target,
        times.reset_index(drop=True),
        mean,
        std,
        levels,
        table._predict_quantiles(rows, mean, std, levels),
        draw=lambda number, state: draw_paths(table, rows, number, state),
    )


def draw_paths(table, rows, n_draws, random_state):
    """Draw observations of rows jointly, as an array of shape (n_draws, n_rows)."""
    random_state = check_random_state(random_state)
    if not table._is_plain:
        return table.model_.sample_y(rows.X, n_draws, random_state, include_noise=True, exposure=rows.scale).T
    values = table.model_.sample_y(rows.X, n_draws, random_state).T
    for root in inflation_roots(table.model_, rows.X, table.slopes_):
        values = values + random_state.normal(size=(n_draws, 1)) * root
    return values + random_state.normal(size=values.shape) * np.broadcast_to(table._noise_std(rows), values.shape[1:])
