"""Summaries of table models, in the terminal."""

from torusgp.cli._console import printable
from torusgp.views.findings import PROBLEM, Findings
from torusgp.views.numbers import number, percent, with_error

_MOST_SHARES = 8


def print_summary(summary, facts):
    """Print what is said of a model: verdict, inputs, facts, what matters, problems and notes."""
    from rich.console import Console
    from rich.text import Text

    console, found = Console(), Findings.from_summary(summary)
    if summary["inputs"]:
        console.print(_inputs(summary))
        console.print()
    console.print(_facts(found.facts | facts))
    if found.shares:
        console.print()
        console.print(_shares(found))
    left = len(found.shares) - _MOST_SHARES
    if left > 0:
        console.print(Text(f"{left} smaller ones are left out."))
    for text in filter(None, (found.drivers, found.next, found.data)):
        console.print(Text(f"\n{printable(text)}"))
    for one in found.findings:
        style = "bold red" if one.level == PROBLEM else "bold"
        console.print(Text.assemble("\n", (f"{one.level.capitalize()}: ", style), printable(one.text)))
    console.print(Text(f"\n{printable(found.verdict)}", style="bold"))


def print_levels(summary, facts):
    """Print a table of the models of the levels of a column."""
    from rich.console import Console

    table = _table()
    table.add_column(_text(summary["by"]), overflow="fold")
    for name in ("rows fitted", "RMSE", "R2", "95 % intervals contain"):
        table.add_column(name, justify="right")
    for level, one in summary["levels"].items():
        scores = one["holdout"]
        shown = ["", "", ""]
        if scores is not None:
            r2 = "not known" if scores["r2"] is None else f"{scores['r2']:.4f}"
            shown = [number(scores["rmse"]), r2, percent(scores["coverage"])]
        table.add_row(_text(level), number(one["rows"]["fitted"]), *shown)
    console = Console()
    console.print(table)
    console.print()
    console.print(_facts({"target": summary["target"]} | facts))


def _inputs(summary):
    table = _table()
    table.add_column("input", overflow="fold")
    table.add_column("period", justify="right")
    table.add_column("length scale", justify="right")
    for one in summary["inputs"]:
        period, scale = (with_error(one[name], one[f"{name}_std"]) for name in ("period", "length_scale"))
        bound = one["length_scale_bound"]
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


def _shares(found):
    table = _table()
    table.add_column("what matters, alone or together", overflow="fold")
    table.add_column("share of the variance", justify="right")
    table.add_column("95 % interval", justify="right")
    for one in found.shares[:_MOST_SHARES]:
        interval = f"{percent(one.lower).removesuffix(' %')} to {percent(one.upper)}"
        table.add_row(_text(one.component), percent(one.share), interval)
    return table


def _table():
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)


def _text(value):
    """Text as it is: brackets in the name of a column are no markup."""
    from rich.text import Text

    return Text(printable(value))
