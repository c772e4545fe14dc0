"""Methods take turns on a problem; how long they take and how well they predict.

Seconds are those of the processor. With one thread they are the same as on a clock, but for what other processes take.
"""

import gc
import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.peers.common import blocks
from torusgp import mean_negative_log_loss

PATIENCE = 5.0  # seconds of a first fit up to which a method takes all turns
NORMAL_95 = 1.959964


def compare(problem, arms, n_turns, report=print):
    """Rows of results, one for each arm, in which each is also set beside its fit of torusgp; and errors by label.

    The first turn has all arms, the others those that are fast. An arm that fails is left out from then on.
    """
    measured, failures = {}, {}
    for turn in range(n_turns):
        for arm in arms:
            known = measured.get(arm.label)
            if arm.label in failures or (known and known.fit_seconds[0] > PATIENCE):
                continue
            try:
                columns = None if arm.label == arm.reference else measured[arm.reference].details["columns"]
                measured[arm.label] = _measure(problem, arm.make(columns), known)
            except Exception as error:  # one method must not end a long run; the page says what happened
                failures[arm.label] = repr(error)
                measured.pop(arm.label, None)
                report(f"  {arm.label}: {error!r}")
                continue
            if turn == 0:
                report(f"  {arm.label}: {measured[arm.label].fit_seconds[0]:.2f} s", flush=True)
    arms = [arm for arm in arms if arm.label in measured and arm.reference in measured]
    return [_row(problem, arm, measured[arm.label], measured[arm.reference]) for arm in arms], failures


@dataclass
class _Measured:
    """Seconds of all turns, and the predictions and details of the last one."""

    fit_seconds: list
    predict_seconds: list
    prediction: tuple
    details: dict


def _measure(problem, method, known):
    gc.collect()
    start = time.process_time()
    method.fit(problem.X, problem.y)
    fitted = time.process_time()
    prediction = method.predict(problem.X_test)
    end = time.process_time()
    before = ([], []) if known is None else (known.fit_seconds, known.predict_seconds)
    return _Measured([*before[0], fitted - start], [*before[1], end - fitted], prediction, method.details)


def _row(problem, arm, measured, reference):
    return {
        "arm": arm.name,
        "label": arm.label,
        "reference": arm.reference,
        "turns": len(measured.fit_seconds),
        "fit seconds": statistics.median(measured.fit_seconds),
        "fit ratio": ratio(measured.fit_seconds, reference.fit_seconds),
        "predict seconds": statistics.median(measured.predict_seconds),
        "predict ratio": ratio(measured.predict_seconds, reference.predict_seconds),
        **judge(problem, *measured.prediction),
        **differences(problem.y_test, measured.prediction, reference.prediction),
        "details": measured.details,
    }


def ratio(seconds, reference):
    """Median over turns of the ratio to the reference in the same turn; of a single turn, to the reference's median."""
    if len(seconds) == 1:
        return seconds[0] / statistics.median(reference)
    return statistics.median(a / b for a, b in zip(seconds, reference, strict=False))


def judge(problem, mean, std):
    """Errors on the held-out rows; that of the function only where it is known."""
    error = mean - problem.y_test
    truth = problem.truth_test
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "function rmse": None if truth is None else float(np.sqrt(np.mean((mean - truth) ** 2))),
        "mnll": mean_negative_log_loss(problem.y_test, mean, std),
        "coverage": float(np.mean(np.abs(error) < NORMAL_95 * std)),
    }


def differences(y, prediction, reference):
    """How many standard errors squared error and log loss lie above those of the reference on the same rows.

    Rows of a series are not independent; the standard errors are those of means over blocks of consecutive rows.
    """
    losses = [(_squared_errors, "rmse"), (_log_losses, "mnll")]
    return {f"{name} difference": _standardised(loss(y, *prediction) - loss(y, *reference)) for loss, name in losses}


def _squared_errors(y, mean, std):
    return (y - mean) ** 2


def _log_losses(y, mean, std):
    return 0.5 * np.log(2 * np.pi * std**2) + (y - mean) ** 2 / (2 * std**2)


def _standardised(difference):
    """Mean divided by its standard error over blocks; zero where there is no difference."""
    if not difference.any():
        return 0.0
    block = blocks(len(difference))
    means = np.bincount(block, difference) / np.bincount(block)
    return float(means.mean() / (means.std(ddof=1) / np.sqrt(len(means))))


def residual_correlation(problem, method):
    """Correlation of a training residual of a method with the next one: far from zero if rows are not independent."""
    residual = problem.y - method.fit(problem.X, problem.y).predict(problem.X)[0]
    return float(np.corrcoef(residual[:-1], residual[1:])[0, 1])
