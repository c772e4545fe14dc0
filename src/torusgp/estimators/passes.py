"""Fits in one pass over sources of any size and over Dask collections, and predictions on these."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from torusgp.data.blocks import Blocks, is_dask
from torusgp.data.checkpoints import Checkpoint, CheckpointError, exclusive
from torusgp.data.sources import Source, as_source
from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.layouts import MARGIN, lay_out, named_inputs
from torusgp.estimators.regressor_files import describe, restore_inputs, same_parameters
from torusgp.estimators.repeated_passes import fit_blocks_multipass, fit_source_multipass
from torusgp.estimators.settings import make_fitter, make_settings
from torusgp.estimators.validation import ObservedGradient, lay_gradient_rows
from torusgp.fitting.files import check_fit, check_outcome, outcome_from_archive, outcome_to_archive
from torusgp.fitting.fitter import SAMPLE_ROWS, Fitter
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.outcome import Preliminary
from torusgp.fitting.problem import Settings
from torusgp.fitting.rows import DerivativeRows
from torusgp.storage.archives import decoding


def fit_stream(
    model: Any, X: Any, y: Any, sample_weight: Any, noise_scale: Any, checkpoint: Any, observed: ObservedGradient
) -> Any:
    """Fit a model to a source of rows; see :meth:`TorusGPRegressor.fit`."""
    gradient = _gradient_source(model, X, observed)
    likelihood = check_likelihood(model.likelihood)
    if likelihood.needs_passes:
        return fit_source_multipass(model, X, y, sample_weight, noise_scale, checkpoint)
    if likelihood.name != "normal":
        raise ValueError(
            f"likelihood={likelihood.name!r} needs rows in memory: give a source of logarithms, or arrays."
        )
    settings = make_settings(model)
    source = as_source(X, y, sample_weight, noise_scale, named_inputs(model))
    with exclusive(checkpoint):
        return _fit_source(model, settings, source, None if checkpoint is None else Checkpoint(checkpoint), gradient)


def _fit_source(model: Any, settings: Settings, source: Source, point: Checkpoint | None, gradient: Any) -> Any:
    """Fit a model to a source, or to what is left of it after a checkpoint, and to a source of derivatives or None."""
    model.forget()
    if point is None or point.content is None:
        sample = source.sample(SAMPLE_ROWS)
        seen = len(sample) < SAMPLE_ROWS // 2 if source.n_rows is None else len(sample) == source.n_rows
        slopes = None if gradient is None else gradient.sample(SAMPLE_ROWS)
        seen = seen and (slopes is None or len(slopes) < SAMPLE_ROWS // 2)
        margin = 0.0 if seen else MARGIN
        fitter, outcome = _decide(model, settings, sample, source.names, source.y_ndim, margin, slopes)
        statistics = fitter.empty_statistics(outcome, source.n_rows, source.n_outputs)
    else:
        with decoding(point.path):
            outcome = _take_up(model, point, gradient is not None)
            check_outcome(outcome)
            fitter = make_fitter(model, outcome.model, bool(outcome.learned.rounds))
            statistics = SufficientStatistics.from_archive(point.content["statistics"], point.arrays).empty()
        statistics.n_threads = settings.compute.n_threads
        settings.report(f"resuming from {point.path} after {point.n_rows} rows")
    content, arrays = outcome_to_archive(outcome)
    content |= {**describe(model), "with_gradient": gradient is not None}
    saved = content, {f"outcome_{name}": array for name, array in arrays.items()}
    statistics = statistics.add_source(source, fitter.layout, point, _progress(model), saved)
    # derivatives come after the last checkpoint: whatever happens, each is counted once
    for chunk in () if gradient is None else gradient.chunks():
        statistics += _Slopes(statistics.empty(), fitter)(chunk)
    with nullcontext() if point is None or point.content is None else decoding(point.path):
        fit = fitter.fit_statistics(outcome, statistics, search=False)
        if point is not None:
            check_fit(fit, source.n_inputs)
        model.set_fit(fit)
    return model


def _gradient_source(model: Any, X: Any, observed: ObservedGradient) -> Any:
    """Source of observed derivatives, or blocks of a Dask collection; None if there are none."""
    if not observed.is_given:
        return None
    if X is None:
        raise ValueError("Derivatives without targets have to be in memory: give X and y, or X_gradient as an array.")
    kind = Blocks if is_dask(observed.X) else as_source
    source: Any = kind(observed.X, observed.gradient, None, observed.noise_scale, named_inputs(model))
    if source.n_outputs != source.n_inputs:
        raise ValueError(
            f"X_gradient has {source.n_inputs} input(s) and {source.n_outputs} derivative(s): a source has one along "
            "each input."
        )
    return source


def _slopes_of(chunk: Any) -> DerivativeRows:
    if chunk.sample_weight is not None:
        raise ValueError("X_gradient holds sample weights, which derivatives do not have: give noise scales.")
    return DerivativeRows(chunk.X, chunk.y[..., None], chunk.noise_scale)


class _Slopes:
    """Sums of the observed derivatives of a chunk."""

    def __init__(self, empty: SufficientStatistics, fitter: Fitter):
        self._empty, self._model = empty, fitter.model

    def __call__(self, chunk: Any) -> SufficientStatistics:
        laid = lay_gradient_rows(_slopes_of(chunk), self._model)
        return self._empty.empty().update_gradient(laid.X, laid.gradient, laid.noise_scale)


def fit_blocks(
    model: Any, X: Any, y: Any, sample_weight: Any, noise_scale: Any, checkpoint: Any, observed: ObservedGradient
) -> Any:
    """Fit a model to a Dask collection; see :meth:`TorusGPRegressor.fit`."""
    if checkpoint is not None:
        raise ValueError("checkpoint is for sources that one process reads; Dask repeats lost tasks by itself.")
    likelihood = check_likelihood(model.likelihood)
    if likelihood.name == "log_normal":
        raise ValueError(f"likelihood={likelihood.name!r} needs rows in memory: give a collection of logarithms.")
    settings = make_settings(model)
    blocks = Blocks(X, y, sample_weight, noise_scale, named_inputs(model))
    model.forget()
    if likelihood.needs_passes:
        return fit_blocks_multipass(model, blocks)
    gradient = _gradient_source(model, X, observed)
    slopes = None if gradient is None else gradient.sample(SAMPLE_ROWS)
    sample = blocks.sample(SAMPLE_ROWS)
    fitter, outcome = _decide(model, settings, sample, blocks.names, blocks.y_ndim, MARGIN, slopes)
    empty = fitter.empty_statistics(outcome, blocks.n_rows, blocks.n_outputs)
    empty.n_threads = settings.compute.n_threads or 1  # Dask has threads and processes of its own
    statistics = blocks.statistics(empty, fitter.layout)
    if isinstance(gradient, Blocks):
        statistics += gradient.sum(_Slopes(empty, fitter))
    for chunk in () if gradient is None or isinstance(gradient, Blocks) else gradient.chunks():
        statistics += _Slopes(empty, fitter)(chunk)
    statistics.n_threads = settings.compute.n_threads
    model.set_fit(fitter.fit_statistics(outcome, statistics, search=False))
    return model


def _decide(
    model: Any, settings: Any, sample: Any, names: Any, y_ndim: int, margin: float, slopes: Any = None
) -> tuple[Fitter, Preliminary]:
    """Learn from some rows what needs rows."""
    seen = None if slopes is None else slopes.X
    fitter, rows = lay_out(model, sample, names, y_ndim, margin, seen)
    settings.report(f"choosing components with {len(sample)} rows")
    if slopes is not None:
        rows = replace(rows, derivatives=lay_gradient_rows(_slopes_of(slopes), fitter.model))
    return fitter, fitter.preliminary(rows)


def _take_up(model: Any, point: Checkpoint, with_gradient: bool) -> Preliminary:
    """Decisions made before the pass that a checkpoint belongs to."""
    content = point.content["more"]
    if content["with_gradient"] != with_gradient:
        raise CheckpointError(
            f"{point.path} was written {'without' if with_gradient else 'with'} observed derivatives. Delete it to "
            "start anew, or name another file."
        )
    if "n_features_in" not in content:
        raise CheckpointError(f"{point.path} does not belong to fit. Delete it to start anew, or name another file.")
    if not same_parameters(model, content):
        raise CheckpointError(
            f"{point.path} was written by a model with other parameters. Delete it to start anew, or name another file."
        )
    restore_inputs(model, content)
    arrays = {name[8:]: array for name, array in point.arrays.items() if name.startswith("outcome_")}
    return outcome_from_archive(content, arrays)


def _progress(model: Any) -> Any:
    """Display of the pass: by the model's own function, a bar, or not at all."""
    if callable(model.verbose):
        return lambda n_rows: model.verbose(f"{n_rows} rows")
    return bool(model.verbose)


