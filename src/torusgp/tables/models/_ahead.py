"""What comes next, as far ahead as a model was evaluated."""

import numpy as np

from torusgp.data.tables import TableError
from torusgp.tables.models._record import HIGH, LOW

_MOST_ROWS = 2_000  # of a forecast that is drawn and put into words
_SHARE = 0.1  # of the rows, where none were held out


def forecast_ahead(table):
    """Forecast of as many rows as were held out.

    Parameters
    ----------
    table : TableModel
        Fitted model.

    Returns
    -------
    Forecast or str
        Why there is none, where the time alone does not tell the inputs, or nothing orders the rows.
    """
    n_unseen = int(table.record_.is_unseen.sum())
    horizon = min(max(1, n_unseen or round(_SHARE * table.n_rows_)), _MOST_ROWS)
    try:
        return table.forecast(horizon, quantiles=(LOW, 0.5, HIGH))
    except TableError as error:
        return str(error)


def describe_forecast(table):
    """The forecast in a few numbers, for JSON; None where nothing orders the rows.

    Parameters
    ----------
    table : TableModel
        Fitted model.

    Returns
    -------
    dict or None
        Number of rows, first and last time, mean, and the lowest and highest value with their times and 95 % intervals;
        or the reason why there is none.
    """
    if table.inputs_.time is None:
        return None
    ahead = forecast_ahead(table)
    if isinstance(ahead, str):
        return {"reason": ahead}
    lowest, highest = int(np.argmin(ahead.mean)), int(np.argmax(ahead.mean))
    margin = float(np.median(ahead.quantiles[:, -1] - ahead.quantiles[:, 0]) / 2)

    def at(i):
        low, _, high = ahead.quantiles[i].tolist()
        return {"time": show_moment(ahead.times.iloc[i]), "mean": float(ahead.mean[i]), "low": low, "high": high}

    return {
        "rows": len(ahead),
        "mean": float(np.mean(ahead.mean)),
        "margin": margin,
        "first": at(0),
        "last": at(len(ahead) - 1),
        "lowest": at(lowest),
        "highest": at(highest),
    }


def show_moment(value):
    """A time or number, without what goes without saying."""
    if not hasattr(value, "isoformat"):
        return f"{value:.8g}"
    text = value.isoformat(sep=" ", timespec="minutes").replace("+00:00", " UTC")
    return text.removesuffix(" 00:00") if value.tzinfo is None else text
