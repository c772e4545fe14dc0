r"""Truncation error of the periodic squared-exponential kernel on tensor sets.

The paper's error is :math:`1 - \prod_d \sum_{r=0}^{R-1} q_r^2`: its refinement R keeps the frequencies below R, so
its R is our ``tensor(D, R - 1)``, and R = 0 keeps nothing.
"""

import numpy as np

from paper.common import SEED, markdown_table, new_figure, paragraphs
from torusgp import IndexSetFourierFeatures, TorusKernel
from torusgp.kernels.index_sets import tensor

TITLE = "Multivariate truncation error on tensor sets"
DIMENSIONS = (2, 12)
REFINEMENTS = np.arange(21)
TARGET = 1e-3  # error for which refinements are compared
SHOWN_LENGTH_SCALES = (0.1, 0.25, 0.5, 1.0)


def missing(folder):
    return ""


def error(length_scale, refinement, dimension):
    """The paper's error, from the tails of the one-dimensional series: it stays exact far below rounding."""
    if refinement == 0:
        return 1.0
    tail = TorusKernel(length_scale=length_scale).truncation_error(tensor(1, int(refinement) - 1))
    return float(-np.expm1(dimension * np.log1p(-tail))) if tail < 1 else 1.0


def run(pool, quick, folder):
    length_scales = np.round(np.linspace(0.1, 1.0, 7 if quick else 37), 4)
    grids = {
        str(dimension): [[error(scale, r, dimension) for r in REFINEMENTS] for scale in length_scales]
        for dimension in DIMENSIONS
    }
    return {
        "settings": {"target": TARGET, "dimensions": DIMENSIONS},
        "length_scales": length_scales,
        "refinements": REFINEMENTS,
        "errors": grids,
        "lines": [
            {"length_scale": scale, "dimension": D, "errors": [error(scale, r, D) for r in REFINEMENTS]}
            for scale in SHOWN_LENGTH_SCALES
            for D in DIMENSIONS
        ],
        "needed": [
            {"length_scale": scale, "dimension": dimension, "refinement": needed(scale, dimension)}
            for scale in SHOWN_LENGTH_SCALES
            for dimension in DIMENSIONS
        ],
        "certificate_gap": certificate_gap(length_scales[::5]),
        "measured": measured(),
    }


def needed(length_scale, dimension):
    """Smallest refinement whose error is at most the target."""
    return next(r for r in range(200) if error(length_scale, r, dimension) <= TARGET)


def certificate_gap(length_scales):
    """Largest relative difference between the product formula and the certificate of the two-dimensional set."""
    gaps = [
        abs(TorusKernel(length_scale=scale).truncation_error(tensor(2, int(r) - 1)) / error(scale, r, 2) - 1)
        for scale in length_scales
        for r in REFINEMENTS[1:]
    ]
    return max(gaps)


def measured(n_samples=300):
    """Largest error of a Gram matrix beside the bound, in two dimensions."""
    X = np.random.default_rng(SEED).uniform(size=(n_samples, 2))
    rows = []
    for scale in (0.25, 0.5, 1.0):
        for r in (2, 4, 8):
            features = IndexSetFourierFeatures(period=1.0, length_scale=scale, index_set=tensor(2, r - 1))
            phi = features.fit_transform(X)
            difference = np.abs(phi @ phi.T - features.kernel_(X))
            off_diagonal = difference[~np.eye(n_samples, dtype=bool)]
            rows.append(
                {
                    "length_scale": scale,
                    "refinement": r,
                    "bound": error(scale, r, 2),
                    "largest": difference.max(),
                    "largest_off_diagonal": off_diagonal.max(),
                }
            )
    return rows


def draw(record):
    figure, axes = new_figure(1, 3, 4.2, 3.9)
    scales, refinements = np.array(record["length_scales"]), np.array(record["refinements"])
    for ax, dimension in zip(axes[0], record["settings"]["dimensions"], strict=False):
        grid = np.log10(np.maximum(np.array(record["errors"][str(dimension)]), 1e-16))
        drawn = ax.pcolormesh(refinements, scales, grid, cmap="viridis", vmin=-12, vmax=0, shading="nearest")
        lines = ax.contour(refinements, scales, grid, [-9, -6, -3, -1], colors="white", linewidths=1, linestyles="-")
        ax.clabel(lines, fmt=lambda level: f"$10^{{{level:.0f}}}$", fontsize=9)
        ax.set_title(f"D = {dimension}")
        ax.set(xlabel="refinement R (frequencies below R)", ylabel="length scale l")
        ax.set_xticks(range(0, 21, 5))
    figure.colorbar(drawn, ax=axes[0, :2], label=r"$\log_{10}$ truncation error", extend="min")
    ax = axes[0, 2]
    colours = dict(
        zip(SHOWN_LENGTH_SCALES, (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D")), strict=True)
    )
    dashes = dict(zip(record["settings"]["dimensions"], ("-", "--"), strict=True))
    for line in record["lines"]:
        colour, marker = colours[line["length_scale"]]
        ax.plot(refinements, line["errors"], dashes[line["dimension"]], color=colour, marker=marker, markersize=4)
    for scale, (colour, marker) in colours.items():
        ax.plot([], [], color=colour, marker=marker, label=f"l = {scale:g}")
    for dimension, dash in dashes.items():
        ax.plot([], [], dash, color="0.3", label=f"D = {dimension}")
    ax.set(yscale="log", ylim=(1e-10, 2), xlabel="refinement R (frequencies below R)", ylabel="truncation error")
    ax.set_xticks(range(0, 21, 5))
    ax.legend(fontsize=9, loc="lower left")
    ax.grid(alpha=0.3)
    return {"truncation": figure}


def describe(record):
    dimensions = record["settings"]["dimensions"]
    lines = [
        [f"{scale:g}", *(row["refinement"] for row in record["needed"] if row["length_scale"] == scale)]
        for scale in SHOWN_LENGTH_SCALES
    ]
    excess = max(row["largest"] / row["bound"] for row in record["measured"]) - 1
    table = markdown_table(["length scale", *(f"R needed, D = {d}" for d in dimensions)], lines)
    return paragraphs(
        "![Truncation error of tensor sets against their refinement, by dimension and length scale](truncation.png)",
        "The paper's sum runs to R - 1, so its R keeps the frequencies below R (our `tensor(D, R - 1)`), and R = 0 "
        f"keeps nothing. Refinements needed for an error of {TARGET:g}:",
        table,
        "The product formula and `TorusKernel.truncation_error` of the two-dimensional sets differ by at most "
        f"{record['certificate_gap']:.1e}, relatively. On Gram matrices of random points the largest error is the "
        f"bound, attained on the diagonal (to {abs(excess):.0e}).",
    )
