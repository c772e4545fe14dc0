"""``torusgp lattice``: the lattice of an image file."""

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from torusgp.cli._console import describe_cell, fail, progress_line, with_error
from torusgp.cli._options import hole_option, mask_option, output_option
from torusgp.images.inpainting import DEFAULT_COLUMNS, hole_mask
from torusgp.images.lattices import ImageLattice, find_lattice
from torusgp.storage.files import check_places, write_together
from torusgp.storage.pictures import encode_grey, read_mask, read_picture
from torusgp.views.plotting import LatticeDisplay
from torusgp.views.plotting._base import check_matplotlib

HELP = """Find the lattice on which an image repeats, such as a crystal under a microscope or a weave.

The cell comes with standard errors; so does the strain, a slow change of the cell across the image. Transparent pixels,
and those of --mask or --hole, are not used.

Three files are written, all or none: what was found as JSON; the average cell as a 16-bit grey picture, drawn finer
than the pixels, its rows and columns along the two vectors; and a figure of image, average cell, residual and strain.
Nothing is written for an image without a lattice.

\b
Examples:
  torusgp lattice crystal.png
  torusgp lattice crystal.tif --hole 0:40,0:60 -o crystal.json
"""


@dataclass(frozen=True)
class Written:
    """A lattice and where its files are."""

    result: ImageLattice
    content: Path
    unit_cell: Path
    figure: Path


def command(
    image: Annotated[Path, typer.Argument(metavar="IMAGE", help="Image: grey or colour, 8 or 16 bits.")],
    mask: Annotated[Path | None, mask_option("not used")] = None,
    hole: Annotated[str | None, hole_option("not used")] = None,
    output: Annotated[
        Path | None,
        output_option("JSON file; the others are named after it. By default IMAGE-lattice.json, beside it."),
    ] = None,
    components: Annotated[
        int, typer.Option(help="Most components of the model; more follow finer detail of the cell.")
    ] = DEFAULT_COLUMNS,
    size: Annotated[int, typer.Option(help="Points of the average cell along each vector.")] = 128,
):
    try:
        with progress_line("reading") as report:
            written = lattice_file(
                image, mask=mask, hole=hole, output=output, n_components=components, size=size, report=report
            )
    except (ImportError, OSError, ValueError) as error:
        fail(error)
    print("\n".join(describe(written)))


def lattice_file(path, *, mask=None, hole=None, output=None, n_components=DEFAULT_COLUMNS, size=128, report=None):
    """Find the lattice of an image file, and write what was found, the average cell and a figure."""
    if mask is not None and hole is not None:
        raise ValueError(f"Give either a mask or a hole: got the mask {mask} and the hole {hole!r}.")
    if n_components < 9 or size < 2:
        raise ValueError(f"The model needs 9 components or more and a cell 2 points, got {n_components} and {size}.")
    check_matplotlib()  # before the work, not after it
    path = Path(path)
    picture = read_picture(path)
    content = path.with_name(f"{path.stem}-lattice.json") if output is None else Path(output)
    if content.suffix.lower() != ".json":
        raise ValueError(f"Cannot write {content}: the name has to end in .json.")
    unit_cell, figure = (content.with_name(f"{content.stem}-{name}.png") for name in ("cell", "figure"))
    for place in (content, unit_cell, figure):
        for source in (path, mask):
            if source is not None and place.exists() and os.path.samefile(place, source):
                raise ValueError(f"Cannot write {place}: it is one of the inputs. Name another place with --output.")
    check_places([content, unit_cell, figure])
    hidden = None
    if mask is not None:
        hidden = read_mask(mask, picture.shape)
    elif hole is not None:
        hidden = hole_mask(hole, picture.shape)
    result = find_lattice(picture.values, hidden, n_components=n_components, report=report)
    text = json.dumps(result.to_dict(), indent=2, allow_nan=False) + "\n"
    average = result.unit_cell(size)
    files = {content: text.encode(), unit_cell: encode_grey(average if average.ndim == 2 else average.mean(axis=2))}
    write_together({**files, figure: _draw(result)})
    return Written(result, content, unit_cell, figure)


def describe(written):
    """Lines that say what was found, and where the files are."""
    result = written.result
    *vectors, _ = describe_cell(result.cell, result.cell_std)
    strain, std = result.strain()
    ranges = [
        f"{name} {100 * strain[..., i].min():+.2f} to {100 * strain[..., i].max():+.2f} %"
        for i, name in enumerate(("rows", "columns", "shear"))
    ]
    defects = result.defects()
    first = f", the largest at row {defects[0].position[0]:.0f}, column {defects[0].position[1]:.0f}" if defects else ""
    return [
        *vectors,
        f"  angle between them {with_error(result.angle, result.angle_std)} degrees",
        f"Strain: {', '.join(ranges)}; standard error up to {100 * std.max():.2g} %",
        f"Defects: {len(defects)}{first}",
        f"Found: {written.content}",
        f"Average cell: {written.unit_cell}",
        f"Figure: {written.figure}",
    ]


def _draw(result):
    """The figure as the bytes of a PNG, without a window: it is not known to pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(17, 3.8), layout="constrained")
    LatticeDisplay.from_result(result).plot(figure.subplots(1, 5))
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    return buffer.getvalue()
