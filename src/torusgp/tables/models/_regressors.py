"""The regressor inside a model of a table: how it is made, and fitted to rows."""

import warnings

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_models import CorrelatedNoise
from torusgp.fitting.schedule import limited_blas
from torusgp.kernels.axes import Category, Circle, Line, Sum
from torusgp.tables.models._rows import row_times
from torusgp.tables.models._terms import category_inputs, with_single_effects

_FEW_COMPONENTS = 401  # at most, of a fit from which an effective sample size is estimated
_EXPECTED_COMPONENTS = 401  # where their number is to be found


def fit_regressor(table, rows):
    """A regressor fitted to rows, and their effective sample size."""
    likelihood, inputs = check_likelihood(table.likelihood), table.inputs_
    kernel = inputs.expression(rows.X)
    options = {"n_components": table.n_components, "verbose": table.verbose}
    in_order = rows.order is not None and table.errors != "independent"
    if in_order and table.terms is None:
        kernel = with_single_effects(kernel)
    size = _EXPECTED_COMPONENTS if table.n_components == "auto" else table.n_components
    with limited_blas(size):
        if likelihood.needs_passes:
            return _fit_likelihood(table, rows, kernel, options, likelihood, in_order)
        model = TorusGPRegressor(
            kernel,
            likelihood=table.likelihood,
            noise=noise_in_time(inputs) if in_order else "white",
            noise_kernel=noise_kernel(table.noise_by, inputs),
            **options,
        )
        times = row_times(inputs, rows.order) if in_order else None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Errors come in runs", UserWarning)  # which the table tells itself
            model.fit(rows.X, rows.y, noise_scale=rows.scale, time=times)
        if in_order and model.noise_process_ is None:  # what is for correlated errors only is not needed
            model.set_params(kernel=inputs.expression(rows.X), noise="white").fit(
                rows.X, rows.y, noise_scale=rows.scale
            )
        return model, model.fitted_.effective_sample_size


def _fit_likelihood(table, rows, kernel, options, likelihood, in_order):
    """The same with another likelihood: rows count as much as in a normal model of stabilised targets."""
    n_effective = float(len(rows.y))
    if in_order:
        few = options | {"n_components": _FEW_COMPONENTS, "index_set": "adaptive"}
        normal = TorusGPRegressor(kernel, noise=noise_in_time(table.inputs_), **few)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a fit that is not the last
            normal.fit(rows.X, _stabilised(likelihood, rows), time=row_times(table.inputs_, rows.order))
        n_effective = min(n_effective, normal.fitted_.effective_sample_size)
    model = TorusGPRegressor(
        kernel,
        likelihood=table.likelihood,
        noise_kernel=noise_kernel(table.noise_by, table.inputs_),
        **options,
    )
    share = n_effective / len(rows.y)
    weights = None if share == 1.0 else np.full(len(rows.y), share)
    scale = {} if likelihood.takes is None else {likelihood.takes: rows.scale}
    return model.fit(rows.X, rows.y, sample_weight=weights, **scale), n_effective


def noise_in_time(inputs):
    """Correlated noise, whose times are an input if the model has the time."""
    return CorrelatedNoise(time=inputs.time) if inputs.needs_time else CorrelatedNoise()


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
    return np.log(rows.y) if likelihood.name == "gamma" else rows.y
