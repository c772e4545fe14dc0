"""Accuracy against time: one panel for each case, a mark for each method."""

from benchmarks.peers import arms

# Colour (Okabe and Ito) and marker of each method.
STYLES = {
    arms.TORUS: ("#000000", "*"),
    arms.TORUS_FEW_ROWS: ("#7F7F7F", "*"),
    arms.TORUS_IN_ORDER: ("#D55E00", "*"),
    arms.EXACT: ("#0072B2", "s"),
    arms.GPYTORCH_EXACT: ("#56B4E9", "D"),
    arms.GPYTORCH_SVGP: ("#009E73", "^"),
    arms.RANDOM: ("#E69F00", "o"),
    arms.NYSTROEM: ("#CC79A7", "P"),
    arms.BOOSTING: ("#8C564B", "X"),
}


SIZES = {"*": 210, "P": 105, "X": 95}  # of markers that look smaller than others
MEASURES = {
    "function rmse": "RMSE of the function",
    "rmse": "RMSE of held-out rows",
    "mnll": "log loss of held-out rows",
}


def accuracy_against_time(record):
    """A figure with the errors of every method against the seconds of its fit; all panels have the same seconds."""
    from matplotlib.figure import Figure

    panels = [(case, key) for case in record["cases"] for key in _measures(case)]
    n_columns = min(4, len(panels))
    n_rows = -(-len(panels) // n_columns)
    figure = Figure(figsize=(3.6 * n_columns, 3.3 * n_rows + 0.8), layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
    handles = {}
    for ax, (case, key) in zip(axes.flat, panels, strict=False):
        handles = _draw_case(ax, case, key) | handles
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    for ax in axes.flat[max(0, len(panels) - n_columns) : len(panels)]:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("processor seconds of fit and search")
    ordered = [name for name in STYLES if name in handles]
    figure.legend([handles[name] for name in ordered], ordered, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _measures(case):
    """What is drawn: the error of the function where it is known, else both losses of held-out rows."""
    return ("rmse", "mnll") if case["noise std"] is None else ("function rmse",)


def _draw_case(ax, case, key):
    handles = {}
    # torusgp itself comes last, to lie on top, and the marks of columns that were asked for are hollow
    for row in sorted(case["results"], key=lambda row: (row["arm"] == arms.TORUS, STYLES[row["arm"]][1] == "*")):
        colour, marker = STYLES[row["arm"]]
        hollow = row["label"] != row["arm"]
        colours = {"facecolor": "white" if hollow else colour, "edgecolor": colour if hollow else "white"}
        size = SIZES.get(marker, 75)
        handle = ax.scatter(
            row["fit seconds"], row[key], s=size, marker=marker, linewidth=1.3 if hollow else 0.8, zorder=3, **colours
        )
        if not hollow or row["arm"] not in handles:
            handles[row["arm"]] = handle
    ax.set_xscale("log")
    if key != "mnll":
        ax.set_yscale("log")
    ax.margins(0.12)
    _plain_ticks(ax.xaxis, subs=(1.0,))
    _plain_ticks(ax.yaxis, subs=(1.0, 2.0, 5.0))
    ax.set_title(f"{case['problem']}, {case['rows']:,} rows, {case['dimension']} inputs", fontsize=10)
    ax.set_ylabel(MEASURES[key] + (" (MW)" if key == "rmse" and case["problem"] == "electricity" else ""))
    ax.grid(which="major", linewidth=0.4, alpha=0.5)
    return handles


def _plain_ticks(axis, subs):
    """Labels in plain numbers, also where a logarithmic axis spans less than a power of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    low, high = axis.get_view_interval()
    logarithmic = axis.get_scale() == "log" and high > 4 * low
    axis.set_major_locator(LogLocator(subs=subs) if logarithmic else MaxNLocator(5))
    axis.set_major_formatter(lambda value, _: f"{value:.5g}")
    axis.set_minor_formatter(NullFormatter())
