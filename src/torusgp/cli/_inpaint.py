"""``torusgp inpaint``: the missing part of an image file, filled."""

import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from torusgp.cli._console import describe_cell, fail, progress_line
from torusgp.cli._options import hole_option, mask_option, output_option
from torusgp.images.inpainting import DEFAULT_COLUMNS, Inpainting, hole_mask, inpaint, make_lattice_regressor
from torusgp.storage.files import check_places, write_together
from torusgp.storage.pictures import encode_std, read_mask, read_picture
from torusgp.views.plotting import InpaintingDisplay
from torusgp.views.plotting._base import check_matplotlib

FEWEST_COLUMNS = 9  # a constant and the waves of the nearest neighbours in two dimensions

HELP = """Fill the missing part of an image that repeats, such as a texture, a weave or a crystal.

The lattice on which it repeats is found and learned from the pixels that are left. Without --mask and --hole the
missing part is where the image is transparent or NaN. With one of them, transparent pixels elsewhere are neither used
nor filled; pixels transparent in part count with their colour.

If the image is intact under the mask or hole, the result is compared with it; nothing else is done with what is there.
Where all that is there has one colour, it is taken for paint.

Three files are written, all or none: the filled image, in the mode and depth of the original and otherwise unchanged;
the standard deviations as 16-bit grey, with their scale in the description of the file; and a figure of both.

\b
Examples:
  torusgp inpaint weave.png --hole 32:96,32:96 -o filled.png
  torusgp inpaint weave.png --mask scratches.png --components 801
"""


@dataclass(frozen=True)
class Written:
    """A filled image and where its files are."""

    result: Inpainting
    filled: Path
    std: Path
    figure: Path
    scale: str


def command(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="Image to fill: grey or colour, 8 or 16 bits.")],
    mask: Annotated[Path | None, mask_option("missing")] = None,
    hole: Annotated[str | None, hole_option("missing")] = None,
    output: Annotated[
        Path | None,
        output_option("Filled image, .png or .tif; the others are named after it. By default IMAGE-filled, beside it."),
    ] = None,
    components: Annotated[
        int, typer.Option(help=f"Most components of the model, {FEWEST_COLUMNS} or more; more follow finer detail.")
    ] = DEFAULT_COLUMNS,
    truth: Annotated[bool, typer.Option(help="Compare with what is under the mask or hole.")] = True,
):
    try:
        with progress_line("reading") as report:
            written = inpaint_file(
                image, mask=mask, hole=hole, output=output, n_components=components, truth=truth, verbose=report
            )
    except (ImportError, OSError, ValueError) as error:
        fail(error)
    print("\n".join(describe(written)))


def inpaint_file(path, *, mask=None, hole=None, output=None, n_components=DEFAULT_COLUMNS, truth=True, verbose=0):
    """Fill the hole of an image file, and write the filled image, its uncertainty, and a figure of both."""
    if mask is not None and hole is not None:
        raise ValueError(f"Give either a mask or a hole: got the mask {mask} and the hole {hole!r}.")
    if n_components < FEWEST_COLUMNS:
        raise ValueError(f"The model needs {FEWEST_COLUMNS} components or more, got {n_components}.")
    check_matplotlib()  # before the work, not after it
    picture = read_picture(path)
    path = Path(path)
    filled = path.with_name(f"{path.stem}-filled{picture.suffix(path)}") if output is None else Path(output)
    picture.check_suffix(filled)
    std, figure = (filled.with_name(f"{filled.stem}-{name}.png") for name in ("std", "figure"))
    for place in (filled, std, figure):
        for source in (path, mask):
            if source is not None and place.exists() and os.path.samefile(place, source):
                raise ValueError(f"Cannot write {place}: it is one of the inputs. Name another place with --output.")
    check_places([filled, std, figure])

    if mask is not None:
        missing = read_mask(mask, picture.shape)
    else:
        missing = None if hole is None else hole_mask(hole, picture.shape)
    result = inpaint(picture.values, missing, make_lattice_regressor(n_components, verbose=verbose), truth=truth)
    std_map, scale = encode_std(result.std_map)
    write_together({filled: picture.encode(result.filled, result.mask, filled), std: std_map, figure: _draw(result)})
    return Written(result, filled, std, figure, scale)


def describe(written):
    """Lines that say what was learned, how good it is, and where the files are."""
    result = written.result
    n_missing = int(result.mask.sum())
    accuracy = "not known, since the image does not show what was there"
    if result.truth_known:
        accuracy = f"RMSE {result.rmse:.4f}, MNLL {result.mnll:.3f}, on a scale where known pixels go from 0 to 1"
    return [
        *describe_cell(result.cell, result.cell_std),
        f"Columns: {result.estimator.index_set_.n_components}",
        f"Filled: {n_missing} of {result.mask.size} pixels, in {result.seconds:.1f} s",
        f"Accuracy: {accuracy}",
        f"Image: {written.filled}",
        f"Uncertainty: {written.std} ({written.scale})",
        f"Figure: {written.figure}",
    ]


def _draw(result):
    """The comparison as the bytes of a PNG, without a window: it is not known to pyplot."""
    from matplotlib.figure import Figure

    display = InpaintingDisplay.from_result(result)
    figure = Figure(figsize=display.figure_size, layout="constrained")
    display.plot(figure.subplots(1, len(display.panels), sharey=True))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
