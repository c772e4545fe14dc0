"""``torusgp demo``: a made-up plate with a hole, filled in several ways.

The first comparison shows what it takes to fill the hole: to find on which lattice the plate repeats. The second shows
why the components of the model are an index set. It compares them with features that others draw from the same kernel:
on the same pixels, of a plate that is evenly lit so that nothing but the pattern counts, with the true lattice given to
all of them, as many components, and length scales and variances learned by each in the same way. The truth is made up,
so errors are known without the noise of the photograph, which would hide them.
"""

import io
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from threadpoolctl import threadpool_limits

from torusgp.cli._console import describe_cell, fail, progress_line
from torusgp.data.datasets import make_perforated_plate
from torusgp.estimators.feature_regression import BayesianFeatureRegressor
from torusgp.estimators.features import IndexSetFourierFeatures
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.estimators.warped_features import WarpedFourierFeatures
from torusgp.images.inpainting import Inpainting, hole_mask, inpaint, make_lattice_regressor
from torusgp.storage.files import check_places, write_together
from torusgp.views.metrics import mean_negative_log_loss
from torusgp.views.plotting import InpaintingDisplay, PeriodogramDisplay
from torusgp.views.plotting._base import add_colour_bar, check_matplotlib

DEMO_OUTPUT = Path("torusgp-demo") / "inpainting.png"
DEMO_COLUMNS = (25, 101)
_SHAPE = (100, 100)
_HOLE = "26:74,26:74"
_LEARN = ("length_scale", "signal_variance", "noise_variance")
_SEQUENCES = {
    "random": "random features",
    "halton": "Halton features",
    "generalized_halton": "generalised Halton",
}
_FORMATS = (".png", ".pdf", ".svg")
_HIGHEST_FREQUENCY = 0.25  # cycles per pixel, in the picture; beyond there is only noise
_N_POINTS = 400  # where kernels are compared
_INSIDE = 1.96  # standard deviations on either side


@dataclass(frozen=True)
class DemoRow:
    """One way to fill the hole.

    Attributes
    ----------
    label : str
        What repeats, in words.
    n_components : int
        Number of components.
    result : Inpainting or None
        What came out; None where no period was found.
    """

    label: str
    n_components: int
    result: Inpainting | None


@dataclass(frozen=True)
class ColumnsRow:
    """One way to choose the components, on a lattice that is given.

    Attributes
    ----------
    label : str
        How they were chosen.
    n_components : int
        Number of components.
    kernel_error : float
        Largest difference between products of columns and the kernel that they stand for, which is one at distance 0.
    pattern_error : float
        Root mean square error in the hole, without noise, on the scale where known pixels go from 0 to 1.
    mnll : float
        Mean negative log loss in the hole, noise included.
    seconds : float
        Time to learn and predict.
    """

    label: str
    n_components: int
    kernel_error: float
    pattern_error: float
    mnll: float
    seconds: float


def add_demo(app):
    """Add the subcommand to an application.

    Parameters
    ----------
    app : typer.Typer
        The application.
    """
    import typer

    @app.command()
    def demo(
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Picture to write: .png, .pdf or .svg.")
        ] = DEMO_OUTPUT,
    ):
        """Fill the hole in a made-up photograph of a perforated plate, and compare ways to do it."""
        try:
            check_picture(output)
            plate = make_perforated_plate(_SHAPE)
            # the matrices are small: several threads would mostly wait for each other
            with threadpool_limits(1, user_api="blas"), progress_line("finding the lattice") as report:
                rows = compare_models(plate.image, verbose=report)
                columns = compare_columns(make_perforated_plate(_SHAPE, gradient=0.0, vignette=0.0), verbose=report)
            write_together({output: draw(rows, output)})
        except (ImportError, OSError, ValueError) as error:
            fail(error)
        from rich.console import Console

        console = Console()
        console.print(_to_table(rows))
        print("\n".join(summarise(plate, rows)), end="\n\n")
        console.print(_to_columns_table(columns))
        print("\n".join(summarise_columns(columns)), end="\n\n")
        print(f"Picture: {output}")


def compare_models(image, n_components=DEMO_COLUMNS, *, verbose=print):
    """Fill the hole with the mean, with periods along the axes, and with learned lattices.

    Parameters
    ----------
    image : ndarray of shape (n_rows, n_columns)
        An image that is known in the hole too, so that errors are.
    n_components : sequence of int, default=(25, 101)
        Numbers of columns of the learned lattices; periods along the axes have the last of them.
    verbose : callable, default=print
        Takes lines of progress.

    Returns
    -------
    list of DemoRow
        The learned lattice with the most components is the last.
    """
    mask = hole_mask(_HOLE, image.shape)
    lattices = []
    for size in n_components:
        result = inpaint(image, mask, make_lattice_regressor(size, verbose=verbose))
        lattices.append(DemoRow("a learned lattice", result.estimator.index_set_.n_components, result))
    nothing = DemoRow("nothing, the mean for all", 1, inpaint(image, mask, _Mean()))
    return [nothing, _along_axes(image, mask, n_components[-1], verbose), *lattices]


