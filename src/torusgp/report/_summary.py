"""The model in a few sentences, a row of large numbers, what to bear in mind, and a table of facts."""

import numpy as np
from scipy.stats import binom

from torusgp.report._effects import extremes
from torusgp.report._facts import LEVELS
from torusgp.report._labels import with_parenthesis
from torusgp.report._markup import element, join, table
from torusgp.report._numbers import count, listed, number, percent, quantity, with_error, with_unit
from torusgp.report._parameters import at_bounds, how_known, kernel_name, period_errors
from torusgp.report._predictions import which_rows

_MOST_NAMED = 3  # components, and inputs, in a sentence
_RUN = 0.3  # correlation of consecutive errors from which they come in runs
_COVERAGE_SLACK = 0.02  # by which the share of rows inside intervals may be off and still be called right
_FEWEST_ROWS = 20  # that say something of intervals
_TRUNCATED = 0.1  # of the noise variance, from which what is left out is not small


def summary(subject, version, fit_seconds, details):
    """Top of the page.

    Parameters
    ----------
    subject : Subject
        What the page is about.
    version : str
        Version of torusgp.
    fit_seconds : float or None
        How long the fit took.
    details : dict
        More rows of the table.

    Returns
    -------
    Markup
    """
    notes = _notes(subject)
    bear_in_mind = None
    if notes:
        items = element("ul", *(element("li", note) for note in notes))
        bear_in_mind = element("div", element("h3", "To bear in mind"), items, class_="mind")
    return join(
        [
            subject.for_each_output(lambda output: join([_tiles(subject, output), _sentences(subject, output)])),
            bear_in_mind,
            element(
                "details",
                element("summary", "In numbers"),
                _fact_tables(subject, version, fit_seconds, details),
                open=True,
                id="numbers",
            ),
        ]
    )


def opening(subject):
    """What was learned from how much, in a sentence."""
    target = listed(one.name for one in subject.targets)
    rows = count(subject.model.n_samples_seen_, "row")
    periods = period_errors(subject)
    if periods is None:
        repeats = "repeats" if len(subject.targets) == 1 else "repeat"
        return f"The model learned from {rows} how {target} {repeats} on a lattice of {_inputs(subject)}."
    cycles: dict[int, list] = {}
    for position, period, one in zip(subject.columns, periods, subject.dimensions, strict=True):
        cycles.setdefault(position, []).append(f"every {with_unit(with_error(*period), one.unit)}")
    inputs = (f"{subject.inputs[position].name} (repeats {listed(texts)})" for position, texts in cycles.items())
    depends = "depends" if len(subject.targets) == 1 else "depend"
    return f"The model learned from {rows} how {target} {depends} on {listed(inputs)}."


def verdict(coverage, n_rows):
    """What a share of rows inside 95 % intervals says of them.

    Examples
    --------
    >>> verdict(0.951, 1000), verdict(0.8, 1000), verdict(0.999, 1000), verdict(1.0, 3)
    ('as they should', 'too narrow', 'wider than needed', 'too few rows to tell')
    """
    if n_rows < _FEWEST_ROWS:
        return "too few rows to tell"
    if not _is_off(coverage, 0.95, n_rows):
        return "as they should"
    if coverage > 0.95:
        return "wider than needed"
    return "somewhat too narrow" if coverage > 0.88 else "too narrow"


def _is_off(coverage, level, n_rows):
    """Whether a share of rows inside intervals differs from their probability, noticeably and not by chance."""
    low, high = binom.interval(0.99, n_rows, level)
    return abs(coverage - level) > _COVERAGE_SLACK and not low <= round(coverage * n_rows) <= high


def _inputs(subject):
    return listed(subject.inputs[j].name for j in dict.fromkeys(subject.columns))


def _sentences(subject, output):
    target = subject.targets[output]
    sentences = [*_performance(subject, output), *_what_matters(subject, output)]
    noise = quantity(subject.noise_std[output], target.unit)
    sentences.append(
        join(
            [
                "By its own account, single rows scatter around what it predicts by ",
                element("strong", f"± {noise}"),
                " (one standard deviation), which these inputs do not explain.",
            ]
        )
    )
    return element("ul", *(element("li", sentence) for sentence in sentences), class_="sentences")


def _performance(subject, output):
    if not subject.judgements:
        return [
            "No rows were given to compare its predictions with: this page does not say how good they are. Give rows "
            "that it was not fitted to."
        ]
    judgement, unit = subject.judgements[output], subject.targets[output].unit
    coverage = judgement.coverage[0.95]
    explained = "" if np.isnan(judgement.r2) else f" It explains {_explained(judgement.r2)} of their variance."
    return [
        join(
            [
                f"On {which_rows(subject)}, its typical error is ",
                element("strong", quantity(judgement.rmse, unit)),
                f" (root mean square); always predicting their mean would be off by "
                f"{quantity(judgement.spread, unit)}.{explained}",
            ]
        ),
        join(
            [
                "Its 95 % intervals hold ",
                element("strong", percent(coverage)),
                f" of them: {_advice(judgement, subject.rows_are)}.",
            ]
        ),
    ]


