"""Regressors whose noise changes with the inputs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.data.blocks import Blocks
from torusgp.data.sources import as_source
from torusgp.estimators.correlated import make_series
from torusgp.estimators.layouts import MARGIN, lay_out, named_inputs
from torusgp.estimators.settings import make_fitter, make_settings
from torusgp.estimators.short_form import resolve_kernel
from torusgp.estimators.validation import check_fit_rows, check_used
from torusgp.fitting.changing_noise import (
    ENOUGH,
    MOST_COLUMNS,
    ChangingNoise,
    SideBySide,
    fit_passes_with_noise,
    fit_with_noise,
    function_fitter,
    noise_likelihood,
)
from torusgp.fitting.fitter import SAMPLE_ROWS, Fitter
from torusgp.fitting.latent_fitter import LatentFitter
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_models import TimeNoise, WhiteNoise, check_noise
from torusgp.fitting.outcome import Fit
from torusgp.fitting.row_passes import BlockPasses, RowPasses, SourcePasses, rows_of_chunk
from torusgp.fitting.rows import Rows
from torusgp.kernels.axes import Expression
from torusgp.kernels.resolve import Model


def fit_changing_noise(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    scale: Any,
    in_time: TimeNoise | None,
    time: Any = None,
    start: tuple[Fit, ChangingNoise | None] | None = None,
) -> Any:
    """Fit a regressor with a ``noise_kernel`` to rows in memory, perhaps from where another fit has ended.

    A start without noise is a fit of the same rows with noise of one size.
    """
    _check(model)
    checked = check_fit_rows(model, X, y, sample_weight, scale, None, reset=True)
    if checked.y.shape[1] != 1:
        raise ValueError(f"noise_kernel takes one target at a time, got {checked.y.shape[1]}.")
    resolved = model.resolve(checked.X) if start is None else start[0].model
    fitter = make_fitter(model, resolved)
    fit_function = function_fitter(fitter)
    if in_time is not None:
        checked, fit_function = make_series(model, in_time, checked, resolved, time)
    noise = None if start is None else start[1]
    noise_fitter = _noise_fitter(model, checked.X, 0.0, None if noise is None else noise.fit.model)
    for one in (fitter.model, noise_fitter.model):
        check_used(checked.X, one)
    both = SideBySide(fitter.layout, noise_fitter.layout)
    coordinates, plain = both(checked.X)
    rows = Rows(coordinates, checked.y, checked.sample_weight, checked.noise_scale, plain)
    return _keep(model, *fit_with_noise(fit_function, noise_fitter, rows, both, start))


def with_changing_noise(model: Any, noise_kernel: Expression, X: Any, y: Any, scale: Any, time: Any) -> Any:
    """A copy of a regressor with noise that changes, fitted to the same rows from where that with one size has ended.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted to the rows.
    noise_kernel : Expression
        What the variance of the noise depends on.
    X, y, scale, time
        The rows.
    """
    before, result = model.fit_, copy(model)
    result.noise_kernel = noise_kernel
    result.forget()
    in_time = check_noise(model.noise)
    return fit_changing_noise(
        result, X, y, None, scale, None if isinstance(in_time, WhiteNoise) else in_time, time, (before, None)
    )


def fit_source_with_noise(model: Any, X: Any, y: Any, sample_weight: Any, scale: Any, checkpoint: Any) -> Any:
    """The same for a source that can be read again."""
    likelihood = _check(model)
    if isinstance(X, Iterator):
        raise ValueError(
            "noise_kernel reads the rows several times, and an iterator can be read once: give a list of chunks, a "
            "function that opens it, arrays or files."
        )
    if checkpoint is not None:
        raise ValueError("checkpoint is not possible with noise_kernel: leave one of them out.")
    source = as_source(X, y, sample_weight, scale, named_inputs(model))
    sample = source.sample(SAMPLE_ROWS)
    margin = 0.0 if len(sample) == source.n_rows else MARGIN
    fitter, noise_fitter, both = _lay_out(model, sample, source, margin)
    passes = SourcePasses(source, both, likelihood.check)
    return _keep(model, *_fit_passes(fitter, noise_fitter, passes, sample, both))


def fit_blocks_with_noise(model: Any, X: Any, y: Any, sample_weight: Any, scale: Any) -> Any:
    """The same for a Dask collection."""
    likelihood = _check(model)
    blocks = Blocks(X, y, sample_weight, scale, named_inputs(model))
    sample = blocks.sample(SAMPLE_ROWS)
    fitter, noise_fitter, both = _lay_out(model, sample, blocks, MARGIN)
    passes = BlockPasses(blocks, both, likelihood.check)
    return _keep(model, *_fit_passes(fitter, noise_fitter, passes, sample, both))


def _fit_passes(
    fitter: Fitter, noise_fitter: LatentFitter, passes: RowPasses, sample: Any, both: SideBySide
) -> tuple[Any, Any]:
    return fit_passes_with_noise(fitter, noise_fitter, passes, rows_of_chunk(sample, both), both)


def _lay_out(model: Any, sample: Any, source: Any, margin: float) -> tuple[Fitter, LatentFitter, SideBySide]:
    """Fitter of both models, and the layout of rows on their axes."""
    if source.n_outputs != 1:
        raise ValueError(f"noise_kernel takes one target at a time, got {source.n_outputs}.")
    model.forget()
    fitter, _ = lay_out(model, sample, source.names, source.y_ndim, margin)
    noise_fitter = _noise_fitter(model, sample.X, margin)
    return fitter, noise_fitter, SideBySide(fitter.layout, noise_fitter.layout)


def _noise_fitter(model: Any, X: NDArray[Any], margin: float, resolved: Model | None = None) -> LatentFitter:
    """Fitter of log variances."""
    names = list(getattr(model, "feature_names_in_", np.empty(0))) or None
    settings = make_settings(model.__class__(backend=model.backend, n_threads=model.n_threads, verbose=model.verbose))
    if resolved is None:
        resolved = resolve_kernel(model.noise_kernel, None, 1.0, X, names, settings.learn, None, margin)
    return LatentFitter(resolved, settings, noise_likelihood(), MOST_COLUMNS, ENOUGH)


def _check(model: Any) -> Any:
    """The likelihood, or an error if its noise cannot change."""
    likelihood = check_likelihood(model.likelihood)
    if likelihood.takes != "noise_scale":
        raise ValueError(
            f"noise_kernel is for 'normal', 'log_normal' and 'student_t'; the likelihood is {likelihood.name!r}, whose "
            "variance follows from its mean."
        )
    if not isinstance(model.noise_kernel, Expression):
        raise ValueError(f"noise_kernel must be an expression such as Circle('hour', 24), got {model.noise_kernel!r}.")
    return likelihood


def _keep(model: Any, fit: Any, noise: Any) -> Any:
    model.set_fit(fit)
    model.noise_ = noise
    return model
