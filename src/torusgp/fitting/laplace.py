r"""Laplace's approximation: Newton's method on sums over rows, its evidence, and the exact gradient of that.

With columns F, prior variances :math:`\lambda` and log densities :math:`l_i(f_i)` of the rows, the mode maximises
:math:`\psi(u) = \sum_i l_i - u' \Lambda^{-1} u / 2`, and the evidence is :math:`\log Z = \psi(\hat u) - \log \det(I +
\Lambda^{1/2} F' W F \Lambda^{1/2}) / 2` with the weights :math:`W = -l''`. See the theory page for the gradient, which
third derivatives enter since the mode moves with the hyperparameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.dual import RowStatistics
from torusgp.engine.inference import Evidence, NotPositiveDefiniteError, evidence
from torusgp.engine.working import WorkingStatistics, working_rows
from torusgp.fitting.latent import Latent, LatentTorusGP, scaled
from torusgp.fitting.likelihoods import Likelihood
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior
from torusgp.fitting.row_passes import RowPasses
from torusgp.fitting.rows import Compute, Rows
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import to_phases

Array = NDArray[np.float64]

FINE = 1e-13  # what is left of the log posterior below the mode, at the end; the error of the evidence is of its root
COARSE = 1e-3  # the same while hyperparameters still move
_MOST_STEPS = 60
_MOST_HALVINGS = 30
_NEAR = 1.0  # gain of a step from which exact second derivatives are tried, where some have the wrong sign
_NOTHING = 1e-150  # prior variance of a weight that is zero
_LEAST_SHARE = 1e-8  # of the largest weight that a row has at least, where it is divided by
_OWN_STEP = 0.02  # of the logarithm of a parameter, for its curvature


@dataclass
class WorkingSums:
    """Sums of one pass: those of a Newton step, and the log density of the rows."""

    statistics: WorkingStatistics
    log_density: float

    def __iadd__(self, other: WorkingSums) -> Self:
        self.statistics += other.statistics
        self.log_density += other.log_density
        return self


@dataclass(frozen=True)
class WorkingPass:
    """What a pass computes for a Newton step at a function; safe weights are positive."""

    empty: WorkingStatistics
    likelihood: Likelihood
    latent: Latent
    safe: bool

    def __call__(self, rows: Rows) -> WorkingSums:
        """Sums of some rows."""
        y, f = rows.y[:, 0], self.latent(rows)
        count = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
        scale = 1.0 if rows.noise_scale is None else rows.noise_scale
        statistics = self.empty.empty()
        with np.errstate(over="ignore", invalid="ignore"):
            here = self.likelihood.derivatives(y, f, scale)
            total = float(count @ here.log_density)
        if not np.isfinite(total):  # a step that went much too far
            return WorkingSums(statistics, -np.inf)
        weight = self.likelihood.safe_weights(y, f, scale) if self.safe else -here.second
        weighted = weight * (f - self.empty.offset) + here.first
        plain = None if rows.plain is None else (rows.plain - self.empty.units[0]) / self.empty.units[1]
        statistics.add_working(rows.X, count, count * weight, (count * weighted)[:, None], plain)
        return WorkingSums(statistics, total)


@dataclass(frozen=True)
class _SafeStep:
    """Rows at a function: how often each counts, its value, the slope of its log density and a positive weight."""

    count: Array
    function: Array
    slope: Array
    weight: Array


def _safe_step(rows: Rows, likelihood: Likelihood, latent: Latent) -> _SafeStep:
    y, f = rows.y[:, 0], latent(rows)
    count = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    scale = 1.0 if rows.noise_scale is None else rows.noise_scale
    return _SafeStep(
        count, f, likelihood.derivatives(y, f, scale).first, np.asarray(likelihood.safe_weights(y, f, scale))
    )


def as_normal_rows(rows: Rows, likelihood: Likelihood, latent: Latent, unit: float) -> Rows:
    """Rows of normal noise with the Newton step of rows at a function: what is chosen for these suits those.

    Their noise variance is ``unit`` times the squares of their noise scales.
    """
    step = _safe_step(rows, likelihood, latent)
    weight = np.maximum(step.weight, _LEAST_SHARE * step.weight.max())
    return replace(rows, y=(step.function + step.slope / weight)[:, None], noise_scale=1 / np.sqrt(unit * weight))


@dataclass
class GradientSums:
    """Sums of the pass for the gradient: moments of what moves the mode, and derivatives in own parameters."""

    statistics: WorkingStatistics
    by_own: Array
    own_curvature: Array

    def __iadd__(self, other: GradientSums) -> Self:
        self.statistics += other.statistics
        self.by_own = self.by_own + other.by_own
        self.own_curvature = self.own_curvature + other.own_curvature
        return self


@dataclass(frozen=True)
class GradientPass:
    """What a pass computes for the gradient of the evidence at a mode."""

    fitted: LatentTorusGP
    empty: WorkingStatistics
    latent: Latent
    names: tuple[str, ...]  # of own parameters

    def __call__(self, rows: Rows) -> GradientSums:
        """Sums of some rows."""
        likelihood = self.fitted.likelihood
        y = rows.y[:, 0]
        _, variance = self.fitted.mean_and_variance_of_rows(rows)
        f = self.latent(rows)
        count = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
        scale = 1.0 if rows.noise_scale is None else rows.noise_scale
        targets = [0.5 * variance * likelihood.derivatives(y, f, scale).third]
        names = self.names
        by_own, curvature = np.empty(len(names)), np.empty((len(names), len(names)))
        for j, name in enumerate(names):
            by = likelihood.own_derivatives(name, y, f, scale)
            targets.append(by.first)
            by_own[j] = count @ (by.log_density + 0.5 * variance * by.second)
            for k, other in enumerate(names):
                ahead = likelihood.with_own(**{other: getattr(likelihood, other) * np.exp(_OWN_STEP)})
                change = ahead.own_derivatives(name, y, f, scale).log_density - by.log_density
                curvature[j, k] = -(count @ change) / _OWN_STEP
        statistics = self.empty.empty()
        plain = None if rows.plain is None else (rows.plain - self.empty.units[0]) / self.empty.units[1]
        zero = np.zeros(len(rows))
        statistics.add_working(rows.X, count, zero, count[:, None] * np.stack(targets, axis=1), plain)
        return GradientSums(statistics, by_own, curvature)


@dataclass(frozen=True)
class Mode:
    """A mode, the sums there, and the evidence.

    Attributes
    ----------
    parameters, index_set, likelihood
        Of which it is the mode.
    latent : Latent
        The function where the sums were gathered.
    sums : WorkingSums
        With exact second derivatives.
    result : Evidence
        Factor and weights of the next step.
    log_evidence : float
        Laplace's approximation.
    converged : bool
        Whether the mode was reached.
    """

    parameters: Parameters
    index_set: IndexSet
    likelihood: Likelihood
    latent: Latent
    sums: WorkingSums
    result: Evidence
    log_evidence: float
    converged: bool = True


@dataclass(frozen=True)
class Gradient:
    """Derivatives of the evidence in the logarithms of column variances and of own parameters.

    ``implicit`` is the part of the former that working statistics do not show; ``own_curvature`` the curvature of the
    log density in own parameters.
    """

    by_column: Array
    implicit: Array
    by_own: Array
    own_curvature: Array


class Laplace:
    """Newton's method on passes over rows.

    Parameters
    ----------
    passes : RowPasses
        The rows.
    prior : Prior
        The model.
    compute : Compute
        How sums and values are computed.
    offset : float
        Constant beside the columns.
    units : pair of ndarray
        Means and spreads of plain columns.
    own : tuple of str, default=()
        Parameters of the likelihood that are learned.
    """

    def __init__(
        self,
        passes: RowPasses,
        prior: Prior,
        compute: Compute,
        offset: float,
        units: Any,
        own: tuple[str, ...] = (),
    ):
        self.passes, self.prior, self.compute = passes, prior, compute
        self.offset, self.units, self.own = offset, units, own

    def constant(self) -> Latent:
        """The function that learning starts from."""
        return Latent(self.offset)

    def latent(self, parameters: Parameters, index_set: IndexSet, weights: Array) -> Latent:
        """Function with these weights."""
        period, sharing = parameters.period, self.prior.torus.sharing(parameters.period)
        return Latent(self.offset, index_set.frequencies, period, weights, self.units, self.compute, sharing)

    def gather(self, empty: WorkingStatistics, likelihood: Likelihood, latent: Latent, safe: bool) -> WorkingSums:
        """Sums of a Newton step: one pass."""
        return self.passes.sum(WorkingPass(empty, likelihood, latent, safe))

    def working_rows(
        self,
        rows: Rows,
        index_set: IndexSet,
        parameters: Parameters,
        likelihood: Likelihood,
        latent: Latent,
        unit: float,
    ) -> RowStatistics:
        """What sums with safe weights would say of few rows, as rows."""
        step = _safe_step(rows, likelihood, latent)
        columns = basis_columns(to_phases(rows.X, parameters.period), index_set.frequencies)
        if rows.plain is not None:
            columns = np.hstack([columns, (rows.plain - self.units[0]) / self.units[1]])
        count, weight = step.count, step.weight
        weighted = weight * (step.function - self.offset) + step.slope
        return working_rows(columns, count, count * weight, (count * weighted)[:, None], unit)

    def _variances(self, parameters: Parameters, index_set: IndexSet) -> Array:
        return self.prior.variances(parameters, index_set.frequencies)[:, 0]

    def solve(self, parameters: Parameters, index_set: IndexSet, statistics: WorkingStatistics) -> Evidence:
        """Posterior of working statistics; its weights are where a full step leads."""
        noise = float(parameters[NOISE][0])
        linear = scaled(statistics.linear(index_set)[0], noise)
        return evidence(linear, self._variances(parameters, index_set), noise)

    def find_mode(
        self,
        parameters: Parameters,
        index_set: IndexSet,
        likelihood: Likelihood,
        latent: Latent,
        sums: WorkingSums,
        tolerance: float = FINE,
        safe: bool = False,
    ) -> Mode:
        """Damped Newton's method, from sums that were gathered at a function with the same likelihood.

        Where second derivatives can have the wrong sign, steps of expectation maximisation come first: these always go
        up.

        Parameters
        ----------
        parameters, index_set, likelihood
            Of which the mode is wanted.
        latent : Latent
            Where the sums were gathered.
        sums : WorkingSums
            Of a set that holds the index set.
        tolerance : float
            What may be left of the log posterior.
        safe : bool
            Whether the sums are of safe weights.
        """
        variances = self._variances(parameters, index_set)
        empty = sums.statistics.empty()
        weights = self._weights_of(latent, parameters, index_set)
        value = -np.inf if weights is None else self._value(weights, variances, sums)
        result = self._try(parameters, index_set, sums)
        for _ in range(_MOST_STEPS):
            if result is None:  # indefinite: the weights of expectation maximisation never are
                sums, safe = self.gather(empty, likelihood, latent, True), True
                result = self.solve(parameters, index_set, sums.statistics)
            gain = np.inf
            if weights is not None:
                gain = 0.5 * self._decrement(weights, variances, result, sums, index_set)
                if safe and gain < max(_NEAR, tolerance):
                    exact = self.gather(empty, likelihood, latent, False)
                    trial = self._try(parameters, index_set, exact)
                    if trial is None and gain < tolerance:
                        break
                    if trial is not None:
                        sums, result, safe = exact, trial, False
                        gain = 0.5 * self._decrement(weights, variances, result, sums, index_set)
                if not safe and gain < tolerance:
                    return self._finished(parameters, index_set, likelihood, latent, sums, result, value, True)
            weights, latent, sums, value, safe = self._step(
                parameters, index_set, likelihood, sums, weights, result, value, gain, safe, latent
            )
            result = self._try(parameters, index_set, sums)
        if safe or result is None:
            sums = self.gather(empty, likelihood, latent, False)
            result = self.solve(parameters, index_set, sums.statistics)
        return self._finished(parameters, index_set, likelihood, latent, sums, result, value, False)

    def _step(
        self,
        parameters: Parameters,
        index_set: IndexSet,
        likelihood: Likelihood,
        before: WorkingSums,
        weights: Array | None,
        result: Evidence,
        value: float,
        gain: float,
        safe: bool,
        latent: Latent,
    ) -> tuple[Array, Latent, WorkingSums, float, bool]:
        """A step that goes up: halved until it does."""
        variances, empty = self._variances(parameters, index_set), before.statistics.empty()
        share, lowest = 1.0, -np.inf
        if weights is None:  # the function before is one of other columns: the first step is from the constant
            weights, value = np.zeros_like(result.weights), -np.inf
            lowest = before.log_density - before.statistics.n_samples
        for _ in range(_MOST_HALVINGS):
            trial = weights + share * (result.weights - weights)
            here = self.latent(parameters, index_set, trial)
            sums = self.gather(empty, likelihood, here, safe)
            new = self._value(trial, variances, sums)
            if new < lowest:  # far beyond what the weights there can tell: at least it must be better than the constant
                value, lowest = self.gather(empty, likelihood, self.constant(), safe).log_density, -np.inf
            if new >= value - 1e-12 * abs(value) and np.isfinite(new):
                return trial, here, sums, new, safe
            share /= 2
            if not safe and not likelihood.is_log_concave:  # expectation maximisation goes up without halving
                sums = self.gather(empty, likelihood, latent, True)
                result, safe, share = self.solve(parameters, index_set, sums.statistics), True, 1.0
        raise NotPositiveDefiniteError(
            f"No step of Newton's method raises the log posterior of likelihood={likelihood.name!r} any more: are some "
            "targets far beyond all others? Scale them, or leave those rows out."
        )

    def _weights_of(self, latent: Latent, parameters: Parameters, index_set: IndexSet) -> Array | None:
        """Weights of a function on a set; None if it is one of another set or period."""
        if latent.frequencies is None:
            return np.zeros(index_set.n_components + len(self.prior.columns))
        same = latent.offset == self.offset and np.array_equal(latent.frequencies, index_set.frequencies)
        return latent.weights if same and np.array_equal(latent.period, parameters.period) else None

    def _value(self, weights: Array, variances: Array, sums: WorkingSums) -> float:
        """Log posterior, but for a constant."""
        used = variances > _NOTHING
        return sums.log_density - 0.5 * float(np.sum(weights[used] ** 2 / variances[used]))

    def _try(self, parameters: Parameters, index_set: IndexSet, sums: WorkingSums) -> Evidence | None:
        try:
            return self.solve(parameters, index_set, sums.statistics)
        except NotPositiveDefiniteError:
            return None

    def _decrement(
        self, weights: Array, variances: Array, result: Evidence, sums: WorkingSums, index_set: IndexSet
    ) -> float:
        """Twice the gain that a step promises: the product of the slope and the step."""
        linear, _ = sums.statistics.linear(index_set)
        used = variances > _NOTHING
        slope = linear.moments[:, 0] - linear.gram @ weights
        slope[used] -= weights[used] / variances[used]
        return max(0.0, float(slope[used] @ (result.weights - weights)[used]))

    def _finished(
        self,
        parameters: Parameters,
        index_set: IndexSet,
        likelihood: Likelihood,
        latent: Latent,
        sums: WorkingSums,
        result: Evidence,
        value: float,
        converged: bool,
    ) -> Mode:
        log_evidence = value - 0.5 * float(result.factor.log_determinant())
        return Mode(parameters, index_set, likelihood, latent, sums, result, log_evidence, converged)

    def fitted(self, mode: Mode) -> LatentTorusGP:
        """The fitted model at a mode."""
        return LatentTorusGP(
            self.prior,
            mode.parameters,
            mode.index_set,
            mode.sums.statistics,
            False,
            None,
            self.compute,
            likelihood=mode.likelihood,
            laplace_evidence=mode.log_evidence,
            n_passes=self.passes.count,
        )

    def gradient(self, mode: Mode) -> Gradient:
        r"""Derivatives of the evidence at a mode: one pass.

        The mode moves by :math:`\partial \hat u / \partial \log \lambda_k = \Sigma_{\cdot k} \hat u_k / \lambda_k`, and
        the evidence with it by :math:`s_i = v_i l'''_i / 2` for each row of posterior variance :math:`v_i`.
        """
        empty = mode.sums.statistics.like(mode.index_set, mode.parameters.period, 1 + len(self.own))
        sums = self.passes.sum(GradientPass(self.fitted(mode), empty, mode.latent, self.own))
        moments = sums.statistics.linear(mode.index_set)[0].moments
        result = mode.result
        moved = result.root * result.factor.solve(
            result.factor.solve(result.root * moments[:, 0]), transpose=True
        )  # covariance times the slope in the weights
        ratio = np.divide(result.weights, result.root**2, out=np.zeros_like(result.root), where=result.root > 0)
        implicit = moved * ratio
        explicit, _ = result.gradient()
        by_own = sums.by_own + moved @ moments[:, 1:]
        return Gradient(explicit + implicit, implicit, by_own, sums.own_curvature)