def _explained(r2):
    return "nothing" if r2 <= 0 else percent(r2, 0)


def _advice(judgement, rows_are):
    if rows_are == "fitted":
        return "only new rows can tell whether they are right"
    n_rows, half = len(judgement.observed), judgement.coverage[0.5]
    said = verdict(judgement.coverage[0.95], n_rows)
    if said == "too few rows to tell":
        return f"these are {said} whether they are right"
    if "narrow" in said and half > 0.5 and _is_off(half, 0.5, n_rows):
        return (
            f"they are {said}, though its 50 % intervals hold {percent(half)}. Most errors are "
            "smaller than stated, but large ones are more frequent"
        )
    if said == "as they should":
        return "as they should"
    if said == "wider than needed":
        return f"they are {said}, predictions are better than stated"
    return f"they are {said}, the truth lies outside more often than stated"


def _what_matters(subject, output):
    if subject.indices is None:
        return [subject.why_no_indices]
    share, components = subject.share(output), subject.indices.components
    order = np.argsort(-share, kind="stable").tolist()
    alone = [i for i in order if len(components[i]) == 1 and share[i] >= 0.01][:_MOST_NAMED]
    sentences = []
    if len(subject.dimensions) > 1:
        named = [f" from {subject.component_name(components[i])}" for i in alone]
        shares = [percent(share[i], 0) for i in alone]
        together = float(sum(share[i] for i in order if len(components[i]) > 1))
        largest = next((i for i in order if len(components[i]) > 1), None)
        parts = []
        if named:
            others = "".join(f", {text}{name}" for text, name in zip(shares[1:], named[1:], strict=True))
            first = ["Of what varies in its predictions, ", element("strong", shares[0]), f" comes{named[0]}"]
            parts += [*first, f"{others}, each alone." if others else " alone."]
        if together >= 0.01 and largest is not None:
            parts.append(
                f" {percent(together, 0)} comes from inputs that act together, foremost "
                f"{subject.component_name(components[largest])} ({percent(share[largest], 0)}): effects that only add "
                "up would miss it."
            )
        elif together > 0 or subject.model.max_interaction is None:
            parts.append(" Inputs hardly act together: their effects add up.")
        sentences.append(join(parts))
    strongest = [i for i in alone if len(subject.dimensions) == 1 or share[i] >= 0.05]
    moves = [f"{subject.dimensions[i].name} moves it {extremes(subject, i, output)}" for i in strongest]
    if moves:
        text = "; ".join(moves)
        sentences.append(f"Around its average, {text}.")
    return sentences


def _notes(subject):
    """What a reader should know before relying on the page."""
    model = subject.model
    notes = []
    if subject.rows_are == "fitted" and subject.judgements:
        notes.append("The rows it is compared with are those it was fitted to: expect larger errors on new ones.")
    if subject.rows_are == "new" and subject.looks_fitted:
        notes.append(
            "The rows it is compared with are said to be new, but their number, mean and variance are those of the "
            "rows it was fitted to. Are they?"
        )
    if subject.rows_are == "unknown" and subject.judgements:
        notes.append("It was not said whether the rows it is compared with are new to the model.")
    notes += _error_notes(subject)
    for one, other, correlation in subject.entangled[:2]:
        notes.append(
            f"In these rows {subject.component_name(one)} and {subject.component_name(other)} go together (correlation "
            f"up to {correlation:.2f}), since the inputs move together or cover part of their period: how much belongs "
            "to which is the model's guess; their sum is not."
        )
    left_out = model.truncation_error_ * np.atleast_1d(model.signal_variance_) / np.atleast_1d(model.noise_variance_)
    if left_out.max() > _TRUNCATED:
        notes.append(
            f"The waves that are left out may matter: up to {percent(model.truncation_error_)} of the signal variance, "
            f"{percent(float(left_out.max()), 0)} of the noise variance. More columns (n_components) would tell."
        )
    low, high = at_bounds(subject)
    if high:
        notes.append(
            f"Along {listed(subject.dimensions[d].name for d in high)} the length scale has reached its upper bound: "
            "that does not matter, or acts as a single slow wave."
        )
    if low:
        notes.append(
            f"Along {listed(subject.dimensions[d].name for d in low)} the length scale has reached its lower bound: "
            "neighbouring values seem unrelated. Is the period right?"
        )
    if model.trend_ is not None:
        notes.append(
            "Slow change beside the period was found and is part of predictions; beyond the range of the rows it is a "
            "guess."
        )
    return notes


def _error_notes(subject):
    notes = []
    for target, judgement in zip(subject.targets, subject.judgements, strict=False):
        of = "" if len(subject.targets) == 1 else f" of {target.name}"
        if judgement.run > _RUN:
            notes.append(
                f"Errors{of} of consecutive rows are alike (correlation {judgement.run:.2f}): they come in runs, which "
                "the model takes for independent. Bands of effects, intervals of shares, and sums or averages over "
                "neighbouring rows are less certain than it states."
            )
        bias = float(np.mean(judgement.observed - judgement.mean))
        if abs(bias) > max(0.2, 3 / np.sqrt(len(judgement.observed))) * judgement.rmse:
            direction = "too low" if bias > 0 else "too high"
            notes.append(f"Predictions{of} are {direction} on average, by {quantity(abs(bias), target.unit)}.")
    return notes


