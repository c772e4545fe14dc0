"""How predictions fared, on the rows that the page compares with and on those held out when the model was fitted."""

from dataclasses import dataclass

import numpy as np

from torusgp.views.report._numbers import count, number

FEWEST_ROWS = 20  # that say something of a model
_WORTHLESS = 0.01  # share of the variance of unseen rows below which a model explains nothing


@dataclass(frozen=True)
class Score:
    """How the predictions of one target fared on some rows, in numbers.

    Attributes
    ----------
    kind : {"new", "fitted", "unknown", "held out"}
        Whether the model was fitted to these rows; "held out" are those that were kept back when it was.
    rows : str
        Which rows they are, as a noun.
    n_rows : int
        Number of rows.
    rmse, spread, log_loss, r2, coverage
        See :class:`torusgp.views.report._facts.Judgement`. The coverage may be that of 95 % intervals alone.
    is_nothing : bool
        Whether the model explains nothing of these rows, or next to nothing; False also where few rows tell.
    drift : float or None
        Mean of observations minus predictions, where it was noted to be more than chance.
    n_effective : float or None
        Number of independent rows that tell as much about intervals; None for all.
    """

    kind: str
    rows: str
    n_rows: int
    rmse: float
    spread: float
    log_loss: float
    r2: float
    coverage: dict
    is_nothing: bool
    drift: float | None = None
    n_effective: float | None = None

    @classmethod
    def from_judgement(cls, judgement, kind, rows_as_one=1.0):
        """Score of the rows that the page compares with."""
        n_rows = len(judgement.observed)
        rows = {
            "new": f"{count(n_rows, 'row')} it was not fitted to",
            "fitted": f"the {count(n_rows, 'row')} it was fitted to",
            "unknown": f"the {count(n_rows, 'row')} given to compare with",
        }[kind]
        return cls(
            kind,
            rows,
            n_rows,
            judgement.rmse,
            judgement.spread,
            judgement.log_loss,
            judgement.r2,
            judgement.coverage,
            _is_nothing(judgement.r2, n_rows),
            n_effective=effective_rows(n_rows, rows_as_one),
        )

    @classmethod
    def from_holdout(cls, judgement, rows_as_one=1.0):
        """Score of the rows that were held out when the model was fitted, from what was noted of them."""
        rows = f"{count(judgement.n_rows, 'row')} held out when it was fitted ({judgement.rows})"
        # what R2 compares with; a perfect prediction does not tell it
        spread = judgement.rmse / np.sqrt(1 - judgement.r2) if judgement.r2 < 1 else np.nan
        log_loss = np.nan if judgement.mnll is None else judgement.mnll
        coverage = {0.95: judgement.coverage}
        # notes of the fit know how far chance may have moved R2; older ones do not have them
        known = getattr(judgement, "skill", None) is not None
        return cls(
            "held out",
            rows,
            judgement.n_rows,
            judgement.rmse,
            spread,
            log_loss,
            judgement.r2,
            coverage,
            judgement.explains_nothing if known else _is_nothing(judgement.r2, judgement.n_rows),
            judgement.bias if getattr(judgement, "is_biased", False) else None,
            effective_rows(judgement.n_rows, rows_as_one),
        )


def effective_rows(n_rows, rows_as_one):
    r"""Number of independent rows whose share inside intervals is as certain.

    Whether a row lies inside depends on the size of its error alone. If errors a row apart have the correlation
    :math:`\rho`, as those of noise that fades from row to row, :math:`r = (1 + \rho) / (1 - \rho)` rows are worth one
    for a mean. Sizes have the correlation :math:`\rho^2` at most, so that no more than
    :math:`(1 + \rho^2) / (1 - \rho^2) = (r + 1 / r) / 2` are for them.

    Parameters
    ----------
    n_rows : int
        Number of consecutive rows.
    rows_as_one : float
        How many are worth one for a mean.

    Returns
    -------
    float

    Examples
    --------
    >>> effective_rows(260, 1.0), effective_rows(260, 5.0)
    (260.0, 100.0)
    """
    ratio = max(1.0, float(rows_as_one))
    return n_rows / ((ratio + 1 / ratio) / 2)


def explains_nothing(scores):
    """Whether a model is no better than the mean of the target, on all rows that can tell.

    Parameters
    ----------
    scores : sequence of Score
        Those of rows that the model has not seen count, if there are any.

    Returns
    -------
    bool
        False also where no rows, or few, tell.
    """
    unseen = [score for score in scores if score.kind in ("new", "held out")] or scores
    return bool(unseen) and all(score.is_nothing for score in unseen)


def _is_nothing(r2, n_rows):
    return bool(n_rows >= FEWEST_ROWS and r2 < _WORTHLESS)


def rows_learned(subject):
    """How many rows a model learned from, and what they are worth where they count less, or more, than one each.

    Parameters
    ----------
    subject : Subject
        What the page is about.

    Returns
    -------
    str
    """
    total = float(subject.model.fitted_.effective_sample_size)
    weight = number(np.round(total), 6) if total >= 100 else number(total, 3)
    if subject.n_rows is None:
        return f"rows whose weights add up to {weight}"
    rows = count(subject.n_rows, "row")
    if subject.rows_as_one == 1:
        return rows
    return f"{rows}, worth {weight} independent ones" if subject.rows_as_one > 1 else f"{rows}, counted as {weight}"
