"""Regression on the columns of a table: calendars, rows held out, and noise that is correlated from row to row."""

from torusgp.tables.backtest import Backtest, HorizonScores
from torusgp.tables.clock import TimeAxis
from torusgp.tables.forecast import Forecast, quantile_name
from torusgp.tables.inputs import NOT_NAMED
from torusgp.tables.models._files import is_panel, load_regressor
from torusgp.tables.models._model import TableModel
from torusgp.tables.models._panel import PanelModel, load_tables
from torusgp.tables.models._panel_forecasts import PanelForecast
from torusgp.tables.models._slopes import SlopeEstimate
from torusgp.tables.timeline import Timeline
from torusgp.tables.words import command_words
from torusgp.views.scores import Scores
from torusgp.views.summary import to_plain

__all__ = [
    "NOT_NAMED",
    "Backtest",
    "Forecast",
    "HorizonScores",
    "PanelForecast",
    "PanelModel",
    "Scores",
    "SlopeEstimate",
    "TableModel",
    "TimeAxis",
    "Timeline",
    "command_words",
    "is_panel",
    "load_regressor",
    "load_tables",
    "quantile_name",
    "to_plain",
]
