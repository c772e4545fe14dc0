"""Options that several subcommands have, and values of options with parts."""

import tempfile
from pathlib import Path

from torusgp.storage.files import check_places


def json_option():
    """The option ``--json``."""
    import typer

    return typer.Option("--json", help="Print JSON instead of tables, and nothing else.")


def debug_option():
    """The option ``--debug``."""
    import typer

    return typer.Option("--debug", help="Show where an error comes from.")


def drop_missing_option():
    """The option ``--drop-missing``."""
    import typer

    return typer.Option("--drop-missing", help="Leave out rows that miss an input, instead of an error.")


def missing_option():
    """The option ``--missing``."""
    import typer

    return typer.Option(
        help="Values that stand for nothing, with commas, such as 'NA,-999'; an empty field always does.",
        metavar="VALUE,VALUE",
    )


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


def decimal_option():
    """The option ``--decimal``."""
    import typer

    return typer.Option(help="Decimal separator, a comma or a point; 'auto' finds it.", metavar="SIGN")


def date_format_option():
    """The option ``--date-format``."""
    import typer

    return typer.Option(
        help="How times are written, such as '%d/%m/%Y %H:%M'; 'auto' for 2024-01-31 and 31.01.2024.", metavar="FORMAT"
    )


def output_option(help):
    """The option ``--output``."""
    import typer

    return typer.Option("--output", "-o", help=help, metavar="OUT")


def table_output_option():
    """The option ``--output`` of a table."""
    return output_option("Table to write: .csv, .csv.gz or .parquet. Without it, CSV is printed.")


def quantiles_option():
    """The option ``--quantiles``."""
    import typer

    return typer.Option(help="Quantiles of the predicted distribution, with commas.", metavar="Q,Q")


def mask_option(which):
    """The option ``--mask``, of pixels that are missing or not used."""
    import typer

    return typer.Option(help=f"Image of the same size; what is not zero is {which}.", metavar="MASK")


def hole_option(which):
    """The option ``--hole``, of pixels that are missing or not used."""
    import typer

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
