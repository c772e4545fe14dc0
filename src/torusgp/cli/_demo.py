"""``torusgp demo``: a made-up plate with a hole, filled in several ways."""

import io
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from threadpoolctl import threadpool_limits

from torusgp.cli._console import at_work, describe_cell, fail
from torusgp.datasets import make_perforated_plate
from torusgp.feature_regression import BayesianFeatureRegressor
from torusgp.files import check_places, write_together
from torusgp.inpainting import Inpainting, hole_mask, inpaint, make_lattice_regressor
from torusgp.plotting import InpaintingDisplay, PeriodogramDisplay
from torusgp.plotting._base import check_matplotlib
from torusgp.regression import TorusGPRegressor
from torusgp.warped_features import WarpedFourierFeatures

DEMO_OUTPUT = Path("torusgp-demo") / "inpainting.png"
DEMO_COLUMNS = (25, 49, 101)
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


@dataclass(frozen=True)
class DemoRow:
    """One way to fill the hole.

    Attributes
    ----------
    label : str
        What repeats, in words.
    n_components : int
        Number of columns.
    result : Inpainting or None
        What came out; None where no period was found.
    """

    label: str
    n_components: int
    result: Inpainting | None


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
            with threadpool_limits(1, user_api="blas"), at_work("finding the lattice") as report:
                rows = compare_models(plate.image, verbose=report)
            write_together({output: draw(rows, output)})
        except (ImportError, OSError, ValueError) as error:
            fail(error)
        from rich.console import Console

        Console().print(_to_table(rows))
        print("\n".join(summarise(plate, rows)))
        print(f"Picture: {output}")


def compare_models(image, n_components=DEMO_COLUMNS, *, verbose=print):
    """Fill the hole with periods along the axes, with the baselines, and with learned lattices.

    Parameters
    ----------
    image : ndarray of shape (n_rows, n_columns)
        An image that is known in the hole too, so that errors are.
    n_components : sequence of int, default=(25, 49, 101)
        Numbers of columns of the learned lattices; the others have the last of them.
    verbose : callable, default=print
        Takes lines of progress.

    Returns
    -------
    list of DemoRow
        The learned lattice with the most columns is the last.
    """
    mask = hole_mask(_HOLE, image.shape)
    lattices = []
    for size in n_components:
        result = inpaint(image, mask, make_lattice_regressor(size, verbose=verbose))
        lattices.append(DemoRow("learned lattice, index set", result.estimator.index_set_.n_components, result))
    most = n_components[-1]
    return [_along_axes(image, mask, most, verbose), *_baselines(image, mask, most, lattices[-1].result), *lattices]


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


def _baselines(image, mask, n_components, best):
    """Features without an index set on the lattice that was learned, with length scales and variances of their own."""
    kernel = best.estimator.kernel_
    rows = []
    for sequence, words in _SEQUENCES.items():
        transformer = WarpedFourierFeatures(
            kernel.family,
            sequence=sequence,
            period=kernel.period,
            length_scale=kernel.length_scale,
            n_components=n_components - n_components % 2,  # they have no constant, only pairs of cosine and sine
            random_state=0,
        )
        regressor = BayesianFeatureRegressor(transformer, learn=_LEARN)
        result = inpaint(image, mask, _BesideTrend(regressor, best.estimator.trend_))
        rows.append(DemoRow(f"learned lattice, {words}", transformer.n_components, result))
    return rows


class _BesideTrend:
    """A regressor on what the lighting leaves, so that the baselines differ from the index set in nothing else.

    Parameters
    ----------
    regressor : regressor
        Its ``predict`` takes ``return_std=True``.
    trend : Trend
        Lighting that the torus regressor found.
    """

    def __init__(self, regressor, trend):
        self.regressor, self.trend = regressor, trend

    def fit(self, X, y):
        self.regressor.fit(X, y - self.trend.mean(X)[:, 0])
        return self

    def predict(self, X, return_std):
        mean, std = self.regressor.predict(X, return_std=return_std)
        return mean + self.trend.mean(X)[:, 0], np.sqrt(std**2 + self.trend.variance(X, 0))


def summarise(plate, rows):
    """What the comparison shows: the lattice that was learned beside the true one.

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
    return [
        f"{n_missing} missing pixels from {n_known} known ones; errors on a scale where known pixels go from 0 to 1.",
        *describe_cell(result.cell, result.cell_std),
        f"  the truth      {vectors}",
    ]


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
    """Draw the filled plate, what the first of the other ways makes of it, and the periodogram with the lattice.

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
    other = next(row for row in rows if row.result is not None)
    figure = Figure(figsize=(12.0, 7.0), layout="constrained")  # not known to pyplot: no window
    axes = figure.subplots(2, 3)
    InpaintingDisplay.from_result(result).plot(axes[:, :2].ravel())
    axes[0, 2].imshow(
        other.result.scaled(other.result.filled), cmap="gray", vmin=0.0, vmax=1.0, interpolation="nearest"
    )
    score = f"RMSE {other.result.rmse:.3g}, MNLL {other.result.mnll:.3g}"
    axes[0, 2].set_title(f"filled with {other.label} instead\n{score}", fontsize="medium")
    axes[0, 2].set_xlabel("column (pixels)")
    display = PeriodogramDisplay.from_estimator(result.estimator, names=("rows", "columns"))
    display.plot(axes[1, 2], max_frequency=_HIGHEST_FREQUENCY)
    axes[1, 2].set_aspect("equal")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=100)
    return buffer.getvalue()
