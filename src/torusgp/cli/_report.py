"""``torusgp report``: a page about a model."""

from pathlib import Path
from typing import Annotated

from torusgp.cli._console import at_work, errors_told, print_json
from torusgp.cli._options import (
    beside,
    check_output,
    date_format_option,
    debug_option,
    decimal_option,
    drop_missing_option,
    json_option,
)
from torusgp.cli._summary import summary_facts
from torusgp.storage.files import write_together
from torusgp.tables.models import TableModel, words_of_the_command
from torusgp.tables.models._warnings import bias_remedy
from torusgp.tables.reading import read_table
from torusgp.views.plotting._base import check_matplotlib
from torusgp.views.report import render_report
from torusgp.views.report._waves import MeanWaves

_HELP = """Write a page about a model, to open in a browser: effects of its inputs, what matters, predictions.

With DATA, a table that has the target, too, predictions are compared with it. Say with --new-rows that the model has
not seen these rows, or with --fitted-rows that it was fitted to them; the page tells its readers.

\b
Examples:
  torusgp report model.npz -o report.html
  torusgp report model.npz next-year.csv --new-rows -o report.html
"""

_LINE = (
    "Beside what repeats there is a line in time, which goes on in forecasts. Effects and shares are without it; rows "
    "are compared with predictions that have it."
)
_SAID_ANYWAY = {
    "target",
    "model",
    "function",
    "noise",
    "log evidence",
    "held out",
    "RMSE, R2",
    "MNLL",
    "95 % intervals",
}


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
        decimal: Annotated[str | None, decimal_option()] = None,
        date_format: Annotated[str | None, date_format_option()] = None,
        as_json: Annotated[bool, json_option()] = False,
        debug: Annotated[bool, debug_option()] = False,
    ):
        with errors_told(debug), words_of_the_command():
            place = beside(model, "-report.html") if output is None else output
            with at_work("drawing"):
                report_file(
                    model,
                    place,
                    data,
                    new=new,
                    title=title,
                    drop_missing=drop_missing,
                    decimal=decimal,
                    date_format=date_format,
                )
            if as_json:
                print_json({"model": str(model), "data": None if data is None else str(data), "output": str(place)})
            else:
                print(f"Page: {place}")


def report_file(model, output, path=None, *, new=None, title=None, drop_missing=False, decimal=None, date_format=None):
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
    decimal, date_format : str, optional
        How numbers and times of the table are written; by default as the model was told.
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"Cannot write {output}: the name of a page has to end in .html.")
    check_output(output, model, path)
    check_matplotlib()
    table = TableModel.load(model).set_params(drop_missing=drop_missing)
    table.read_as(decimal=decimal, date_format=date_format)
    rows, std = (None, None), None
    if path is not None and table.exposure is not None:
        raise ValueError(
            f"A page does not compare counts with exposures ({table.exposure}): leave out {path}, or compare with "
            "torusgp predict."
        )
    if path is not None:
        frame = read_table(path)
        rows = table.read(frame, source=path)
        predicted = table.predict(frame, source=path).loc[rows[0].index]
        std = predicted["std"]  # which knows the noise of each row
    summary = table.summary()
    details = {name: value for name, value in summary_facts(summary).items() if name not in _SAID_ANYWAY}
    page = render_report(
        table.model_,
        *rows,
        holdout=new,
        title=title or f"What predicts {table.target}",
        target_names=table.target,
        fit_seconds=table.notes_.get("seconds"),
        details=details,
        n_rows=table.n_rows_,
        judgement=table.scores_,
        noise_std=summary["noise_std"],
        predicted_std=std,
        whole_days=_has_whole_days(table, rows[0]),
        notes=_notes(table, summary),
    )
    write_together({output: page.encode("utf-8")})


def _notes(table, summary):
    """What to bear in mind, beside what the page finds."""
    notes = [_LINE] if any(slope["is_time"] for slope in summary["slopes"]) else []
    if table.scores_ is not None and table.scores_.is_biased:
        notes.append(f"The level has changed in the rows held out. {bias_remedy(table.inputs_.has_time_slope)}")
    return notes


def _has_whole_days(table, X):
    """Whether weekdays of a calendar are whole; None without weekdays."""
    calendar = table.inputs_.calendar
    if calendar is None or "week" not in calendar[1]:
        return None
    if "day" in calendar[1]:
        return bool(table.inputs_.whole_days)
    # without hours, weekdays are whole if the rows lay at midnight
    dimension = [circle.input for circle in table.inputs_.circles].index("day_of_week")
    told = MeanWaves(table.model_).has_parts(dimension, 7)
    if told is None and X is not None:
        told = bool((X["day_of_week"] % 1 == 0).all())
    return told is not False  # slow waves do not tell, and no hours of them are worth naming
