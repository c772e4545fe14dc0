"""Tables in the terminal of what a table model learned, from its summary."""

from torusgp.cli._console import printable, with_error
from torusgp.tables.models import NOT_NAMED

_MOST_SHARES = 8
_NOTICEABLE = 0.1  # of the noise: slow change that is smaller cannot be seen


def print_summary(summary, facts):
    """Print tables of the inputs, of the facts, and of what matters.

    Parameters
    ----------
    summary : dict
        See :meth:`torusgp.tables.models.TableModel.summary`.
    facts : dict of str to str
        More lines, such as where the model is.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(_inputs(summary))
    console.print()
    console.print(_facts(summary_facts(summary) | facts))
    if summary.get("explains_nothing"):
        console.print(Text("\nNothing of the rows held out is explained, so there are no shares to show."))
        return
    if summary["attribution"]:
        console.print()
        console.print(_shares(summary))
    left = len(summary["attribution"]) - _MOST_SHARES
    if left > 0:
        console.print(Text(f"{left} smaller ones are left out."))
    if summary["attribution"] and summary["slopes"]:
        console.print(Text("Shares are those of what repeats; slopes are not part of the variance."))


def print_levels(summary, facts):
    """Print a table of the models of the levels of a column.

    Parameters
    ----------
    summary : dict
        See :meth:`torusgp.tables.models.PanelModel.summary`.
    facts : dict of str to str
        More lines, such as where the models are.
    """
    from rich.console import Console

    table = _table()
    table.add_column(_text(summary["by"]), overflow="fold")
    for name in ("rows fitted", "RMSE", "R2", "95 % intervals contain"):
        table.add_column(name, justify="right")
    for level, one in summary["levels"].items():
        scores = one["holdout"]
        told = ["", "", ""]
        if scores is not None:
            r2 = "not known" if scores["r2"] is None else f"{scores['r2']:.4f}"
            told = [f"{scores['rmse']:.4g}", r2, f"{100 * scores['coverage']:.1f} %"]
        table.add_row(_text(level), f"{one['rows']['fitted']:,}", *told)
    console = Console()
    console.print(table)
    console.print()
    console.print(_facts({"target": summary["target"]} | facts))


def summary_facts(summary):
    """Lines about rows, model and hold-out.

    Parameters
    ----------
    summary : dict
        See :meth:`torusgp.tables.models.TableModel.summary`.

    Returns
    -------
    dict of str to str
    """
    rows, holdout = summary["rows"], summary["holdout"]
    dropped = f" ({rows['dropped']:,} dropped, which missed a value)" if rows["dropped"] else ""
    facts = {"target": summary["target"], "rows fitted": f"{rows['fitted']:,}{dropped}"}
    if rows["redundancy"] > 1:
        found = rows.get("redundancy_found")  # absent from files of before it was told
        estimate = "" if found is None else f" (estimate: {with_error(found, rows['redundancy_std'])})"
        facts["effective rows"] = (
            f"{rows['effective']:,.0f}, one for each {rows['redundancy']:.3g}, as errors are autocorrelated{estimate}"
        )
    elif rows["redundancy_is"] == "estimated":
        facts["effective rows"] = "all: errors are not clearly autocorrelated"
    if summary["calendar"]:
        clock = summary["clock"]
        facts["calendar"] = f"{summary['calendar']}, on the clock of {clock}" if clock else summary["calendar"]
    facts["model"] = f"{summary['columns']} components, {summary['kernel'].replace('_', ' ')} kernel"
    if summary.get("selection"):
        orders = summary["selection"]["orders"].items()
        numbers = ", ".join(f"{number} of order {order}" for order, number in orders)
        facts["index set"] = f"learned from the data; frequencies: {numbers or 'none'}"
    for slope in summary["slopes"]:
        told = f"{with_error(slope['slope'], slope['std'])} per {slope['per']}"
        if slope["is_time"]:
            facts["trend"] = f"{told}, along a line in {slope['column']} that goes on in forecasts"
        else:
            facts[f"slope of {slope['column']}"] = told
    for term in summary["terms"]:
        facts[term["name"]] = _term_fact(term)
    if _shows_slow_change(summary):
        size = summary["slow_change_std"]
        told = "" if size is None else f"standard deviation {size:.3g} over the rows, "
        facts["slow change"] = f"{told}beside the period; part of predictions"
    function = "what repeats" if summary["terms"] or summary["slopes"] else "function"
    facts[function] = f"varies by {summary['function_std']:.4g} (standard deviation)"
    likelihood = summary.get("likelihood") or {"name": "normal"}
    own = ", ".join(f"{name} {value:.4g}" for name, value in likelihood.items() if name != "name")
    if likelihood["name"] != "normal":
        facts["likelihood"] = likelihood["name"].replace("_", " ") + (f": {own}" if own else "")
    facts["noise"] = f"{summary['noise_std']:.4g} (standard deviation)"
    if likelihood["name"] not in ("normal", "log_normal"):
        facts["noise"] += ", of a typical row on the scale of the function"
    if summary.get("noise_by"):
        facts["noise"] = f"changes with {', '.join(summary['noise_by'])}"
    if summary.get("noise_factor") is not None:
        factor = summary["noise_factor"]
        facts["error bars"] = f"the noise is {factor:.3g} times what {summary['noise_column']} says"
    if summary.get("unused"):  # absent from files of before columns were chosen by their type
        facts["not used"] = "; ".join(_unused(one) for one in summary["unused"])
    facts["log evidence"] = f"{summary['log_evidence']:.1f}"
    if holdout is not None:
        facts["held out"] = f"{holdout['n_rows']:,} rows: {holdout['rows']}"
        facts.update(score_facts(holdout))
        naive = summary.get("naive")  # absent from files of before it was compared with
        if naive is not None:
            before = (
                "the last value" if naive["season"] == "the last value" else f"what was one {naive['season']} before"
            )
            facts["MAE"] = f"{holdout['mae']:.4g}; of a naive forecast {naive['mae']:.4g} ({before})"
        facts["fitted to"] = "all rows, after the evaluation" if summary["is_refitted"] else "rows not held out"
    return facts


def _unused(one):
    """A column that is no input, with the reason, unless that is that it was not named."""
    return one["column"] if one["reason"] == NOT_NAMED else f"{one['column']} ({one['reason']})"


def _term_fact(term):
    """What a term beside what repeats does."""
    scales = [
        f"{_with_error(one['value'], one['std'])} ({one['axis']})"
        if len(term["length_scales"]) > 1
        else _with_error(one["value"], one["std"])
        for one in term["length_scales"]
    ]
    told = f"varies by {term['std']:.4g} over the rows (standard deviation)"
    return f"{told}, length scale {', '.join(scales)}" if scales else told


def _shows_slow_change(summary):
    """Whether slow change beside a period is worth a line; its size is not known from older files."""
    size = summary["slow_change_std"]
    return summary["has_slow_change"] and (size is None or size > _NOTICEABLE * summary["noise_std"])


def score_facts(scores):
    """Lines about how predictions fared.

    Parameters
    ----------
    scores : dict
        See :meth:`torusgp.views.scores.Scores.to_json`.

    Returns
    -------
    dict of str to str
    """
    r2 = "not known" if scores["r2"] is None else f"{scores['r2']:.4f}"
    return {
        "RMSE, R2": f"{scores['rmse']:.4g}, {r2}",
        "MNLL": f"{scores['mnll']:.4f} (mean negative log loss)",
        "95 % intervals": f"contain {100 * scores['coverage']:.1f} %",
    }


def _inputs(summary):
    table = _table()
    table.add_column("input", overflow="fold")
    table.add_column("period", justify="right")
    table.add_column("length scale", justify="right")
    for one in summary["inputs"]:
        period, scale = (_with_error(one[name], one[f"{name}_std"]) for name in ("period", "length_scale"))
        bound = one.get("length_scale_bound")  # absent from files of before it was told
        reached = "" if bound is None else f" ({'least' if bound == 'lower' else 'largest'} allowed)"
        table.add_row(_text(one["name"]), f"{period} ({one['period_is']})", f"{scale}{reached}")
    return table


def _facts(facts):
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(_text(name), _text(value))
    return table


def _shares(summary):
    table = _table()
    table.add_column("what matters, alone or together", overflow="fold")
    table.add_column("share of the variance", justify="right")
    table.add_column("95 % interval", justify="right")
    for one in summary["attribution"][:_MOST_SHARES]:
        interval = f"{100 * one['lower']:.1f} to {100 * one['upper']:.1f} %"
        table.add_row(_text(one["component"]), f"{100 * one['share']:.1f} %", interval)
    return table


def _table():
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def _text(value):
    """Text as it is: brackets in the name of a column are no markup."""
    from rich.text import Text

    return Text(printable(value))


def _with_error(value, error):
    if error is None:
        return f"{value:.6g}"
    return with_error(value, error)
