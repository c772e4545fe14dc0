"""Cases in worker processes, and tables of what they found."""

import csv
import itertools
import multiprocessing
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np
from threadpoolctl import threadpool_limits

_WRITE_SECONDS = 10  # between saves of the table, so that an interrupted run leaves what it had


def run_cases(title, measure, cases, table, processes):
    """Rows ``measure(*case)`` of all cases, in their order; errors become rows with success False.

    Parameters
    ----------
    title : str
        Stands before the progress.
    measure : callable
        Function of a module (workers import it) that returns a dictionary.
    cases : list of tuple
        Its positional arguments; the first two are kind and seed.
    table : Path
        CSV file, saved now and then.
    processes : int
        Workers. They are spawned: FINUFFT's threads do not survive a fork.
    """
    rows = [None] * len(cases)
    progress = _Progress(title, len(cases))
    saved = time.monotonic()
    for position, row in _results(measure, cases, processes):
        rows[position] = row
        progress.step(row)
        if time.monotonic() - saved > _WRITE_SECONDS:
            write_rows(table, rows)
            saved = time.monotonic()
    return rows


def _results(measure, cases, processes):
    if processes == 1:
        with threadpool_limits(1):
            yield from ((position, _attempt(measure, case)) for position, case in enumerate(cases))
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_one_thread) as executor:
        futures = {executor.submit(_attempt, measure, case): position for position, case in enumerate(cases)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _one_thread():
    import torusgp  # noqa: F401  the limit holds for libraries that are loaded

    threadpool_limits(1)


def _attempt(measure, case):
    try:
        return measure(*case)
    except Exception as error:  # one bad case must not end a run of hours; its row says what happened
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
        return {"kind": case[0], "seed": case[1], "success": False, "exception": f"{error!r} at {where}"}


class _Progress:
    """Count, errors and time left: one line that changes on a terminal, some lines elsewhere."""

    def __init__(self, title, total):
        self._title, self._total = title, total
        self._done = self._errors = 0
        self._start = time.monotonic()
        self._every = 1 if sys.stderr.isatty() else max(1, total // 20)

    def step(self, row):
        self._done += 1
        self._errors += "exception" in row
        if self._done % self._every and self._done < self._total:
            return
        left = (time.monotonic() - self._start) / self._done * (self._total - self._done) / 60
        errors = f", {self._errors} errors" if self._errors else ""
        end = "\r" if sys.stderr.isatty() and self._done < self._total else "\n"
        line = f"{self._title}: {self._done}/{self._total}{errors}, {left:.1f} min left"
        print(f"{line:<78}", end=end, file=sys.stderr, flush=True)


def write_rows(table, rows):
    """Save the rows there are as CSV; columns in order of first appearance."""
    rows = [row for row in rows if row is not None]
    fields = list(dict.fromkeys(itertools.chain.from_iterable(rows)))
    with open(table, "w", newline="") as file:
        writer = csv.DictWriter(file, fields, restval="")
        writer.writeheader()
        for row in rows:
            writer.writerow({key: f"{x:.6g}" if isinstance(x, float) else x for key, x in row.items()})


def markdown_table(rows):
    """Markdown of dictionaries with the same keys."""
    header = list(rows[0])
    lines = [header, ["---"] * len(header)]
    lines += [[f"{x:.3g}" if isinstance(x, float) else str(x) for x in row.values()] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def group_by(rows, *keys):
    """Rows by their values of the keys, in order of first appearance."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return groups


def median(rows, key):
    """Median over the rows that have a finite value; nan if none has."""
    return _reduced(np.median, rows, key)


def root_mean_square(rows, key):
    """Root mean square over the rows that have a finite value; nan if none has."""
    return _reduced(lambda values: np.sqrt(np.mean(values**2)), rows, key)


def _reduced(reduction, rows, key):
    values = np.array([row[key] for row in rows if isinstance(row.get(key), float)])
    values = values[np.isfinite(values)]
    return float(reduction(values)) if len(values) else float("nan")


def failure_lines(rows, n_lines=40):
    """A list of the cases without success, with what was found instead."""
    failures = [row for row in rows if not row["success"]]
    if not failures:
        return "No failures."
    lines = [
        f"- {row['kind']} seed {row['seed']}: {row.get('exception') or row.get('failure', '')}"
        for row in failures[:n_lines]
    ]
    if len(failures) > n_lines:
        lines.append(f"- and {len(failures) - n_lines} more, see the table")
    return "Failures:\n\n" + "\n".join(lines)
