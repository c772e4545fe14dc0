"""Fits to Dask collections, and predictions on them."""

import numpy as np

from torusgp.data.blocks import Blocks
from torusgp.estimators.regressor_streams import (
    SAMPLE_ROWS,
    empty_statistics,
    finish,
    learn_from_sample,
    named_inputs,
)


def fit_blocks(model, X, y, sample_weight, noise_scale, checkpoint):
    """Fit a model to a Dask collection; see :meth:`TorusGPRegressor.fit`."""
    if checkpoint is not None:
        raise ValueError("checkpoint is for sources that one process reads; Dask repeats lost tasks by itself.")
    blocks = Blocks(X, y, sample_weight, noise_scale, named_inputs(model))
    model._forget()
    learned = learn_from_sample(model, blocks.sample(SAMPLE_ROWS), blocks.names, blocks.y_ndim)
    empty = empty_statistics(model, learned, blocks.n_rows, blocks.n_outputs)
    empty.n_threads = model.n_threads or 1  # Dask has threads and processes of its own
    adjust = None
    if model.trend_ is not None:
        adjust = _Detrend(model.trend_, model._trend_inputs())
    model.statistics_ = blocks.statistics(empty, model._columns, adjust)
    model.statistics_.n_threads = model.n_threads
    return finish(model, learned)


class _Detrend:
    """Targets less a slow change; an object, since it travels to workers without the model."""

    def __init__(self, trend, inputs):
        self._trend, self._inputs = trend, inputs

    def __call__(self, X, y):
        return y - self._trend.mean(X[:, self._inputs])


def predict_blocks(model, X, return_std, return_cov, include_noise):
    """Lazy predictions on a Dask collection; see :meth:`TorusGPRegressor.predict`."""
    if return_cov:
        raise ValueError("return_cov needs all points at once, which a Dask collection does not give: use return_std.")
    import dask.array

    fitted = model._fitted()
    fitted.predictors.clear()  # they are made again where they are needed
    shape = () if model._y_ndim == 1 else (len(fitted.center),)
    stacked = 2 if return_std else 1
    task = dask.delayed(model)

    def predict(block, model):
        if len(block) == 0:
            return np.empty((0, stacked, *shape))
        results = model.predict(block, return_std=return_std, include_noise=include_noise)
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
