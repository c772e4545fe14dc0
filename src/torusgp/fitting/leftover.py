r"""What the residuals of a fit still show: a periodogram of them on the torus.

For every frequency, :math:`z^2 = |\sum_n p_n r_n e^{i k \cdot \theta_n}|^2 / (s^2 \sum_n p_n / 2)` is
about chi-squared with two degrees of freedom if nothing is left. With the best prior variance it would add
:math:`z^2 / 2 - 1 - \log(z^2 / 2)` to the log evidence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import make_sums
from torusgp.engine.basis import columns
from torusgp.fitting.gains import RowModel
from torusgp.fitting.prior import NOISE
from torusgp.kernels.candidates import Candidates, Patterns
from torusgp.kernels.product import to_phases

_ROWS = 5000  # that are looked at
_TRANSFORM_AXES = 3  # up to here a transform gives all frequencies at once
SURE = 5.0  # log evidence, beyond that of chance among so many frequencies, from which something is left
_TOLERANCE = 1e-9  # of the transform
_BATCH = 512  # frequencies whose columns are held at once
_MORE_ROWS, _MOST_LIKELY = 10_000, 4000  # rows and candidates that tell how much of the prior they do not have
_CLEAR = (
    3.0  # log evidence from which they have some of it: a tiny share of a prior that expects very much may be chance
)
_SHARES = np.geomspace(1e-6, 1.0, 61)


@dataclass(frozen=True)
class Leftover:
    """The frequency that the residuals show most clearly.

    Attributes
    ----------
    frequency : ndarray of int, shape (dimension,)
        On the axes of the torus.
    gain : float
        Log evidence that it would add, less what chance would among so many frequencies.
    share : float
        Of the variance of the residuals.
    """

    frequency: NDArray[np.int64]
    gain: float
    share: float


def find_leftover(model: RowModel) -> Leftover | None:
    """The strongest frequency in the residuals of a model, among low ones of few axes; None if there is none.

    Parameters
    ----------
    model : RowModel
        The model, and its rows.
    """
    torus, period = model.prior.torus, model.parameters.period
    # those of the model too, which a prior may rule out
    candidates = Candidates.of(torus, period, len(model.rows)).scanned
    candidates = candidates.take(candidates.values[:, torus.kinds("category")].sum(axis=1) == 0)
    rows = model.rows.take(slice(0, _ROWS))
    if not len(candidates):
        return None
    residuals = model.residuals(rows)
    unit = rows.precision.mean()  # known noise may be in any unit
    precision, noise = rows.precision / unit, model.parameters[NOISE] / unit
    powers = _powers(to_phases(rows.X, period), precision, residuals, candidates)
    total = precision.sum()
    ratio = np.maximum(2 * powers / (total * noise), 2.0)  # z squared, (n_candidates, n_outputs)
    gains = (ratio / 2 - 1 - np.log(ratio / 2)).sum(axis=1)
    # a grid shows a frequency and its aliases alike: the lowest is meant
    clear = np.flatnonzero(gains >= gains.max() * (1 - 1e-6))
    best = clear[np.argmin(np.abs(candidates.values[clear]).sum(axis=1))]
    gain = float(gains[best] - np.log(len(candidates)))
    squares = (precision[:, None] * residuals**2).sum(axis=0)
    share = float((2 * powers[best] / (total * np.where(squares > 0, squares, np.inf))).max())
    return Leftover(candidates.values[best], gain, share) if gain > SURE else None


def shown_share(model: RowModel, candidates: Patterns) -> float:
    r"""Share of the prior variance of frequencies outside a model that its residuals show there.

    A set that the data chose leaves out what is weaker than the prior says. If candidates had the share :math:`r` of
    their prior variances :math:`\lambda_k`, together they would add :math:`\sum_k z_k^2 a_k / 2 (1 + a_k) -
    \log(1 + a_k)` to the log evidence, :math:`a_k = r \lambda_k \sum_n p_n / 2 s^2`. The best share is taken, one for
    candidates of the groups of axes that the model has, and one for all others if it is clear that they have any.
    """
    firsts = np.cumsum(candidates.sizes) - candidates.sizes
    variances = model.variances(candidates.frequencies())[1::2][firsts]  # (n_candidates, n_outputs)
    likely = np.argsort(-variances.sum(axis=1), kind="stable")[:_MOST_LIKELY]
    likely = likely[candidates.sizes[likely] == 1]
    left_out = float(model.prior.truncation_error(model.parameters, model.index_set).sum())
    if not len(likely) or left_out <= 0:
        return 0.0
    rows, noise, variances = model.rows.take(slice(0, _MORE_ROWS)), model.parameters[NOISE], variances[likely]
    phases = to_phases(rows.X, model.parameters.period)
    powers = _powers(phases, rows.precision, model.residuals(rows), candidates.take(likely))
    free = 1 - min(0.9, model.index_set.n_components / len(model.rows))  # of the residuals' directions
    information = free * rows.precision.sum() / (2 * noise)
    ratios = _SHARES[:, None, None] * variances * information
    gains = (powers / noise**2 / (2 * information) * ratios / (1 + ratios) - np.log1p(ratios)).sum(axis=2)
    known = {row.tobytes() for row in model.index_set.frequencies[1:] != 0}
    alike = np.array([row.tobytes() in known for row in candidates.values[likely] != 0])
    mass = float(variances[alike].sum())  # of the cosine, as large as that of the sine: so the whole variance of a pair
    return min(
        1.0,
        (_best_share(gains[:, alike], 0.0) * mass + _best_share(gains[:, ~alike], _CLEAR) * max(0.0, left_out - mass))
        / left_out,
    )


def _best_share(gains: NDArray[np.float64], least: float) -> float:
    """The share of the largest gain of all candidates together, shape (n_shares, n_candidates), if that is enough."""
    total = gains.sum(axis=1)
    best = int(np.argmax(total))
    return float(_SHARES[best]) if total[best] > least else 0.0


def _powers(
    phases: NDArray[np.float64],
    precision: NDArray[np.float64],
    residuals: NDArray[np.float64],
    candidates: Patterns,
) -> NDArray[np.float64]:
    """Squared sums of the residuals with the exponentials of candidates, shape (n_candidates, n_outputs)."""
    frequencies = candidates.frequencies()
    if frequencies.shape[1] <= _TRANSFORM_AXES:
        sums = make_sums("finufft", frequencies, residuals.shape[1], _TOLERANCE, 1)
        sums.add_chunk(phases, precision, residuals)
        moments = sums.moments(frequencies)[1:]
    else:
        weighted = precision[:, None] * residuals
        parts = np.array_split(frequencies[1:], len(frequencies) // _BATCH + 1)
        moments = np.vstack([columns(phases, np.vstack([frequencies[:1], part]))[:, 1:].T @ weighted for part in parts])
    return np.asarray(moments[0::2] ** 2 + moments[1::2] ** 2)
