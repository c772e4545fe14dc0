"""What the experiments share: processes with progress, plain records, the style of figures, Markdown tables."""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

RESULTS = Path(__file__).parent / "results"
SEED = 0  # of everything random, unless an experiment says otherwise
_PLAIN_SECONDS = 15  # between lines of progress where there is no terminal
_MEBIBYTE = 2**20 if sys.platform == "darwin" else 2**10  # of ru_maxrss, which is in bytes there, elsewhere in KiB

# Colour (Okabe and Ito), marker and line of each method, the same in all figures.
STYLES = {
    "ENHC": ("#D55E00", "D", "-"),
    "TOT": ("#009E73", "v", "-"),
    "HYP": ("#CC79A7", "P", "-"),
    "EUC": ("#7F7F7F", "X", "-"),
    "TEN": ("#F0E442", "h", "-"),
    "HC": ("#0072B2", "s", "-"),
    "adaptive": ("#000000", "o", "-"),
    "learned set": ("#009E73", "v", "-"),
    "RFF": ("#E69F00", "o", "--"),
    "HAL": ("#56B4E9", "s", "--"),
    "GHAL": ("#0072B2", "^", "--"),
}
SEQUENCES = {"RFF": "random", "HAL": "halton", "GHAL": "generalized_halton"}


def style(method, **changes):
    """Keyword arguments of ``Axes.plot`` for a method."""
    colour, marker, line = STYLES[method]
    return {"color": colour, "marker": marker, "linestyle": line, "markersize": 5, "linewidth": 1.4, **changes}


def new_figure(n_rows, n_columns, width, height, **subplots):
    """A figure and its array of axes; sizes are those of a panel, in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **subplots)


def log_columns(ax, values=None):
    """Logarithmic horizontal axis, labelled at the given values, at 1, 3, 10, 30, ... or, if long, at powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if values is None:
        low, high = ax.get_xlim()
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 3.0) if high < 700 * low else (1.0,)))
        ax.xaxis.set_major_formatter(
            lambda value, _: f"{value:g}" if value < 1e4 else f"$10^{{{np.log10(value):.0f}}}$"
        )
    else:
        ax.set_xticks(values, labels=values)
    ax.tick_params(axis="x", which="minor", bottom=False)


def plain_log_values(ax):
    """Logarithmic vertical axis, labelled in plain numbers also where it spans less than a power of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)) if high > 6 * low else MaxNLocator(6))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.4g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def legend_above(figure, axes, n_columns):
    """One legend for all axes, as wide as the figure has room for: every label once, in order of appearance."""
    handles = {}
    for ax in np.ravel(axes):
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    width = 0.7 + 0.075 * np.mean([len(label) for label in handles])  # inches of an entry
    n_columns = max(1, min(n_columns, int(figure.get_figwidth() / width)))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=n_columns, frameon=False)


# Records ---------------------------------------------------------------------------------------------------------


def to_plain(value):
    """Dictionaries, lists, strings and numbers only; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, np.generic):
        return to_plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def write_record(folder, name, record):
    """Save a record as JSON; lists of plain numbers stay on one line."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(_encode(to_plain(record)) + "\n")


def _encode(value, indent=""):
    inner = indent + " "
    if isinstance(value, dict) and any(isinstance(one, dict | list) for one in value.values()):
        parts = [f"{inner}{json.dumps(key)}: {_encode(one, inner)}" for key, one in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        return "[\n" + ",\n".join(inner + _encode(one, inner) for one in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


def read_record(folder, name):
    """A saved record, or None if there is none."""
    path = folder / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def versions():
    """Versions of the packages that the numbers depend on."""
    return {name: version(name) for name in ("torusgp", "numpy", "scipy", "scikit-learn", "finufft")}


def commit():
    """The commit that the numbers are made from, with a word if the code has changed since; None outside a clone."""
    here = Path(__file__).parents[1]
    git = ["git", "-C", str(here)]
    try:
        name = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "src", "paper", ":!paper/results"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return name.stdout.strip() + (" with changes" if changed.stdout.strip() else "")


def select(rows, **values):
    """Rows with the given values."""
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def paragraphs(*parts):
    """Markdown of paragraphs, figures and tables, one after the other."""
    return "\n\n".join(parts)


def markdown_table(header, lines):
    """Markdown of a header and lines of cells; floats with three digits."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cell(value) for value in row) + " |" for row in rows)


