"""``torusgp report``: a page about a model."""

from pathlib import Path
from typing import Annotated

from torusgp.cli._console import at_work, errors_told, print_json
from torusgp.cli._options import beside, check_output, debug_option, drop_missing_option, json_option
from torusgp.cli._summary import summary_facts
from torusgp.files import write_together
from torusgp.plotting._base import check_matplotlib
from torusgp.report import render_report
from torusgp.table_models import TableModel
from torusgp.tables import read_table

_HELP = """Write a page about a model, to open in a browser: effects of its inputs, what matters, predictions.

With DATA, a table that has the target, too, predictions are compared with it. Say with --new-rows that the model has
not seen these rows, or with --fitted-rows that it was fitted to them; the page tells its readers.

\b
Examples:
  torusgp report model.npz -o report.html
  torusgp report model.npz next-year.csv --new-rows -o report.html
"""


def add_report(app):
    """Add the subcommand to an application.

    Parameters
    ----------
    app : typer.Typer
        The application.
    """
    import typer

    @app.command(name="report", help=_HELP)
    def command(
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that torusgp fit wrote.")],
        data: Annotated[Path | None, typer.Argument(metavar="DATA", help="Table to compare predictions with.")] = None,
        output: Annotated[
            Path | None,
            typer.Option("--output", "-o", help="Page to write; by default MODEL-report.html.", metavar="OUT"),
        ] = None,
        new: Annotated[
            bool | None, typer.Option("--new-rows/--fitted-rows", help="Whether the model has not seen DATA.")
        ] = None,
        title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
        drop_missing: Annotated[bool, drop_missing_option()] = False,
        as_json: Annotated[bool, json_option()] = False,
        debug: Annotated[bool, debug_option()] = False,
    ):
        with errors_told(debug):
            place = beside(model, "-report.html") if output is None else output
            with at_work("drawing"):
                report_file(model, place, data, new=new, title=title, drop_missing=drop_missing)
            if as_json:
                print_json({"model": str(model), "data": None if data is None else str(data), "output": str(place)})
            else:
                print(f"Page: {place}")


def report_file(model, output, path=None, *, new=None, title=None, drop_missing=False):
    """Write a page about the file of a table model.

    Parameters
    ----------
    model : Path
        File of a table model.
    output : Path
        Where to write the page.
    path : Path, optional
        Table to compare predictions with.
    new : bool, optional
        Whether the model has not seen its rows.
    title : str, optional
        Heading of the page.
    drop_missing : bool, default=False
        Leave out rows that miss an input.
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"Cannot write {output}: the name of a page has to end in .html.")
    check_output(output, model, path)
    check_matplotlib()
    table = TableModel.load(model).set_params(drop_missing=drop_missing)
    rows = (None, None) if path is None else table.read(read_table(path), source=path)
    page = render_report(
        table.model_,
        *rows,
        holdout=new,
        title=title or f"What predicts {table.target}",
        target_names=table.target,
        fit_seconds=table.notes_.get("seconds"),
        details=summary_facts(table.summary()),
    )
    write_together({output: page.encode("utf-8")})
