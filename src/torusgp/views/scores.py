"""How predictions fare on observations that a model has not seen, and the rules by which that is good or bad."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from torusgp.views.autocorrelation import autocorrelation, correlation_time
from torusgp.views.metrics import crps, deviance, mean_negative_log_loss

COVERAGE = 0.95  # of the intervals that are looked at first
MIDDLE = 0.5  # of the intervals that tell whether errors are roughly normal
_LEVELS = np.concatenate([[0.025], np.arange(0.05, 0.96, 0.1), [0.975]])  # the inner ones are of equal weight
_INTERVALS = ((0, -1), (3, -4))  # of 95 and of 50 %
_WITH_DEVIANCE = ("poisson", "negative_binomial", "gamma")
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
    skill, skill_std : float or None
        Share of the squared errors of a constant, the mean of the rows learned from, that the model saves, and its
        standard error; None if that mean is not known. It is R2, but that a change of the level, which no model of
        what repeats can foresee, does not count against the model.
    bias, bias_std : float or None
        Mean of what observations are above predictions, and the size that chance gives it: noise that is as correlated
        as the errors are, and the uncertainty of the function. None if the rows have no order.
    middle, middle_std : float or None
        Share of the observations inside the 50 % intervals, and the error that chance gives it where intervals are
        right. None in files of before it was looked at.
    crps, deviance, brier : float or None
        Of likelihoods other than the normal one: continuous ranked probability score, in the units of the target; mean
        deviance of counts and positive targets; mean squared error of probabilities.
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
    coverage_std: float | None = None

    @classmethod
    def from_model(
        cls, model: Any, X: Any, observed: NDArray[np.float64], rows: str, *, exposure: Any = None, **others: Any
    ) -> Self:
        """Compare observations with the predictions of a regressor, by the rules of its likelihood.

        Parameters
        ----------
        model : TorusGPRegressor
            Fitted regressor of one target.
        X : array-like of shape (n_rows, n_features)
            Inputs.
        observed : ndarray of shape (n_rows,)
            Observations.
        rows : str
            Which rows they are.
        exposure : array-like of shape (n_rows,), optional
            Of counts.
        **others
            See :meth:`from_predictions`.
        """
        likelihood = model.likelihood_
        mean, std = model.predict(X, return_std=True, exposure=exposure)
        _, rate_std = model.predict(X, return_std=True, include_noise=False, exposure=exposure)
        noise_std = np.sqrt(np.maximum(np.where(np.isfinite(std), std, 0.0) ** 2 - rate_std**2, 0.0))
        finite = np.where(np.isfinite(std) & (std > 0), std, 1.0)  # what follows from it is replaced below
        base = cls.from_predictions(observed, mean, finite, rows, **{"noise_std": noise_std, **others})
        quantiles = model.predict_quantiles(X, _LEVELS, exposure=exposure)
        inside = [
            np.mean((observed >= quantiles[:, low]) & (observed <= quantiles[:, high])) for low, high in _INTERVALS
        ]
        is_class = likelihood.name == "bernoulli"
        scale = 1.0 if exposure is None else np.asarray(exposure, dtype=float)
        return replace(
            base,
            mnll=float(-np.mean(model.log_predictive_density(X, observed, exposure=exposure))),
            coverage=float(inside[0]),
            middle=None if likelihood.is_discrete else float(inside[1]),  # of few whole numbers it says nothing
            middle_std=None if likelihood.is_discrete else base.middle_std,
            crps=crps(observed, quantiles[:, 1:-1], _LEVELS[1:-1]),
            deviance=deviance(likelihood, observed, mean, scale) if likelihood.name in _WITH_DEVIANCE else None,
            brier=float(np.mean((observed - mean) ** 2)) if is_class else None,
        )

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
    ) -> Self:
        """Compare observations with normal predictions.

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

        Returns
        -------
        Scores
        """
        error = observed - mean
        skill, skill_std = (None, None) if constant is None else _skill(error, observed - constant, redundancy)
        bias, bias_std = (None, None) if redundancy is None else _bias(error, std, noise_std, redundancy)
        spread = np.mean((observed - observed.mean()) ** 2)
        middle, middle_std = _inside(error, std, MIDDLE, redundancy)
        return cls(
            len(observed),
            rows,
            float(np.sqrt(np.mean(error**2))),
            mean_negative_log_loss(observed, mean, std),
            float(1 - np.mean(error**2) / spread) if spread > 0 else float("nan"),
            float(np.mean(np.abs(error) <= ndtri(0.5 + COVERAGE / 2) * std)),
            skill,
            skill_std,
            bias,
            bias_std,
            middle=middle,
            middle_std=middle_std,
            coverage_std=_inside(error, std, COVERAGE, redundancy)[1],
        )

    @property
    def explains_nothing(self) -> bool:
        """Whether predictions may be no better than a constant: their skill is small, and within its error of none.

        Where the skill is not known, R2 decides.
        """
        if self.skill is None or self.skill_std is None:
            return bool(self.n_rows >= _FEWEST_ROWS and self.r2 < _WORTHLESS)
        return bool(self.skill < min(_SMALL, _LIKELY * self.skill_std) or self.skill <= 0)

    @property
    def is_biased(self) -> bool:
        """Whether the observations lie above or below predictions by more than chance allows, and noticeably."""
        if self.bias is None or self.bias_std is None:
            return False
        return bool(abs(self.bias) > max(_CLEAR * self.bias_std, _NOTICEABLE * self.rmse))

    @property
    def is_too_narrow(self) -> bool:
        """Whether 50 % intervals contain far fewer than half of the observations, beyond chance."""
        return self._beyond_chance(-1)

    @property
    def is_too_wide(self) -> bool:
        """Whether 50 % intervals contain far more than half of the observations, as where a few errors are huge."""
        return self._beyond_chance(1)

    def _beyond_chance(self, sign: int) -> bool:
        if self.middle is None or self.middle_std is None or self.r2 > 1 - _EXACT:
            return False
        return bool(sign * (self.middle - MIDDLE) > max(_CLEAR * self.middle_std, _FAR))

    @property
    def grade(self) -> str:
        """How good predictions are, in a word: "worthless", "weak", "fair", "good" or "excellent".

        "unknown" where all observations are equal, so that there is nothing to explain.
        """
        if self.explains_nothing:
            return "worthless"
        if np.isnan(self.r2):
            return "unknown"
        return next((grade for least, grade in _GRADES if self.r2 > least), "weak")

    @property
    def intervals(self) -> str:
        """What the share inside 95 % intervals says of them.

        One of "as stated", "slightly narrow", "slightly wide", "narrow", "wide", "far too narrow", "heavy tails" where
        most errors are smaller than stated and a few much larger, "two groups" where few are as small as stated though
        none are larger, and "few rows" where chance allows so much that nothing is said. A share below 80 % is "far too
        narrow" whatever chance allows.
        """
        off = self.coverage - COVERAGE
        error = self.coverage_std
        if error is None:
            error = float(np.sqrt(COVERAGE * (1 - COVERAGE) / self.n_rows))
        is_clear = abs(off) > _LIKELY * error
        if self.coverage < _UNUSABLE and self.n_rows >= _FEWEST_INSIDE:
            return "far too narrow"
        if self.is_too_wide:
            return "wide" if off > _SLIGHT else "heavy tails"
        if self.is_too_narrow:
            return "narrow" if off < -_SLIGHT else "two groups"
        if not is_clear:
            return "as stated" if error <= _TELLING else "few rows"
        if self.coverage < _NARROW:
            return "far too narrow"
        side = "narrow" if off < 0 else "wide"
        return f"slightly {side}" if abs(off) <= _SLIGHT else side

    def to_json(self) -> dict[str, Any]:
        """What JSON can hold of it."""
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


def _inside(error, std, level, redundancy):
    """Share of errors within intervals of a level, and its standard deviation around it where intervals are right."""
    inside = (np.abs(error) <= ndtri(0.5 + level / 2) * std).astype(float)
    time = 1.0 if redundancy is None else max(1.0, correlation_time(autocorrelation(inside)))
    return float(inside.mean()), float(np.sqrt(level * (1 - level) * min(time / len(inside), 1.0)))
