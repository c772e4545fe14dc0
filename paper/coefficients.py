"""Fourier coefficients and harmonic terms with unequal length scales and periods, and what refinement weights gain."""

import numpy as np

from paper.common import log_columns, markdown_table, new_figure, paragraphs, select
from torusgp import TorusKernel
from torusgp.kernels.index_sets import adaptive, energy_norm_hyperbolic_cross, euclidean, hyperbolic_cross, total_order

TITLE = "Non-isotropic hyperparameters, and non-isotropic approximation"
REFINEMENT = 18
LENGTH_SCALES = ((0.15, 0.5), (0.5, 0.15))
PERIODS = (1.0, 3.0)
DISTANCE = 0.25  # in the units of the inputs, along both
UNEQUAL = ((0.15, 1.0), (0.2, 0.6, 1.5))  # length scales of the kernels that weights are tried on
SPARSITY = 0.5  # zeta of the energy-norm cross
FAMILIES = {
    "TOT": total_order,
    "EUC": euclidean,
    "HC": hyperbolic_cross,
    "ENHC": lambda dimension, **options: energy_norm_hyperbolic_cross(dimension, sparsity=SPARSITY, **options),
}
BUDGETS = (51, 101, 201, 401, 801)  # 51: the smallest energy-norm cross in three dimensions


def missing(folder):
    return ""


def run(pool, quick, folder):
    r = np.arange(REFINEMENT + 1)
    grid = np.stack(np.meshgrid(r, r, indexing="ij"), axis=-1).reshape(-1, 2)
    multiplicity = 2.0 ** np.count_nonzero(grid, axis=1)  # the paper's q_k^2 is c_0, and 2 c_k beyond zero
    coefficients = [
        {
            "length_scale": scales,
            "values": (multiplicity * TorusKernel(length_scale=scales).coefficients(grid)).reshape(len(r), len(r)),
        }
        for scales in LENGTH_SCALES
    ]
    phases = 2 * np.pi * DISTANCE / np.array(PERIODS)
    harmonics = np.cos(np.outer(r, phases))  # (refinement, dimension)
    return {
        "settings": {
            "refinement": REFINEMENT,
            "periods": PERIODS,
            "distance": DISTANCE,
            "sparsity": SPARSITY,
        },
        "coefficients": coefficients,
        "harmonic_terms": np.outer(harmonics[:, 0], harmonics[:, 1]),
        "rows": [row for scales in UNEQUAL for row in compare(scales, BUDGETS[:3] if quick else BUDGETS)],
    }


def compare(length_scale, budgets):
    """Errors of every family, plain and weighted, and of the adaptive set with at most so many columns."""
    kernel = TorusKernel(length_scale=length_scale)
    dimension = len(length_scale)
    rows = []
    for budget in budgets:
        sets, gamma = {("adaptive", False): adaptive(kernel, budget)}, {}
        for name, build in FAMILIES.items():
            gamma[name] = kernel.refinement_weights(build, budget)
            sets[name, False] = build(dimension, n_components=budget)
            sets[name, True] = build(dimension, n_components=budget, weights=gamma[name])
        rows += [
            {
                "length_scale": length_scale,
                "family": name,
                "weighted": weighted,
                "weights": gamma[name] if weighted else None,
                "budget": budget,
                "columns": index_set.n_components,
                "truncation_error": kernel.truncation_error(index_set),
                "frobenius_error": kernel.frobenius_error(index_set),
            }
            for (name, weighted), index_set in sets.items()
        ]
    return rows


def draw(record):
    return {"coefficients": draw_coefficients(record), "weights": draw_weights(record)}


def draw_coefficients(record):
    figure, axes = new_figure(1, 3, 4.2, 3.7)
    for ax, one in zip(axes[0], record["coefficients"], strict=False):
        values = np.log10(np.maximum(np.array(one["values"]).T, 1e-300))
        drawn = ax.imshow(values, origin="lower", cmap="viridis", vmin=-12, vmax=-1)
        ax.set_title("l = ({:g}, {:g})".format(*one["length_scale"]))
    figure.colorbar(drawn, ax=axes[0, :2], label=r"$\log_{10}$ coefficient $q_{r_1} q_{r_2}$", extend="both")
    drawn = axes[0, 2].imshow(np.array(record["harmonic_terms"]).T, origin="lower", cmap="RdBu_r", vmin=-1, vmax=1)
    settings = record["settings"]
    axes[0, 2].set_title("T = ({:g}, {:g}), ".format(*settings["periods"]) + rf"$\tau$ = {settings['distance']:g}")
    label = r"$\cos(2\pi r_1 \tau / T_1)\,\cos(2\pi r_2 \tau / T_2)$"
    figure.colorbar(drawn, ax=axes[0, 2], label=label)
    for ax in axes[0]:
        ax.set(xlabel="refinement $r_1$", ylabel="refinement $r_2$", xticks=range(0, 19, 6), yticks=range(0, 19, 6))
    return figure