class _Mean:
    """A regressor that knows no inputs."""

    def fit(self, X, y):
        self.mean_, self.std_ = np.mean(y), np.std(y)
        return self

    def predict(self, X, return_std):
        return np.full(len(X), self.mean_), np.full(len(X), self.std_)


def _along_axes(image, mask, n_components, verbose):
    """Periods along rows and columns, though on a tilted lattice there need not be any."""
    estimator = TorusGPRegressor(period="auto", learn=(*_LEARN, "period"), n_components=n_components, verbose=verbose)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that it does not fit is what it is there to show
        try:
            result = inpaint(image, mask, estimator)
        except ValueError:  # nothing repeats along the axes
            result = None
    return DemoRow("a period for each axis", n_components, result)


def compare_columns(plate, n_components=DEMO_COLUMNS[-1], *, verbose=print):
    """Fill the hole of a plate whose lattice is given, with columns chosen in several ways.

    Parameters
    ----------
    plate : PerforatedPlate
        Evenly lit.
    n_components : int, default=101
        Number of components. Features that are drawn have no constant, only pairs of cosine and sine, so one less if it
        is odd.
    verbose : callable, default=print
        Takes lines of progress.

    Returns
    -------
    list of ColumnsRow
        The index set is the first.
    """
    mask = hole_mask(_HOLE, plate.image.shape)
    verbose(f"comparing ways to choose {n_components} components")
    model = TorusGPRegressor(period=plate.cell, learn=_LEARN, n_components=n_components)
    rows = [_fill_with(model, "index set", plate, mask)]
    kernel = model.kernel_
    points = np.random.default_rng(0).uniform(0, min(plate.image.shape), (_N_POINTS, 2))
    transformers = {
        "index set": IndexSetFourierFeatures(
            kernel.family, period=kernel.period, length_scale=kernel.length_scale, index_set=model.index_set_
        )
    }
    for sequence, label in _SEQUENCES.items():
        transformers[label] = WarpedFourierFeatures(
            kernel.family,
            sequence=sequence,
            period=kernel.period,
            length_scale=kernel.length_scale,
            n_components=n_components - n_components % 2,
            random_state=0,
        )
        rows.append(_fill_with(BayesianFeatureRegressor(transformers[label], learn=_LEARN), label, plate, mask))
    exact = kernel(points)
    errors = {
        label: np.abs(features @ features.T - exact).max()
        for label, features in ((label, one.fit_transform(points)) for label, one in transformers.items())
    }
    sizes = {label: one.transform(points[:1]).shape[1] for label, one in transformers.items()}
    return [ColumnsRow(label, sizes[label], float(errors[label]), *figures) for label, *figures in rows]


def _fill_with(regressor, label, plate, mask):
    """Label, error of the pattern, MNLL and seconds of a regressor."""
    began = time.perf_counter()
    result = inpaint(plate.image, mask, regressor)
    seconds = time.perf_counter() - began
    error = result.scaled(result.filled)[mask] - result.scaled(plate.noise_free)[mask]
    return label, float(np.sqrt(np.mean(error**2))), result.mnll, seconds


def summarise(plate, rows):
    """What the comparison shows: how good it could be, and the lattice that was learned beside the true one.

    Parameters
    ----------
    plate : PerforatedPlate
        The image.
    rows : list of DemoRow
        The comparison, the learned lattice last.

    Returns
    -------
    list of str
    """
    result = rows[-1].result
    n_known, n_missing = int((~result.mask).sum()), int(result.mask.sum())
    # the true vectors of the basis that was learned: integer multiples of those that made the plate
    truth = np.rint(result.cell @ np.linalg.inv(plate.cell)) @ plate.cell
    vectors = ", ".join(f"({', '.join(f'{x:.4f}' for x in vector)})" for vector in truth)
    hidden = result.scaled(plate.image)[result.mask]
    ideal = result.scaled(plate.noise_free)[result.mask]
    noise = np.sqrt(np.mean((hidden - ideal) ** 2))
    best = mean_negative_log_loss(hidden, ideal, np.full(len(hidden), noise))
    return [
        f"{n_missing} missing pixels from {n_known} known ones; errors on a scale where known pixels go from 0 to 1.",
        "RMSE is the root mean square error, MNLL the mean negative log loss: lower is better, and it also",
        f"depends on the intervals. A model that knew all but the noise would reach {noise:.4f} and {best:.3f}.",
        *describe_cell(result.cell, result.cell_std),
        f"  the truth      {vectors}",
    ]


