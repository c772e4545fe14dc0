"""A claim and what was found of it."""

from collections.abc import Callable
from dataclasses import dataclass

HOLDS, IN_PART, FAILS, OPEN = "holds", "in part", "does not hold", "not measured"
MENDED = "misprint, mended"
NEARLY = 1.10  # "closely resembles": an error at most so many times the other

PAPER, MISPRINT, OURS = "the paper's claims", "misprints", "statements of our own"  # classes, counted apart


@dataclass(frozen=True)
class Claim:
    """The section, the paper's words, the experiments that the claim rests on, and what judges it by their records."""

    section: str
    quote: str
    needs: tuple[str, ...]
    judge: Callable
    in_small: bool = False  # whether the small runs of the experiments suffice
    literal: bool = True  # whether the words are the paper's own
    kind: str = PAPER


def verdict(holds, measured, reason=""):
    """What was found; a number between 0 and 1 is the share of the cases in which it holds."""
    word = HOLDS if holds == 1 else FAILS if holds == 0 else IN_PART
    return {"verdict": word, "measured": measured, "reason": "" if word == HOLDS else reason}


def misprint(printed_is_right, mended_is_right, measured, mended):
    """A formula that is wrong as printed and right as it must have been meant; else the claim that it is one fails."""
    word = MENDED if mended_is_right and not printed_is_right else FAILS
    return {"verdict": word, "measured": measured, "reason": mended}


def count(rows):
    """Number of claims by class and verdict: ``{class: {verdict: number}}``."""
    found = {kind: {} for kind in (PAPER, MISPRINT, OURS)}
    for row in rows:
        verdicts = found[row["kind"]]
        verdicts[row["verdict"]] = verdicts.get(row["verdict"], 0) + 1
    return found


def sentence(rows):
    """The counts in words, as the page, the README and the promises say them."""
    found = count(rows)
    paper, ours = found[PAPER], found[OURS]
    words = [(HOLDS, "hold"), (IN_PART, "in part"), (FAILS, "do not"), (OPEN, "not measured")]
    parts = ", ".join(f"{paper[verdict]} {word}" for verdict, word in words if paper.get(verdict))
    mended = found[MISPRINT].get(MENDED, 0)
    text = f"{sum(paper.values())} claims of the paper: {parts}; {mended} misprints are mended"
    open_ones = sum(found[MISPRINT].values()) - mended
    text += f", {open_ones} not" if open_ones else ""
    return f"{text}; {ours.get(HOLDS, 0)} of {sum(ours.values())} statements of our own hold"
