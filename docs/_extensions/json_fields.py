"""What ``--json`` prints, field by field, and the columns of the tables that commands write.

Objects of the library tell the meaning of their fields in their docstrings; the others are described here. ``missing``
finds what an output has and nothing describes: the build and a test stop at it.
"""

import re
from pathlib import Path

from torusgp.fitting.learning import Round
from torusgp.tables.backtest import Backtest
from torusgp.views.findings import Figure, Finding, Findings
from torusgp.views.scores import Scores
from torusgp.views.selection import SelectionSummary

_PAGE = Path("reference/generated/json.md")
_INTERVAL = {
    "from, to": "columns of its lower and upper end",
    "percent": "share of the values that it is to contain, in per cent",
}
_FILES = {"model": "file of the model", "data": "file of the table; null if there is none"}


def _attributes(cls, *names):
    """Meanings of attributes, from the docstring of their class: of some, or of all, grouped by their text."""
    section = re.search(r"Attributes\n    -+\n(.*?)(?=\n\n    \S|\Z)", cls.__doc__, flags=re.DOTALL).group(1)
    found = {}
    for entry in re.split(r"\n(?=    \S)", section):
        head, _, text = entry.partition("\n")
        text = " ".join(text.split()).replace("``", "`").replace("None", "null")
        found[head.partition(" : ")[0].strip()] = text[:1].lower() + text[1:]
    single = {name: text for heads, text in found.items() for name in heads.split(", ")}
    return {name: single[name] for name in names} if names else found


