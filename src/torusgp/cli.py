"""The command ``torusgp``.

Typer and rich are imported when the command runs, so that their absence is told in one line. The work of a command is a
function that knows nothing of them: it returns what it found, and the command prints it.
"""

import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import numpy as np

from torusgp.features import INDEX_SETS, IndexSetFourierFeatures
from torusgp.index_sets import IndexSet, adaptive
from torusgp.kernel import TorusKernel

DEMO_OUTPUT = Path("torusgp-demo") / "index_sets.png"
DEMO_COLUMNS = 121  # a size that several families reach exactly or nearly
_FEWEST_COLUMNS = 9  # the smallest hyperbolic cross in two dimensions
_MOST_COLUMNS = 1001  # beyond, errors come down to rounding
_N_POINTS = 1000
_PICTURE_FORMATS = (".png", ".pdf", ".svg")


def main():
    """Entry point of the command."""
    try:
        app = make_app()
    except ImportError as error:
        _fail(error)
    app()


def make_app():
    """The commands, as a Typer application."""
    try:
        import typer
        from rich.console import Console
    except ImportError as error:
        raise ImportError(
            'The command needs typer and rich. Install them with: pip install "torusgp[cli,plot]"'
        ) from error

    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.callback()
    def torusgp():
        """Gaussian-process regression for data that repeats in several directions at once."""

    @app.command()
    def demo(
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Picture to write: .png, .pdf or .svg.")
        ] = DEMO_OUTPUT,
        columns: Annotated[
            int, typer.Option(help=f"Most columns a set may have, {_FEWEST_COLUMNS} to {_MOST_COLUMNS}.")
        ] = DEMO_COLUMNS,
    ):
        """Compare index sets of the same size on an anisotropic kernel; write a picture of them."""
        try:
            kernel, rows = compare_index_sets(columns)
            write_picture(make_demo_figure(kernel, rows), output)
        except (ImportError, OSError, ValueError) as error:
            _fail(error)
        console = Console()
        console.print(_to_table(kernel, rows))
        for line in summarise(rows):
            console.print(line, highlight=False)
        print(f"Picture: {output}")  # not wrapped, so that the path can be copied

    return app


def _fail(error) -> NoReturn:
    print(f"Error: {error}", file=sys.stderr)
    raise SystemExit(2)


@dataclass(frozen=True)
class DemoRow:
    """An index set with its errors: certificates, and what random points show.

    Attributes
    ----------
    label : str
        Function that built the set, with a star if it had the kernel's refinement weights.
    index_set : IndexSet
        The set.
    largest_error, frobenius_error : float
        Certificates, from the kernel and the set alone.
    measured_largest_error, measured_frobenius_error : float
        The same from Gram matrices of random points.
    """

    label: str
    index_set: IndexSet
    largest_error: float
    measured_largest_error: float
    frobenius_error: float
    measured_frobenius_error: float


def compare_index_sets(n_components=DEMO_COLUMNS, n_samples=_N_POINTS, random_state=0):
    """Errors of the families of index sets on one anisotropic kernel in two dimensions.

    Parameters
    ----------
    n_components : int, default=121
        Largest number of columns, 9 to 1001; each family gives the largest set that fits.
    n_samples : int, default=1000
        Number of uniformly distributed points on which errors are measured.
    random_state : int, default=0
        Seed of the points.

    Returns
    -------
    kernel : TorusKernel
        The kernel.
    rows : list of DemoRow
        One for each set.
    """
    if not _FEWEST_COLUMNS <= n_components <= _MOST_COLUMNS:
        raise ValueError(f"The demonstration takes {_FEWEST_COLUMNS} to {_MOST_COLUMNS} columns, got {n_components}.")
    kernel = TorusKernel("squared_exponential", length_scale=[0.25, 1.2], period=[24.0, 7.0])
    weights = kernel.refinement_weights()
    sets = {name: build(2, n_components=n_components) for name, build in INDEX_SETS.items()}
    for name in ("euclidean", "energy_norm_hyperbolic_cross"):
        sets[f"{name} *"] = INDEX_SETS[name](2, n_components=n_components, weights=weights)
    sets["adaptive"] = adaptive(kernel, n_components)

    X = np.random.default_rng(random_state).uniform(0, kernel.period, (n_samples, 2))
    exact = kernel(X)
    rows = []
    for label, index_set in sets.items():
        features = IndexSetFourierFeatures(
            kernel.family, length_scale=kernel.length_scale, period=kernel.period, index_set=index_set
        )
        phi = features.fit_transform(X)
        error = phi @ phi.T - exact
        rows.append(
            DemoRow(
                label,
                index_set,
                kernel.truncation_error(index_set),
                float(np.abs(error).max()),
                kernel.frobenius_error(index_set, n_samples),
                float(np.linalg.norm(error) / np.linalg.norm(exact)),
            )
        )
    return kernel, rows


