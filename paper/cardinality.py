r"""Cardinality of every index set and of its full and sparse feature maps, against refinement and dimension.

Laws: the tensor set holds :math:`(R + 1)^D` indices (the paper's R counts them, R^D); the hyperbolic cross
:math:`R\,P(\log R)` with a polynomial of degree D - 1 whose leading coefficient is 1 / (D - 1)!; the energy-norm cross
with zeta > 0 a multiple of R, without a logarithm.
"""

from itertools import product
from math import factorial

import numpy as np

from paper.common import SEED, legend_above, log_columns, markdown_table, new_figure, paragraphs, select, style
from paper.counting import cross_indices
from torusgp import IndexSetFourierFeatures
from torusgp.kernels.index_sets import (
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    lp_ball,
    tensor,
    total_order,
)

TITLE = "Cardinality of index sets and of their feature maps"
SPARSITY = 0.5
POWER = 0.5
FAMILIES = {
    "TEN": tensor,
    "EUC": euclidean,
    "TOT": total_order,
    "HYP": lambda dimension, radius: lp_ball(dimension, radius, p=POWER),
    "HC": hyperbolic_cross,
    "ENHC": lambda dimension, radius: energy_norm_hyperbolic_cross(dimension, radius, sparsity=SPARSITY),
}
DIMENSIONS = tuple(range(1, 11))
SHOWN_DIMENSIONS = (2, 3, 5)
REFINEMENT = 6  # of the comparison over dimensions
LAW_SPARSITIES = (0.0, 0.25, 0.5, 0.75)  # 0 is the hyperbolic cross
LAW_DIMENSIONS = (2, 3, 4)
LAW_POWER = 30  # of two, of the largest refinement of the hyperbolic cross, which is counted, not listed
EXAMPLE = {"dimension": 5, "refinement": 10, "paper": {"indices": 1432, "full": 45824, "sparse": 16893}}


def missing(folder):
    return ""


def run(pool, quick, folder):
    most = 20_000 if quick else 300_000  # columns of the sparse map
    cases = [("refinement", name, dimension, most) for name in FAMILIES for dimension in SHOWN_DIMENSIONS]
    cases += [("dimension", name, None, most) for name in FAMILIES]
    cases += [("law", sparsity, dimension, 4 * most) for sparsity in LAW_SPARSITIES[1:] for dimension in LAW_DIMENSIONS]
    rows = [row for part in pool.map("cardinality", count, cases) for row in part]
    rows += [row for dimension in LAW_DIMENSIONS for row in count_cross(dimension, 16 if quick else LAW_POWER)]
    law_rows = select(rows, part="law")
    example = hyperbolic_cross(EXAMPLE["dimension"], EXAMPLE["refinement"])
    return {
        "settings": {"sparsity": SPARSITY, "power": POWER, "refinement": REFINEMENT, "most_columns": most},
        "rows": rows,
        "laws": [fit_law(law_rows, sparsity, dimension) for sparsity in LAW_SPARSITIES for dimension in LAW_DIMENSIONS],
        "maps": check_maps(),
        "example": EXAMPLE
        | {
            "ours": {
                "indices": len(example),
                "full": example.n_components_full,
                "sparse": example.n_components,
            }
        },
    }


def count(part, family, dimension, most):
    """Sizes along one line of sets, as far as they have at most ``most`` columns; the first beyond is named."""
    if part == "refinement":
        steps = [
            (dimension, radius)
            for radius in (*range(1, 10), *np.unique(np.rint(np.geomspace(10, 4000, 28)).astype(int)))
        ]
    elif part == "dimension":
        steps = [(d, REFINEMENT) for d in DIMENSIONS]
    else:
        steps = [(dimension, 2**power) for power in range(1, 18)]
    rows = []
    for d, radius in steps:
        if part == "law":
            index_set = energy_norm_hyperbolic_cross(d, int(radius), sparsity=family)
        else:
            if family == "TEN" and (2 * radius + 1.0) ** d > 4 * most:
                break
            index_set = FAMILIES[family](d, int(radius))
        if rows and index_set.n_components > most:
            break
        rows.append(
            {
                "part": part,
                "family": family,
                "dimension": d,
                "refinement": int(radius),
                "indices": len(index_set),
                "full": index_set.n_components_full,
                "sparse": index_set.n_components,
            }
        )
    return rows


def count_cross(dimension, power):
    """Indices of hyperbolic crosses of the refinements 2, 4, 8, ..., by recursion."""
    counts = cross_indices(dimension, power)
    return [
        {"part": "law", "family": 0.0, "dimension": dimension, "refinement": 2**p, "indices": counts[p]}
        for p in range(1, power + 1)
    ]


