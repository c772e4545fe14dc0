"""What the parts share: files, scores of predictions, and fits whose warnings are part of the result."""

import os
import time
import warnings
from pathlib import Path

import numpy as np


def locate(name):
    """Path of a file of data, or None and the reason why there is none."""
    folder = os.environ.get("TORUSGP_DATA")
    if not folder:
        return None, f"TORUSGP_DATA names no folder with {name}"
    path = Path(folder, name)
    return (path, "") if path.is_file() else (None, f"there is no {path}")


def log_losses(y, mean, std):
    """Negative log densities of targets under normal predictions."""
    return 0.5 * np.log(2 * np.pi * std**2) + (y - mean) ** 2 / (2 * std**2)


def r2(y, mean):
    """Share of the variance that predictions explain."""
    return 1 - np.mean((y - mean) ** 2) / np.var(y)


def timed_fit(model, X, y, **options):
    """A fitted model, and the seconds of the processor that its fit took: others may be at work beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of given numbers of columns: the scores show what they cost
        start = time.process_time()
        model.fit(X, y, **options)
        return model, time.process_time() - start