# Fields of each object: what they mean, and the object that they hold. A star stands for names that vary.
_MODEL = {
    "target, unit": "what is predicted",
    "calendar": "column of times whose cycles are inputs",
    "clock": "time zone whose clock is read",
    "order": "column that orders the rows",
    "rows": ("how many rows there are", "Rows"),
    "inputs": ("circles, one by one", "Circle"),
    "kernel": "family of the kernel",
    "n_components": "number of basis functions",
    "orders": "pairs: number of inputs that interact, and number of frequencies in which they do",
    "selection": ("how a learned index set was chosen; null for others", "Selection"),
    "truncation_error": "largest difference between the kernel and its approximation, relative to the signal variance",
    "is_seasonal": "whether the first term is what repeats",
    "has_slow_change": "whether slow change is modelled beside a period that was found",
    "slow_change_std": "its standard deviation over the rows",
    "terms": ("terms beside what repeats", "Term"),
    "slopes": ("plain columns", "Slope"),
    "unused": ("columns of the table that are not used", "Unused column"),
    "function_std": "standard deviation of what repeats, or of the function, in the units of the target",
    "signal_std": "prior standard deviation of the function",
    "noise_std": "standard deviation of the noise",
    "noise_column": "column of error bars",
    "noise_by": "inputs that the noise changes with",
    "noise_factor": "noise over what the error bars say",
    "likelihood": ("distribution of the target", "Likelihood"),
    "log_evidence": "log marginal likelihood",
    "holdout": ("scores on the rows held out; null if there are none", "Scores"),
    "naive": ("scores of a seasonal naive forecast on the same rows", "Naive scores"),
    "explains_nothing": "whether the model may be no better than a constant",
    "is_refitted": "whether all rows were fitted after the evaluation",
    "attribution": ("what matters, the largest first", "Share"),
    "forecast": ("what comes next; null if nothing orders the rows", "Outlook"),
    "quality": ("what the table looks like", "Quality"),
    "findings": ("problems and notes, problems first", "Finding"),
}
_SAID = {
    "grade": _attributes(Findings)["grade"],
    "sentences": ("what is said of the model", "Sentences"),
    "figures": ("four figures", "Figure"),
    "findings": ("problems and notes, problems first", "Finding"),
    "facts": ("details of the model by their names", "*text"),
}
_PANEL = {
    "by": "column whose levels have a model each",
    "target": "what is predicted",
    "levels": ("models by level, without grade, sentences, figures and facts", "*Model"),
    "failed": ("levels without a model, and why", "*text"),
}
_POINT = {"time": "its time", "mean": "forecast", "low, high": "ends of its 95 % interval"}
OBJECTS = {
    "torusgp fit": _FILES | {"seconds": "how long it took", "and": ("all fields of a model", "Model")},
    "torusgp fit --by": _FILES | {"seconds": "how long it took"} | _PANEL,
    "torusgp info": _FILES
    | {"kind": '"table model", or "table models" with the fields of `fit --by`'}
    | {"and": ("all fields of a model", "Model")},
    "torusgp report": _FILES | {"output": "the page that was written"} | _SAID,
    "torusgp predict": _FILES
    | {
        "rows": "number of predictions",
        "scores": ("if the table has the target; of models by level, scores by level", "Scores"),
        "interval": ("the widest interval; null with less than two quantiles", "Interval"),
        "predictions": ("without `-o`: the table, row by row", "*row"),
        "output": "file of the predictions",
    },
    "torusgp forecast": {"model": _FILES["model"]}
    | {
        "target": "what is forecast",
        "from, to": "first and last time",
        "step": "distance of times",
        "rows": "number of forecasts",
        "interval": ("the widest interval; null with less than two quantiles", "Interval"),
        "forecast": ("without `-o`: the table, row by row", "*row"),
        "output": "file of the forecasts",
    },
    "torusgp backtest": {"data": _FILES["data"]}
    | _attributes(Backtest, "target", "horizon", "step", "season")
    | {
        "scores": ("of all forecasts", "Scores"),
        "naive": ("of the seasonal naive forecast for the same rows", "Scores"),
        "by_horizon": ("the same by steps ahead", "Horizon"),
    }
    | _attributes(Backtest, "origins", "n_fits")
    | {"output": "file of the forecasts"},
    "Model": _MODEL | _SAID,
    "Rows": {
        "fitted, dropped": "rows that were fitted, and rows that miss a value",
        "effective": "effective sample size",
        "redundancy": "rows over effective rows",
        "errors": "whether errors of neighbouring rows are autocorrelated, in words",
    },
    "Circle": {
        "name": "its input",
        "period, period_std": "period, and its standard error if it was learned",
        "period_is": '"given" or "learned"',
        "length_scale, length_scale_std": "length scale and its standard error",
        "length_scale_bound": "bound that it has reached, lower or upper",
    },
    "Term": {
        "name": "its name",
        "std": "standard deviation of its contribution over the rows",
        "length_scales": ("length scales of its axes", "Length scale"),
    },
    "Length scale": {
        "axis, kind": "axis, and circle, line or lattice",
        "value, std": "length scale and its standard error",
        "bound": "bound that it has reached, lower or upper",
    },
    "Slope": {
        "column": "its column",
        "slope, std": "slope and its standard error",
        "per": "unit of the column that it refers to",
        "is_time": "whether the column is the time",
    },
    "Unused column": {"column": "its name", "reason": "why it is not used"},
    "Likelihood": {"name": "its name", "*": "its own parameters"},
    "Selection": {
        "rounds": ("rounds of choosing", "Round"),
        "orders": ("number of frequencies by the number of inputs that interact in them", "*number"),
        "interactions": ("shares of the largest components by their names", "*number"),
        "noise_factor": _attributes(SelectionSummary)["noise_factor"],
    },
    "Round": _attributes(Round),
    "Outlook": {
        "rows": "number of rows ahead: as many as were held out, 2,000 at most",
        "mean": "average of the forecast",
        "margin": "half the median width of the 95 % intervals",
        "first, last": ("first and last forecast", "Moment"),
        "lowest, highest": ("lowest and highest forecast", "Moment"),
        "reason": "instead of all these: why there is no forecast",
    },
    "Moment": _POINT,
    "Quality": {
        "first, last": "first and last value of the column that orders the rows",
        "step": "usual distance of rows, in words",
        "gaps": "gaps in time",
        "duplicates": "rows with the time and the inputs of another; without an order, with its inputs and target",
        "equal_inputs": "rows with the inputs of an earlier one; null where rows have an order",
        "zeros": "zeros that may stand for missing values; null where zeros are usual",
        "outliers": "rows far from all others",
        "mean": "mean of the target",
    },
    "Sentences": _attributes(Findings, "verdict", "next", "drivers", "data"),
    "Figure": _attributes(Figure),
    "Finding": _attributes(Finding),
    "Share": {
        "component": "inputs; a cross joins those that act together",
        "share": "share of the variance of the predicted function",
        "lower, upper": "ends of its 95 % interval",
    },
    "Scores": _attributes(Scores),
    "Naive scores": {"season": "season that is repeated", "and": ("all fields of scores", "Scores")},
    "Horizon": {
        "first, last": "steps ahead, from 1 on",
        "scores": ("of the model", "Scores"),
        "naive": ("of the seasonal naive forecast", "Scores"),
    },
    "Interval": _INTERVAL,
}
# Columns of tables, beside those that the command was given.
COLUMNS = {
    "torusgp predict": {
        "mean": "expected value of the target",
        "std": "standard deviation of a single observation, noise included",
        "q05, q50, q95": "quantiles of a single observation; `--quantiles` asks for others, such as `q025` and `q975` "
        "for 95 % intervals",
    },
    "torusgp forecast": {
        "LEVEL": "with a model for each level: the level, under the name of its column",
        "TIME": "time, under the name of its column; with `--aggregate` the time at which a span begins",
        "mean, std": "expected value and standard deviation of a single observation, or of an aggregate",
        "q05, q50, q95": "quantiles, as above",
        "rows": "with `--aggregate`: number of rows in the span, since the first and the last may be incomplete",
        "draw1, draw2": "with `--draws`: whole paths; the values of one path belong together",
    },
    "torusgp backtest": {
        "origin": "last time that was known",
        "TIME": "time that is forecast, under the name of its column",
        "step": "steps from the origin",
        "observed": "what came",
        "mean, std": "forecast, and standard deviation of a single observation",
        "q025, q05, q10": "quantiles from 2.5 to 97.5 %",
        "naive": "seasonal naive forecast",
    },
}


