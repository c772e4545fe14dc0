"""``torusgp predict``: forecasts for the rows of a table file."""

import gzip
import io
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from torusgp.cli._console import exit_on_error, print_json, printable, progress_line
from torusgp.cli._options import (
    DateFormat,
    Debug,
    Decimal,
    DropMissing,
    Json,
    Missing,
    Quantiles,
    TableOutput,
    check_output,
    split_list,
    to_missing,
)
from torusgp.data.tables import TableError, read_as_written, read_table, read_without_loss
from torusgp.storage.files import write_together
from torusgp.tables.forecast import quantile_name
from torusgp.tables.panel import load_tables
from torusgp.tables.table import TextLayout, text_layout
from torusgp.tables.words import command_words
from torusgp.views.findings import score_facts
from torusgp.views.summary import to_plain

_ENDINGS = (".csv", ".csv.gz", ".parquet")
_DIGITS = 7  # of standard deviations that are written: more say nothing, and fill the page

HELP = """Predict the target of a model for the rows of a table.

MODEL is a file that torusgp fit wrote, DATA a table with the columns that the model has as inputs. The result has the
columns of DATA and beside them mean, std (of a single observation, noise included) and quantiles. If DATA has the
target, too, predictions are compared with it.

Numbers and times are read as fit was told to read them, unless --decimal and --date-format say otherwise. CSV is
written as DATA is: with the same separator and decimal sign.

\b
Examples:
  torusgp predict model.npz next-year.csv -o forecast.csv
  torusgp predict model.npz next-year.csv --quantiles 0.025,0.975 --no-keep
"""


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File that torusgp fit wrote.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Table: .csv, .csv.gz, .tsv or .parquet.")],
    output: TableOutput = None,
    quantiles: Quantiles = "0.05,0.5,0.95",
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Keep the columns of DATA.")] = True,
    prefix: Annotated[str, typer.Option(help="Put before the names of the new columns.")] = "",
    drop_missing: DropMissing = False,
    decimal: Decimal = None,
    date_format: DateFormat = None,
    missing: Missing = None,
    as_json: Json = False,
    debug: Debug = False,
):
    with exit_on_error(debug), command_words():
        with progress_line("reading"):
            result, scores, to_text = predict_file(
                model,
                data,
                output,
                split_list(quantiles, "--quantiles"),
                keep,
                prefix,
                drop_missing,
                decimal=decimal,
                date_format=date_format,
                missing=to_missing(missing),
            )
        interval = widest_interval(split_list(quantiles, "--quantiles"), prefix)
        content = {"model": str(model), "data": str(data), "rows": len(result), "scores": scores}
        said = [f"{len(result):,} predictions: {output}"]
        tell_rows(result, to_text, output, content | {"interval": interval}, "predictions" if as_json else None, said)
        if output is not None and not as_json:
            if scores is not None and "rmse" not in scores:
                print(f"Compared with the target in {data}:")
                shown = {level: one["r2"] for level, one in scores.items()}
                print(printable("\n".join(f"  R2 {r2:.4f}  {level}" for level, r2 in shown.items() if r2 is not None)))
            elif scores is not None:
                facts = [f"  {name:16}{value}" for name, value in score_facts(scores).items()]
                print("\n".join([f"Compared with the target in {data}:", *facts]))


def tell_rows(rows, to_text, output, content, name, lines):
    """Say what was predicted: as JSON, as CSV if no file was written, or in words."""
    interval = content["interval"]
    if name is not None:
        shown = {name: to_records(rows)} if output is None else {}
        print_json(content | shown | {"output": None if output is None else str(output)})
    elif output is None:
        sys.stdout.write(to_text(rows))
        sys.stdout.flush()
    else:
        if interval is not None:
            lines = [*lines, f"  {interval['from']} to {interval['to']}: {interval['percent']:.4g} % of the values"]
        print(printable("\n".join(lines)))


