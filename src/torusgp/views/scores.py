"""Scores of predictions of observations that a model has not seen, and the rules by which they are good or bad."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from torusgp.fitting.likelihoods import Likelihood
from torusgp.views.autocorrelation import autocorrelation, correlation_time
from torusgp.views.metrics import crps, mean_negative_log_loss, normal_crps, pinball_loss

COVERAGE = 0.95  # of the intervals that are looked at first
MIDDLE = 0.5  # of the intervals that tell whether errors are roughly normal
_EVEN = np.arange(5, 96, 10) / 100  # levels that cover (0, 1) evenly, of the CRPS
_DECILES = np.arange(1, 10) / 10  # levels of the pinball loss
_BOUNDS = {0.95: (0.025, 0.975), 0.8: (0.1, 0.9), 0.5: (0.25, 0.75)}  # of the intervals that are looked at
LEVELS = np.unique(np.concatenate([_EVEN, _DECILES, *_BOUNDS.values()]))  # of quantiles that scores are made of
_CLEAR = 3.0  # standard errors that chance does not allow
_LIKELY = 2.0  # standard errors within which a skill may be none
_SMALL = 0.1  # skill that few rows must not be taken for none
_WORTHLESS, _FEWEST_ROWS = 0.01, 20  # R2 that is none, and rows that can tell, where the skill is not known
_FAR = 0.2  # by which intervals that hold half of normal errors may miss it: tails of Student's t with 5 give 0.08
_EXACT = 1e-6  # of the variance: errors of a thousandth of the spread are those of numbers without noise
_SLIGHT = 0.02  # by which the share inside 95 % intervals may miss it without being worth a word
_NARROW, _UNUSABLE = (
    0.88,
    0.8,
)  # shares inside 95 % intervals below which they mislead, and do so whatever chance allows
_FEWEST_INSIDE = 5  # rows of which a share can be unusable
_TELLING = 0.025  # standard error of that share up to which agreement is a finding, and not a lack of rows
_GRADES = ((0.95, "excellent"), (0.8, "good"), (0.4, "fair"))  # by R2; what is less is weak
_NOTICEABLE = 0.2  # of the root mean square error: a smaller offset hardly moves the coverage of intervals


@dataclass(frozen=True)
class Scores:
    """Scores of the predictions of a model on rows that it has not seen.

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
    skill, skill_std : float or None
        Share of the squared errors of a constant, the mean of the rows learned from, that the model saves, and its
        standard error; None if that mean is not known. It is R2, but that a change of the level, which no model of
        what repeats can foresee, does not count against the model.
    bias, bias_std : float or None
        Mean of what observations are above predictions, and the size that chance gives it: noise that is as correlated
        as the errors are, and the uncertainty of the function. None if the rows have no order.
    middle, middle_std : float or None
        Share of the observations inside the 50 % intervals, and the error that chance gives it where intervals are
        right.
    crps : float or None
        Continuous ranked probability score, in the units of the target.
    deviance, brier : float or None
        Mean deviance of counts and positive targets; mean squared error of probabilities.
    mae : float or None
        Mean absolute error, in the units of the target.
    wape : float or None
        Sum of absolute errors over the sum of absolute observations; None if all of these are zero.
    mase : float or None
        Mean absolute error over that of a seasonal naive forecast on the rows learned from; None if there is none.
    pinball : float or None
        Pinball loss, on average over the deciles from 10 to 90 %.
    coverage80 : float or None
        Share of the observations inside the 80 % intervals.
    coverage_std : float or None
        Error that chance gives ``coverage`` where intervals are right and errors as autocorrelated as these; that of
        independent rows where it is not known.
    """

    n_rows: int
    rows: str
    rmse: float
    mnll: float
    r2: float
    coverage: float
    skill: float | None = None
    skill_std: float | None = None
    bias: float | None = None
    bias_std: float | None = None
    middle: float | None = None
    middle_std: float | None = None
    crps: float | None = None
    deviance: float | None = None
    brier: float | None = None
    mae: float | None = None
    wape: float | None = None
    mase: float | None = None
    pinball: float | None = None
    coverage80: float | None = None
    coverage_std: float | None = None

    @classmethod
    def from_predictions(
        cls,
        observed: NDArray[np.float64],
        mean: NDArray[np.float64],
        std: NDArray[np.float64],
        rows: str,
        *,
        constant: float | None = None,
        noise_std: ArrayLike = 0.0,
        redundancy: float | None = None,
        quantiles: NDArray[np.float64] | None = None,
        log_density: NDArray[np.float64] | None = None,
        naive_error: float | None = None,
        likelihood: Likelihood | None = None,
        deviances: NDArray[np.float64] | None = None,
    ) -> Self:
        """Compare observations with predictions, normal ones by default.

        Parameters
        ----------
        observed, mean, std : ndarray of shape (n_rows,)
            Observations in their order, if they have one, and predictions.
        rows : str
            Which rows they are.
        constant : float, optional
            Mean of the rows that the model learned from.
        noise_std : float or ndarray, default=0.0
            The part of the standard deviations that is noise.
        redundancy : float, optional
            Number of consecutive rows over their effective sample size; None if they have no order.
        quantiles : ndarray of shape (n_rows, n_levels), optional
            Predicted quantiles at ``LEVELS``; by default those of normal predictions.
        log_density : ndarray of shape (n_rows,), optional
            Predicted log densities of the observations; by default those of normal predictions.
        naive_error : float, optional
            Mean absolute error of a seasonal naive forecast on the rows learned from.
        likelihood : Likelihood, optional
            How observations follow from the function; by default they are normal.
        deviances : ndarray of shape (n_rows,), optional
            Of counts and positive targets.

        Returns
        -------
        Scores
        """
        error = observed - mean
        finite = np.where(np.isfinite(std) & (std > 0), std, 1.0)  # of heavy tails; then quantiles are given
        skill, skill_std = (None, None) if constant is None else _skill(error, observed - constant, redundancy)
        bias, bias_std = (None, None) if redundancy is None else _bias(error, finite, noise_std, redundancy)
        spread = np.mean((observed - observed.mean()) ** 2)
        if quantiles is None:
            score = normal_crps(observed, mean, std)
            quantiles = mean[:, None] + ndtri(LEVELS) * std[:, None]
        else:
            score = crps(observed, quantiles[:, np.isin(LEVELS, _EVEN)], _EVEN)
        inside = {share: _inside(observed, quantiles, bounds) for share, bounds in _BOUNDS.items()}
        kind, is_discrete = ("normal", False) if likelihood is None else (likelihood.name, likelihood.is_discrete)
        size, mae = float(np.mean(np.abs(observed))), float(np.mean(np.abs(error)))
        middle, middle_std = _share(inside[MIDDLE], MIDDLE, redundancy)
        if is_discrete:  # of few whole numbers it says nothing
            middle, middle_std = None, None
        return cls(
            len(observed),
            rows,
            float(np.sqrt(np.mean(error**2))),
            mean_negative_log_loss(observed, mean, std) if log_density is None else float(-np.mean(log_density)),
            float(1 - np.mean(error**2) / spread) if spread > 0 else float("nan"),
            float(np.mean(inside[COVERAGE])),
            skill,
            skill_std,
            bias,
            bias_std,
            middle,
            middle_std,
            crps=score,
            deviance=None if deviances is None else float(np.mean(deviances)),
            brier=float(np.mean(error**2)) if kind == "bernoulli" else None,
            mae=mae,
            wape=mae / size if size > 0 else None,
            mase=mae / naive_error if naive_error else None,
            pinball=float(np.mean(pinball_loss(observed, quantiles[:, np.isin(LEVELS, _DECILES)], _DECILES))),
            coverage80=float(np.mean(inside[0.8])),
            coverage_std=_share(inside[COVERAGE], COVERAGE, redundancy)[1],
        )

    @property
    def explains_nothing(self) -> bool:
        """True if predictions may be no better than a constant: their skill is small, and within its error of none.

        Where the skill is not known, R2 decides.
        """
        if self.skill is None or self.skill_std is None:
            return bool(self.n_rows >= _FEWEST_ROWS and self.r2 < _WORTHLESS)
        return bool(self.skill < min(_SMALL, _LIKELY * self.skill_std) or self.skill <= 0)

    @property
    def is_biased(self) -> bool:
        """True if the observations lie above or below predictions by more than chance allows, and noticeably."""
        if self.bias is None or self.bias_std is None:
            return False
        return bool(abs(self.bias) > max(_CLEAR * self.bias_std, _NOTICEABLE * self.rmse))

    @property
    def misses_level(self) -> bool:
        """True if R2 is negative because the mean error is not zero: without it, it would be positive.

        Errors that last long allow for larger mean errors; two standard errors are enough to name what does such harm.
        """
        if self.bias is None or self.bias_std is None or not self.r2 <= 0:
            return False
        without = 1 - (1 - self.r2) * (1 - (self.bias / self.rmse) ** 2)  # R2, were the mean error subtracted
        return bool(without > 0 and abs(self.bias) > _LIKELY * self.bias_std)

    @property
    def is_too_narrow(self) -> bool:
        """True if 50 % intervals contain far fewer than half of the observations, beyond chance."""
        return self._beyond_chance(-1)

    @property
    def is_too_wide(self) -> bool:
        """True if 50 % intervals contain far more than half of the observations, as where a few errors are huge."""
        return self._beyond_chance(1)

    def _beyond_chance(self, sign: int) -> bool:
        if self.middle is None or self.middle_std is None or self.r2 > 1 - _EXACT:
            return False
        return bool(sign * (self.middle - MIDDLE) > max(_CLEAR * self.middle_std, _FAR))

    @property
    def grade(self) -> str:
        """Grade of the predictions: "worthless", "weak", "fair", "good" or "excellent".

        "unknown" where all observations are equal, so that there is nothing to explain.
        """
        if self.explains_nothing:
            return "worthless"
        if np.isnan(self.r2):
            return "unknown"
        return next((grade for least, grade in _GRADES if self.r2 > least), "weak")

    @property
    def _independent_error(self) -> float:
        """Standard error of the share inside 95 % intervals if errors are independent."""
        return float(np.sqrt(COVERAGE * (1 - COVERAGE) / self.n_rows))

    @property
    def intervals(self) -> str:
        """Verdict on the 95 % intervals, by the share that they contain.

        One of "as stated", "slightly narrow", "slightly wide", "narrow", "wide", "far too narrow", "heavy tails" where
        most errors are smaller than stated and a few much larger, "two groups" where few are as small as stated though
        none are larger, and "few rows" where chance allows so much that nothing is said; "lasting errors" if it does
        because errors are autocorrelated, so that many rows are as good as few. A share below 80 % is "far too
        narrow" whatever chance allows.
        """
        off = self.coverage - COVERAGE
        error = self._independent_error if self.coverage_std is None else self.coverage_std
        is_clear = abs(off) > _LIKELY * error
        if self.coverage < _UNUSABLE and self.n_rows >= _FEWEST_INSIDE:
            return "far too narrow"
        if self.is_too_wide:
            return "wide" if off > _SLIGHT else "heavy tails"
        if self.is_too_narrow:
            return "narrow" if off < -_SLIGHT else "two groups"
        if not is_clear:
            if error <= _TELLING:
                return "as stated"
            return "few rows" if self._independent_error > _TELLING else "lasting errors"
        if self.coverage < _NARROW:
            return "far too narrow"
        side = "narrow" if off < 0 else "wide"
        return f"slightly {side}" if abs(off) <= _SLIGHT else side

    def to_json(self) -> dict[str, Any]:
        """Content for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Scores from what :meth:`to_json` gave; None stands for what is not a number."""
        return cls(**(content | {"r2": float("nan") if content["r2"] is None else content["r2"]}))


def _skill(error, from_constant, redundancy):
    """Share of squared errors that a model saves, and its standard error where rows are correlated."""
    total = np.sum(from_constant**2)
    if not total > 0:
        return None, None
    skill = 1 - np.sum(error**2) / total
    parts = (1 - skill) * from_constant**2 - error**2  # what each row moves the ratio by, times the total
    time = 1.0 if redundancy is None else max(1.0, correlation_time(autocorrelation(parts)))
    return float(skill), float(np.sqrt(min(time, len(parts)) * np.sum(parts**2)) / total)


def _bias(error, std, noise_std, redundancy):
    """Mean of errors, and its standard deviation where they are correlated; few errors do not show their own size."""
    variance = max(float(np.var(error)), float(np.mean(np.asarray(noise_std) ** 2)))
    time = max(redundancy, correlation_time(autocorrelation(error)))
    # uncertainty of the function is the same for all rows at worst
    function = np.mean(np.sqrt(np.maximum(std**2 - np.asarray(noise_std) ** 2, 0.0)))
    return float(np.mean(error)), float(np.sqrt(variance * min(time / len(error), 1.0) + function**2))


def _inside(observed, quantiles, bounds):
    """Mask of the observations inside an interval."""
    low, high = (quantiles[:, np.argmin(np.abs(LEVELS - bound))] for bound in bounds)
    return ((observed >= low) & (observed <= high)).astype(float)


def _share(inside, level, redundancy):
    """Share of observations within intervals, and its standard deviation where intervals are right."""
    time = 1.0 if redundancy is None else max(1.0, correlation_time(autocorrelation(inside)))
    return float(inside.mean()), float(np.sqrt(level * (1 - level) * min(time / len(inside), 1.0)))
