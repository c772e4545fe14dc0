"""Fits to sources of any size: what needs rows is learned on a sample, the rest from one pass over all of them."""

from dataclasses import asdict, replace

import numpy as np

from torusgp.data.checkpoints import Checkpoint, CheckpointError
from torusgp.data.sources import as_source
from torusgp.engine.backends import check_n_threads
from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.regressor_files import describe, restore, same_parameters
from torusgp.fitting.rows import Rows, RowSource, transform_tolerance

SAMPLE_ROWS = 100_000  # rows on which the period and the number of columns are decided
_UNKNOWN_ROWS = 10**9  # what a source is taken to have that does not know: the more, the more exact the transforms
_MARGIN = {"finufft": 2.0}  # how far the statistics reach beyond the sample's set; elsewhere every column costs


def fit_stream(model, X, y, sample_weight, noise_scale, checkpoint):
    """Fit a model to a source of rows; see :meth:`TorusGPRegressor.fit`."""
    source = as_source(X, y, sample_weight, noise_scale, named_inputs(model))
    point = None if checkpoint is None else Checkpoint(checkpoint)
    model._forget()
    if point is None or point.content is None:
        learned = learn_from_sample(model, source.sample(SAMPLE_ROWS), source.names, source.y_ndim)
        statistics = empty_statistics(model, learned, source.n_rows, source.n_outputs)
    else:
        statistics = SufficientStatistics.from_archive(point.content["statistics"], point.arrays).empty()
        statistics.n_threads = check_n_threads(model.n_threads)
        learned = _take_up(model, point, statistics.period)
        model._report(f"going on from {point.path} after {point.n_rows} rows")
    model.statistics_ = statistics.add_source(
        source,
        model._columns,
        point,
        _progress(model),
        describe(model, learned.hyperparameters, learned.index_set),
        model._without_trend if model.trend_ is not None else None,
    )
    return finish(model, learned)


def named_inputs(model):
    """Columns of a table that the model wants as inputs; None if it does not say."""
    if model.columns is None or not np.iterable(model.columns):
        return None
    names = list(dict.fromkeys(model.columns))
    return names if all(isinstance(name, str) for name in names) else None


def learn_from_sample(model, sample, names, y_ndim):
    """Learn everything from some rows.

    Parameters
    ----------
    model : TorusGPRegressor
        What is being fitted.
    sample : Chunk
        The rows.
    names : sequence of str or None
        Names of the inputs.
    y_ndim : int
        Number of axes of the targets.

    Returns
    -------
    Learned
    """
    # what scikit-learn's validation does for arrays
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.n_features_in_ = sample.X.shape[1]
    model._set_shapes(y_ndim)
    model._check_parameters()
    rows = Rows(sample.X[:, model._columns], sample.y, sample.sample_weight, sample.noise_scale)
    model._report(f"deciding on the columns with {len(sample)} rows")
    return model._learn_from_rows(rows, preliminary=True)[0]


def empty_statistics(model, learned, n_rows, n_outputs):
    """Statistics of no rows, on the frequencies that learning from all rows may want."""
    n_rows = n_rows or _UNKNOWN_ROWS
    kernel = model._template.kernel(learned.hyperparameters)
    size = learned.index_set.n_components if model.n_components == "auto" else model.n_components
    index_set = model._select(kernel, size)
    compute = replace(model._compute(), backend=model._compute().choose(index_set.frequencies, n_rows))
    pool = RowSource(None, compute, model.intercept, model.index_set, margin=_MARGIN.get(compute.backend, 1.25))
    return SufficientStatistics(
        pool.surroundings(index_set, kernel, n_rows),
        kernel.period,
        n_outputs=n_outputs,
        tolerance=transform_tolerance(learned.hyperparameters, n_rows),
        **asdict(compute),
    )


def finish(model, learned):
    """Learn what does not need rows from the statistics of all of them."""
    model._first_guess = learned
    model._learn_from_statistics(search=False)
    return model


def _take_up(model, point, period):
    """What was learned before the pass that a checkpoint belongs to."""
    content = point.content["more"]
    if "parameters" not in content:
        raise CheckpointError(f"{point.path} belongs to SufficientStatistics.from_source, not to fit.")
    if not same_parameters(model, content):
        raise CheckpointError(
            f"{point.path} was written by a model with other parameters. Delete it to start anew, or name another file."
        )
    restore(
        model,
        content,
        point.arrays,
        SufficientStatistics.from_archive(point.content["statistics"], point.arrays).period,
    )
    return model._first_guess


def _progress(model):
    """How the pass is shown: by the model's own function, a bar, or not at all."""
    if callable(model.verbose):
        return lambda n_rows: model.verbose(f"{n_rows} rows")
    return bool(model.verbose)
