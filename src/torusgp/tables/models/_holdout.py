"""Rows that are held out of a fit, to evaluate it."""

import numpy as np

from torusgp.checks import is_real
from torusgp.tables.clock import to_moment
from torusgp.tables.words import word

TOGETHER = "those of equal inputs together"
FEWEST_ROWS = 20  # to learn from


def hold_out(n_rows, order, fraction=0.2, start=None, random_state=0, repeats=None):
    """Which rows are held out.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    order : pandas.Series or None
        Times or numbers that order them.
    fraction : float, default=0.2
        Share of the rows to hold out: the last ones in their order, or random ones if they have none.
    start : str or number, optional
        Instead of a fraction: hold out the rows from there on.
    random_state : int, default=0
        Determines random rows.
    repeats : Repeats, optional
        Rows of equal inputs, which random rows do not separate.

    Returns
    -------
    held : ndarray of bool, shape (n_rows,)
        True for rows that are held out.
    rows : str
        Which they are, in words.
    """
    if start is not None:
        if order is None:
            raise ValueError(
                f"To hold out rows from {start} on, name the column that has their time ({word('time', 'date')})."
            )
        held = (order >= to_moment(start, order)).to_numpy()
        if not held.any() or held.all():
            raise ValueError(
                f"From {start} on there are {held.sum()} of {n_rows} rows, and {np.sum(~held)} before, of column "
                f"{order.name!r}: it goes from {order.min()} to {order.max()}."
            )
        return held, f"from {start} on"
    if not is_real(fraction) or not 0 < fraction < 1:
        raise ValueError(f"The share of rows to hold out must be between 0 and 1, got {fraction!r}.")
    n_held = max(1, round(fraction * n_rows))
    if order is None:
        drawn = np.random.default_rng(random_state).permutation(n_rows)
        if repeats is not None and repeats.stay_together:
            held = repeats.held(drawn, n_held)
            if held.any() and len(np.unique(repeats.groups[~held])) >= FEWEST_ROWS:
                return held, f"{100 * held.mean():.0f} % of the rows, drawn at random, {TOGETHER}"
        held = np.zeros(n_rows, dtype=bool)
        held[drawn[:n_held]] = True
        return held, f"{100 * held.mean():.0f} % of the rows, drawn at random"
    first = order.sort_values(kind="stable").iloc[n_rows - n_held]
    held = (order >= first).to_numpy()  # rows of one moment stay together
    if held.all():
        raise ValueError(
            f"All of the last rows in the order of {order.name!r} have the same value {first}: hold out rows from a "
            "certain value on, or none."
        )
    return held, f"the last {100 * held.mean():.0f} %, from {_shown(first, order)} on"


def _shown(value, order):
    """A time or number of a column, with the digits that tell it from others."""
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ", timespec="minutes")
    if value == int(value) and abs(value) < 1e15:
        return f"{value:.0f}"
    range_in_it = np.abs(order).max() / max(np.ptp(order), np.finfo(float).tiny)
    return f"{value:.{int(np.clip(np.ceil(np.log10(range_in_it)) + 4, 6, 17))}g}"
