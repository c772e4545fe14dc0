"""Warnings that point to the user's code, from however deep they come."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


def advise(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called into the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