def summarise_columns(rows):
    """What the comparison of columns compares, in words.

    Parameters
    ----------
    rows : list of ColumnsRow
        The index set first.

    Returns
    -------
    list of str
    """
    index_set, *others = rows
    ratio = min(row.pattern_error for row in others) / index_set.pattern_error
    return [
        "The same plate, evenly lit; the true lattice is given, length scales and variances are learned",
        "by each. The error of the kernel, which is 1 at distance zero, is the largest at any of 80,000",
        "pairs of points, for the one that the index set has learned; that of the filled pattern is",
        "taken without the noise.",
        f"The best of the others has {ratio:.2f} times the error of the index set.",
    ]


def _to_columns_table(rows):
    from rich import box
    from rich.table import Table

    table = Table(title="Ways to choose the components", box=box.SIMPLE_HEAD, show_edge=False)
    table.add_column("components from", no_wrap=True)
    for header in ("number", "kernel error", "pattern error", "MNLL", "seconds"):
        table.add_column(header, justify="right")
    for row in rows:
        figures = (f"{row.kernel_error:.2g}", f"{row.pattern_error:.4f}", f"{row.mnll:.3f}", f"{row.seconds:.1f}")
        table.add_row(row.label, str(row.n_components), *figures)
    return table


def _to_table(rows):
    from rich import box
    from rich.table import Table

    table = Table(
        title="A perforated plate with a hole of 48 x 48 pixels, filled", box=box.SIMPLE_HEAD, show_edge=False
    )
    table.add_column("what repeats", no_wrap=True)
    for header in ("columns", "RMSE", "MNLL", "seconds"):
        table.add_column(header, justify="right")
    for row in rows:
        cells = ("none found", "", "")
        if row.result is not None:
            cells = (f"{row.result.rmse:.4f}", f"{row.result.mnll:.3f}", f"{row.result.seconds:.1f}")
        table.add_row(row.label, str(row.n_components), *cells)
    return table


def check_picture(path):
    """Raise if a picture cannot be drawn, or not be written to a place.

    Parameters
    ----------
    path : Path
        Its ending says the format.
    """
    if path.suffix.lower() not in _FORMATS:
        raise ValueError(f"Cannot write {path}: a picture's name has to end in {', '.join(_FORMATS)}.")
    check_places([path])
    check_matplotlib()


def draw(rows, path):
    """Draw the filled plate, the uncertainty of its pattern, its errors, and the periodogram with the lattice.

    Parameters
    ----------
    rows : list of DemoRow
        The comparison, the learned lattice last.
    path : Path
        Its ending says the format.

    Returns
    -------
    bytes
    """
    from matplotlib.figure import Figure

    result = rows[-1].result
    figure = Figure(figsize=(12.0, 7.0), layout="constrained")  # not known to pyplot: no window
    axes = figure.subplots(2, 3)
    InpaintingDisplay.from_result(result).plot(axes[:, :2].ravel())
    _show_pattern_std(axes[1, 1], result)
    _show_errors(axes[0, 2], result)
    display = PeriodogramDisplay.from_estimator(result.estimator, names=("rows", "columns"))
    display.plot(axes[1, 2], max_frequency=_HIGHEST_FREQUENCY)
    axes[1, 2].set_aspect("equal")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=100)
    return buffer.getvalue()


def _show_pattern_std(ax, result):
    """Show the standard deviation without noise instead of that of pixels, which is hardly more than the noise."""
    _, std = result.estimator.predict(np.argwhere(result.mask), return_std=True, include_noise=False)
    image = np.full(result.mask.shape, np.nan)
    image[result.mask] = std
    drawn = ax.images[0]
    drawn.set_data(image)
    drawn.set_clim(std.min(), std.max())
    drawn.colorbar.set_label("standard deviation, without noise\n(same scale)")
    ax.set_title("uncertainty of pattern and lighting", fontsize="medium")


def _show_errors(ax, result):
    """Show errors in units of their standard deviations: if these are right, it is noise of size one."""
    errors = np.where(result.mask, result.image - result.filled, np.nan) / np.where(result.mask, result.std, 1.0)
    drawn = ax.imshow(errors, cmap="RdBu_r", vmin=-4.0, vmax=4.0, interpolation="nearest")
    ax.set_facecolor("0.9")
    inside = np.mean(np.abs(errors[result.mask]) <= _INSIDE)
    ax.set_title(f"errors\n{100 * inside:.1f} % inside the 95 % intervals", fontsize="medium")
    ax.set_xlabel("column (pixels)")
    add_colour_bar(ax, drawn, "standard deviations of a pixel")