def predict_blocks(
    model: Any, X: Any, return_std: bool, return_cov: bool, include_noise: bool, exposure: Any = None
) -> Any:
    """Lazy predictions on a Dask collection; see :meth:`TorusGPRegressor.predict`."""
    if return_cov:
        raise ValueError("return_cov needs all points at once, which a Dask collection does not give: use return_std.")
    if exposure is not None and np.ndim(exposure):
        raise ValueError("exposure of a Dask collection must be one number: multiply the rates of one unit instead.")
    import dask.array

    fitted = model.fitted_
    fitted.forget_predictors()  # they are made again where they are needed
    shape = () if model.y_ndim_ == 1 else (fitted.n_outputs,)
    stacked = 2 if return_std else 1
    task = dask.delayed(model)

    def predict(block: Any, model: Any) -> Any:
        if len(block) == 0:
            return np.empty((0, stacked, *shape))
        results = model.predict(block, return_std=return_std, include_noise=include_noise, exposure=exposure)
        return np.stack(results if return_std else [results], axis=1)

    if hasattr(X, "to_dask_array"):
        blocks = [dask.delayed(predict, pure=True)(part, task) for part in X.to_delayed()]
        sizes = [np.nan] * len(blocks)
    else:
        X = X.rechunk({1: -1}) if X.ndim == 2 and X.numblocks[1] > 1 else X
        blocks = [dask.delayed(predict, pure=True)(part, task) for part in X.to_delayed().ravel()]
        sizes = X.chunks[0]
    both = dask.array.concatenate(
        [
            dask.array.from_delayed(block, (size, stacked, *shape), dtype=float)
            for block, size in zip(blocks, sizes, strict=True)
        ],
        allow_unknown_chunksizes=True,
    )
    return (both[:, 0], both[:, 1]) if return_std else both[:, 0]
