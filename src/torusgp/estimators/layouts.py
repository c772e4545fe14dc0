"""Rows of sources, laid on the axes of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.estimators.settings import make_fitter
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.row_passes import rows_of_chunk
from torusgp.fitting.rows import Rows
from torusgp.kernels.axes import Expression, Product, Slope

MARGIN = 0.1  # of the range of a line on each side: a sample hardly ever shows its ends


def named_inputs(model: Any) -> list[str] | None:
    """Columns of a table that the model wants as inputs; None if it does not say."""
    if not isinstance(model.kernel, Expression):
        return None
    expressions = [one for one in (model.kernel, model.noise_kernel) if isinstance(one, Expression)]
    inputs = [
        one
        for expression in expressions
        for term in expression.terms
        for one in (
            [term.input] if isinstance(term, Slope) else [used for factor in term.factors for used in factor.used]
        )
        if isinstance(term, Product | Slope)
    ]
    names = list(dict.fromkeys(one for one in inputs if isinstance(one, str)))
    return names if len(names) == len(set(inputs)) else None


def lay_out(model: Any, sample: Any, names: Any, y_ndim: int, margin: float, more: Any = None) -> tuple[Fitter, Rows]:
    """Fitter of a model, and a sample of its rows on its axes, whose ranges hold more inputs too."""
    # what scikit-learn's validation does for arrays
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.n_features_in_ = sample.X.shape[1]
    model.y_ndim_ = y_ndim
    everywhere = sample.X if more is None else np.concatenate([sample.X, more])
    resolved = model.resolve(everywhere, margin)
    resolved = resolved if more is None else resolved.without_grids()
    fitter = make_fitter(model, resolved, more is None and model.noise_kernel is None)
    return fitter, rows_of_chunk(sample, fitter.layout)