def _tiles(subject, output):
    target = subject.targets[output]
    tiles = []
    if subject.judgements:
        judgement = subject.judgements[output]
        where = {"new": "on new rows", "fitted": "on fitted rows", "unknown": "on given rows"}[subject.rows_are]
        tiles = [
            ("typical error", quantity(judgement.rmse, target.unit), where),
            ("variance explained", "none" if np.isnan(judgement.r2) else percent(max(judgement.r2, 0.0), 0), where),
            (
                "95 % intervals hold",
                percent(judgement.coverage[0.95]),
                verdict(judgement.coverage[0.95], len(judgement.observed)),
            ),
        ]
    else:
        tiles.append(("noise of single rows", f"± {quantity(subject.noise_std[output], target.unit)}", "as learned"))
    if subject.indices is not None:
        share = subject.share(output)
        i = int(share.argmax())
        tiles.append(
            (
                "matters most",
                subject.component_name(subject.indices.components[i]),
                f"{percent(share[i], 0)} of what varies",
            )
        )
    else:
        tiles.append(("rows", number(subject.model.n_samples_seen_, 6), "to learn from"))
    return element(
        "div",
        *(
            element("div", element("span", name), element("b", value), element("span", more), class_="tile")
            for name, value, more in tiles
        ),
        class_="tiles",
    )


def _fact_tables(subject, version, fit_seconds, details):
    model = subject.model
    n_outputs = len(subject.targets)

    def wide(name, text, value=None):
        cell = element("td", text, data_value=value, colspan=n_outputs if n_outputs > 1 else None)
        return [name, cell]

    def each(name, texts, values):
        return [name, *(element("td", text, data_value=repr(float(v))) for text, v in zip(texts, values, strict=True))]

    units = [target.unit for target in subject.targets]
    names = [with_parenthesis(one.name, one.unit) for one in subject.inputs]
    scales = np.atleast_1d(model.kernel_.length_scale)
    rows = [
        wide("rows to learn from", number(model.n_samples_seen_, 6), repr(float(model.n_samples_seen_))),
        wide(f"inputs ({len(subject.inputs)})", ", ".join(names)),
        wide(f"periods ({how_known(subject)})", _periods(subject)),
        wide("kernel", kernel_name(model.kernel_)),
        wide("length scales", ", ".join(number(scale) for scale in scales)),
        wide("Fourier columns", number(model.index_set_.n_components), repr(int(model.index_set_.n_components))),
        each(
            "signal standard deviation",
            [quantity(s, u, 4) for s, u in zip(subject.signal_std, units, strict=True)],
            subject.signal_std,
        ),
        each(
            "noise standard deviation",
            [quantity(s, u, 4) for s, u in zip(subject.noise_std, units, strict=True)],
            subject.noise_std,
        ),
        wide("log evidence", number(model.log_marginal_likelihood_, 7), repr(float(model.log_marginal_likelihood_))),
        wide(
            "truncation error of the kernel", number(model.truncation_error_, 2), repr(float(model.truncation_error_))
        ),
    ]
    more = _judgement_rows(subject, wide, each) if subject.judgements else []
    if fit_seconds is not None:
        more.append(wide("time to fit", f"{number(fit_seconds, 3)} s", repr(float(fit_seconds))))
    more += [wide(str(name), str(value)) for name, value in details.items()]
    more.append(wide("torusgp", f"version {version}"))
    header = None if n_outputs == 1 else ["", *(target.name for target in subject.targets)]
    return element("div", *(table(header, part, class_="facts") for part in (rows, more)), class_="pair")


def _periods(subject):
    periods = period_errors(subject)
    if periods is None:
        return "a cell, see Parameters"
    return ", ".join(
        with_unit(with_error(*pair), one.unit) for pair, one in zip(periods, subject.dimensions, strict=True)
    )


def _judgement_rows(subject, wide, each):
    judgements = subject.judgements
    units = [target.unit for target in subject.targets]
    kind = {"new": "hold-out", "fitted": "fitted rows", "unknown": "given rows"}[subject.rows_are]
    rmse, spread, losses, r2 = (
        [getattr(one, name) for one in judgements] for name in ("rmse", "spread", "log_loss", "r2")
    )
    rows = [
        wide(f"{kind}: rows", number(len(subject.X), 6), repr(len(subject.X))),
        each(f"{kind}: RMSE", [quantity(v, u, 4) for v, u in zip(rmse, units, strict=True)], rmse),
        each(f"{kind}: RMSE of their mean", [quantity(v, u, 4) for v, u in zip(spread, units, strict=True)], spread),
        each(f"{kind}: R²", [number(v, 3) for v in r2], r2),
        each(f"{kind}: mean negative log loss", [number(v, 4) for v in losses], losses),
    ]
    for level in LEVELS:
        inside = [one.coverage[level] for one in judgements]
        rows.append(each(f"{kind}: in {percent(level, 0)} intervals", [percent(v) for v in inside], inside))
    return rows
