"""Options that several subcommands have, and values of options with parts."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from torusgp.storage.files import check_places

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables, and nothing else.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows that miss an input, instead of an error.")
]
Missing = Annotated[
    str | None,
    typer.Option(
        help="Values that stand for nothing, with commas, such as 'NA,-999'; an empty field always does.",
        metavar="VALUE,VALUE",
    ),
]
Decimal = Annotated[
    str | None, typer.Option(help="Decimal separator, a comma or a point; 'auto' finds it.", metavar="SIGN")
]
DateFormat = Annotated[
    str | None,
    typer.Option(
        help="How times are written, such as '%d/%m/%Y %H:%M'; 'auto' for 2024-01-31 and 31.01.2024.", metavar="FORMAT"
    ),
]
Quantiles = Annotated[str, typer.Option(help="Quantiles of the predicted distribution, with commas.", metavar="Q,Q")]


def output_option(help):
    """The option ``--output``."""
    return typer.Option("--output", "-o", help=help, metavar="OUT")


TableOutput = Annotated[
    Path | None, output_option("Table to write: .csv, .csv.gz or .parquet. Without it, CSV is printed.")
]


def to_missing(text):
    """Values of ``--missing``; None without it.

    Examples
    --------
    >>> to_missing("NA, -999")
    ['NA', '-999']
    """
    if text is None:
        return None
    values = [part.strip() for part in text.split(",") if part.strip()]
    if not values:
        raise ValueError(f"--missing needs values with commas between them, such as --missing NA,-999, got {text!r}.")
    return values


def mask_option(which):
    """The option ``--mask``, of pixels that are missing or not used."""
    return typer.Option(help=f"Image of the same size; what is not zero is {which}.", metavar="MASK")


def hole_option(which):
    """The option ``--hole``, of pixels that are missing or not used."""
    return typer.Option(
        help=f"Rows r0 to r1 - 1 and columns c0 to c1 - 1 are {which}, counted from 0 at the upper left.",
        metavar="r0:r1,c0:c1",
    )


def split_pair(text, option, example):
    """Column and value of an option ``COLUMN=VALUE``.

    Examples
    --------
    >>> split_pair("hour=24", "--period", "hour=24")
    ('hour', '24')
    """
    column, sign, value = text.rpartition("=")
    if not sign or not column.strip() or not value.strip():
        raise ValueError(f"{option} needs a column and a value, such as {option} {example}, got {text!r}.")
    return column.strip(), value.strip()


def split_list(text, option):
    """Numbers of an option, separated by commas.

    Examples
    --------
    >>> split_list("0.05, 0.95", "--quantiles")
    [0.05, 0.95]
    """
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(f"{option} needs numbers with commas between them, got {text!r}.") from None


def beside(path, ending):
    """A file next to another, named after it.

    Examples
    --------
    >>> beside(Path("data/demand.csv.gz"), "-model.npz").as_posix()
    'data/demand-model.npz'
    """
    path = Path(path)
    return path.with_name(path.name.partition(".")[0] + ending)


def check_output(place, *sources):
    """Raise if a file cannot be written, before work is done that would be lost; or if it is one of those read."""
    for source in sources:
        if source is not None and place.exists() and source.exists() and place.samefile(source):
            raise ValueError(f"Cannot write {place}: it is one of the inputs. Name another place with --output.")
    check_places([place])
    folder = next(one for one in place.absolute().parents if one.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):  # some file systems allow it, and then do not do it
            pass
    except OSError as error:
        raise OSError(f"Cannot write {place}: {error.strerror or error}. Name another place.") from error