def check_maps(dimension=3, refinement=4, n_samples=100):
    r"""The paper's full and masked maps, column by column, against the product of the features here.

    The full map has, for every index i and every row of signs, a cosine and a sine with the factor
    :math:`\sqrt{\rho / 2^{D-1}}`. The masked map drops the signs of zero entries; its factor has to be
    :math:`\sqrt{\rho / 2^{\eta-1}}` with the number of non-zero entries, while the paper keeps 2^(D-1). Printed are
    products of q where the series is one of q^2.
    """
    index_set = hyperbolic_cross(dimension, refinement)
    features = IndexSetFourierFeatures(period=1.0, index_set=index_set)
    X = np.random.default_rng(SEED).uniform(size=(n_samples, dimension))
    sparse = features.fit_transform(X)
    theta, target = 2 * np.pi * X, sparse @ sparse.T
    gram = {name: np.zeros_like(target) for name in ("full", "masked", "masked_as_printed", "not_squared")}
    coefficients = features.kernel_.coefficients(index_set.indices)
    n_full = n_masked = 0
    for index, coefficient in zip(index_set.indices, coefficients, strict=True):
        n_nonzero = np.count_nonzero(index)
        rho = 2.0**n_nonzero * coefficient  # product of the paper's q_i^2
        signs = np.array(list(product(*((1,), *(((1, -1),) * (dimension - 1))))))
        distinct = np.unique(np.sign(index) * signs, axis=0)
        distinct = distinct[: max(1, len(distinct) // 2)] if n_nonzero and not index[0] else distinct
        for name, rows, power, factor in (
            ("full", signs, dimension - 1, rho),
            ("masked", distinct, max(n_nonzero - 1, 0), rho),
            ("masked_as_printed", distinct, dimension - 1, rho),
            ("not_squared", signs, dimension - 1, np.sqrt(rho)),
        ):
            angles = theta @ (index * np.where(rows == 0, 1, rows)).T
            columns = np.hstack([np.cos(angles), np.sin(angles)]) * np.sqrt(factor / 2.0**power)
            gram[name] += columns @ columns.T
        n_full, n_masked = n_full + 2 * len(signs), n_masked + (2 * len(distinct) if n_nonzero else 1)
    return {
        "dimension": dimension,
        "refinement": refinement,
        "columns_full": n_full,
        "columns_masked": n_masked,
        "columns_ours": index_set.n_components,
        "sign_rows": len(signs),
        **{f"difference_{name}": np.abs(one - target).max() for name, one in gram.items()},
    }


def fit_law(rows, sparsity, dimension):
    """Polynomial in log R of degree D - 1 for the indices over R, on the upper half of the refinements.

    Beside it the leading coefficient without a fit: a difference of order D - 1 over the last doublings.
    """
    line = select(rows, family=sparsity, dimension=dimension)
    radius = np.array([row["refinement"] for row in line], dtype=float)
    ratio = np.array([row["indices"] for row in line]) / radius
    upper = slice(-max(len(line) // 2 + 1, dimension + 2), None)
    fitted = np.polyfit(np.log(radius[upper]), ratio[upper], dimension - 1)
    residual = np.polyval(fitted, np.log(radius[upper])) / ratio[upper] - 1
    return {
        "sparsity": sparsity,
        "dimension": dimension,
        "largest_refinement": int(radius[-1]),
        "polynomial": fitted,
        "leading_times_factorial": fitted[0] * factorial(dimension - 1),
        "difference_times_factorial": np.diff(ratio, n=dimension - 1)[-1] / np.log(2) ** (dimension - 1),
        "largest_residual": np.abs(residual).max(),
        "last_doubling": ratio[-1] / ratio[-2] - 1,
        "ratio": ratio[-1],
    }


def draw(record):
    return {"cardinality": draw_sizes(record), "growth": draw_laws(record)}


def draw_sizes(record):
    figure, axes = new_figure(1, 4, 3.5, 3.9)
    for ax, dimension in zip(axes[0], SHOWN_DIMENSIONS, strict=False):
        for name in FAMILIES:
            line = select(record["rows"], part="refinement", family=name, dimension=dimension)
            draw_line(ax, name, line, "refinement")
        log_columns(ax)
        ax.set(yscale="log", xlabel="refinement R", title=f"D = {dimension}")
    for name in FAMILIES:
        draw_line(axes[0, 3], name, select(record["rows"], part="dimension", family=name), "dimension")
    axes[0, 3].set(yscale="log", xlabel="dimension D", title=f"R = {record['settings']['refinement']}")
    axes[0, 3].set_xticks(range(1, 11, 1))
    for ax in axes[0]:
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("components")
    axes[0, 0].plot([], [], color="0.3", linestyle="-", label="sparse map")
    axes[0, 0].plot([], [], color="0.3", linestyle=":", label="full map")
    legend_above(figure, axes[0, :1], 8)
    return figure


def draw_line(ax, name, line, key):
    x = [row[key] for row in line]
    look = style(name, markersize=4)
    if name == "TEN":
        look["color"] = "#B8A800"  # yellow is too light for a line
    ax.plot(x, [row["sparse"] for row in line], **look, label=name)
    ax.plot(x, [row["full"] for row in line], color=look["color"], linestyle=":", linewidth=1.2)


def draw_laws(record):
    figure, axes = new_figure(1, 4, 3.5, 3.7)
    colours = ("#0072B2", "#E69F00", "#D55E00", "#000000")
    ax = axes[0, 0]
    for colour, marker, dimension in zip(("#7F7F7F", "#009E73", "#CC79A7"), "Xv*", SHOWN_DIMENSIONS, strict=True):
        line = select(record["rows"], part="refinement", family="TEN", dimension=dimension)
        radius = np.array([row["refinement"] for row in line], dtype=float)
        ax.plot(radius, [row["indices"] for row in line], marker, color=colour, markersize=5, label=f"D = {dimension}")
        ax.plot(radius, (radius + 1) ** dimension, color=colour, linewidth=1)
    log_columns(ax)
    ax.set(yscale="log", xlabel="refinement R", ylabel="indices", title="TEN, lines: $(R + 1)^D$")
    ax.legend()
    ax.grid(alpha=0.3)
    for ax, dimension in zip(axes[0, 1:], (2, 3, 4), strict=True):
        for colour, marker, sparsity in zip(colours, "s^Do", LAW_SPARSITIES, strict=True):
            line = select(record["rows"], part="law", family=sparsity, dimension=dimension)
            radius = np.array([row["refinement"] for row in line], dtype=float)
            ax.plot(
                radius,
                [row["indices"] / row["refinement"] for row in line],
                marker,
                color=colour,
                markersize=5,
                linestyle="none" if sparsity == 0 else "-",
                label=rf"ENHC, $\zeta$ = {sparsity:g}" if sparsity else "HC",
            )
            if sparsity == 0:
                law = select(record["laws"], sparsity=sparsity, dimension=dimension)[0]
                ax.plot(
                    radius,
                    np.polyval(law["polynomial"], np.log(radius)),
                    color=colour,
                    label="polynomial of degree D - 1 in log R",
                )
        log_columns(ax)
        ax.set(yscale="log", xlabel="refinement R", title=f"D = {dimension}")
        ax.grid(alpha=0.3, which="both")
    axes[0, 1].set_ylabel("indices / R")
    legend_above(figure, axes[0, 1:2], 5)
    return figure


def describe(record):
    example, maps = record["example"], record["maps"]
    names = ("indices", "full", "sparse")
    lines = [[who, *(example[who][name] for name in names)] for who in ("paper", "ours")]
    table = markdown_table(["hyperbolic cross, D = 5, R = 10", "indices", "full map", "sparse map"], lines)
    laws = markdown_table(
        [
            "zeta",
            "D",
            "largest R",
            "leading coefficient x (D - 1)!",
            "by differences",
            "largest residual of the fit",
            "growth of indices / R at the last doubling of R",
        ],
        [
            [
                f"{law['sparsity']:g}",
                law["dimension"],
                law["largest_refinement"],
                *(
                    ["", "", ""]
                    if law["sparsity"]
                    else [
                        f"{law['leading_times_factorial']:.4f}",
                        f"{law['difference_times_factorial']:.4f}",
                        f"{100 * law['largest_residual']:.4f} %",
                    ]
                ),
                f"{100 * law['last_doubling']:+.1f} %",
            ]
            for law in record["laws"]
        ],
    )
    return paragraphs(
        "![Components of index sets against their radius, in several dimensions](cardinality.png)",
        f"Euclidean balls (EUC), total order (TOT), HYP is the ball with p = {POWER:g}, ENHC has zeta = {SPARSITY:g}; "
        "the tensor set (TEN) holds (R + 1)^D indices. Lines end where the sparse map has more than "
        f"{record['settings']['most_columns']} components.",
        table,
        "![Growth of the number of indices with the radius, and the law fitted to it](growth.png)",
        "Indices over R as a polynomial of degree D - 1 in log R, fitted to the upper half of the refinements. For "
        "the hyperbolic cross (zeta = 0), counted by recursion, theory gives a leading coefficient of 1 / (D - 1)!; "
        "the terms below it are large, and sets that can be listed say little of it. By differences: the one of order "
        "D - 1 of the last doublings of R, over (log 2)^(D - 1). For zeta > 0 the number is proportional to R in the "
        "end, and there is no such coefficient:",
        laws,
        f"The full map ({maps['columns_full']} components for D = {maps['dimension']}, R = {maps['refinement']}) and "
        f"the "
        f"sparse one ({maps['columns_ours']}) give the same kernel, to {maps['difference_full']:.0e}. The masked map "
        f"as printed, with the factor 2^(D - 1), is off by up to {maps['difference_masked_as_printed']:.2f}; with "
        f"2^(eta - 1) by {maps['difference_masked']:.0e}.",
    )
