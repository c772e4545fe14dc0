"""The model in numbers: a table of facts."""

import numpy as np

from torusgp.views.report._labels import with_parenthesis
from torusgp.views.report._markup import element, table
from torusgp.views.report._numbers import count, decimal, number, or_below, percent, quantity, with_error, with_unit
from torusgp.views.report._parameters import how_known, kernel_name, period_errors
from torusgp.views.report._scores import rows_learned

_KINDS = {
    "new": ", new to the model",
    "fitted": ", which it was fitted to",
    "unknown": "; whether they are new was not said",
    "held out": " rows",
}


def fact_tables(subject, version, fit_seconds, details):
    """Tables of the model, and of how its predictions fared.

    Parameters
    ----------
    subject, version, fit_seconds, details
        See :func:`torusgp.views.report._summary.summary`. Details take the place of facts of the same name.

    Returns
    -------
    Markup
    """
    model = subject.model
    n_outputs, n_columns = len(subject.targets), model.index_set_.n_components

    def wide(name, text, value=None):
        cell = element("td", text, data_value=value, colspan=n_outputs if n_outputs > 1 else None)
        return [name, cell]

    def each(name, texts, values):
        return [name, *(element("td", text, data_value=repr(float(v))) for text, v in zip(texts, values, strict=True))]

    units = [one.unit for one in subject.functions]
    names = [with_parenthesis(one.name, one.unit) for one in subject.inputs]
    fitted = model.fitted_
    n_plain = len(fitted.prior.columns)
    scales = dict.fromkeys(np.concatenate(fitted.prior.scales(fitted.parameters)).tolist())  # one may serve all axes
    plain = f", and {count(n_plain, 'straight line')}" if n_plain else ""
    has_periods = any(one.is_periodic for one in subject.dimensions)
    rows = [
        wide("rows fitted", rows_learned(subject), repr(subject.n_rows)),
        wide(f"inputs ({len(subject.inputs)})", ", ".join(names)),
        *([wide(f"periods ({how_known(subject)})", _periods(subject))] if has_periods else []),
        wide("kernel", kernel_name(fitted)),
        *([wide("length scales", ", ".join(map(number, scales)))] if fitted.prior.is_short else []),
        wide(
            "columns",
            f"{number(n_columns + n_plain)}: a constant, and cosine and sine of {count(n_columns // 2, 'wave')}{plain}",
            repr(int(n_columns + n_plain)),
        ),
        each(
            "function varies by (standard deviation)",
            [quantity(s, u, 4) for s, u in zip(subject.function_std, units, strict=True)],
            subject.function_std,
        ),
        each(
            "noise standard deviation",
            [quantity(s, u, 4) for s, u in zip(subject.noise_std, units, strict=True)],
            subject.noise_std,
        ),
        wide(
            "log evidence",
            decimal(model.log_marginal_likelihood_),
            repr(float(model.log_marginal_likelihood_)),
        ),
        wide("truncation error of the kernel", or_below(model.truncation_error_), repr(float(model.truncation_error_))),
    ]
    rows = [wide(row[0], str(details[row[0]])) if row[0] in details else row for row in rows]
    details = {name: value for name, value in details.items() if name not in {row[0] for row in rows}}
    more = _score_rows(subject, wide, each)
    if fit_seconds is not None:
        more.append(wide("time to fit", f"{number(fit_seconds, 3)} s", repr(float(fit_seconds))))
    more += [wide(str(name), str(value)) for name, value in details.items()]
    more.append(wide("torusgp", f"version {version}"))
    header = None if n_outputs == 1 else ["", *(target.name for target in subject.targets)]
    return element("div", *(table(header, part, class_="facts") for part in (rows, more)), class_="pair")


def _periods(subject):
    circles = [
        with_unit(with_error(one.period, error), one.unit)
        for one, error in zip(subject.dimensions, period_errors(subject), strict=True)
        if one.kind == "circle"
    ]
    has_cell = any(one.kind == "lattice" for one in subject.dimensions)
    return ", ".join([*circles, "a cell, see Parameters"] if has_cell else circles)


def _score_rows(subject, wide, each):
    """Rows of the table for each of the comparisons: with the rows given, and with those held out."""
    units = [target.unit for target in subject.targets]
    found = []
    for scores in zip(*(subject.scores(output) for output in range(len(subject.targets))), strict=True):
        n_rows, kind = scores[0].n_rows, scores[0].kind
        rows = "held out at the fit" if kind == "held out" else "these rows"
        found.append(wide(rows, f"{number(n_rows)}{_KINDS[kind]}", repr(n_rows)))
        for name, key in (("RMSE", "rmse"), ("RMSE of their mean", "spread")):
            values = [getattr(score, key) for score in scores]
            texts = [quantity(value, unit, 4) for value, unit in zip(values, units, strict=True)]
            found.append(each(f"{rows}: {name}", texts, values))
        for name, key, digits in (("R²", "r2", 3), ("mean negative log loss", "log_loss", 4)):
            values = [getattr(score, key) for score in scores]
            texts = ["not defined" if np.isnan(value) else number(value, digits) for value in values]
            found.append(each(f"{rows}: {name}", texts, values))
        for level in scores[0].coverage:
            values = [score.coverage[level] for score in scores]
            name = f"{rows}: in {percent(level, 0)} intervals"
            found.append(each(name, [percent(value) for value in values], values))
    return found
