"""What a model of a table consists of, as JSON can hold it."""

import numpy as np

from torusgp.tables.models._errors import bounds_reached, length_scale_errors
from torusgp.views.analysis import sobol_indices

_DRAWS = 400  # functions that tell the errors of shares


def summarise(table):
    """What a model of a table consists of and how good it is; see :meth:`TableModel.summary`."""
    model = table.model_
    size = len(table.inputs_.periods)
    periods = np.broadcast_to(model.kernel_.period, size)
    period_errors = np.broadcast_to(getattr(model, "period_std_", np.nan), size)
    unknown = [table.inputs_.is_learned and _is_learned(table.inputs_, d) for d in range(size)]
    scales = np.broadcast_to(model.kernel_.length_scale, size)
    bounds = bounds_reached(model)
    explains_nothing = table.judgement_ is not None and table.judgement_.explains_nothing
    if explains_nothing or "lower" in bounds:  # the curvature at a peak of noise is no error of a period
        period_errors = np.full(size, np.nan)
    names = table.inputs_.names
    inputs = [
        {
            "name": names[position],
            "period": periods[d],
            "period_std": period_errors[d] if unknown[d] else None,
            "period_is": "learned" if unknown[d] else "given",
            "length_scale": scales[d],
            "length_scale_std": error,
            "length_scale_bound": bounds[d],
        }
        for d, (position, error) in enumerate(
            zip(table.inputs_.positions, np.broadcast_to(length_scale_errors(model), size), strict=True)
        )
    ]
    found = table.correlation_
    return to_plain(
        {
            "target": table.target,
            "calendar": None if table.inputs_.calendar is None else table.inputs_.calendar[0],
            "clock": table.inputs_.timezone or table.inputs_.zone or None,
            "order": table.inputs_.time,
            "rows": {
                "fitted": table.n_rows_,
                "dropped": table.n_dropped_,
                "effective": table.n_effective_,
                "redundancy": table.redundancy_,
                "redundancy_found": None if found is None else found.estimate,
                "redundancy_std": None if found is None else found.std,
                "redundancy_is": "estimated" if found is not None else "given",
            },
            "inputs": inputs,
            "kernel": table.kernel,
            "columns": model.index_set_.n_components,
            "max_interaction": table.max_interaction,
            "truncation_error": model.truncation_error_,
            "has_slow_change": model.trend_ is not None,
            "slow_change_std": table._slow_change_std,
            "trend": None if table.trend_ is None else table.trend_.summary(),
            "function_std": function_std(model),
            "signal_std": np.sqrt(model.signal_variance_),
            "noise_std": np.sqrt(model.noise_variance_),
            "noise_column": table.noise,
            "noise_factor": table.noise_factor_,
            "log_evidence": model.log_marginal_likelihood_,
            "holdout": None if table.judgement_ is None else table.judgement_.to_json(),
            "explains_nothing": explains_nothing,
            "is_refitted": table.is_refitted_,
            "attribution": _attribution(model),
        }
    )


def function_std(model):
    """Standard deviation of the predicted function of one target around its mean, over the torus."""
    return float(np.sqrt(np.sum(model.coef_.ravel()[1:] ** 2) / 2))  # the mean square of a cosine is one half


def of_today(summary, model):
    """A summary from a file, with what is told today."""
    today = {name: value for name, value in summary.items() if name != "has_trend"}
    if "has_trend" in summary:  # its size was not told
        today |= {"has_slow_change": summary["has_trend"], "slow_change_std": None}
    return {"function_std": function_std(model)} | today


def _is_learned(inputs, dimension):
    if dimension >= len(inputs.dimensions):
        return False
    column, period = inputs.dimensions[dimension]
    return period == "auto" or column in inputs.learned


def _attribution(model):
    """Shares of the inputs and of their interactions in the variance of the function, the largest first."""
    try:
        indices = sobol_indices(model, n_samples=_DRAWS)
    except ValueError:  # a constant function has none
        return []
    lower, upper = indices.interval()
    order = np.argsort(-indices.share, kind="stable")
    return [
        {"component": indices.labels[i], "share": indices.share[i], "lower": lower[i], "upper": upper[i]} for i in order
    ]


def to_plain(value):
    """What JSON can hold of dictionaries, lists, arrays and numbers; what is not a number becomes None."""
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
