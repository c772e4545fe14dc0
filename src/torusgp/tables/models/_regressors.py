"""The regressor inside a model of a table: how it is made, and fitted to rows."""

import warnings

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.kernels.axes import Category, Circle, Line, Sum
from torusgp.tables.models._fitting import FEW_COLUMNS, fit_counted, fit_in_order
from torusgp.tables.models._terms import category_inputs
from torusgp.tables.models._turns import few_turns
from torusgp.tables.models._words import word


def fit_regressor(table, rows, start, report):
    """A regressor fitted to rows, their redundancy, and the estimate behind it."""
    kernel, index_set = table.inputs_.expression(rows.X), table.inputs_.index_set

    def make(n_components):
        return TorusGPRegressor(kernel, index_set=index_set, n_components=n_components, verbose=table.verbose)

    likelihood = check_likelihood(table.likelihood)
    if likelihood.name != "normal" or table.noise_by:
        return _fit_likelihood(table, rows, kernel, index_set, likelihood, report)

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


def _fit_likelihood(table, rows, kernel, index_set, likelihood, report):
    """The same with another likelihood, or noise that changes.

    The redundancy is that of a normal model of targets whose variance hardly changes.
    """
    value, found = 1.0, None
    if table.redundancy != "auto":
        value = float(table.redundancy)
    elif rows.order is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            _, value, found = fit_in_order(
                lambda n_components: TorusGPRegressor(kernel, n_components=n_components),
                rows.X,
                _stabilised(likelihood, rows),
                n_components=FEW_COLUMNS,
                noise_scale=rows.scale if likelihood.takes == "noise_scale" else None,
                report=report,
                hint=None,
            )
    model = TorusGPRegressor(
        kernel,
        likelihood=table.likelihood,
        noise_kernel=noise_kernel(table.noise_by, table.inputs_),
        index_set=index_set,
        n_components=table.n_components,
        verbose=table.verbose,
    )
    weights = None if value == 1.0 else np.full(len(rows.y), 1 / value)
    scale = {} if likelihood.takes is None else {likelihood.takes: rows.scale}
    return model.fit(rows.X, rows.y, sample_weight=weights, **scale), value, found


def noise_kernel(names, inputs):
    """What the variance of the noise depends on: circles of inputs that repeat, lines or categories of others."""
    if not names:
        return None
    periods = {circle.input: circle.period for circle in inputs.circles}
    categories = set(category_inputs(inputs.model))
    parts = [
        Circle(name, periods[name]) if name in periods else Category(name) if name in categories else Line(name)
        for name in map(inputs.input_name, names)
    ]
    return Sum(tuple(term for part in parts for term in part.terms))


def _stabilised(likelihood, rows):
    """Targets on a scale where their variance changes little."""
    if likelihood.is_discrete and likelihood.takes == "exposure":
        return np.sqrt(rows.y / (1.0 if rows.scale is None else rows.scale))
    return np.log(rows.y) if likelihood.name in ("gamma", "log_normal") else rows.y


def _hint(table, rows):
    """What to do about errors in long runs; None if cycles that were hardly seen explain them, as is told of those."""
    if few_turns(table.inputs_, rows.order):
        return None
    if table.inputs_.has_time_slope:
        return "Does the level move in other ways than along a line?"
    return f"If the level changes steadily, {word('slope')} takes that into account."
