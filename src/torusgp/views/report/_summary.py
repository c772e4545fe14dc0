"""The model in a few sentences, a row of large numbers, what to bear in mind, and a table of facts."""

import numpy as np
from scipy.stats import binom

from torusgp.fitting.likelihoods import check_likelihood
from torusgp.views.report._effects import extremes
from torusgp.views.report._fact_tables import fact_tables
from torusgp.views.report._markup import element, join
from torusgp.views.report._numbers import count, listed, number, percent, quantity, with_error, with_unit
from torusgp.views.report._parameters import at_bounds, period_errors
from torusgp.views.report._scores import FEWEST_ROWS, rows_learned

_MOST_NAMED = 3  # components, and inputs, in a sentence
_RUN = 0.3  # correlation of consecutive errors from which they come in runs
_CHANCE = 0.95  # probability of shares inside intervals that chance is said to allow
_SLIGHTLY = 0.02  # by which the share of rows inside intervals is off at most where it is slightly off
_FEW = 0.05  # by which chance may move this share where rows are few
_WORSE = 1.5  # times as large as errors of rows held out are those of new rows that call for a note
_TRUNCATED = 0.1  # of the noise variance, from which what is left out is not small


def summary(subject, version, fit_seconds, details, notes=()):
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
    notes : sequence of str
        More of what to bear in mind.

    Returns
    -------
    Markup
    """
    notes = [*_notes(subject), *map(str, notes)]
    bear_in_mind = None
    if notes:
        items = element("ul", *(element("li", note) for note in notes))
        bear_in_mind = element("div", element("h3", "To bear in mind"), items, class_="mind")
    return join(
        [
            subject.for_each_output(lambda output: _in_short(subject, output)),
            bear_in_mind,
            element(
                "details",
                element("summary", "In numbers"),
                fact_tables(subject, version, fit_seconds, details),
                open=True,
                id="numbers",
            ),
        ]
    )


def opening(subject):
    """What was learned from how much, in a sentence."""
    target = listed(one.name for one in subject.targets)
    rows = rows_learned(subject)
    rows += "," if ", " in rows else ""  # after what they are worth
    several = len(subject.targets) > 1
    lattice = {one.input: None for one in subject.dimensions if one.kind == "lattice"}
    inputs: dict[int, list] = {}
    for one, error in zip(subject.dimensions, period_errors(subject), strict=True):
        own = inputs.setdefault(one.input, [])
        if one.kind == "circle":
            own.append(f"every {with_unit(with_error(one.period, error), one.unit)}")
    names = [
        f"{subject.inputs[position].name} (repeats {listed(cycles)})" if cycles else subject.inputs[position].name
        for position, cycles in inputs.items()
        if position not in lattice
    ]
    said = []
    if lattice:
        place = listed(subject.inputs[position].name for position in lattice)
        said.append(f"{'repeat' if several else 'repeats'} on a lattice of {place}")
    if names:
        said.append(f"{'depend' if several else 'depends'} on {listed(names)}")
    return f"The model learned from {rows} how {target} {listed(said)}."


def verdict(coverage, n_rows):
    """What a share of rows inside 95 % intervals says of them.

    Parameters
    ----------
    coverage : float
        The share.
    n_rows : float
        Number of independent rows that it is as certain as.

    Returns
    -------
    str

    Examples
    --------
    >>> verdict(0.951, 1000), verdict(0.8, 1000), verdict(0.999, 1000), verdict(1.0, 3)
    ('as they should', 'too narrow', 'wider than needed', 'too few rows to tell')
    >>> verdict(0.918, 292), verdict(0.897, 29)
    ('somewhat too narrow', 'within what chance allows')
    """
    if n_rows < FEWEST_ROWS:
        return "too few rows to tell"
    if not _is_off(coverage, 0.95, n_rows):
        low, high = _by_chance(0.95, n_rows)
        return "as they should" if (high - low) / 2 <= _FEW else "within what chance allows"
    degree = "slightly " if abs(coverage - 0.95) <= _SLIGHTLY else ""
    if coverage > 0.95:
        return f"{degree}wider than needed"
    return f"{degree or ('somewhat ' if coverage > 0.88 else '')}too narrow"


def _is_off(coverage, level, n_rows):
    """Whether a share of rows inside intervals differs from their probability by more than chance allows."""
    low, high = _by_chance(level, n_rows)
    return not low <= coverage <= high


def _by_chance(level, n_rows):
    """Lowest and highest share of independent rows inside intervals that chance allows."""
    n_rows = round(n_rows)
    low, high = binom.interval(_CHANCE, n_rows, level)
    # half a row more: shares of correlated rows lie between those of whole numbers of independent ones
    return (low - 0.5) / n_rows, (high + 0.5) / n_rows


def _independent_rows(score):
    return score.n_rows if score.n_effective is None else score.n_effective


def _in_short(subject, output):
    return join([_warning(subject, output), _tiles(subject, output), _sentences(subject, output)])


def _warning(subject, output):
    """That a model is worthless, before anything else is said of it."""
    if not subject.explains_nothing(output):
        return None
    score = subject.scores(output)[0]
    nothing = "nothing" if score.r2 <= 0 else f"next to nothing ({percent(score.r2)})"
    said = join(
        [
            element("strong", f"The model explains {nothing} of {score.rows}"),
            ": always predicting their mean would be as good. Effects, length scales and periods on this page mean "
            "nothing then, and which inputs matter is not said.",
        ]
    )
    checks = (
        "Is each period right, and in the units of its column?",
        "Does the target have outliers, or values that stand for missing ones?",
        "Are the columns that the target depends on among the inputs?",
        "Do these rows resemble those it learned from?",
    )
    items = element("ul", *(element("li", check) for check in checks))
    return element("div", element("p", said), element("p", "To check:"), items, class_="mind")


def _sentences(subject, output):
    target = subject.functions[output]
    sentences = [*_performance(subject, output), *_what_matters(subject, output)]
    noise = quantity(subject.noise_std[output], target.unit)
    sentences.append(
        join(
            [
                f"By its own account, {_rows_or_logarithms(subject)} scatter around what it predicts by ",
                element("strong", f"± {noise}"),
                " (one standard deviation), which these inputs do not explain.",
            ]
        )
    )
    return element("ul", *(element("li", sentence) for sentence in sentences), class_="sentences")


def _rows_or_logarithms(subject):
    scale = check_likelihood(subject.model.likelihood).scale_name
    return {"": "single rows", "log": "logarithms of single rows"}.get(scale, f"{scale} of single rows")


def _performance(subject, output):
    scores = subject.scores(output)
    if not scores:
        return [
            "No rows were given to compare its predictions with: this page does not say how good they are. Give rows "
            "that it was not fitted to."
        ]
    return [sentence for score in scores for sentence in _score(score, subject.targets[output].unit)]


def _score(score, unit):
    is_past = score.kind == "held out"
    explained = ""
    if not np.isnan(score.r2):
        explained = f" It {'explained' if is_past else 'explains'} {_explained(score.r2)} of their variance."
    mean = ""
    if not np.isnan(score.spread):
        mean = f"; always predicting their mean would be off by {quantity(score.spread, unit)}"
    return [
        join(
            [
                f"On {score.rows}, its typical error {'was' if is_past else 'is'} ",
                element("strong", quantity(score.rmse, unit)),
                f" (root mean square){mean}.{explained}",
            ]
        ),
        join(
            [
                f"Its 95 % intervals {'held' if is_past else 'hold'} ",
                element("strong", percent(score.coverage[0.95])),
                f" of them: {_advice(score)}.",
            ]
        ),
    ]


def _explained(r2):
    return "nothing" if r2 <= 0 else percent(r2, 0)


def _advice(score):
    if score.kind == "fitted":
        return "only new rows can tell whether they are right"
    half = score.coverage.get(0.5, np.nan)
    n_rows = _independent_rows(score)
    said = verdict(score.coverage[0.95], n_rows)
    if said == "too few rows to tell":
        return f"these are {said} whether they are right"
    if "narrow" in said and half > 0.5 and _is_off(half, 0.5, n_rows):
        return (
            f"they are {said}, though its 50 % intervals hold {percent(half)}. Most errors are "
            "smaller than stated, but large ones are more frequent"
        )
    if said == "as they should":
        return said
    if said == "within what chance allows":
        worth = "" if n_rows > 0.99 * score.n_rows else f", worth {number(np.round(n_rows))} independent ones"
        return f"{said} for {count(score.n_rows, 'row')}{worth}, which are few to tell"
    if "wider" in said:
        return f"they are {said}, predictions are better than stated"
    return f"they are {said}, the truth lies outside more often than stated"


def _what_matters(subject, output):
    if subject.explains_nothing(output):
        return []  # which the warning says
    missing = subject.why_no_shares(output)
    if missing is not None:
        return [missing]
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
        elif largest is not None and share[largest] > 0:
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
    if subject.rows_are == "new" and subject.judgements and subject.holdout_score is not None:
        now, then = subject.judgements[0].rmse, subject.holdout_score.rmse
        if now > _WORSE * then > 0:
            notes.append(
                f"Errors on these rows are {number(now / then, 2)} times as large as on those held out when it was "
                "fitted: has something changed since?"
            )
    if subject.holdout_score is not None and subject.holdout_score.drift is not None:
        drift = subject.holdout_score.drift
        notes.append(
            f"Predictions of the rows held out were {'too low' if drift > 0 else 'too high'} on average, by "
            f"{quantity(abs(drift), subject.targets[0].unit)}: the level has changed, which no period explains."
        )
    notes += _error_notes(subject)
    for one, other, correlation in subject.entangled[:2]:
        notes.append(
            f"In the rows it learned from, {subject.component_name(one)} and {subject.component_name(other)} go "
            f"together (correlation up to {correlation:.2f}), since the inputs move together or cover part of their "
            "period: how much belongs to which is the model's guess; their sum is not."
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
            "the target follows a single slow wave there, or does not depend on it."
        )
    if low:
        notes.append(
            f"Along {listed(subject.dimensions[d].name for d in low)} the length scale has reached its lower bound: "
            "neighbouring values seem unrelated. Is the period right?"
        )
    if model.fit_.model.has_trend:
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
                f"Errors{of} of consecutive rows are alike (correlation {judgement.run:.2f}): they come in runs"
                f"{_consequence(subject.rows_as_one)}"
            )
        bias = float(np.mean(judgement.observed - judgement.mean))
        if abs(bias) > max(0.2, 3 / np.sqrt(len(judgement.observed))) * judgement.rmse:
            direction = "too low" if bias > 0 else "too high"
            notes.append(f"Predictions{of} are {direction} on average, by {quantity(abs(bias), target.unit)}.")
    return notes


def _consequence(rows_as_one):
    """What follows from errors that come in runs, for a model that counts so many rows as one."""
    if rows_as_one > 1:
        return (
            f". The model counts {number(rows_as_one, 3)} rows as one, so bands of effects and intervals of shares "
            "allow for it; sums and averages over neighbouring rows are less certain than independent errors would "
            "make them."
        )
    return (
        ", which the model takes for independent. Bands of effects, intervals of shares, and sums or averages over "
        "neighbouring rows are less certain than it states."
    )


def _variance_explained(r2):
    if np.isnan(r2):
        return "no variance"  # all rows are equal
    return "none" if r2 <= 0 else percent(r2, 0)


def _tiles(subject, output):
    target = subject.targets[output]
    tiles = []
    scores = subject.scores(output)
    if scores:
        score = scores[0]
        held, said = score.coverage[0.95], verdict(score.coverage[0.95], _independent_rows(score))
        where = {
            "new": "on new rows",
            "fitted": "on fitted rows",
            "unknown": "on given rows",
            "held out": "on rows held out",
        }[score.kind]
        tiles = [
            ("typical error", quantity(score.rmse, target.unit), where),
            ("variance explained", _variance_explained(score.r2), where),
            ("95 % intervals hold", percent(held), where if score.kind == "fitted" else said),
        ]
    else:
        noise = quantity(subject.noise_std[output], subject.functions[output].unit)
        tiles.append((f"noise of {_rows_or_logarithms(subject)}", f"± {noise}", "as learned"))
    if len(subject.dimensions) > 1 and subject.why_no_shares(output) is None:
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
        rows = subject.model.n_samples_seen_ if subject.n_rows is None else subject.n_rows
        tiles.append(("rows" if subject.n_rows else "weight of rows", number(np.round(rows)), "to learn from"))
    return element(
        "div",
        *(
            element("div", element("span", name), element("b", value), element("span", more), class_="tile")
            for name, value, more in tiles
        ),
        class_="tiles",
    )
