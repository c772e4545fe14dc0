r"""A straight line beside what repeats, estimated together with it.

The model is :math:`y = a + b t + f(x) + \varepsilon`, f the Gaussian process of the regressor, with a flat prior on the
slope b; the level a is the intercept of the regressor, part of its covariance K. For fixed hyperparameters nothing but
means of the same regressor is needed. Let :math:`m_t` be its posterior mean where the targets are the times t
themselves, and :math:`r = t - m_t(X)` what it leaves of them. With the covariance :math:`C = K + s^2 W^{-1}` of
targets whose rows have the weights W, :math:`s^2 C^{-1} (t - \bar t) = W r`. Generalised least squares therefore are

.. math:: b = \frac{r' W (y - \bar y)}{r' W (t - \bar t)}, \qquad
   \mathrm{var}(b) = \frac{s^2}{r' W (t - \bar t)},

and a prediction at :math:`(x, t)` is :math:`m_y(x) + b \, (t - m_t(x))`, its variance that of the regressor and
:math:`(t - m_t(x))^2 \, \mathrm{var}(b)`. Means are linear in the targets: if the regressor was fitted to
:math:`y - b_0 t`, then :math:`m_y = m_{y - b_0 t} + b_0 m_t`, and only the rest of the slope has to be found. See
Rasmussen and Williams (2006), section 2.7, on Gaussian processes with explicit basis functions.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from torusgp.engine.inference import Posterior
from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.features import resolve_columns
from torusgp.fitting.learning import limited_blas
from torusgp.fitting.rows import Compute
from torusgp.tables.models._correlation import redundancy_along
from torusgp.tables.models._time_axis import TimeAxis
from torusgp.tables.models._words import word
from torusgp.tables.reading import TableError

_MOST_ROUNDS = 8
_SETTLED = 0.2  # standard errors by which the slope may still move: 0.02 of log evidence, and it is moved exactly


@dataclass(frozen=True)
class Line:
    """The line of a fitted regressor.

    Attributes
    ----------
    axis : TimeAxis
        Its times.
    slope : float
        Change of the target in a unit of time.
    variance : float
        Variance of the slope.
    taken_off : float
        Slope of the line that was taken off the targets of the regressor before it was fitted.
    level, weights : float and ndarray of shape (n_components,)
        What the regressor makes of the times: a constant, and weights of its columns.
    """

    axis: TimeAxis
    slope: float
    variance: float
    taken_off: float
    level: float
    weights: Any

    @classmethod
    def from_rows(cls, axis, model, X, y, time, *, taken_off=0.0, redundancy=1.0, noise_scale=None, block_rows=None):
        """Estimate the slope for the hyperparameters of a regressor.

        Parameters
        ----------
        axis : TimeAxis
            Times of the rows.
        model : TorusGPRegressor
            Fitted to the same rows, so many of which counted as one, and their targets less a line.
        X : array-like of shape (n_samples, n_features)
            Its inputs.
        y : ndarray of shape (n_samples,)
            Its targets, less the line.
        time : ndarray of shape (n_samples,)
            Times on the axis.
        taken_off : float, default=0.0
            Slope of the line that was taken off.
        redundancy : float, default=1.0
            How many rows counted as one.
        noise_scale : ndarray of shape (n_samples,), optional
            Known standard deviations, up to a factor.
        block_rows : int, optional
            Consecutive rows whose noise is correlated. The noise that the slope takes up is then counted by such
            blocks: a line is slower than anything that repeats, and more rows may be worth one for it.

        Returns
        -------
        Line
        """
        inputs = np.asarray(X, dtype=float)[:, resolve_columns(model, model.columns)]
        statistics = SufficientStatistics.from_data(
            inputs,
            time,
            model.index_set_,
            period=model.kernel_.period,
            sample_weight=np.full(len(time), 1 / redundancy),
            noise_scale=noise_scale,
        )
        linear, center = statistics.linear()
        with limited_blas(len(model.prior_variance_)):
            posterior = Posterior(linear, model.prior_variance_[:, None], np.array([model.noise_variance_]))
        line = cls(axis, taken_off, 0.0, taken_off, float(center[0]), posterior.weights[:, 0])
        weight = 1 / redundancy if noise_scale is None else 1 / redundancy / noise_scale**2
        left = weight * line.left_of(model, X, time)
        information = left @ (time - line.level)
        # of times that the periods explain entirely, rounding is left, which says nothing of a slope
        if not information > np.finfo(float).eps * np.sum(weight * (time - line.level) ** 2):
            raise TableError(
                f"{word('trend')} cannot be told from what repeats: the inputs say what {axis.column!r} is. Fit "
                "without a trend, or to rows of more than one period."
            )
        center_of_y = np.average(y, weights=np.broadcast_to(weight, len(y)))
        more = left @ (y - center_of_y) / information
        variance = model.noise_variance_ / information
        if block_rows is not None:
            variance *= max(1.0, redundancy_along(model, X, y, left, block_rows, noise_scale) / redundancy)
        return cls(axis, float(taken_off + more), float(variance), taken_off, line.level, line.weights)

    @property
    def std(self):
        """Standard error of the slope."""
        return float(np.sqrt(self.variance))

    def left_of(self, model, X, time):
        """What the regressor leaves of times: how far the slope moves a prediction.

        Parameters
        ----------
        model : TorusGPRegressor
            The regressor.
        X : array-like of shape (n_samples, n_features)
            Its inputs.
        time : ndarray of shape (n_samples,)
            Times on the axis.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        inputs = np.asarray(X, dtype=float)[:, resolve_columns(model, model.columns)]
        frequencies = model.index_set_.frequencies
        predictor = Compute().make_predictor(frequencies, None, len(inputs))  # of means alone: no posterior
        return time - self.level - predictor.mean(model.kernel_.phases(inputs), self.weights[:, None])[:, 0]

    def add_to(self, model, X, time, mean, std):
        """Predictions of the regressor with the line.

        Parameters
        ----------
        model, X, time
            See :meth:`left_of`.
        mean, std : ndarray of shape (n_samples,)
            Predictions of the regressor.

        Returns
        -------
        mean, std : ndarray of shape (n_samples,)
        """
        left = self.left_of(model, X, time)
        mean = mean + self.taken_off * time + (self.slope - self.taken_off) * left
        return mean, np.sqrt(std**2 + left**2 * self.variance)

    def summary(self):
        """What a user wants to know of it."""
        return {
            "kind": "linear",
            "column": self.axis.column,
            "slope": self.slope,
            "slope_std": self.std,
            "per": self.axis.unit,
        }

    def to_json(self):
        """What JSON can hold of it."""
        return {
            "axis": {"column": self.axis.column, "zero": self.axis.zero, "kind": self.axis.kind},
            "slope": self.slope,
            "variance": self.variance,
            "taken_off": self.taken_off,
            "level": self.level,
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_json(cls, content):
        """Line from what :meth:`to_json` gave."""
        changed = {"axis": TimeAxis(**content["axis"]), "weights": np.array(content["weights"])}
        return cls(**(content | changed))


def fit_with_line(fit, axis, X, y, time, *, scout=None, start=1.0, noise_scale=None, report=lambda line: None):
    """Fit a regressor and a line, each to what the other leaves, until the slope settles.

    Where the redundancy stays the same, every step raises the evidence of both. Warnings are those of the last fit.

    Parameters
    ----------
    fit : callable
        Takes targets and a redundancy to start from; returns a fitted regressor, the redundancy it has and the estimate
        behind it, which may be None.
    axis : TimeAxis
        Times of the rows.
    X : array-like
        Inputs.
    y, time : ndarray of shape (n_samples,)
        Targets, and times on the axis.
    scout : callable, optional
        Like ``fit``, but quick: the slope that its regressor gives is the first that is taken off. Otherwise it is that
        of a line through the targets.
    start : float, default=1.0
        Redundancy to start from.
    noise_scale : ndarray of shape (n_samples,), optional
        Known standard deviations, up to a factor.
    report : callable
        Takes lines of progress.

    Returns
    -------
    model : TorusGPRegressor
    redundancy : float
    found : Redundancy or None
    line : Line
    """
    if not np.ptp(time) > 0:
        raise TableError(f"{word('trend')} needs times that differ: {axis.column!r} is the same in all {len(y)} rows.")
    taken_off = float(np.polyfit(time - time.mean(), y, 1)[0])
    for step in range(_MOST_ROUNDS):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            is_scouting = scout is not None and step == 0
            model, redundancy, found = (scout if is_scouting else fit)(y - taken_off * time, start)
        line = Line.from_rows(
            axis,
            model,
            X,
            y - taken_off * time,
            time,
            taken_off=taken_off,
            redundancy=redundancy,
            noise_scale=noise_scale,
            block_rows=None if found is None or redundancy == 1 else found.block_rows,
        )
        report(f"slope {line.slope:.4g} ± {line.std:.2g} per {axis.unit}")
        if abs(line.slope - taken_off) <= _SETTLED * line.std and not is_scouting:
            break
        taken_off, start = line.slope, redundancy
    for warning in told:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return model, redundancy, found, line