def cell(value):
    """Text of one value of a table."""
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value).replace("|", "\\|")


# Data ------------------------------------------------------------------------------------------------------------


def missing_textures(kinds):
    """Why the textures cannot be read, or an empty text."""
    if not os.environ.get("TORUSGP_DATA"):
        return "TORUSGP_DATA does not name the folder with the data"
    absent = [
        f"{kind}.png" for kind in kinds if not Path(os.environ["TORUSGP_DATA"], "textures", f"{kind}.png").exists()
    ]
    return f"TORUSGP_DATA names a folder without textures/{', '.join(absent)}" if absent else ""


# Processes -------------------------------------------------------------------------------------------------------


class Pool:
    """Runs the cases of experiments, in this process or in several, one thread each, and shows progress.

    Parameters
    ----------
    processes : int
        Workers; 1 runs everything in this process.
    """

    def __init__(self, processes=1):
        self.processes = processes
        self.reset()

    @property
    def peak_mebibytes(self):
        """Largest memory of this process and of the workers since the last reset, added up."""
        return sum(self._peaks.values()) + _peak_mebibytes()

    @property
    def cpu_seconds(self):
        """Processor time of this process and of the cases of the workers since the last reset."""
        return self._cpu_seconds + time.process_time()

    def reset(self):
        """Forget earlier experiments."""
        self._peaks = {}
        self._cpu_seconds = -time.process_time()

    def map(self, title, function, cases, cost=None):
        """Results ``function(*case)`` in the order of the cases.

        Parameters
        ----------
        title : str
            Stands before the progress.
        function : callable
            Function of a module: workers import it.
        cases : list of tuple
            Its positional arguments.
        cost : callable, optional
            Of a case; costly ones run first, so that the processes end together.
        """
        order = sorted(range(len(cases)), key=(lambda i: -cost(*cases[i])) if cost else (lambda i: i))
        results = [None] * len(cases)
        with progress(title, len(cases)) as advance:
            for position, result in self._results(function, cases, order):
                results[position] = result
                advance()
        return results

    def _results(self, function, cases, order):
        if self.processes == 1 or len(cases) == 1:
            with threadpool_limits(1):
                yield from ((position, function(*cases[position])) for position in order)
            return
        context = multiprocessing.get_context("spawn")  # FINUFFT's threads do not survive a fork
        with ProcessPoolExecutor(self.processes, mp_context=context, initializer=_one_thread) as executor:
            futures = {executor.submit(_measured, function, cases[i]): i for i in order}
            try:
                for future in as_completed(futures):
                    result, process, peak, seconds = future.result()
                    self._peaks[process] = max(peak, self._peaks.get(process, 0.0))
                    self._cpu_seconds += seconds
                    yield futures[future], result
            finally:
                executor.shutdown(wait=False, cancel_futures=True)


def _one_thread():
    import torusgp  # noqa: F401  the limit holds for libraries that are loaded

    threadpool_limits(1)


def _measured(function, case):
    start = time.process_time()
    result = function(*case)
    return result, os.getpid(), _peak_mebibytes(), time.process_time() - start


def _peak_mebibytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEBIBYTE


@contextmanager
def progress(title, total):
    """Show how much is done: a bar on a terminal with rich, else a line now and then. Yields what counts one more."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield _Lines(title, total).advance
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(title, total).advance
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


class _Lines:
    def __init__(self, title, total):
        self._title, self._total, self._done = title, total, 0
        self._start = self._last = time.monotonic()

    def advance(self):
        self._done += 1
        now = time.monotonic()
        if self._done == self._total or now - self._last > _PLAIN_SECONDS:
            self._last = now
            seconds = f"{now - self._start:.0f} s"
            print(f"  {self._title}: {self._done} of {self._total}, {seconds}", file=sys.stderr, flush=True)
