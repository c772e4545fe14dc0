"""The loop: choose the pool, sum over the rows, learn, look at what is left, until neither changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.blocks import BlockSums
from torusgp.engine.series import Autocovariance
from torusgp.fitting.anova.learning import Learned, learn
from torusgp.fitting.anova.observations import Observation
from torusgp.fitting.anova.prior import AnovaPrior, Term
from torusgp.fitting.anova.rows import BlockedRows, LeftOut, Working
from torusgp.kernels.anova import AnovaBasis, CentredAxis

Array = NDArray[np.float64]

# Of the pool. Half of them lose .004, .04 and .07 of log loss on nitrogen oxides, electricity and births, and half as
# many again gain .025 on births in three times the time: `python -m benchmarks.peers.tables`.
N_COLUMNS = 1001
_FEWEST_COLUMNS = 101  # of few rows in time
_MAIN_COLUMNS = 501  # of main effects alone, of which there are few
_MOST_ROUNDS = 5  # beyond the first: each is a pass over the rows
_SETTLED = 0.02  # change of the log density of a row that is left out that ends the rounds
_START_NOISE = 0.1  # of the variance of the targets


@dataclass(frozen=True, eq=False)
class State:
    """Where the loop stands.

    Attributes
    ----------
    prior : AnovaPrior
        Terms.
    observation : Observation
        What is known of the noise of rows.
    basis : AnovaBasis
        The pool.
    sums : BlockSums
        Its sums.
    learned : Learned
        Hyperparameters and posterior.
    noise : Autocovariance or None
        Of rows in time, in units of the working rows; None of independent ones.
    working : Working
        The rows that were summed.
    values : ndarray of shape (n_samples,)
        The function at the rows.
    left_out : LeftOut or None
        Predictions of each block by the others; None before there are any.
    """

    prior: AnovaPrior
    observation: Observation
    basis: AnovaBasis
    sums: BlockSums
    learned: Learned
    noise: Autocovariance | None
    working: Working
    values: Array
    left_out: LeftOut | None = None

    @property
    def variances(self) -> Array:
        """Prior variances of the columns."""
        return self.prior.variances(self.basis, self.learned.vector)

    @property
    def loss(self) -> float:
        """Mean loss of rows that are left out, in units of their log density."""
        assert self.left_out is not None
        return self.observation.loss(self.working, self.left_out)


def main_effects(axes: tuple[CentredAxis, ...]) -> tuple[Term, ...]:
    """All axes but walks: beside independent noise a walk takes all that is slow."""
    return tuple((d,) for d, axis in enumerate(axes) if axis.axis.kind != "walk")


def all_terms(axes: tuple[CentredAxis, ...], order: int = 2) -> tuple[Term, ...]:
    """All sets of axes up to an order."""
    return tuple(term for size in range(1, order + 1) for term in combinations(range(len(axes)), size))


def fit(
    rows: BlockedRows,
    axes: tuple[CentredAxis, ...],
    observation: Observation,
    order: int = 2,
    n_columns: int = N_COLUMNS,
    report: Callable[[str], None] = lambda line: None,
) -> State:
    """Learn the sum of all terms up to an order."""
    if rows.grid is not None:
        n_columns = min(n_columns, max(_FEWEST_COLUMNS, len(rows)))  # moments tell no more than there are rows
    first = main_effects(axes) or all_terms(axes, 1)
    alone, few = AnovaPrior(axes, first), min(_MAIN_COLUMNS, n_columns)
    state = _left_out(rows, _round(rows, alone, None, observation, few, report))
    if observation.knows_noise:  # working rows are known when the function is
        state = _settled(rows, alone, state, few, report)
    return _settled(rows, AnovaPrior(axes, all_terms(axes, order)), state, n_columns, report)


def _settled(
    rows: BlockedRows, prior: AnovaPrior, state: State, n_columns: int, report: Callable[[str], None]
) -> State:
    """Rounds until rows that are left out are predicted as well as before."""
    for _ in range(_MOST_ROUNDS):
        before = state.loss
        state = _left_out(rows, _round(rows, prior, state, state.observation, n_columns, report))
        if abs(state.loss - before) <= _SETTLED:
            break
    return state


def _round(
    rows: BlockedRows,
    prior: AnovaPrior,
    before: State | None,
    observation: Observation,
    n_columns: int,
    report: Callable,
) -> State:
    """One pass: the pool of the hyperparameters at hand, its sums, and what they say of these."""
    vector = prior.start if before is None else prior.carried(before.prior, before.learned.vector)
    basis = prior.largest(vector, n_columns)
    working = observation.working(None if before is None else before.values)
    noise = None if before is None else _noise(rows, before)
    sums = rows.sums(basis, working, noise)
    start = None
    if noise is None and not observation.knows_noise:
        start = _START_NOISE if before is None else before.learned.noise_variance
    learned = learn(prior, basis, sums.total, vector, start)
    values = rows.values(basis, learned.result.weights)
    state = State(prior, observation, basis, sums, learned, noise, working, values)
    report(
        f"{len(prior.terms)} terms, {basis.n_columns} columns: log evidence {learned.log_evidence:.6g} after "
        f"{learned.n_evaluations} evaluations"
    )
    return state


def _noise(rows: BlockedRows, state: State) -> Autocovariance | None:
    """Noise of rows in time, from residuals: of rows that took no part, where there are some."""
    if rows.grid is None:
        return None
    assert state.left_out is not None
    residuals = rows.in_order(state.working.residuals(state.left_out.values))
    return Autocovariance.smooth(residuals, rows.grid, rows.longest_lag, state.left_out.covariance)


def _left_out(rows: BlockedRows, state: State) -> State:
    """The state with blocks left out, and what is learned from them."""
    noise_variance, root_weight = state.learned.noise_variance, state.working.root_weight
    left_out = rows.left_out(state.basis, state.sums, state.variances, noise_variance, root_weight)
    return replace(state, left_out=left_out, observation=state.observation.updated(left_out))
