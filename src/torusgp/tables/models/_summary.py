"""What a model of a table consists of, as JSON can hold it."""

from dataclasses import asdict

import numpy as np

from torusgp.estimators.short_form import SLOW_CHANGE
from torusgp.fitting.likelihoods import likelihood_to_json
from torusgp.kernels.axes import Circle, Line
from torusgp.tables.forecast import describe_forecast
from torusgp.tables.inputs import all_factors
from torusgp.tables.models._errors import length_scales
from torusgp.views.dimensions import frequencies_by_order
from torusgp.views.selection import selection_summary
from torusgp.views.summary import attribution, function_std, to_plain


def summarise(table):
    """What a model of a table consists of and how good it is; see :meth:`TableModel.summary`."""
    model, inputs = table.model_, table.inputs_
    fitted, scales = model.fitted_, length_scales(model.fitted_)
    explains_nothing = table.scores_ is not None and table.scores_.explains_nothing
    # the curvature at a peak of noise is no error of a period
    is_peak = explains_nothing or any(one.bound == "lower" for one in scales[0])
    period_errors = np.atleast_1d(np.full(1, np.nan) if is_peak else getattr(model, "period_std_", np.nan))
    axes = [axis for axis, one in enumerate(fitted.prior.torus.axes) if one.kind == "circle"]
    errors = np.broadcast_to(period_errors, len(axes)) if len(period_errors) == 1 else period_errors
    circles = [_circle(model, scales, axis, error) for axis, error in zip(axes, errors, strict=True)]
    return to_plain(
        {
            "target": table.target,
            "unit": table.unit,
            "calendar": None if table.inputs_.calendar is None else table.inputs_.calendar[0],
            "clock": table.inputs_.timezone or table.inputs_.zone or None,
            "order": table.inputs_.time,
            "rows": {
                "fitted": table.n_rows_,
                "dropped": table.n_dropped_,
                "effective": table.n_effective_,
                "redundancy": table.redundancy_,
                "errors": _errors(table),
            },
            "inputs": circles,
            "kernel": _families(inputs.model),
            "n_components": len(model.coef_),
            "orders": sorted(frequencies_by_order(fitted).items()),
            "selection": selection_summary(model).to_dict() if model.fit_.learned.rounds else None,
            "truncation_error": model.truncation_error_,
            "has_slow_change": SLOW_CHANGE in model.term_names_,
            "slow_change_std": table._part_stds.get(SLOW_CHANGE),
            "terms": _terms(table, scales),
            "unused": [{"column": column, "reason": reason} for column, reason in inputs.unused],
            "slopes": [slope.to_json() for slope in table.slopes_],
            "is_seasonal": _is_seasonal(fitted),
            "function_std": function_std(model) if _is_seasonal(fitted) else table._part_stds[None],
            "signal_std": np.sqrt(model.signal_variance_),
            "noise_std": np.sqrt(model.noise_variance_),
            "noise_column": table.noise,
            "noise_by": inputs.names if table.noise_by == "auto" else list(table.noise_by or []),
            "likelihood": likelihood_to_json(model.likelihood_),
            "noise_factor": table.noise_factor_,
            "log_evidence": model.log_marginal_likelihood_,
            "holdout": None if table.scores_ is None else table.scores_.to_json(),
            "naive": None if table.evaluation_ is None else _naive(table.evaluation_),
            "explains_nothing": explains_nothing,
            "is_refitted": table.is_refitted_,
            "attribution": [] if explains_nothing else attribution(model),
            "forecast": describe_forecast(table),
            "quality": table.quality_,
            "findings": [asdict(one) for one in table.findings_],
        }
    )


def _naive(evaluation):
    """The seasonal naive forecast that the rows held out are compared with."""
    return {"season": evaluation.season, **evaluation.naive.to_json()}


def _circle(model, scales, axis, period_error):
    """Period and length scale of a circle, in the first term that has it."""
    fitted, is_learned = model.fitted_, bool(model.fit_.model.moving[axis])
    scale = next(one for term in scales for one in term if one.axis == axis)
    return {
        "name": fitted.prior.torus.names[fitted.prior.torus.axes[axis].input],
        "period": fitted.parameters.period[axis],
        "period_std": period_error if is_learned else None,
        "period_is": "learned" if is_learned else "given",
        "length_scale": scale.value,
        "length_scale_std": scale.std,
        "length_scale_bound": scale.bound,
    }


def _is_seasonal(fitted):
    """Whether the first term is what repeats: a product of circles."""
    return all(fitted.prior.torus.axes[axis].kind == "circle" for axis in fitted.prior.terms[0].axes)


def _terms(table, scales):
    """Terms beside what repeats: how much they vary over the rows, and their length scales."""
    fitted, found = table.model_.fitted_, []
    for term, own in list(zip(fitted.prior.terms, scales, strict=True))[_is_seasonal(fitted) :]:
        if term.name == SLOW_CHANGE:  # which is told beside them
            continue
        axes = [fitted.prior.torus.axes[one.axis] for one in own]
        found.append(
            {
                "name": term.name,
                "std": table._part_stds[term.name],
                "length_scales": [
                    {"axis": axis.name, "kind": axis.kind, "value": one.value, "std": one.std, "bound": one.bound}
                    for axis, one in zip(axes, own, strict=True)
                    if axis.kind != "category"
                ],
            }
        )
    return found


def part_stds(model, X):
    """Standard deviations over rows of what the terms of a model contribute, by their names.

    Slow change beside a period that was found has the slopes that come with it. None is the name of the sum of all.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor of one target.
    X : pandas.DataFrame
        Inputs of the rows.

    Returns
    -------
    dict of str or None to float
    """
    parts = model.predict_parts(X)
    stds = dict(zip(model.term_names_, np.std(parts, axis=0).tolist(), strict=True))
    stds[None] = float(np.std(parts.sum(axis=1)))
    if SLOW_CHANGE in stds:
        first = model.term_names_.index(SLOW_CHANGE)
        stds[SLOW_CHANGE] = float(np.std(parts[:, first:].sum(axis=1)))
    return stds


def _errors(table):
    """Whether errors of neighbouring rows are autocorrelated; "independent" where nobody looked."""
    if table.inputs_.time is None or table.errors == "independent":
        return "independent"
    found = table.model_.fitted_.noise_process is not None or table.redundancy_ > 1
    return "autocorrelated" if found else "not clearly autocorrelated"


def _families(model):
    """Families of the kernels of a model; of categories alone, that which they would have beside others."""
    families = [one.family for one in all_factors(model) if isinstance(one, Circle | Line)]
    return " and ".join(dict.fromkeys(map(str, families))) or "squared_exponential"
