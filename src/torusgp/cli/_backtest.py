"""``torusgp backtest``: how forecasts of the past would have fared."""

from pathlib import Path
from typing import Annotated

import typer

from torusgp.cli._console import exit_on_error, print_json, printable, progress_line
from torusgp.cli._forecast import written_times
from torusgp.cli._model_options import takes_model
from torusgp.cli._options import Debug, Json, check_output, output_option
from torusgp.cli._predict import encode, to_shown_digits
from torusgp.data.tables import read_table
from torusgp.storage.files import write_together
from torusgp.tables.backtest import shown_horizons
from torusgp.tables.table import text_layout
from torusgp.tables.words import command_words
from torusgp.views.summary import to_plain

_ENDINGS = (".csv", ".csv.gz", ".parquet")

HELP = """Forecast the past from several origins, and compare with what came.

DATA and the options of the model are those of torusgp fit. From each origin the rows up to it are known, and those
within --horizon after it are forecast: a number of rows (48) or a span (24h, 28d, 4w). --origins is their number, so
that the last forecast ends with the rows, or the times themselves, with commas; --every is their distance, by default
the horizon. --refit says how often the model is fitted: at each origin, once, after a number of origins, or after a
span; in between forecasts go on from the last rows with what was learned before.

Errors are shown by how far ahead a forecast was, beside those of a seasonal naive forecast: what was there a day, a
week or a year before, whichever forecasts the rows before the first origin best. MASE is the mean absolute error over
that of this forecast on those rows.

\b
Examples:
  torusgp backtest demand.csv --target demand --calendar time=day,week,year \\
      --horizon 24h --origins 28 --refit 7d
  torusgp backtest sales.csv --target sales --horizon 4w --origins 6 -o forecasts.csv
"""


@takes_model
def command(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table: .csv, .csv.gz, .tsv or .parquet.")],
    make_model,
    horizon: Annotated[
        str, typer.Option(help="How far ahead: a number of rows, or a span such as 24h.", metavar="HORIZON")
    ],
    origins: Annotated[
        str, typer.Option(help="Number of origins, or the last known times, with commas.", metavar="NUMBER")
    ] = "10",
    every: Annotated[
        str | None, typer.Option(help="Distance of origins; by default the horizon.", metavar="SPAN")
    ] = None,
    refit: Annotated[
        str, typer.Option(help="How often to fit: each, once, a number of origins, or a span.", metavar="SPAN")
    ] = "each",
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Fits at a time; by default one for each core.", metavar="NUMBER"),
    ] = None,
    output: Annotated[Path | None, output_option("Table of all forecasts: .csv, .csv.gz or .parquet.")] = None,
    as_json: Json = False,
    debug: Debug = False,
):
    with exit_on_error(debug), command_words():
        model = make_model()
        with progress_line("reading") as report:
            model.set_params(verbose=report)
            found = backtest_file(model, data, horizon, origins, every, refit, jobs, output)
        if as_json:
            print_json({"data": str(data), **to_plain(found.to_json()), "output": output and str(output)})
        else:
            print_backtest(found)
            if output is not None:
                print(f"\n{len(found.forecasts):,} forecasts: {output}")


def backtest_file(model, path, horizon, origins="10", every=None, refit="each", n_jobs=None, output=None):
    """Forecast the past of a table file, and write the forecasts."""
    if output is not None:
        if not output.name.lower().endswith(_ENDINGS):
            raise ValueError(f"Cannot write {output}: its name has to end in {', '.join(_ENDINGS)}.")
        check_output(output, path)
    frame = read_table(path, model.missing)
    found = model.backtest(
        frame,
        horizon,
        to_origins(origins),
        every=every,
        refit={"each": True, "once": False}.get(refit, refit),
        n_jobs=n_jobs,
        source=path,
    )
    if output is not None:
        layout, times = text_layout(frame, path, model.decimal), list(found.forecasts.columns[:2])

        def to_text(table):
            written = {name: written_times(table[name], model.date_format) for name in times}
            return layout.to_csv(table.assign(**written), list(table.columns[3:]))

        shown = found.forecasts.copy()
        numbers = list(shown.columns[4:])
        shown[numbers] = to_shown_digits(shown[numbers])
        write_together({output: encode(shown, output, to_text)})
    return found


def to_origins(text):
    """Number or times of ``--origins``.

    Examples
    --------
    >>> to_origins("28"), to_origins("2024-01-31, 2024-02-29 12:00")
    (28, ['2024-01-31', '2024-02-29 12:00'])
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 1 and parts[0].lstrip("-").isdigit():
        return int(parts[0])
    return parts


def print_backtest(found):
    """Print scores by horizon, and what they come from."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in ("ahead", "rows", "MAE", "naive", "MASE", "naive", "CRPS", "inside 50, 80, 95 %"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    for one in shown_horizons(found.by_horizon):
        table.add_row(*_cells(one.name, one.scores, one.naive))
    table.add_section()
    table.add_row(*_cells("all", found.scores, found.naive))
    console.print(table)
    origins = found.origins
    verdict = "better" if found.beats_naive else "NOT better"
    fits = "1 fit" if found.n_fits == 1 else f"{found.n_fits} fits"
    before = "last value" if found.season == "the last value" else f"value one {found.season} before"
    lines = [
        f"{found.target}, steps of {found.step}: {len(origins)} origins from {origins[0]} to {origins[-1]}, {fits}.",
        f"Naive is the {before}. The model is {verdict}: mean absolute error {found.scores.mae:.4g} against "
        f"{found.naive.mae:.4g}.",
    ]
    console.print(Text(printable("\n" + "\n".join(lines))))


def _cells(name, scores, naive):
    mase = [f"{one.mase:.3f}" if one.mase is not None else "" for one in (scores, naive)]
    shares = [scores.middle, scores.coverage80, scores.coverage]
    return [
        name,
        f"{scores.n_rows:,}",
        f"{scores.mae:.4g}",
        f"{naive.mae:.4g}",
        *mase,
        f"{scores.crps:.4g}",
        ", ".join("-" if share is None else f"{100 * share:.0f}" for share in shares),
    ]
