"""The regressor inside a model of a table: how it is made, and fitted to rows."""

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.tables.models._fitting import FEW_COLUMNS, fit_counted, fit_in_order
from torusgp.tables.models._turns import few_turns
from torusgp.tables.models._words import word

_LEARN = ("length_scale", "signal_variance", "noise_variance")


def fit_regressor(table, rows, y, start, report):
    """A regressor fitted to the inputs of rows, how many of them count as one, and the estimate behind that."""
    if table.redundancy == "auto" and rows.order is not None:
        return fit_in_order(
            lambda n_components: _make(table).set_params(n_components=n_components),
            rows.X,
            y,
            n_components=table.n_components,
            start=start,
            noise_scale=rows.scale,
            report=report,
            hint=_hint(table, rows),
        )
    value = 1.0 if table.redundancy == "auto" else float(table.redundancy)
    return fit_counted(_make(table), rows.X, y, value, rows.scale), value, None


def _hint(table, rows):
    """What to do about errors in long runs; None if cycles that were hardly seen explain them, as is told of those."""
    if few_turns(table.inputs_, rows.order):
        return None
    if table.trend:
        return "Does the level move in other ways than along a line?"
    return f"If the level changes steadily, {word('trend')} takes that into account."


def scout(table, rows, y, start):
    """Like :func:`fit_regressor`, but quick: few columns, and a redundancy that is taken as it is."""
    size = FEW_COLUMNS if table.n_components == "auto" else min(table.n_components, FEW_COLUMNS)
    value = start if table.redundancy == "auto" else float(table.redundancy)
    regressor = _make(table).set_params(n_components=size)
    return fit_counted(regressor, rows.X, y, value, rows.scale), value, None


def _make(table):
    """An unfitted regressor."""
    inputs = table.inputs_
    periods = inputs.periods
    return TorusGPRegressor(
        table.kernel,
        period=periods[0] if len(periods) == 1 else periods,
        columns=inputs.positions,
        n_components=table.n_components,
        max_interaction=table.max_interaction,
        learn=(*_LEARN, "period") if inputs.is_learned else _LEARN,
        trend="auto" if inputs.has_trend and table.trend is None else None,
        verbose=table.verbose,
    )
