"""Regression on the columns of a table: calendars, rows held out, and noise that is correlated from row to row."""

from torusgp.table_models._correlation import Redundancy, estimate_redundancy
from torusgp.table_models._fitting import fit_in_order
from torusgp.table_models._judgement import Judgement
from torusgp.table_models._model import TableModel, load_regressor, to_plain

__all__ = ["Judgement", "Redundancy", "TableModel", "estimate_redundancy", "fit_in_order", "load_regressor", "to_plain"]
