"""Rows that are held out, and how a model fares on them."""

from dataclasses import asdict, dataclass

import numpy as np
from scipy.special import ndtri

from torusgp.metrics import mean_negative_log_loss
from torusgp.table_models._inputs import to_moment

COVERAGE = 0.95  # of the intervals that are judged


@dataclass(frozen=True)
class Judgement:
    """How the predictions of a model compare with rows that it has not seen.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    rows : str
        Which rows they are, in words.
    rmse : float
        Root mean square error, in the units of the target.
    mnll : float
        Mean negative log loss.
    r2 : float
        Coefficient of determination; not a number if all observations are equal.
    coverage : float
        Share of the observations inside the 95 % intervals.
    """

    n_rows: int
    rows: str
    rmse: float
    mnll: float
    r2: float
    coverage: float

    @classmethod
    def from_predictions(cls, observed, mean, std, rows):
        """Compare observations with normal predictions."""
        error = observed - mean
        spread = np.mean((observed - observed.mean()) ** 2)
        return cls(
            len(observed),
            rows,
            float(np.sqrt(np.mean(error**2))),
            mean_negative_log_loss(observed, mean, std),
            float(1 - np.mean(error**2) / spread) if spread > 0 else float("nan"),
            float(np.mean(np.abs(error) <= ndtri(0.5 + COVERAGE / 2) * std)),
        )

    def to_json(self):
        """What JSON can hold of it."""
        return asdict(self)

    @classmethod
    def from_json(cls, content):
        """Judgement from what :meth:`to_json` gave; None stands for what is not a number."""
        return cls(**(content | {"r2": float("nan") if content["r2"] is None else content["r2"]}))


def hold_out(n_rows, order, fraction=0.2, start=None, random_state=0):
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

    Returns
    -------
    held : ndarray of bool, shape (n_rows,)
        True for rows that are held out.
    rows : str
        Which they are, in words.
    """
    if start is not None:
        if order is None:
            raise ValueError(f"To hold out rows from {start} on, name the column that has their time.")
        held = (order >= to_moment(start, order)).to_numpy()
        if not held.any() or held.all():
            raise ValueError(
                f"From {start} on there are {held.sum()} of {n_rows} rows, and {np.sum(~held)} before, of column "
                f"{order.name!r}: it goes from {order.min()} to {order.max()}."
            )
        return held, f"from {start} on"
    if not 0 < fraction < 1:
        raise ValueError(f"The share of rows to hold out must be between 0 and 1, got {fraction!r}.")
    n_held = max(1, round(fraction * n_rows))
    if order is None:
        held = np.zeros(n_rows, dtype=bool)
        held[np.random.default_rng(random_state).permutation(n_rows)[:n_held]] = True
        return held, f"{100 * held.mean():.0f} % of the rows, drawn at random"
    first = order.sort_values(kind="stable").iloc[n_rows - n_held]
    held = (order >= first).to_numpy()  # rows of one moment stay together
    if held.all():
        raise ValueError(
            f"All of the last rows in the order of {order.name!r} have the same value {first}: hold out rows from a "
            "certain value on, or none."
        )
    shown = first.isoformat(sep=" ", timespec="minutes") if hasattr(first, "isoformat") else f"{first:g}"
    return held, f"the last {100 * held.mean():.0f} %, from {shown} on"
