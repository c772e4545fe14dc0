"""Fits that read a source or a Dask collection several times, and go on after a crash from the last pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torusgp.data.blocks import Blocks
from torusgp.data.checkpoints import CheckpointError
from torusgp.data.sources import Source, SourceError, as_source
from torusgp.estimators.layouts import MARGIN, lay_out, named_inputs
from torusgp.estimators.regressor_files import describe, restore_inputs, same_parameters
from torusgp.estimators.settings import make_fitter
from torusgp.fitting.files import progress_from_archive, progress_to_archive
from torusgp.fitting.fitter import SAMPLE_ROWS
from torusgp.fitting.latent_fitter import LatentFitter, Progress
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.row_passes import BlockPasses, SourcePasses, rows_of_chunk
from torusgp.storage.archives import load_archive, save_archive
from torusgp.storage.files import check_places

_KIND, _LAYOUT = "RepeatedPasses", 2


def fit_source_multipass(model: Any, X: Any, y: Any, sample_weight: Any, scale: Any, checkpoint: Any) -> Any:
    """Fit a model whose likelihood reads the rows of a source several times; see :meth:`TorusGPRegressor.fit`."""
    likelihood = check_likelihood(model.likelihood)
    if isinstance(X, Iterator):
        raise ValueError(
            f"likelihood={likelihood.name!r} reads the rows several times, and an iterator can be read once: give a "
            "list of chunks, a function that opens it, arrays or files."
        )
    try:
        return _fit_source(model, as_source(X, y, sample_weight, scale, named_inputs(model)), likelihood, checkpoint)
    except SourceError as error:
        if likelihood.takes != "exposure":
            raise
        raise SourceError(str(error).replace("noise_scale", "exposure")) from error


def _fit_source(model: Any, source: Source, likelihood: Any, checkpoint: Any) -> Any:
    model.forget()
    start, path = None, None if checkpoint is None else Path(checkpoint)
    if source.n_outputs != 1:
        raise ValueError(f"likelihood={likelihood.name!r} takes one target at a time, got {source.n_outputs}.")
    sample = source.sample(SAMPLE_ROWS)
    complete = len(sample) == source.n_rows
    likelihood.check(sample.y[:, 0])
    if path is not None:
        check_places([path])
    if path is not None and path.exists():
        start, fitter = _take_up(model, path, source)
        rows = rows_of_chunk(sample, fitter.layout)
    else:
        laid = lay_out(model, sample, source.names, source.y_ndim, 0.0 if complete else MARGIN)
        fitter, rows = laid  # type: ignore[assignment]
    passes = SourcePasses(source, fitter.layout, likelihood.check)
    note = None if path is None else _writer(model, fitter, path, source)
    model.set_fit(fitter.fit_passes(passes, rows, complete, start, note))
    return model


def fit_blocks_multipass(model: Any, blocks: Blocks) -> Any:
    """The same for a Dask collection."""
    likelihood = check_likelihood(model.likelihood)
    sample = blocks.sample(SAMPLE_ROWS)
    likelihood.check(sample.y[:, 0])
    fitter, rows = lay_out(model, sample, blocks.names, blocks.y_ndim, MARGIN)
    assert isinstance(fitter, LatentFitter)
    model.set_fit(fitter.fit_passes(BlockPasses(blocks, fitter.layout, likelihood.check), rows))
    return model


def _writer(model: Any, fitter: LatentFitter, path: Path, source: Source) -> Callable[[Progress], None]:
    """Function that writes a checkpoint after each mode."""

    def write(progress: Progress) -> None:
        content, arrays = progress_to_archive(fitter.model, progress)
        content |= {**describe(model), "layout": source.layout()}
        save_archive(path, _KIND, _LAYOUT, content, arrays)

    return write


def _take_up(model: Any, path: Path, source: Source) -> tuple[Progress, LatentFitter]:
    """State of the fit that a checkpoint belongs to."""
    content, arrays = load_archive(path, _KIND, _LAYOUT)
    advice = "Delete that file to start anew, or name another one."
    if not same_parameters(model, content):
        raise CheckpointError(f"{path} was written by a model with other parameters. {advice}")
    if content["layout"] != source.layout():
        raise CheckpointError(
            f"{path} was written for other columns: {content['layout']}, now they are {source.layout()}. {advice}"
        )
    restore_inputs(model, content)
    found, progress = progress_from_archive(content, arrays)
    fitter = make_fitter(model, found)
    assert isinstance(fitter, LatentFitter)
    return progress, fitter
