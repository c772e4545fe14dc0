"""Regressor inside a model of a table: how it is made, fitted to rows, and its length scales and slopes."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from torusgp.estimators.noise import with_changing_noise
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.estimators.settings import FEW_AXES
from torusgp.fitting.curvature import bounds_reached, standard_errors
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_models import CorrelatedNoise
from torusgp.fitting.prior import scale_name
from torusgp.fitting.schedule import limited_blas
from torusgp.fitting.selection import spared
from torusgp.kernels.axes import Category, Circle, Line, Sum
from torusgp.tables.inputs import TableInputs, with_single_effects

_FEW_COMPONENTS = 401  # at most, of a fit from which an effective sample size is estimated
_EXPECTED_COMPONENTS = 401  # where their number is to be found
_BLOCKS, _CLEAR = 10, 2.0  # blocks of rows on which models are compared, and standard errors that are clear


def fit_regressor(table, rows, before=None, share=None):
    """A regressor fitted to rows, and their effective sample size.

    Parameters
    ----------
    table : TableModel
        What is fitted.
    rows : Rows
        The rows.
    before : TorusGPRegressor, optional
        Fitted to others of them: where to start.
    share : float, optional
        Effective sample size of those, over their number.
    """
    pairs = None if before is not None else pairs_of(table)
    if pairs is None:
        return _fit(table, rows, before, share)
    model, size = _fit_better(table, rows, pairs)
    kernel = noise_kernel(table.noise_by, table.inputs_)
    if kernel is None:
        return model, size
    with limited_blas(model.index_set_.n_components):
        times = None if model.noise_process_ is None else table.inputs_.row_times(rows.order)
        model = with_changing_noise(model, kernel, rows.X, rows.y, rows.scale, times)
    return model, model.fitted_.effective_sample_size


def _fit_better(table, rows, pairs):
    """A fit with noise of one size, with a product of all inputs beside the pairs if that is clearly better."""
    plain, whole = copy(table), table.inputs_
    plain.noise_by, fits = None, []
    for plain.inputs_ in (pairs, whole):
        fits.append(_fit(plain, rows))
    is_better = is_clearly_better(fits[1][0], fits[0][0])
    table.inputs_ = whole if is_better else pairs
    return fits[1] if is_better else fits[0]


def pairs_of(table):
    """Inputs whose model lacks the product of all that is beside pairs; None if there is none, or no choice.

    With likelihoods other than the normal one the data choose the frequencies of all terms, and how many there are by
    rows left out: there is nothing to compare.
    """
    if check_likelihood(table.likelihood).needs_passes:
        return None
    *pairs, last = table.inputs_.model.terms
    is_chosen = table.terms is None and pairs and len(getattr(last, "factors", ())) > FEW_AXES
    if not is_chosen or last.max_interaction is not None:
        return None
    return replace(table.inputs_, model=Sum(tuple(pairs)))


def is_clearly_better(whole, pairs):
    """True if a model with a product of all inputs is clearly better than one without.

    Where errors are correlated, it is if squared residuals of blocks left out are smaller by two standard errors, as
    proportions, and by any amount those of blocks that told at most how many frequencies there are: what it gains in
    the others is flattered. Otherwise its evidence is larger by the logarithm of the number of rows for each frequency,
    which is what it costs to have been chosen among many.
    """
    residuals = [one.fit_.left_out for one in (whole, pairs)]
    if residuals[0] is None or residuals[1] is None:
        gain = whole.log_marginal_likelihood_ - pairs.log_marginal_likelihood_
        return gain > len(whole.index_set_.frequencies) * np.log(whole.fitted_.statistics.n_samples)
    gains, others = relative_gains(*residuals), spared(len(residuals[0]))
    is_clear = gains.mean() > _CLEAR * gains.std(ddof=1) / np.sqrt(_BLOCKS)
    if others.any():  # of few rows all take part, and nothing is chosen
        gains = relative_gains(*(one[others] for one in residuals))
    return bool(is_clear and gains.mean() > 0)


def relative_gains(residuals, others):
    """Logarithms of how much larger the squares of other residuals are, block by block.

    A few exceptional days are most of the squares, and would alone be no evidence.
    """
    blocks = [np.array_split(one, _BLOCKS) for one in (residuals, others)]
    squares = [[max(np.mean(block**2), np.finfo(float).tiny) for block in one] for one in blocks]
    return np.log(squares[1]) - np.log(squares[0])


def _fit(table, rows, before=None, share=None):
    likelihood, inputs = check_likelihood(table.likelihood), table.inputs_
    in_order = rows.order is not None and table.errors != "independent"
    size = _EXPECTED_COMPONENTS if table.n_components == "auto" else table.n_components
    with limited_blas(size):
        if likelihood.needs_passes:
            return _fit_likelihood(table, rows, likelihood, in_order, before, share)
        times = inputs.row_times(rows.order) if in_order else None
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Errors are autocorrelated over", UserWarning)  # the table says it
            if before is not None and (before.noise_process_ is not None or not in_order):
                model = before.refit(rows.X, rows.y, noise_scale=rows.scale, time=times)
                return model, model.fitted_.effective_sample_size
            noise = make_correlated_noise(inputs) if in_order else "white"
            model = _make(table, _kernel(table, rows, in_order), noise).fit(
                rows.X, rows.y, noise_scale=rows.scale, time=times
            )
        if in_order and model.noise_process_ is None:  # what is for correlated errors only is not needed
            model = _make(table, _kernel(table, rows, False), "white").fit(rows.X, rows.y, noise_scale=rows.scale)
        return model, model.fitted_.effective_sample_size


def _kernel(table, rows, in_order):
    kernel = table.inputs_.expression(rows.X)
    return with_single_effects(kernel) if in_order else kernel


def _make(table, kernel, noise="white"):
    return TorusGPRegressor(
        kernel,
        likelihood=table.likelihood,
        noise=noise,
        noise_kernel=noise_kernel(table.noise_by, table.inputs_),
        n_components=table.n_components,
        verbose=table.verbose,
    )


def _fit_likelihood(table, rows, likelihood, in_order, before, share):
    """The same with another likelihood: rows count as much as in a normal model of stabilised targets."""
    kernel = _kernel(table, rows, in_order)
    if share is None:
        share = _effective_share(table, rows, kernel, likelihood) if in_order else 1.0
    weights = None if share == 1.0 else np.full(len(rows.y), share)
    scale = {} if likelihood.takes is None else {likelihood.takes: rows.scale}
    fit = _make(table, kernel).fit if before is None else before.refit
    return fit(rows.X, rows.y, sample_weight=weights, **scale), share * len(rows.y)


def _effective_share(table, rows, kernel, likelihood):
    """Effective sample size over the number of rows, by a normal model of stabilised targets with few components."""
    normal = TorusGPRegressor(
        kernel,
        noise=make_correlated_noise(table.inputs_),
        n_components=_FEW_COMPONENTS,
        index_set="adaptive",
        verbose=table.verbose,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a fit that is not the last
        normal.fit(rows.X, _stabilised(likelihood, rows), time=table.inputs_.row_times(rows.order))
    return min(1.0, normal.fitted_.effective_sample_size / len(rows.y))


def make_correlated_noise(inputs):
    """Correlated noise, whose times are an input if the model has the time."""
    return CorrelatedNoise(time=inputs.time) if inputs.needs_time else CorrelatedNoise()


def noise_kernel(noise_by, inputs):
    """Kernel of the variance of the noise: circles of inputs that repeat, lines or categories of others."""
    names = inputs.noise_names(noise_by)
    if not names:
        return None
    parts = [_plain(inputs.factor(name), name) for name in names]
    return Sum(tuple(term for part in parts for term in part.terms))


def _plain(factor, name):
    """An input of the noise, with the period, levels or range that it has in the model."""
    if isinstance(factor, Circle):
        return Circle(name, factor.period)
    if isinstance(factor, Category):
        return Category(name, levels=factor.levels)
    return Line(name, range=getattr(factor, "range", None))


def _stabilised(likelihood, rows):
    """Targets on a scale where their variance changes little."""
    if likelihood.is_discrete and likelihood.takes == "exposure":
        return np.sqrt(rows.y / (1.0 if rows.scale is None else rows.scale))
    return np.log(rows.y) if likelihood.name == "gamma" else rows.y


@dataclass(frozen=True)
class LengthScale:
    """Length scale of one factor of a term.

    Attributes
    ----------
    axis : int
        Axis of the torus, of a lattice one of its axes.
    value, std : float
        The length scale and its standard error: not a number if it was not learned, has run into a bound, or the
        evidence has no maximum.
    lower : float
        Its lower bound.
    bound : {"lower", "upper", None}
        The bound that it has run into. At the lower one a model follows single rows; at the upper one the axis has no
        effect.
    """

    axis: int
    value: float
    std: float
    lower: float
    bound: str | None


def length_scales(fitted: FittedTorusGP, errors: bool = True) -> list[list[LengthScale]]:
    """Length scales of a fitted model of one target.

    Signal and noise variances are taken to be learned along with them. The evidence is that of the rows as they were
    counted.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.
    errors : bool, default=True
        Whether to compute standard errors; otherwise they are not a number.

    Returns
    -------
    list of list of LengthScale
        For each term, those of its factors.
    """
    stds = standard_errors(fitted) if errors else {}
    result = []
    for term, scales in zip(fitted.prior.terms, fitted.prior.scales(fitted.parameters), strict=True):
        name = scale_name(term)
        lower, std = fitted.parameters.entry(name).lower, stds.get(name, np.nan)
        bounds = np.broadcast_to(np.array(bounds_reached(fitted, name), dtype=object), scales.shape)
        axes = [
            factor.axes[i] if len(factor.length_scale) > 1 else factor.axes[0]
            for factor in term.factors
            for i in range(len(factor.length_scale))
        ]
        columns = (scales, *(np.broadcast_to(one, scales.shape) for one in (std, lower)))
        result.append(
            [
                LengthScale(axis, float(value), float(error), float(low), bound)
                for axis, value, error, low, bound in zip(axes, *columns, bounds, strict=True)
            ]
        )
    return result


@dataclass(frozen=True)
class SlopeEstimate:
    """Slope of one plain column.

    Attributes
    ----------
    column : str
        Column of the table.
    slope, std : float
        Change of the target in a unit of the column, and its standard error.
    per : str
        The unit, in words: "year" of dates, else that of the column.
    is_time : bool
        Whether it is the column that orders the rows.
    """

    column: str
    slope: float
    std: float
    per: str
    is_time: bool

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        return asdict(self)


def estimate_slopes(model: TorusGPRegressor, inputs: TableInputs) -> list[SlopeEstimate]:
    """Slopes of the plain columns of a regressor that a user asked for.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    inputs : TableInputs
        Where the inputs come from.

    Returns
    -------
    list of SlopeEstimate
    """
    fitted, found = model.fitted_, []
    for position, column in enumerate(inputs.slopes):
        variance = fitted.posterior.covariance(0)[fitted.n_fourier + position, fitted.n_fourier + position]
        unit = fitted.statistics.plain_units()[1][position]
        slope = float(fitted.posterior.weights[fitted.n_fourier + position, 0] / unit)
        std = float(np.sqrt(variance) / unit)
        found.append(SlopeEstimate(column, slope, std, inputs.unit(column), column == inputs.time))
    return found
