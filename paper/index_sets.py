"""Index sets of the energy-norm hyperbolic cross for several sparsities (the paper's first figure)."""

from paper.common import new_figure, paragraphs, select
from torusgp.kernels.index_sets import energy_norm_hyperbolic_cross
from torusgp.views.plotting import IndexSetDisplay

TITLE = "Energy-norm hyperbolic crosses in two dimensions"
SPARSITIES = (0.0, 0.25, 0.5, 0.75)
RADIUS = 20
WEIGHTS = ((1.0, 1.0), (1.0, 0.5))


def missing(folder):
    return ""


def run(pool, quick, folder):
    rows = []
    for weights in WEIGHTS:
        for sparsity in SPARSITIES:
            index_set = energy_norm_hyperbolic_cross(2, RADIUS, sparsity=sparsity, weights=weights)
            rows.append(
                {
                    "sparsity": sparsity,
                    "weights": weights,
                    "indices": len(index_set),
                    "columns": index_set.n_components,
                    "largest_frequency": index_set.frequencies.max(),
                    "frequencies": index_set.indices,
                }
            )
    return {"settings": {"radius": RADIUS}, "rows": rows}


def draw(record):
    figure, axes = new_figure(len(WEIGHTS), len(SPARSITIES), 3.2, 3.5, sharex=True, sharey=True)
    radius = record["settings"]["radius"]
    for row, ax in zip(record["rows"], axes.flat, strict=True):
        index_set = energy_norm_hyperbolic_cross(2, radius, sparsity=row["sparsity"], weights=row["weights"])
        IndexSetDisplay.from_index_set(index_set).plot(ax, legend=False, s=9)
        gamma = ", ".join(f"{weight:g}" for weight in row["weights"])
        ax.set_title(f"$\\zeta$ = {row['sparsity']:g}, $\\gamma$ = ({gamma})\n{row['columns']} components", fontsize=11)
        ax.set(xlabel="", ylabel="")
    figure.supxlabel("frequency $k_1$ (cycles per period)", fontsize=11)
    figure.supylabel("frequency $k_2$ (cycles per period)", fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False, markerscale=2)
    return {"index_sets": figure}


def describe(record):
    sizes = [
        f"{row['columns']} (zeta = {row['sparsity']:g})" for row in select(record["rows"], weights=list(WEIGHTS[0]))
    ]
    reach = max(row["largest_frequency"] for row in record["rows"])
    return paragraphs(
        "![Frequencies of energy-norm hyperbolic crosses in two dimensions](index_sets.png)",
        f"Radius R = {record['settings']['radius']}. Components: {', '.join(sizes)}. Larger zeta keeps the axes and "
        f"thins "
        f"out the interactions. With zeta > 0 frequencies go beyond R (here to {reach}), since the norm in the weight "
        "grows with them. In the lower row gamma = (1, 1/2): the second axis ends at R gamma^(1 / (1 - zeta)), so "
        "zeta sharpens gamma.",
    )
