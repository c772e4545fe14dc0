"""``torusgp report``: a page about a model."""

from pathlib import Path
from typing import Annotated

import typer

from torusgp.cli._console import exit_on_error, print_json, printable, progress_line
from torusgp.cli._options import (
    DateFormat,
    Debug,
    Decimal,
    DropMissing,
    Json,
    Missing,
    beside,
    check_output,
    output_option,
    to_missing,
)
from torusgp.data.tables import read_table
from torusgp.libraries import require
from torusgp.tables.model import TableModel, write_page
from torusgp.tables.words import command_words

HELP = """Write a page about a model, to open in a browser: forecast, what drives it, errors, problems.

With DATA, a table that has the target, too, predictions are compared with its rows instead of those that were held out.
Say with --new-rows that the model has not seen these rows, or with --fitted-rows that it was fitted to them.

\b
Examples:
  torusgp report model.npz -o report.html
  torusgp report model.npz next-year.csv --new-rows -o report.html
"""


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that torusgp fit wrote.")],
    data: Annotated[Path | None, typer.Argument(metavar="DATA", help="Table to compare predictions with.")] = None,
    output: Annotated[Path | None, output_option("Page to write; by default MODEL-report.html.")] = None,
    new: Annotated[
        bool | None, typer.Option("--new-rows/--fitted-rows", help="Whether the model has not seen DATA.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the target, such as MW.", metavar="UNIT")] = None,
    drop_missing: DropMissing = False,
    decimal: Decimal = None,
    date_format: DateFormat = None,
    missing: Missing = None,
    as_json: Json = False,
    debug: Debug = False,
):
    with exit_on_error(debug), command_words():
        place = beside(model, "-report.html") if output is None else output
        with progress_line("drawing"):
            found = report_file(
                model,
                place,
                data,
                new=new,
                title=title,
                unit=unit,
                drop_missing=drop_missing,
                decimal=decimal,
                date_format=date_format,
                missing=to_missing(missing),
            )
        if as_json:
            names = {"model": str(model), "data": None if data is None else str(data), "output": str(place)}
            print_json(names | found.to_json())
        else:
            print(printable(f"{found.verdict}\nPage: {place}"))


def report_file(
    model,
    output,
    path=None,
    *,
    new=None,
    title=None,
    unit=None,
    drop_missing=False,
    decimal=None,
    date_format=None,
    missing=None,
):
    """Write a page about the file of a table model."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"Cannot write {output}: the name of a page has to end in .html.")
    check_output(output, model, path)
    require("jinja2", "report", "A report needs")
    table = TableModel.load(model).set_params(drop_missing=drop_missing)
    table.read_as(decimal=decimal, date_format=date_format, missing=missing)
    if unit is not None:
        table.set_params(unit=unit)
    frame = None if path is None else read_table(path, table.missing)
    return write_page(table, output, frame, new_rows=new, title=title, source=path)
