"""The regressor inside a model of a table: how it is made, and fitted to rows."""

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.tables.models._fitting import fit_counted, fit_in_order
from torusgp.tables.models._turns import few_turns
from torusgp.tables.models._words import word


def fit_regressor(table, rows, start, report):
    """A regressor fitted to rows, their redundancy, and the estimate behind it."""
    kernel = table.inputs_.expression(table.kernel, table.max_interaction, rows.X)

    def make(n_components):
        return TorusGPRegressor(kernel, n_components=n_components, verbose=table.verbose)

    if table.redundancy == "auto" and rows.order is not None:
        return fit_in_order(
            make,
            rows.X,
            rows.y,
            n_components=table.n_components,
            start=start,
            noise_scale=rows.scale,
            report=report,
            hint=_hint(table, rows),
        )
    value = 1.0 if table.redundancy == "auto" else float(table.redundancy)
    return fit_counted(make(table.n_components), rows.X, rows.y, value, rows.scale), value, None


def _hint(table, rows):
    """What to do about errors in long runs; None if cycles that were hardly seen explain them, as is told of those."""
    if few_turns(table.inputs_, rows.order):
        return None
    if table.inputs_.has_time_slope:
        return "Does the level move in other ways than along a line?"
    return f"If the level changes steadily, {word('slope')} takes that into account."