def draw_weights(record):
    families = list(FAMILIES)
    figure, axes = new_figure(len(UNEQUAL), len(families), 3.1, 3.0, sharex=True, sharey="row")
    for ax_row, scales in zip(axes, UNEQUAL, strict=True):
        rows = select(record["rows"], length_scale=list(scales))
        for ax, name in zip(ax_row, families, strict=True):
            arms = (
                (name, False, r"$\gamma$ = 1", "#D55E00", "D", "--"),
                (name, True, r"$\gamma$ from refinement_weights()", "#0072B2", "s", "-"),
                ("adaptive", False, "adaptive", "#000000", "o", "-"),
            )
            for family, weighted, label, colour, marker, line in arms:
                arm = select(rows, family=family, weighted=weighted)
                ax.plot(
                    [row["columns"] for row in arm],
                    [row["frobenius_error"] for row in arm],
                    line,
                    color=colour,
                    marker=marker,
                    markersize=5,
                    label=label,
                )
            log_columns(ax)
            ax.set_yscale("log")
            ax.grid(alpha=0.3)
            ax.set_title(f"{name}, l = ({', '.join(f'{scale:g}' for scale in scales)})", fontsize=10)
    figure.supxlabel("components", fontsize=11)
    figure.supylabel("expected relative Frobenius error", fontsize=11)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def gains(record):
    """For each kernel and family: error without weights over error with them, over the budgets, and to the adaptive."""
    found = []
    for scales in UNEQUAL:
        rows = select(record["rows"], length_scale=list(scales))
        best = [row["frobenius_error"] for row in select(rows, family="adaptive")]
        for name in FAMILIES:
            plain = [row["frobenius_error"] for row in select(rows, family=name, weighted=False)]
            weighted = [row["frobenius_error"] for row in select(rows, family=name, weighted=True)]
            found.append(
                {
                    "length_scale": list(scales),
                    "family": name,
                    "gain": float(np.exp(np.mean(np.log(np.divide(plain, weighted))))),
                    "weights": select(rows, family=name, weighted=True)[-1]["weights"],
                    "least": min(np.divide(plain, weighted)),
                    "largest": max(np.divide(plain, weighted)),
                    "to_adaptive": float(np.exp(np.mean(np.log(np.divide(weighted, best))))),
                }
            )
    return found


def describe(record):
    budgets = ", ".join(str(budget) for budget in dict.fromkeys(row["budget"] for row in record["rows"]))
    table = markdown_table(
        [
            "length scales",
            "family",
            "error with gamma = 1 / error with gamma",
            "least",
            "largest",
            "weighted / adaptive",
            "gamma",
        ],
        [
            [
                ", ".join(f"{s:g}" for s in one["length_scale"]),
                one["family"],
                one["gain"],
                one["least"],
                one["largest"],
                one["to_adaptive"],
                ", ".join(f"{weight:.2f}" for weight in one["weights"]),
            ]
            for one in gains(record)
        ],
    )
    return paragraphs(
        "![Coefficients and harmonic terms of a kernel with two length scales](coefficients.png)",
        "Along the shorter length scale coefficients decay more slowly; harmonic terms depend on the periods alone.",
        "![Index sets with and without refinement weights](weights.png)",
        "Weights gamma are those of `TorusKernel.refinement_weights(set, n_components)`, which minimises the expected "
        "Frobenius error and so is never worse than gamma = 1. Expected relative Frobenius errors at the same budgets "
        f"of components, geometric mean over {budgets} components (ENHC: zeta = {SPARSITY:g}); in the last column the "
        "weights at the largest:",
        table,
        "Weighted balls come close to the adaptive set. In a cross a small weight also thins out every interaction "
        "that "
        "touches its axis, so that little is gained where two axes interact much. The adaptive set needs no weights.",
    )
