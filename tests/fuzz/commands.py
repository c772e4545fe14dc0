"""The command with generated tables: it ends well, or with one line that says what is wrong."""

import numpy as np

from tests.cli.runner import run
from tests.fuzz.verdicts import OBSCURE, FindingError

NAMES = ("t", "x", "y", "name", 'q"uote', "comma,", "semi;", "line\nbreak", " space ", "", "\x1b[31m", "ä", "x")
VALUES = ("", "NA", "nan", "inf", "1e400", "007", "1,5", "1.536", "1,234,567", "text", '"', "2024-01-31", "-0")


def quote(value, delimiter):
    if any(sign in value for sign in (delimiter, '"', "\n", "\r")):
        return '"' + value.replace('"', '""') + '"'
    return value


def table(rng):
    """Text of a table with a column that repeats, and its delimiter."""
    n = int(rng.choice([0, 1, 5, 12, 30, 80]))
    delimiter, end = rng.choice([",", ";", "\t", "|"]), rng.choice(["\n", "\r\n"])
    hours = np.arange(n) * rng.choice([1.0, 0.5, 7.0])
    y = np.sin(2 * np.pi * hours / 24) + 0.1 * rng.normal(size=n)
    names = ["t", "y", *rng.choice(NAMES, int(rng.integers(0, 3)))]
    lines = [[f"{hours[i]:g}", f"{y[i]:.4f}", *(rng.choice(VALUES) for _ in names[2:])] for i in range(n)]
    for _ in range(int(rng.integers(0, 3))):
        if n:
            lines[int(rng.integers(n))][int(rng.integers(2))] = str(rng.choice(VALUES))
    if rng.random() < 0.1 and n:
        lines[int(rng.integers(n))].append("more")
    text = end.join(delimiter.join(quote(str(value), delimiter) for value in line) for line in [names, *lines])
    return text + (end if rng.random() < 0.8 else "")


def case(folder, rng):
    """Fit, and predict for the same table."""
    data, model = folder / "table.csv", folder / "model.npz"
    data.write_bytes(table(rng).encode("utf-8", "surrogatepass"))
    options = []
    choices = (
        ["--calendar", "t=day"],
        ["--terms", str(rng.choice(["slope(t)", "line(x)", "category(name)", "x * name", "t + (x", "'semi;' + t"]))],
        ["--inputs", str(rng.choice(["t,x", "name", "time", ""]))],
        ["--holdout", "0"],
        ["--drop-missing"],
        ["--decimal", ","],
        ["--time", "t"],
        ["--components", str(rng.choice([0, 1, 5, 10**9]))],
        ["--errors", "independent"],
        ["--missing", str(rng.choice(["NA", "nan,inf", "-999,text", "1,5", ","]))],
    )
    for number in rng.choice(len(choices), int(rng.integers(0, 3)), replace=False):
        options += choices[number]
    result = run("fit", data, "--target", "y", "--period", "t=24", "-o", model, *options)
    check(result)
    if result.exit_code == 0:
        ending = rng.choice([".csv", ".parquet", ".csv.gz"])
        check(run("predict", model, data, "-o", folder / f"out{ending}", *(["--json"] if rng.random() < 0.5 else [])))
        check(run("info", model))
        return "fitted"
    return "refused"


def check(result):
    error = result.stderr
    if result.exit_code not in (0, 2) or "Traceback" in error or "unexpected" in error:
        raise FindingError(f"exit code {result.exit_code}: {error[-300:]!r} {result.exception!r}")
    if result.exit_code == 2 and OBSCURE.search(error):
        raise FindingError(f"an obscure message: {error[-300:]!r}")
    if "\x1b[31m" in result.stdout + error:
        raise FindingError("an escape sequence in the output")
