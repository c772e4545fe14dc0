"""Shapes that change, as spots on rotating stars do: periods of made series, and how honest their standard errors are.

500 rows of 100 days at regular or irregular (uniform random) times: a periodic shape of period 1 to 12 days that is
forgotten over 1.2 to 6 turns, noise of 0.3 of its standard deviation, and in a third of them faster change beside it.
Success: within three standard errors of the truth. What is not clear, or lasts, is left to the search for repetition
and counted apart.
"""

import time

import numpy as np

from benchmarks.periods.runner import failure_lines, group_by, markdown_table, median

N_SAMPLES, EXTENT, NOISE = 500, 100.0, 0.3
PERIODS, TURNS, SHAPES = (1.0, 12.0), (1.2, 6.0), (0.5, 1.3)
KINDS = ("regular", "irregular")


def missing():
    return ""


def cases(kinds, seeds):
    return [(kind, seed) for seed in seeds for kind in kinds]


def make_star(kind, seed):
    """Times, values, and the period."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    period, turns = (np.exp(rng.uniform(*np.log(limits))) for limits in (PERIODS, TURNS))
    shape = rng.uniform(*SHAPES)
    times = np.arange(N_SAMPLES) * EXTENT / N_SAMPLES
    if kind == "irregular":
        times = np.sort(rng.uniform(0, EXTENT, N_SAMPLES))
    apart = times[:, None] - times
    covariance = np.exp((np.cos(2 * np.pi * apart / period) - 1) / shape**2 - 0.5 * (apart / (turns * period)) ** 2)
    if seed % 3 == 0:
        covariance += 0.1 * np.exp(-0.5 * apart**2)
    y = np.linalg.cholesky(covariance + 1e-9 * np.eye(N_SAMPLES)) @ rng.normal(size=N_SAMPLES)
    return times, y + NOISE * rng.normal(size=N_SAMPLES), float(period)


def measure(kind, seed):
    """Search for one period."""
    from torusgp.fitting.periods._changing import find_changing_period

    times, y, period = make_star(kind, seed)
    start = time.process_time()
    found = find_changing_period(times, y[:, None], np.ones(len(y)))
    error = abs(found.period - period) / found.period_std
    row = {
        "kind": kind,
        "seed": seed,
        "success": bool(error <= 3 or not found.is_clear),
        "clear": found.is_clear,
        "standard_errors": error,
        "relative_error": abs(found.period / period - 1),
        "seconds": time.process_time() - start,
    }
    if not row["success"]:
        row["failure"] = f"{found.period:.4g} +- {found.period_std:.2g}, true {period:.4g}"
    return row


def summary(rows):
    lines = []
    for (kind,), group in group_by(rows, "kind").items():
        clear = [row for row in group if row.get("clear")]
        lines.append(
            {
                "kind": kind,
                "cases": len(group),
                "clear": len(clear),
                "within 1": sum(row["standard_errors"] <= 1 for row in clear),
                "within 2": sum(row["standard_errors"] <= 2 for row in clear),
                "within 3 standard errors": sum(row["standard_errors"] <= 3 for row in clear),
                "relative error (median)": median(clear, "relative_error"),
                "seconds (median)": median(group, "seconds"),
            }
        )
    return f"{markdown_table(lines)}\n\n{failure_lines(rows)}"
