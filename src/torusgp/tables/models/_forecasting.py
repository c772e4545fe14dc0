"""Forecasts of a table model: predictions of the rows that come next, and paths of them."""

from torusgp.tables.forecasting import Forecast
from torusgp.tables.forecasting.forecast import check_levels
from torusgp.tables.models._future import future_table
from torusgp.tables.models._predictions import draw_rows, predict_rows


def forecast_table(table, horizon, future, quantiles, source):
    """Forecast of the rows after those that a model has seen; see :meth:`TableModel.forecast`."""
    levels = check_levels(quantiles)
    frame, times, source = future_table(table, horizon, future, source)
    rows, _ = table._read_inputs(frame, source, in_order=True)
    predicted = predict_rows(table, rows, levels)
    return Forecast(
        table.target,
        times.reset_index(drop=True),
        predicted.mean,
        predicted.std,
        levels,
        predicted.shown,
        draw=lambda number, state: draw_rows(table, rows, number, state),
    )