def summarise(rows):
    """What the comparison shows, in two sentences.

    Parameters
    ----------
    rows : list of DemoRow
        The comparison, the adaptive set last.

    Returns
    -------
    list of str
    """
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


def _to_table(kernel, rows):
    from rich import box
    from rich.table import Table

    scales, periods = (", ".join(f"{x:g}" for x in values) for values in (kernel.length_scale, kernel.period))
    table = Table(
        title=f"Squared-exponential kernel, length scales {scales}, periods {periods}",
        caption="* with weights from kernel.refinement_weights()",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    table.add_column("index set", no_wrap=True)
    for header in (
        "columns",
        "largest\nerror,\ncertified",
        "\n\nmeasured",
        "Frobenius\nerror,\nexpected",
        "\n\nmeasured",
    ):
        table.add_column(header, justify="right", vertical="bottom", min_width=min(9, len(header)))
    for row in rows:
        errors = (
            row.largest_error,
            row.measured_largest_error,
            row.frobenius_error,
            row.measured_frobenius_error,
        )
        table.add_row(row.label, str(row.index_set.n_components), *(f"{error:.2e}" for error in errors))
    return table


def make_demo_figure(kernel, rows):
    """Draw the sets of a comparison, coloured by the coefficients of the kernel.

    Parameters
    ----------
    kernel : TorusKernel
        The kernel.
    rows : list of DemoRow
        The comparison, the adaptive set last.

    Returns
    -------
    matplotlib Figure
        Without a window: it is not known to pyplot.
    """
    from torusgp.plotting import CoefficientDisplay, check_matplotlib

    check_matplotlib()
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

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
        for d, beyond in enumerate(row.index_set.frequencies.max(axis=0)):
            if beyond > reach[d]:
                text = f"reaches $k_{d + 1}$ = ±{beyond}"
                ax.text(0.5, 0.04, text, transform=ax.transAxes, ha="center", va="bottom", fontsize=9)
    notes = "line: the edge of the adaptive set    *: with weights from kernel.refinement_weights()"
    figure.supxlabel(f"frequency $k_1$ (cycles per 24)\n{notes}", fontsize=10)
    figure.supylabel("frequency $k_2$ (cycles per 7)", fontsize=10)
    figure.colorbar(ScalarMappable(norm, "viridis_r"), ax=axes, label="coefficient $c_k$ of the kernel", extend="min")
    return figure


def write_picture(figure, path):
    """Write a figure as a whole, or not at all.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    path : Path
        Where to; folders are created, a picture that is there is replaced. Its ending says the format.
    """
    path = Path(path)
    if path.suffix.lower() not in _PICTURE_FORMATS:
        raise ValueError(f"Cannot write {path}: a picture's name has to end in {', '.join(_PICTURE_FORMATS)}.")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=100)
    missing = [folder for folder in (path.parent, *path.parent.parents) if not os.path.lexists(folder)]
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            raise OSError(0, "It is there already, and is not a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(buffer.getvalue())
        part.replace(path)
    except OSError as error:
        if part.is_file():
            part.unlink()
        for folder in missing:
            if folder.is_dir():
                folder.rmdir()
        raise OSError(f"Cannot write {path}: {error.strerror}. Name another place with --output.") from error
