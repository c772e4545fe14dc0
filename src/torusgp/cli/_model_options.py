"""Options that make a model of a table, shared by the subcommands that fit one."""

import inspect
from typing import Annotated, get_type_hints

import typer

from torusgp.cli._options import (
    DateFormat,
    Decimal,
    DropMissing,
    Missing,
    split_pair,
    to_missing,
)
from torusgp.tables.model import TableModel


def takes_model(command):
    """Give a command the options that make a model of a table.

    Its first parameter is the table, its second the model, in whose place the options come.
    """
    own = list(inspect.signature(command).parameters.values())
    of_model = inspect.signature(make_model).parameters
    parameters = [own[0], *of_model.values(), *own[2:]]

    def with_options(**given):
        model = {name: given.pop(name) for name in of_model}
        return command(given.pop(own[0].name), lambda: make_model(**model), **given)

    kinds = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    with_options.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
    hints = get_type_hints(make_model, include_extras=True) | get_type_hints(command, include_extras=True)
    with_options.__annotations__ = {one.name: hints[one.name] for one in parameters}
    return with_options


def make_model(
    target: Annotated[str, typer.Option(help="Column to predict.", metavar="COLUMN")],
    period: Annotated[
        list[str] | None,
        typer.Option(help="Column of numbers and its period; 'auto' finds and learns it.", metavar="COLUMN=NUMBER"),
    ] = None,
    calendar: Annotated[
        str | None,
        typer.Option(
            help="Column of times, and cycles: hour, day, week, month, quarter, year.",
            metavar="COLUMN=CYCLE,CYCLE",
        ),
    ] = None,
    inputs: Annotated[
        str | None,
        typer.Option(help="Columns and cycles to use, with commas; by default all columns.", metavar="NAME,NAME"),
    ] = None,
    terms: Annotated[
        str | None,
        typer.Option(help="Formula of inputs, such as 'hour * temperature + weekday'.", metavar="FORMULA"),
    ] = None,
    lags: Annotated[
        list[str] | None,
        typer.Option(help="Column, and spans of moving means that are inputs.", metavar="COLUMN=SPAN,SPAN"),
    ] = None,
    holidays: Annotated[
        str | None, typer.Option(help="Country whose holidays are an input, such as AU-VIC.", metavar="CODE")
    ] = None,
    time_column: Annotated[
        str | None,
        typer.Option("--time", help="Column of times or numbers that orders the rows.", metavar="COLUMN"),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(help="Time zone of the calendar, if times have one.", metavar="ZONE"),
    ] = None,
    whole_days: Annotated[
        bool, typer.Option("--whole-days/--moving-days", help="Whether weekdays and dates change at midnight only.")
    ] = True,
    decimal: Decimal = "auto",
    date_format: DateFormat = "auto",
    missing: Missing = None,
    noise_column: Annotated[
        str | None,
        typer.Option(help="Column of known standard deviations of the target (error bars).", metavar="COLUMN"),
    ] = None,
    likelihood: Annotated[
        str,
        typer.Option(
            help="Distribution of the target: normal, log_normal, student_t, poisson, negative_binomial, gamma, "
            "bernoulli.",
            metavar="NAME",
        ),
    ] = "normal",
    exposure: Annotated[
        str | None, typer.Option(help="Column of exposures of counts: time, area or people.", metavar="COLUMN")
    ] = None,
    noise_by: Annotated[
        list[str] | None,
        typer.Option(help="Input that the size of the noise depends on, or 'auto' for all.", metavar="INPUT"),
    ] = None,
    components: Annotated[
        int | None, typer.Option(help="Most components of the model; by default as many as help.", metavar="NUMBER")
    ] = None,
    kernel: Annotated[str, typer.Option(help="Family of the kernel, such as matern52.")] = "auto",
    errors: Annotated[
        str,
        typer.Option(help="'independent' if those of neighbouring rows are.", metavar="auto|independent"),
    ] = "auto",
    unit: Annotated[str, typer.Option(help="Unit of the target, such as MW.", metavar="UNIT")] = "",
    drop_missing: DropMissing = False,
):
    return TableModel(
        target,
        [split_pair(text, "--period", "hour=24") for text in period or []],
        to_calendar(calendar),
        inputs=inputs,
        terms=terms,
        lags=to_lags(lags),
        holidays=holidays,
        time=time_column,
        timezone=timezone,
        whole_days=whole_days,
        decimal=decimal,
        date_format=date_format,
        missing=to_missing(missing),
        noise=noise_column,
        likelihood=likelihood,
        exposure=exposure,
        noise_by="auto" if noise_by == ["auto"] else noise_by,
        errors=errors,
        kernel=kernel,
        n_components="auto" if components is None else components,
        drop_missing=drop_missing,
        unit=unit,
    )


def to_calendar(text):
    """Column and cycles of ``--calendar``.

    Examples
    --------
    >>> to_calendar("time=day,week")
    {'time': ['day', 'week']}
    """
    if text is None:
        return None
    column, cycles = split_pair(text, "--calendar", "time=day,week,year")
    return {column: [cycle.strip() for cycle in cycles.split(",") if cycle.strip()]}


def to_lags(texts):
    """Columns and spans of ``--lags``.

    Examples
    --------
    >>> to_lags(["temperature=3h,24h"])
    {'temperature': ['3h', '24h']}
    """
    pairs = [split_pair(text, "--lags", "temperature=3h,24h") for text in texts or []]
    return {column: [one.strip() for one in spans.split(",") if one.strip()] for column, spans in pairs} or None
