"""Regression on the columns of a table: calendars, rows held out, and noise that is correlated from row to row."""

from torusgp.table_models._correlation import Redundancy, estimate_redundancy
from torusgp.table_models._files import load_regressor
from torusgp.table_models._fitting import fit_in_order
from torusgp.table_models._judgement import Judgement
from torusgp.table_models._model import TableModel
from torusgp.table_models._quantiles import quantile_name
from torusgp.table_models._summary import to_plain
from torusgp.table_models._time_axis import TimeAxis
from torusgp.table_models._trend import Line
from torusgp.table_models._words import words_of_the_command

__all__ = [
    "Judgement",
    "Line",
    "Redundancy",
    "TableModel",
    "TimeAxis",
    "estimate_redundancy",
    "fit_in_order",
    "load_regressor",
    "quantile_name",
    "to_plain",
    "words_of_the_command",
]
