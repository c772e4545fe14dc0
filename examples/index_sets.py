"""Index sets of the same size on one anisotropic kernel: how far each is from the exact kernel, and why.

The kernel varies fast along one axis and slowly along the other. A set that does not know this spends columns on
coefficients that hardly matter; the adaptive set takes the largest ones, whatever their shape. Every error is certified
without data, and measured on random points beside it.

    python examples/index_sets.py --output index_sets.png --columns 121
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from torusgp import IndexSetFourierFeatures, TorusKernel
from torusgp.kernels.index_sets import NAMES, IndexSet, adaptive, named_set

COLUMNS = 121  # a size that several families reach exactly or nearly
FEWEST_COLUMNS = 9  # the smallest hyperbolic cross in two dimensions
MOST_COLUMNS = 1001  # beyond, errors come down to rounding
N_POINTS = 1000


@dataclass(frozen=True)
class Row:
    """An index set with its errors: certificates, from the kernel and the set alone, and what random points show."""

    label: str  # function that built the set, with a star if it had the kernel's refinement weights
    index_set: IndexSet
    largest_error: float
    measured_largest_error: float
    frobenius_error: float
    measured_frobenius_error: float


def compare_index_sets(n_components=COLUMNS, random_state=0):
    """The kernel, and one row for each family: the largest set that fits. The adaptive one is the last."""
    if not FEWEST_COLUMNS <= n_components <= MOST_COLUMNS:
        raise ValueError(f"The comparison takes {FEWEST_COLUMNS} to {MOST_COLUMNS} columns, got {n_components}.")
    kernel = TorusKernel("squared_exponential", length_scale=[0.25, 1.2], period=[24.0, 7.0])
    sets = {name: named_set(name, 2, n_components) for name in NAMES if name != "adaptive"}
    for name in ("euclidean", "energy_norm_hyperbolic_cross"):
        weights = kernel.refinement_weights(name, n_components)
        sets[f"{name} *"] = named_set(name, 2, n_components, weights=weights)
    sets["adaptive"] = adaptive(kernel, n_components)

    X = np.random.default_rng(random_state).uniform(0, kernel.period, (N_POINTS, 2))
    exact = kernel(X)
    rows = []
    for label, index_set in sets.items():
        features = IndexSetFourierFeatures(
            kernel.family, length_scale=kernel.length_scale, period=kernel.period, index_set=index_set
        )
        phi = features.fit_transform(X)
        error = phi @ phi.T - exact
        rows.append(
            Row(
                label,
                index_set,
                kernel.truncation_error(index_set),
                float(np.abs(error).max()),
                kernel.frobenius_error(index_set, N_POINTS),
                float(np.linalg.norm(error) / np.linalg.norm(exact)),
            )
        )
    return kernel, rows


def summarise(rows):
    """What the comparison shows, in two sentences."""
    *others, best = rows
    runner_up = min(others, key=lambda row: row.largest_error)
    last = max(others, key=lambda row: row.largest_error)
    gaps = [abs(row.measured_frobenius_error / row.frobenius_error - 1) for row in rows]
    differences = [abs(row.measured_largest_error - row.largest_error) for row in rows]
    return [
        f"The adaptive set keeps the largest coefficients: its largest error is {best.largest_error:.1e}, against "
        f"{runner_up.largest_error:.1e} ({runner_up.label}) to {last.largest_error:.1e} ({last.label}).",
        "The certificates need no data. On random points the largest errors equal them to within "
        f"{max(differences):.0e}, the Frobenius errors to within {100 * max(gaps):.1g} %.",
    ]


def draw(kernel, rows, output):
    """The sets, coloured by the coefficients of the kernel."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    from torusgp.views.plotting import CoefficientDisplay

    # One set may reach far beyond the others: the axes then end with the next, and the panel says how far it goes.
    reach = 2 + np.sort([row.index_set.frequencies.max(axis=0) for row in rows], axis=0)[-2]
    n_rows, width = -(-len(rows) // 4), 2.3  # inches of a panel
    height = width * reach[1] / reach[0]
    figure = Figure(figsize=(4 * width + 1.4, n_rows * (height + 0.5) + 0.5), layout="constrained")
    axes = figure.subplots(n_rows, 4, sharex=True, sharey=True, squeeze=False)
    k_1, k_2 = np.meshgrid(*(np.arange(-r, r + 1) for r in reach), indexing="ij")
    log_coefficients = kernel.log_coefficients(np.stack([k_1, k_2], axis=-1).reshape(-1, 2)).reshape(k_1.shape)
    edge = kernel.log_coefficients(rows[-1].index_set.frequencies).min()  # of the adaptive set
    norm = LogNorm(1e-3 * np.exp(edge), np.exp(log_coefficients.max()))
    area = (0.8 * 72 * width / (2 * reach[0])) ** 2
    for ax, row in zip(axes.flat, rows, strict=True):
        if edge < log_coefficients.max():
            ax.contour(k_1, k_2, log_coefficients, [edge], colors="0.4", linewidths=0.9, linestyles="solid")
        display = CoefficientDisplay.from_kernel(kernel, row.index_set)
        display.plot(ax, norm=norm, colorbar=False, legend=False, s=area)
        size = f"{row.index_set.n_components} columns, error ≤ {row.largest_error:.1e}"
        ax.set_title(f"{row.label}\n{size}", fontsize=9)
        ax.set(xlim=(-reach[0], reach[0]), ylim=(-reach[1], reach[1]), xlabel="", ylabel="")
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, prune="both"))  # labels of neighbours would touch
        for d, beyond in enumerate(row.index_set.frequencies.max(axis=0)):
            if beyond > reach[d]:
                text = f"reaches $k_{d + 1}$ = ±{beyond}"
                ax.text(0.5, 0.04, text, transform=ax.transAxes, ha="center", va="bottom", fontsize=9)
    notes = "line: the edge of the adaptive set    *: with weights from kernel.refinement_weights()"
    figure.supxlabel(f"frequency $k_1$ (cycles per 24)\n{notes}", fontsize=10)
    figure.supylabel("frequency $k_2$ (cycles per 7)", fontsize=10)
    figure.colorbar(ScalarMappable(norm, "viridis_r"), ax=axes, label="coefficient $c_k$ of the kernel", extend="min")
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, dpi=150)


def main(output=None, n_components=COLUMNS):
    """Compare, print the table and what it shows, and draw the sets; returns the kernel and the rows."""
    kernel, rows = compare_index_sets(n_components)
    scales, periods = (", ".join(f"{x:g}" for x in values) for values in (kernel.length_scale, kernel.period))
    print(f"Squared-exponential kernel, length scales {scales}, periods {periods}")
    print(f"{'':30}{'':>8}{'largest error':>22}{'Frobenius error':>22}")
    print(f"{'index set':30}{'columns':>8}" + f"{'certified':>11}{'measured':>11}{'expected':>11}{'measured':>11}")
    for row in rows:
        errors = (row.largest_error, row.measured_largest_error, row.frobenius_error, row.measured_frobenius_error)
        print(f"{row.label:30}{row.index_set.n_components:8}" + "".join(f"{error:11.2e}" for error in errors))
    print("* with weights from kernel.refinement_weights()")
    print("\n".join(summarise(rows)))
    if output is not None:
        draw(kernel, rows, output)
        print(f"Picture: {output}")
    return kernel, rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", "-o", type=Path, default=Path("index_sets.png"), help="picture to write")
    parser.add_argument("--columns", type=int, default=COLUMNS, help="most columns a set may have")
    arguments = parser.parse_args()
    main(arguments.output, arguments.columns)
