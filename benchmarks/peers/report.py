"""The part of the page on other methods: required outcomes, tables, figure, and where another method wins."""

from benchmarks.peers.figures import accuracy_against_time
from benchmarks.peers.outcomes import outcomes, wins
from benchmarks.periods.runner import group_by, markdown_table

FIGURE = "peers.png"


def section(record, folder):
    """Markdown of the comparison; its figure goes into the folder."""
    parts = [
        "## Beside other methods\n",
        "Every method has the same training rows and is told the periods; its search for hyperparameters counts as "
        "fitting. Seconds are those of the processor, on one thread; fast methods take turns, their times are medians "
        "and their ratios those of the same turn. Errors are those of held-out rows. *Function* is the error against "
        "the values without noise, where these are known. Log loss is the mean negative log density. Standard errors "
        "are those of the difference to torusgp on the same rows, from means over 50 blocks of consecutive ones.\n",
        markdown_table([_outcome_line(one) for one in outcomes(record)]) + "\n" if record["cases"] else "",
    ]
    if record["cases"]:
        accuracy_against_time(record).savefig(folder / FIGURE, dpi=110)
        parts.append(
            f"![Error of every method against the seconds of its fit, a panel for each case]({FIGURE})\n\n"
            "Lower and further left is better. Marks are hollow where a number of components was asked for.\n"
        )
    for (_, title), cases in group_by(record["cases"], "problem", "title").items():
        parts.append(f"### {title}\n")
        parts += [_case(case) for case in cases]
    if record["left out"]:
        lines = [f"- {one['what']}: {one['why']}" for one in record["left out"]]
        parts.append("### Left out\n\n" + "\n".join(lines) + "\n")
    settings = [{"method": name, "what it does": text} for name, text in record["settings"].items()]
    parts.append(f"### Settings\n\n{markdown_table(settings)}\n")
    return "\n".join(parts)


def _outcome_line(outcome):
    return {
        "problem": f"{outcome['problem']}, {outcome['rows']:,} rows",
        "required": outcome["statement"],
        "met": "yes" if outcome["met"] else "**no**",
        "numbers": outcome["numbers"],
    }


def _case(case):
    rows = sorted(case["results"], key=lambda row: row["rmse"])
    table = markdown_table([_line(case, row) for row in rows])
    found = wins(case)
    text = (
        "Where another method does better:\n\n" + "\n".join(f"- {one}" for one in found)
        if found
        else ("No other method does better in error, log loss or time.")
    )
    heading = f"#### {case['rows']:,} rows to learn from, {case['held-out rows']:,} held out"
    return f"{heading}\n\n{table}\n\n{text}\n"


def _line(case, row):
    line = {
        "method": row["label"],
        "fit (s)": number(row["fit seconds"]),
        "x torusgp": number(row["fit ratio"]),
        "predict (s)": number(row["predict seconds"]),
        "RMSE": f"{row['rmse']:.4g}",
        "standard errors": f"{row['rmse difference']:+.1f}" if row["label"] != row["reference"] else "",
    }
    if case["noise std"] is not None:
        line["function"] = f"{row['function rmse']:.4g}"
    return line | {
        "log loss": f"{row['mnll']:.4f}",
        "95 % holds": f"{row['coverage']:.1%}",
        "details": ", ".join(f"{name} {_detail(value)}" for name, value in row["details"].items()),
    }


def number(value):
    """Three digits, without an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _detail(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
