"""Tables in the terminal of what a table model learned, from its summary."""

from torusgp.cli._console import with_error

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
    if summary["attribution"] and summary.get("trend"):
        console.print(Text("Shares are those of what repeats; the trend is not part of the variance."))


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
        estimate = "" if found is None else f" (from their errors: {with_error(found, rows['redundancy_std'])})"
        facts["rows count as"] = (
            f"{rows['effective']:,.0f} independent ones: {rows['redundancy']:.3g} are worth one{estimate}"
        )
    elif rows["redundancy_is"] == "estimated":
        facts["rows count as"] = "one each: their noise is not clearly correlated"
    if summary["calendar"]:
        clock = summary["clock"]
        facts["calendar"] = f"{summary['calendar']}, on the clock of {clock}" if clock else summary["calendar"]
    limit = summary["max_interaction"]
    limited = "" if limit is None else f", at most {limit} input(s) together"
    facts["model"] = f"{summary['columns']} columns, {summary['kernel'].replace('_', ' ')} kernel{limited}"
    line = summary.get("trend")  # absent from files of before there was one
    if line is not None:
        slope = with_error(line["slope"], line["slope_std"])
        facts["trend"] = f"{slope} per {line['per']}, along a line in {line['column']} that goes on in forecasts"
    if _shows_slow_change(summary):
        size = summary["slow_change_std"]
        told = "" if size is None else f"standard deviation {size:.3g} over the rows, "
        facts["slow change"] = f"{told}beside the period; part of predictions"
    facts["function"] = f"varies by {summary['function_std']:.4g} (standard deviation)"
    facts["noise"] = f"{summary['noise_std']:.4g} (standard deviation)"
    if summary.get("noise_factor") is not None:
        factor = summary["noise_factor"]
        facts["error bars"] = f"the noise is {factor:.3g} times what {summary['noise_column']} says"
    facts["log evidence"] = f"{summary['log_evidence']:.1f}"
    if holdout is not None:
        facts["held out"] = f"{holdout['n_rows']:,} rows: {holdout['rows']}"
        facts.update(judgement_facts(holdout))
        facts["fitted to"] = "all rows, after it was judged" if summary["is_refitted"] else "rows not held out"
    return facts


def _shows_slow_change(summary):
    """Whether slow change beside a period is worth a line; its size is not known from older files."""
    size = summary["slow_change_std"]
    return summary["has_slow_change"] and (size is None or size > _NOTICEABLE * summary["noise_std"])


def judgement_facts(judgement):
    """Lines about how predictions fared.

    Parameters
    ----------
    judgement : dict
        See :meth:`torusgp.tables.models.Judgement.to_json`.

    Returns
    -------
    dict of str to str
    """
    r2 = "not known" if judgement["r2"] is None else f"{judgement['r2']:.4f}"
    return {
        "RMSE, R2": f"{judgement['rmse']:.4g}, {r2}",
        "MNLL": f"{judgement['mnll']:.4f} (mean negative log loss)",
        "95 % intervals": f"hold {100 * judgement['coverage']:.1f} %",
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

    return Text(str(value))


def _with_error(value, error):
    if error is None:
        return f"{value:.6g}"
    return with_error(value, error)
