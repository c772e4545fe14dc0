"""``torusgp fit``: a model from a table file."""

import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from torusgp.cli._console import exit_on_error, print_json, progress_line
from torusgp.cli._model_options import takes_model
from torusgp.cli._options import (
    Debug,
    Json,
    beside,
    check_output,
)
from torusgp.cli._summary import print_levels, print_summary
from torusgp.data.tables import read_table
from torusgp.storage.files import write_together
from torusgp.tables.panel import PanelModel
from torusgp.tables.table import text_layout
from torusgp.tables.words import command_words

HELP = """Fit a model to a table, to predict one of its columns from the others.

DATA is a CSV file (.csv, .tsv, or compressed .csv.gz) or a Parquet file. Without further options all columns are
inputs, by their type: numbers have smooth effects; text, booleans and numbers with two values have an effect for each
value; times have slow change and the cycles of day, week and year that they have gone through twice. Cycles alone
all interact; beside other inputs each cycle and each input interacts with the fastest cycle, and any two of these
inputs with each other; without cycles all inputs interact. Of more than three, all interact beside such pairs, too,
if that clearly predicts blocks of rows left out better. Columns that are not used are named, with the reason. Rows
without a target are left out.

--inputs names the columns to use; words for cycles of the calendar are inputs, too: minute, hour, weekday, month,
quarter and year. --terms says which of them interact: * is for inputs that do, + for effects that add up. In it,
line(x), slope(x), category(x), circle(x, 360) and circle(x, auto) say what an input is; slope(time) is for a target
that also grows or falls steadily, such as sales: forecasts go on along it. Names with other characters are put into
quotes.

--period names a column of numbers and the period with which it repeats, in its own units; auto finds it. --calendar
names a column of times and its cycles: some of hour, day, week, month, quarter and year. Beside day, longer ones count
whole days, unless --moving-days is given, which suits what goes on around midnight. What these options name and
--terms does not is beside the terms, as without them.

--lags temperature=3h,24h makes moving means over the time up to each row, called temperature_3h and temperature_24h;
predict and forecast take what came before from the rows fitted. --holidays AU-VIC makes a category called holidays:
public holidays of a country or a part of it, and the days before and after them.

--by store fits one model for each value of a column, for tables with several series. Its file is given to predict and
forecast as it is; for the other commands, models.npz:north is the model of one value.

Times may be text, such as 2024-01-31 13:30, or seconds or milliseconds since 1970. Decimal commas (where semicolons
are the separator) and dates such as 31.01.2024 are read without being asked. --decimal and --date-format say how
numbers and times are written where that is not plain; predict then reads later files in the same way.

Some rows are held out to evaluate the model: the last fifth in time if a column orders the rows (that of the calendar,
or --time), else a random fifth, in which rows of equal inputs stay together. The figures that are printed come from a
model that had not seen them; afterwards the model is fitted to all rows, unless --no-refit is given.

Where time orders the rows, their errors are usually autocorrelated, like weather that lasts for days: slow effects are
then known less well than their number suggests. It is estimated from blocks of rows left out and taken into account;
--errors independent takes rows for independent. Log evidences of two models compare on the same rows; scores of rows
held out compare in any case.

--noise-column names known standard deviations of the target: rows count by them. Their common factor is learned and
printed; 1 means that the error bars are right. If it is much larger, there may be another period: look for two, whose
effects add up.

--likelihood is for targets that are not normal: counts (poisson, or negative_binomial where they vary more, with
--exposure for rows that count for longer), positive numbers (log_normal, gamma), zeros and ones (bernoulli), outliers
(student_t). --noise-by names inputs that the size of the noise depends on, such as hour or temperature.

\b
Examples:
  torusgp fit sales.csv --target sales
  torusgp fit demand.csv --target demand --inputs hour,weekday,temperature
  torusgp fit demand.csv --target demand \\
      --terms "hour * weekday + hour * temperature + time + slope(price)"
  torusgp fit demand.csv --target demand --calendar time=day,week,year \\
      --timezone Australia/Melbourne --holdout-from 2014-01-01 -o model.npz
  torusgp fit demand.csv --target demand --calendar time=day,week \\
      --date-format "%d/%m/%Y %H:%M" --decimal ,
  torusgp fit bicycles.csv --target count --likelihood negative_binomial \\
      --terms "hour * weekday + year + rain"
  torusgp fit stores.csv --target sales --by store --holidays DE
  torusgp fit angles.csv --target energy --period phi=360 --period psi=360
  torusgp fit star.csv --target mag --period time=auto --noise-column mag_err
  torusgp fit star.csv --target mag --noise-column mag_err \\
      --terms "circle(time, auto) + circle(time, auto)"
"""


@takes_model
def command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table: .csv, .csv.gz, .tsv or .parquet.")],
    make_model,
    by: Annotated[
        str | None,
        typer.Option(help="Column that splits the rows: one model for each of its values.", metavar="COLUMN"),
    ] = None,
    holdout: Annotated[
        float | None,
        typer.Option(help="Share of rows to hold out; 0 for none. By default 0.2.", metavar="FRACTION"),
    ] = None,
    holdout_from: Annotated[
        str | None,
        typer.Option(help="Hold out rows from this time on, such as 2014-01-01.", metavar="TIME"),
    ] = None,
    refit: Annotated[bool, typer.Option("--refit/--no-refit", help="Fit to all rows after the evaluation.")] = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Model to write; by default DATA-model.npz.", metavar="MODEL"),
    ] = None,
    as_json: Json = False,
    debug: Debug = False,
):
    with exit_on_error(debug), command_words():
        model = make_model()
        place = beside(data, "-model.npz") if output is None else output
        fitted = model if by is None else PanelModel(model, by)
        with progress_line("reading", lambda: {one.text for one in getattr(model, "findings_", ())}) as report:
            seconds = fit_file(fitted, data, place, holdout, holdout_from, refit, report)
        summary = fitted.summary()
        if as_json:
            said = {} if by is not None else model.findings().to_json()
            print_json({"model": str(place), "data": str(data), "seconds": seconds} | summary | said)
        elif by is not None:
            print_levels(summary, {"fitted in": f"{seconds:.1f} s", "written to": str(place)})
        else:
            print_summary(summary, {"fitted in": f"{seconds:.1f} s", "written to": str(place)})


def fit_file(model, path, output, holdout=None, start=None, refit=True, verbose=0):
    """Fit a model to a table file, evaluate it, and write it.

    Returns the seconds that it took.
    """
    began = time.perf_counter()
    if holdout is not None and start is not None:
        raise ValueError("Give either --holdout or --holdout-from: both say which rows are held out.")
    check_output(output, path)
    template = getattr(model, "model", model)
    frame = read_table(path, template.missing)
    template.set_params(verbose=verbose)
    if holdout == 0:
        model.fit(frame, source=path)
    else:
        share = 0.2 if holdout is None else holdout
        model.fit_and_evaluate(frame, share, start=start, refit=refit, source=path)
    model.summary()
    seconds = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "model.npz"
        layout = asdict(text_layout(frame, path, template.decimal))  # for predictions of tables that do not show theirs
        model.save(written, {"data": str(path), "seconds": seconds, "layout": layout})
        write_together({output: written.read_bytes()})
    return seconds
