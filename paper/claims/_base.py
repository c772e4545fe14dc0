"""A claim and what was found of it."""

from collections.abc import Callable
from dataclasses import dataclass

HOLDS, IN_PART, FAILS, OPEN = "holds", "in part", "does not hold", "not measured"
NEARLY = 1.10  # "about as good": an error at most so many times the other


@dataclass(frozen=True)
class Claim:
    """The section, the paper's words, the experiments that the claim rests on, and what judges it by their records."""

    section: str
    quote: str
    needs: tuple[str, ...]
    judge: Callable
    in_small: bool = False  # whether the small runs of the experiments suffice
    literal: bool = True  # whether the words are the paper's own


def verdict(holds, measured, reason=""):
    """What was found; a number between 0 and 1 is the share of the cases in which it holds."""
    word = HOLDS if holds == 1 else FAILS if holds == 0 else IN_PART
    return {"verdict": word, "measured": measured, "reason": "" if word == HOLDS else reason}
