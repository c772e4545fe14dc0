"""Findings on a model: one object from which the page, the terminal and JSON are made.

Numbers come from the summary of a model, a dictionary for JSON; the words are composed here, once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from torusgp.views.numbers import count, listed, number, percent, quantity, signed, with_error, with_unit
from torusgp.views.scores import Scores

Level = Literal["problem", "note"]
PROBLEM: Level = "problem"
NOTE: Level = "note"
_MOST_NAMED = 3  # components in a sentence
_LONG_NAME = 24  # signs of the name of a term
_ROUNDING = 1e-6  # of the noise: an effect that is smaller is none
_NOTICEABLE = 0.1  # of the noise: slow change that is smaller cannot be seen
_LEAST_SHARE = 0.01
UNSEEN = "rows held out"

_INTERVALS = {
    "as stated": "its 95 % intervals contain {inside} of them, as they should",
    "few rows": "its 95 % intervals contain {inside} of them, which is within chance for so few",
    "lasting errors": "its 95 % intervals contain {inside} of them, which is within chance as errors last long",
    "slightly narrow": "its 95 % intervals contain {inside} of them, slightly fewer than they should",
    "slightly wide": "its 95 % intervals contain {inside} of them, slightly more than they should",
    "narrow": "but its intervals are too narrow: those of 95 % contain {inside} of them",
    "wide": "but its intervals are wider than needed: those of 95 % contain {inside} of them",
    "far too narrow": "but its intervals cannot be trusted: those of 95 % contain only {inside} of them",
    "heavy tails": "but most errors are smaller than stated and a few much larger: intervals of 95 % contain {inside} "
    "of them, those of 50 % contain {middle}",
    "two groups": "but few errors are as small as stated, as if there were two groups of rows: intervals of 95 % "
    "contain {inside} of them, those of 50 % contain {middle}",
}
_REMARKS = {
    "as stated": "as they should",
    "few rows": "too few rows to be exact",
    "lasting errors": "errors last too long to be exact",
    "slightly narrow": "slightly too narrow",
    "slightly wide": "slightly wider than needed",
    "narrow": "too narrow",
    "wide": "wider than needed",
    "far too narrow": "far too narrow",
    "heavy tails": "tails are heavier than stated",
    "two groups": "errors are not normal",
}


@dataclass(frozen=True)
class Finding:
    """Something that a reader should know.

    Attributes
    ----------
    level : {"problem", "note"}
        Whether results cannot be trusted before it is mended.
    about : {"data", "model", "predictions"}
        What it is about.
    text : str
        Sentences.
    """

    level: Level
    about: Literal["data", "model", "predictions"]
    text: str


@dataclass(frozen=True)
class Figure:
    """A number that is shown large.

    Attributes
    ----------
    name, value, remark : str
        What it is, with its unit, and what to think of it.
    """

    name: str
    value: str
    remark: str


@dataclass(frozen=True)
class Share:
    """Share of an input, or of several together, in the variance of the predicted function, with a 95 % interval."""

    component: str
    share: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Findings:
    """Findings about a model.

    Attributes
    ----------
    target, unit : str
        Name and unit of what is predicted.
    grade : {"excellent", "good", "fair", "weak", "worthless", "unknown"}
        How good predictions of rows that the model had not seen are.
    verdict : str
        The same in a sentence.
    figures : tuple of Figure
        Four figures.
    next : str
        What comes next, in a sentence, or why that is not said; empty where nothing orders the rows.
    drivers : str
        What matters most, in a sentence.
    shares : tuple of Share
        What matters, the largest first; empty where the model explains nothing.
    data : str
        The rows, in a sentence.
    findings : tuple of Finding
        Problems first, then notes.
    facts : dict of str to str
        Details of the model.
    """

    target: str
    unit: str
    grade: str
    verdict: str
    figures: tuple[Figure, ...]
    next: str
    drivers: str
    shares: tuple[Share, ...]
    data: str
    findings: tuple[Finding, ...]
    facts: dict[str, str]

    @classmethod
    def from_summary(cls, summary: dict[str, Any], unit: str | None = None) -> Self:
        """Put the summary of a model into words.

        Parameters
        ----------
        summary : dict
            See :meth:`torusgp.TableModel.summary`.
        unit : str, optional
            Unit of the target; by default the one of the summary.
        """
        unit = (summary.get("unit") or "") if unit is None else unit
        scores = None if summary["holdout"] is None else Scores.from_json(summary["holdout"])
        is_worthless = scores is not None and scores.grade == "worthless"
        shares = () if is_worthless else tuple(Share(**one) for one in summary["attribution"])
        found = [Finding(**one) for one in summary.get("findings") or []]
        return cls(
            summary["target"],
            unit,
            _grade(scores, summary.get("naive")),
            verdict(scores, summary["target"], unit, summary.get("naive")),
            tuple(_figures(summary, scores, shares, unit)),
            _next(summary, is_worthless, unit),
            _drivers(shares, is_worthless),
            shares,
            _data(summary),
            tuple(sorted(found, key=lambda one: one.level != PROBLEM)),
            _facts(summary, unit),
        )

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Findings that have to be corrected."""
        return tuple(one for one in self.findings if one.level == PROBLEM)

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Findings to bear in mind."""
        return tuple(one for one in self.findings if one.level == NOTE)

    def sentences(self) -> list[str]:
        """All that is said in words, apart from the facts: whatever shows the findings shows these."""
        said = [self.verdict, self.next, self.drivers, self.data, *(one.text for one in self.findings)]
        return [one for one in said if one]

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        content = asdict(self)
        return {name: content[name] for name in ("grade", "figures", "findings", "facts")} | {
            "sentences": {name: content[name] for name in ("verdict", "next", "drivers", "data")}
        }


def _grade(scores, naive):
    """Grade of a model in a word: at most fair where a seasonal naive forecast is better."""
    grade = "unknown" if scores is None else scores.grade
    return "fair" if grade in ("excellent", "good") and is_beaten(scores, naive) else grade


def is_beaten(scores: Scores, naive: dict[str, Any] | None) -> bool:
    """True if a seasonal naive forecast has smaller errors than the model."""
    return naive is not None and scores.mae is not None and bool(naive["mae"] <= scores.mae)


def describe_naive(season: str) -> str:
    """Description of a naive forecast, in words."""
    return f"repeating {season if season.startswith('the ') else f'the last {season}'}"


def verdict(scores: Scores | None, target: str, unit: str = "", naive: dict[str, Any] | None = None) -> str:
    """Verdict on predictions, in a sentence.

    Parameters
    ----------
    scores : Scores or None
        How they fared on rows that the model had not seen.
    target, unit : str
        Name and unit of what is predicted.
    naive : dict, optional
        How a seasonal naive forecast fared: its ``season``, and its mean absolute error ``mae``.

    Returns
    -------
    str

    Examples
    --------
    >>> print(verdict(None, "demand"))
    Not evaluated: no rows were held out, so nothing tells how good predictions of demand are.
    """
    if scores is None:
        return f"Not evaluated: no rows were held out, so nothing tells how good predictions of {target} are."
    rows = f"{count(scores.n_rows, 'row')} that it had not seen"
    inside = {"inside": percent(scores.coverage)}
    if scores.middle is not None:
        inside["middle"] = percent(scores.middle)
    intervals = _INTERVALS[scores.intervals].format(**inside)
    if scores.intervals in ("wide", "narrow") and (scores.is_too_wide or scores.is_too_narrow):
        intervals += f", those of 50 % contain {inside['middle']}"
    error = f"typical error {quantity(scores.rmse, unit)}"
    if scores.grade == "worthless":
        return (
            f"Worthless as it is: on {rows}, the model predicts {target} no better than a constant would "
            f"(R² {number(scores.r2, 2)}, {error})."
        )
    if scores.grade == "unknown":
        return f"All {rows} have the same {target}: {error}; {intervals}."
    if scores.r2 <= 0:
        what = (
            f"the model follows the pattern of {target} but misses its level"
            if scores.misses_level
            else f"predictions of {target} are no better than the mean of these rows"
        )
        return f"Weak: on {rows}, {what} ({error}); {intervals}."
    if naive is not None and is_beaten(scores, naive):
        error += f", though {describe_naive(naive['season'])} does better"
    return (
        f"{_grade(scores, naive).capitalize()}: on {rows}, the model explains {percent(scores.r2, 0)} of the variation "
        f"of {target} ({error}); {intervals}."
    )


def _figures(summary, scores, shares, unit):
    rows = summary["rows"]
    if scores is not None:
        explained = "none" if scores.grade == "worthless" or scores.r2 <= 0 else percent(scores.r2, 0)
        explained = "not defined" if scores.grade == "unknown" else explained
        yield Figure("typical error", quantity(scores.rmse, unit), f"root mean square, {UNSEEN}")
        yield Figure(
            "variation explained", "not defined" if scores.grade == "unknown" else explained, _against(summary)
        )
        yield Figure("95 % intervals contain", percent(scores.coverage), _REMARKS[scores.intervals])
    else:
        yield Figure("noise", f"± {quantity(summary['noise_std'], unit)}", "standard deviation, as learned")
        yield Figure("function varies by", quantity(summary["function_std"], unit), "standard deviation")
        yield Figure("components", number(summary["n_components"]), "basis functions of the model")
    if shares and len(shares) > 1:
        yield Figure("matters most", shares[0].component, f"{percent(shares[0].share, 0)} of what it predicts")
    else:
        yield Figure("rows", number(round(rows["fitted"])), "to learn from")


def _against(summary):
    """Comparison of the model with a seasonal naive forecast, in a few words."""
    naive = summary.get("naive")
    if naive is None or not naive["mae"] or not summary["holdout"].get("mae"):
        return f"of {UNSEEN}"
    ratio, other = summary["holdout"]["mae"] / naive["mae"], describe_naive(naive["season"])
    if ratio >= 2:
        return f"errors {number(ratio, 2)} times those of {other}"
    return f"errors {percent(abs(1 - ratio), 0)} {'smaller' if ratio < 1 else 'larger'} than by {other}"


def _next(summary, is_worthless, unit):
    """Forecast, in a sentence."""
    ahead = summary.get("forecast")
    if ahead is None:
        return ""
    if "reason" in ahead:
        return f"No forecast is shown: {ahead['reason']}"
    if is_worthless:
        return "No forecast is shown: the model explains nothing."

    def extreme(one):
        return f"{quantity(one['mean'], unit, 4)} ({one['time']})"

    return (
        f"The next {count(ahead['rows'], 'row')}, until {ahead['last']['time']}: {quantity(ahead['mean'], unit, 4)} on "
        f"average, lowest {extreme(ahead['lowest'])}, highest {extreme(ahead['highest'])}; single values within "
        f"± {quantity(ahead['margin'], unit, 2)} with 95 % probability."
    )


def _drivers(shares, is_worthless):
    """Inputs that matter most."""
    if is_worthless:
        return "No drivers are named: the model explains nothing, so its effects mean nothing."
    if not shares:
        return "No drivers are named: the predicted function is constant, or it has no shares."
    if len(shares) == 1:
        return f"All of the variation it predicts comes from {shares[0].component}."
    named = [one for one in shares[:_MOST_NAMED] if one.share >= _LEAST_SHARE] or shares[:1]
    first = f"{percent(named[0].share, 0)} of the variation it predicts comes from {named[0].component}"
    others = [f"{percent(one.share, 0)} from {one.component}" for one in named[1:]]
    together = sum(one.share for one in shares if "\N{MULTIPLICATION SIGN}" in one.component)
    acting = f"; inputs that act together make up {percent(together, 0)}" if together >= _LEAST_SHARE else ""
    return f"{listed([first, *others])}{acting}."


def _data(summary):
    """The rows in a sentence."""
    rows, data = summary["rows"], summary.get("quality") or {}
    dropped = f" ({number(rows['dropped'])} more were left out, which miss a value)" if rows.get("dropped") else ""
    said = f"{count(round(rows['fitted']), 'row')}{dropped}"
    if data.get("first"):
        said += f" from {data['first']} to {data['last']}"
    if data.get("step"):
        said += f", {data['step']} apart"
    clean = [name for name in ("gaps", "duplicates", "zeros", "outliers") if data.get(name) == 0]
    return f"{said}; no {', no '.join(clean)} found." if clean else f"{said}."


def _facts(summary, unit):
    """Details of the model."""
    rows, holdout = summary["rows"], summary["holdout"]
    facts = {"target": with_unit(summary["target"], f"({unit})" if unit else "")}
    facts["rows fitted"] = number(round(rows["fitted"]))
    redundancy = rows.get("redundancy", 1)
    if redundancy > 1:
        each = f"one for each {number(redundancy, 3)}"
        facts["effective rows"] = f"{number(round(rows['effective']))}, {each}, as errors are autocorrelated"
    elif redundancy < 1:
        facts["effective rows"] = "all: errors are autocorrelated, but change more slowly than the effects"
    elif rows.get("errors") == "not clearly autocorrelated":
        facts["effective rows"] = "all: errors are not clearly autocorrelated"
    if summary.get("calendar"):
        clock = summary["clock"]
        facts["calendar"] = f"{summary['calendar']}, on the clock of {clock}" if clock else summary["calendar"]
    limit = summary.get("max_interaction")
    limited = "" if limit is None else f", at most {limit} input(s) together"
    kernel = summary["kernel"].replace("_", " ")
    facts["model"] = f"{count(summary['n_components'], 'component')}, {kernel} kernel{limited}"
    for slope in summary.get("slopes", ()):
        text = f"{with_unit(with_error(slope['slope'], slope['std']), unit)} per {slope['per']}"
        if slope["is_time"]:
            facts["trend"] = f"{text}, along a line in {slope['column']} that goes on in forecasts"
        else:
            facts[f"slope of {slope['column']}"] = text
    for place, term in enumerate(summary.get("terms", ()), 1):
        text = _term_fact(term, summary["noise_std"], unit)
        if len(term["name"]) > _LONG_NAME:  # it would leave no room for the facts
            facts[f"term {place}"] = f"{term['name']}: {text}"
        else:
            facts[term["name"]] = text
    size = summary.get("slow_change_std")
    if size is not None and size > _NOTICEABLE * summary["noise_std"]:
        text = f"standard deviation {quantity(size, unit)} over the rows"
        facts["slow change"] = f"{text}, beside the period; part of predictions"
    others = summary.get("terms") or summary.get("slopes")
    function = "what repeats" if others and summary.get("is_seasonal", True) else "function"
    facts[function] = f"varies by {quantity(summary['function_std'], unit, 4)} (standard deviation)"
    likelihood = summary.get("likelihood") or {"name": "normal"}
    own = ", ".join(f"{name} {number(value)}" for name, value in likelihood.items() if name != "name")
    if likelihood["name"] != "normal":
        facts["likelihood"] = likelihood["name"].replace("_", " ") + (f": {own}" if own else "")
    facts["noise"] = f"{quantity(summary['noise_std'], unit, 4)} (standard deviation)"
    if likelihood["name"] not in ("normal", "log_normal"):
        facts["noise"] = f"{number(summary['noise_std'])}, of a typical row on the scale of the function"
    if summary.get("noise_by"):
        facts["noise"] = f"changes with {', '.join(summary['noise_by'])}"
    if summary.get("noise_factor") is not None:
        factor = summary["noise_factor"]
        facts["error bars"] = f"the noise is {number(factor, 3)} times what {summary['noise_column']} says"
    facts["log evidence"] = f"{summary['log_evidence']:.1f}"
    facts["truncation error"] = f"{number(summary['truncation_error'], 2)} of the prior variance"
    if summary.get("selection"):
        facts["index set"] = "learned from the data"
    if summary.get("orders"):
        orders = (f"{count(n, 'frequency', 'frequencies')} of {count(int(k), 'input')}" for k, n in summary["orders"])
        facts["interactions"] = listed(orders)
    if holdout is not None:
        facts["held out"] = f"{count(holdout['n_rows'], 'row')}: {holdout['rows']}"
        facts.update(score_facts(holdout, unit))
        naive = summary.get("naive")
        if naive is not None:
            errors = [quantity(one["mae"], unit) for one in (holdout, naive)]
            facts["mean absolute error"] = f"{errors[0]}; {errors[1]} by {describe_naive(naive['season'])}"
        facts["fitted to"] = "all rows, after the evaluation" if summary.get("is_refitted") else "rows not held out"
    return facts


def score_facts(scores: dict[str, Any], unit: str = "") -> dict[str, str]:
    """Lines about how predictions fared.

    Parameters
    ----------
    scores : dict
        See :meth:`torusgp.views.scores.Scores.to_json`.
    unit : str, default=""
        Unit of the target.

    Returns
    -------
    dict of str to str
    """
    r2 = "not known" if scores["r2"] is None else f"{scores['r2']:.4f}"
    facts = {
        "RMSE, R2": f"{quantity(scores['rmse'], unit, 4)}, {r2}",
        "MNLL": f"{scores['mnll']:.4f} (mean negative log loss)",
        "95 % intervals": f"contain {percent(scores['coverage'])}",
    }
    if scores.get("bias") is not None:
        facts["mean error"] = with_unit(f"{signed(scores['bias'])} ± {number(scores['bias_std'], 2)}", unit)
    return facts


def _term_fact(term, noise_std, unit):
    """Size and length scales of a term beside what repeats; far below the noise it is rounding."""
    if term["std"] <= _ROUNDING * noise_std:
        return "no effect found"
    scales = [
        with_error(one["value"], one["std"]) + (f" ({one['axis']})" if len(term["length_scales"]) > 1 else "")
        for one in term["length_scales"]
    ]
    text = f"varies by {quantity(term['std'], unit, 4)} over the rows (standard deviation)"
    return f"{text}, length scale {', '.join(scales)}" if scales else text