def _expanded(fields):
    """Fields one by one, with those of the object that is part of them."""
    single = {}
    for names, meaning in fields.items():
        if names == "and":
            single |= _expanded(OBJECTS[meaning[1]])
        else:
            single |= dict.fromkeys(names.split(", "), meaning)
    return single


def missing(content, name):
    """Fields of an output that nothing describes.

    Parameters
    ----------
    content : dict
        What a command printed.
    name : str
        Its object.

    Returns
    -------
    list of str
        Their paths.
    """
    fields, found = _expanded(OBJECTS[name]), []
    for key, value in content.items():
        meaning = fields.get(key, fields.get("*"))
        if meaning is None:
            found.append(f"{name}: {key}")
            continue
        inside = meaning[1] if isinstance(meaning, tuple) else None
        below = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict)]
        if below and inside is None:
            found.append(f"{name}: what is in {key}")
        elif inside in OBJECTS:
            found += [path for one in below for path in missing(one, inside)]
        elif inside and inside[1:] in OBJECTS:
            found += [path for one in below for each in one.values() for path in missing(each, inside[1:])]
    return found


def unused(contents):
    """Fields that are described and that no output has, given pairs of outputs and their objects."""
    seen = {name: set() for name in OBJECTS}

    def look(content, name):
        fields = _expanded(OBJECTS[name])
        seen[name] |= set(content)
        for key, value in content.items():
            meaning = fields.get(key)
            inside = (meaning[1] if isinstance(meaning, tuple) else "").removeprefix("*")
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict) and inside in OBJECTS:
                    for each in one.values() if meaning[1].startswith("*") else [one]:
                        look(each, inside)

    for content, name in contents:
        look(content, name)
        if "and" in OBJECTS[name]:
            look(content, OBJECTS[name]["and"][1])
    fields = ((name, field) for name in OBJECTS for field in _expanded(OBJECTS[name]) if field != "*")
    return [f"{name}: {field}" for name, field in fields if field not in seen[name]]


def json_page():
    """Markdown of all objects."""
    parts = []
    for name, fields in OBJECTS.items():
        lines = [
            f"### {name}: JSON\n" if name.startswith("torusgp") else f"### {name}\n",
            "| field | meaning |",
            "|---|---|",
        ]
        for names, meaning in fields.items():
            text, inside = meaning if isinstance(meaning, tuple) else (meaning, "")
            shown = "…" if names in ("and", "*") else _code(names)
            inside = inside.removeprefix("*")
            link = f": [{inside}](#{_anchor(inside)})" if inside in OBJECTS else ""
            lines.append(f"| {shown} | {text.rstrip('.')}{link} |".replace("\\|", "|"))
        parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


def columns_table(command):
    """Markdown of the columns of the table that a command writes."""
    rows = [f"| {_code(names)} | {meaning} |" for names, meaning in COLUMNS[command].items()]
    return "\n".join(["| column | meaning |", "|---|---|", *rows, ""])


def _code(names):
    return ", ".join(f"`{one}`" for one in names.split(", "))


def _anchor(name):
    return name.lower().replace(" ", "-")


def setup(app):
    """Write the pages before Sphinx looks for pages."""
    app.connect("builder-inited", _write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _write(app):
    place = Path(app.srcdir) / _PAGE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json_page(), encoding="utf-8")
    for command in COLUMNS:
        name = f"columns-{command.removeprefix('torusgp ')}.md"
        (place.parent / name).write_text(columns_table(command), encoding="utf-8")
