"""The future of a table: its times, forecasts for them, and how forecasts of the past have fared."""

from torusgp.tables.forecasting.backtest import Backtest, HorizonScores
from torusgp.tables.forecasting.forecast import Forecast
from torusgp.tables.forecasting.horizons import Horizon
from torusgp.tables.forecasting.quantiles import quantile_name
from torusgp.tables.forecasting.times import Timeline

__all__ = ["Backtest", "Forecast", "Horizon", "HorizonScores", "Timeline", "quantile_name"]