def predict_file(
    model,
    path,
    output=None,
    quantiles=(0.05, 0.5, 0.95),
    keep=True,
    prefix="",
    drop_missing=False,
    *,
    decimal=None,
    date_format=None,
    missing=None,
):
    """Predict for the rows of a table file, and write the result.

    Returns predictions, scores if the table has the target, and what gives the text of such a table.
    """
    if output is not None:
        if not output.name.lower().endswith(_ENDINGS):
            raise ValueError(f"Cannot write {output}: its name has to end in {', '.join(_ENDINGS)}.")
        check_output(output, path, model)
    options = {"decimal": decimal, "date_format": date_format, "missing": missing, "drop_missing": drop_missing}
    fitted = load_tables(model).read_as(**options)
    template = getattr(fitted, "model", fitted)
    frame = read_table(path, template.missing)
    result = to_shown_digits(fitted.predict(frame, quantiles, source=path)).add_prefix(prefix)
    clash = [name for name in result.columns if keep and name in frame.columns]
    if clash:
        raise TableError(
            f"{path} has a column {clash[0]!r} already: use --prefix to name the new columns, or --no-keep."
        )
    scores = None
    if template.target in frame.columns and frame[template.target].notna().any():
        found = fitted.evaluate(frame, source=path)
        each = {level: to_plain(one.to_json()) for level, one in found.items()} if isinstance(found, dict) else None
        scores = to_plain(found.to_json()) if each is None else each
    learned_from = TextLayout(**fitted.notes_["layout"]) if "layout" in fitted.notes_ else None
    layout, new = text_layout(frame, path, template.decimal, learned_from), list(result.columns)
    result = read_without_loss(frame, path).loc[result.index].join(result) if keep else result

    def to_text(table):  # whose own columns stay as they were, whatever numbers they were read as
        written = read_as_written(frame, path).loc[table.index].join(table[new]) if keep else table
        return layout.to_csv(written, new)

    if output is not None:
        write_together({output: encode(result, output, to_text)})
    return result, scores, to_text


def to_shown_digits(predictions):
    """Predictions to as many decimals as seven digits of the smallest standard deviation have.

    Examples
    --------
    >>> import pandas as pd
    >>> to_shown_digits(pd.DataFrame({"mean": [465.476940472599], "std": [16.187835340161]})).to_numpy().tolist()
    [[465.47694, 16.18784]]
    """
    smallest = predictions["std"].min()
    if not (np.isfinite(smallest) and smallest > 0):
        return predictions
    return predictions.round(int(_DIGITS - 1 - np.floor(np.log10(smallest))))


def widest_interval(quantiles, prefix=""):
    """Columns that bound the widest interval, and the share of the values that it is to hold.

    None if there are not two quantiles.

    Examples
    --------
    >>> widest_interval([0.05, 0.5, 0.95])
    {'from': 'q05', 'to': 'q95', 'percent': 90.0}
    """
    if len(set(quantiles)) < 2:
        return None
    low, high = min(quantiles), max(quantiles)
    names = [f"{prefix}{quantile_name(one)}" for one in (low, high)]
    return {"from": names[0], "to": names[1], "percent": round(100 * (high - low), 10)}


def encode(frame, path, to_text):
    """Bytes of a table, in the format that the ending of a file says."""
    if path.name.lower().endswith(".parquet"):
        buffer = io.BytesIO()
        frame.to_parquet(buffer, index=False)
        return buffer.getvalue()
    text = to_text(frame).encode("utf-8")
    return gzip.compress(text, mtime=0) if path.name.lower().endswith(".gz") else text


def to_records(frame):
    """Rows of a table as dictionaries for JSON; times become text."""
    columns = {
        name: column.astype(str) if column.dtype.kind == "M" else column.astype(object).where(column.notna(), None)
        for name, column in frame.items()
    }
    names = list(columns)
    return [to_plain(dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)]
