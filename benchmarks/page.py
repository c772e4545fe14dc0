"""The page of the benchmarks: tables and figures from the saved results of scaling and of the comparison with others.

python -m benchmarks.page    # writes it again from what is there
"""

import json
from pathlib import Path

from benchmarks.peers import report
from benchmarks.periods.runner import group_by, markdown_table

RESULTS = Path(__file__).parent / "results"
NAME = "README.md"
SCALING_FIGURE = "scaling.png"
# Colour (Okabe and Ito), marker and line of each arm.
STYLES = {
    "fit with learning": ("#000000", "*", "-"),
    "statistics, dense": ("#E69F00", "s", "-"),
    "statistics, torch": ("#CC79A7", "D", "--"),
    "statistics, finufft": ("#0072B2", "o", "-"),
    "bare transform": ("#009E73", "^", ":"),
}
PARTS = {  # horizontal axis and what stays the same
    "rows": ("rows", "{dimension} dimensions, {columns} columns"),
    "columns": ("columns", "{dimension} dimensions, {rows:,} rows"),
    "dimension": ("dimensions", "{rows:,} rows, {columns} columns"),
}


def write(folder):
    """Write the page from the results in a folder; returns its path."""
    parts = ["# Benchmarks\n"]
    for name, describe in (("peers", report.section), ("scaling", scaling_section)):
        path = folder / f"{name}.json"
        if not path.exists():
            parts.append(f"## {name}\n\nNot run.\n")
            continue
        record = json.loads(path.read_text())
        text = describe(record, folder)
        if record["quick"]:
            heading, _, rest = text.partition("\n")
            text = f"{heading}\n\nMade in small (`--quick`): only to see that it works.\n{rest}"
        versions = ", ".join(f"{package} {number}" for package, number in record["versions"].items())
        parts.append(f"{text}\nVersions: {versions}.\n")
    page = folder / NAME
    page.write_text("\n".join(parts))
    return page


def scaling_section(record, folder):
    """Markdown of the costs against rows, columns and dimensions; the figure goes into the folder."""
    draw_scaling(record["results"]).savefig(folder / SCALING_FIGURE, dpi=110)
    parts = [
        "## Cost against rows, columns and dimensions\n",
        "One thread; arms take turns. *Statistics* are all sums over rows from which posterior and evidence follow, as "
        "a matrix; *fit with learning* is `TorusGPRegressor.fit` with a length scale for each dimension and both "
        "variances; the *bare transform* is one type-1 FINUFFT of all rows onto the modes that the statistics need.\n",
        f"![Seconds against rows, columns and dimensions]({SCALING_FIGURE})\n",
    ]
    for (part,), rows in group_by(record["results"], "part").items():
        parts.append(f"### Against {PARTS[part][0]}\n\n{markdown_table(scaling_table(part, rows))}\n")
    return "\n".join(parts)


def scaling_table(part, rows):
    """A line for each value that varies, with the median seconds of each arm and ratios to the bare transform."""
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    lines = []
    for (value,), group in group_by(rows, part).items():
        by_arm = {row["arm"]: row for row in group}
        line = {PARTS[part][0]: f"{value:,}"}
        line |= {f"{arm} (s)": report.number(by_arm[arm]["median"]) if arm in by_arm else "" for arm in arms}
        ratio = by_arm.get("statistics, finufft", {}).get("bare transforms")
        line["finufft / bare"] = "" if ratio is None else f"{ratio:.2f}"
        lines.append(line)
    return lines


def draw_scaling(rows):
    """A figure with a panel for each of rows, columns and dimensions."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(12.3, 4.3), layout="constrained")
    axes = figure.subplots(1, len(PARTS), sharey=True)
    for ax, (part, (label, fixed)) in zip(axes, PARTS.items(), strict=True):
        chosen = [row for row in rows if row["part"] == part]
        for arm, (colour, marker, line) in STYLES.items():
            points = [(row[part], row["median"]) for row in chosen if row["arm"] == arm]
            if points:
                size = 10 if marker == "*" else 6
                ax.plot(
                    *zip(*points, strict=True), color=colour, marker=marker, linestyle=line, markersize=size, label=arm
                )
        ax.set_yscale("log")
        ax.set_xlabel(label)
        if part != "dimension":
            ax.set_xscale("log")
        else:
            ax.set_xticks(sorted({row["dimension"] for row in chosen}))
        if part == "columns":
            sizes = sorted({row["columns"] for row in chosen})
            ax.set_xticks(sizes, labels=sizes)
            ax.xaxis.set_minor_locator(NullLocator())
        ax.grid(which="major", linewidth=0.4, alpha=0.5)
        if chosen:
            ax.set_title(fixed.format(**chosen[0]), fontsize=10)
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(STYLES), frameon=False)
    return figure


def main(arguments=None):
    print(f"Written: {write(RESULTS)}")


if __name__ == "__main__":
    main()
