"""``torusgp forecast``: the rows that come after those of a table."""

from pathlib import Path
from typing import Annotated

import typer

from torusgp.cli._console import exit_on_error, progress_line
from torusgp.cli._options import (
    DateFormat,
    Debug,
    Decimal,
    Json,
    Missing,
    Quantiles,
    TableOutput,
    check_output,
    split_list,
    to_missing,
)
from torusgp.cli._predict import encode, tell_rows, to_shown_digits, widest_interval
from torusgp.storage.files import write_together
from torusgp.tables.panel import PanelModel, load_tables
from torusgp.tables.table import TextLayout
from torusgp.tables.words import command_words

_ENDINGS = (".csv", ".csv.gz", ".parquet")

HELP = """Forecast the rows that come after those of a model's table, with intervals and whole paths.

MODEL is a file that torusgp fit wrote. Times go on as they do in its table: with the same step, on the same clock, and
without hours, days of the week or days of the year at which it has no rows.

--horizon says how far: a number of rows (48), a span (24h, 28d, 4w, 6mo, 1y) or the last time (2025-01-31). Where the
model has inputs that do not follow from the time, such as temperature, --future names a table that has them for the
time to come; without --horizon the forecast goes to its end. Nothing is forecast for days off, which it lacks.

The result has the times, mean, std (of a single observation, noise included) and quantiles. --draws adds whole paths,
each a column. --aggregate forecasts what is made of all values of a span instead, from 2000 paths: the sum, mean, max
or min of each hour, day, week, month, quarter or year, or of all; its column rows says how many values a span has.

\b
Examples:
  torusgp forecast model.npz --horizon 28d -o forecast.csv
  torusgp forecast model.npz --horizon 24h --future weather.csv --draws 100
  torusgp forecast model.npz --horizon 4w --aggregate day=max -o peaks.csv
"""


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that torusgp fit wrote.")],
    horizon: Annotated[
        str | None,
        typer.Option(help="How far ahead: rows, a span such as 28d, or the last time.", metavar="HORIZON"),
    ] = None,
    future: Annotated[
        Path | None,
        typer.Option(help="Table of the time to come, with inputs such as a weather forecast.", metavar="FILE"),
    ] = None,
    output: TableOutput = None,
    quantiles: Quantiles = "0.05,0.5,0.95",
    draws: Annotated[int, typer.Option(min=0, help="Number of whole paths to add, as columns.", metavar="NUMBER")] = 0,
    aggregate: Annotated[
        str | None,
        typer.Option(help="Forecast a value for each span: day=max, week=sum, all=mean.", metavar="SPAN=HOW"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Determines the paths.", metavar="NUMBER")] = 0,
    decimal: Decimal = None,
    date_format: DateFormat = None,
    missing: Missing = None,
    as_json: Json = False,
    debug: Debug = False,
):
    with exit_on_error(debug), command_words():
        levels = split_list(quantiles, "--quantiles")
        with progress_line("reading"):
            result, to_text, facts = forecast_file(
                model,
                horizon,
                future,
                output,
                levels,
                draws=draws,
                aggregate=aggregate,
                seed=seed,
                decimal=decimal,
                date_format=date_format,
                missing=to_missing(missing),
            )
        content = {"model": str(model), **facts, "rows": len(result), "interval": widest_interval(levels)}
        said = [
            f"{len(result):,} forecasts of {facts['target']}: {output}",
            f"  from {facts['from']} to {facts['to']}, step {facts['step']}",
        ]
        tell_rows(result, to_text, output, content, "forecast" if as_json else None, said)


def forecast_file(
    model,
    horizon=None,
    future=None,
    output=None,
    quantiles=(0.05, 0.5, 0.95),
    *,
    draws=0,
    aggregate=None,
    seed=0,
    decimal=None,
    date_format=None,
    missing=None,
):
    """Forecast with a model from a file, and write the result.

    Returns the forecast and what gives the text of such a table.
    """
    if output is not None:
        if not output.name.lower().endswith(_ENDINGS):
            raise ValueError(f"Cannot write {output}: its name has to end in {', '.join(_ENDINGS)}.")
        check_output(output, model, future)
    span, how = to_aggregate(aggregate)
    fitted = load_tables(model).read_as(decimal=decimal, date_format=date_format, missing=missing)
    one = next(iter(fitted.models_.values())) if isinstance(fitted, PanelModel) else fitted
    forecast = fitted.forecast(horizon, future, quantiles)
    if span is not None:
        forecast = forecast.aggregate(span, how, random_state=seed)
    result = forecast.to_frame(draws, seed)
    first_number = 1 + list(result.columns).index(one.timeline_.column)
    time, numbers = one.timeline_.column, [name for name in result.columns[first_number:] if name != "rows"]
    result[numbers] = to_shown_digits(result[numbers])
    layout = TextLayout(**fitted.notes_.get("layout", {}))

    def to_text(table):
        return layout.to_csv(table.assign(**{time: written_times(table[time], one.date_format)}), numbers)

    if output is not None:
        write_together({output: encode(result, output, to_text)})
    first, last = written_times(result[time].iloc[[0, -1]], "auto").tolist()
    step = one.timeline_.words if span is None else span
    return result, to_text, {"target": one.target, "from": first, "to": last, "step": step}


def to_aggregate(text):
    """Span and aggregate of ``--aggregate``; None and None without it.

    Examples
    --------
    >>> to_aggregate("day=max")
    ('day', 'max')
    """
    if text is None:
        return None, None
    span, sign, how = text.partition("=")
    if not sign or not span.strip() or not how.strip():
        raise ValueError(f"--aggregate needs a span and what is made of its values, such as day=max, got {text!r}.")
    try:
        return float(span), how.strip()
    except ValueError:
        return span.strip(), how.strip()


def written_times(times, date_format):
    """Times as text: as the table writes them, or as 2024-01-31 13:00 without what is zero in all of them.

    Examples
    --------
    >>> import pandas as pd
    >>> written_times(pd.Series(pd.to_datetime(["2024-01-31 13:00", "2024-02-01 00:00"])), "auto").tolist()
    ['2024-01-31 13:00', '2024-02-01 00:00']
    """
    if times.dtype.kind != "M":
        return times.map(lambda time: f"{time:.15g}")
    if date_format != "auto":
        return times.dt.strftime(date_format)
    zoned = times.dt.tz is not None
    if not zoned and (times == times.dt.normalize()).all():
        return times.dt.strftime("%Y-%m-%d")
    timespec = "minutes" if (times == times.dt.floor("min")).all() else "seconds"
    timespec = timespec if (times == times.dt.floor("s")).all() else "microseconds"
    return times.map(lambda time: time.isoformat(sep=" ", timespec=timespec))
