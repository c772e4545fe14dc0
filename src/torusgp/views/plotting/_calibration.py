"""Calibration of predicted uncertainties."""

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from torusgp.checks import check_output, to_floats
from torusgp.views.plotting._base import OKABE_ITO, new_axes, to_rows

_INSIDE = 1e-16, 1 - 1e-16  # probabilities whose normal quantiles are finite
_LEVELS = np.concatenate([np.arange(1, 20) / 20, [0.98, 0.99]])


class CalibrationDisplay:
    """Share of observations inside central intervals of the predictions, against the share there should be.

    Parameters
    ----------
    nominal : ndarray of shape (n_levels,)
        Probabilities of the intervals.
    coverage : ndarray of shape (n_levels,)
        Shares of the observations inside.
    n_samples : int
        Number of observations.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.random.default_rng(0).normal(size=5000)
    >>> display = CalibrationDisplay.from_predictions(y, np.zeros(5000), np.ones(5000))
    >>> bool(abs(display.coverage - display.nominal).max() < 0.03)
    True
    """

    def __init__(self, nominal, coverage, n_samples):
        self.nominal = nominal
        self.coverage = coverage
        self.n_samples = n_samples

    @classmethod
    def from_predictions(cls, y_true, y_mean, y_std, *, levels=None):
        """Compute the coverage of normal predictions.

        Parameters
        ----------
        y_true, y_mean, y_std : array-like of shape (n_samples,)
            Observations, and means and standard deviations of their predictions.
        levels : array-like, optional
            Probabilities between 0 and 1; by default from 5 % to 99 %.

        Returns
        -------
        CalibrationDisplay
        """
        return cls._from_residuals(standardised_residuals(y_true, y_mean, y_std), levels)

    @classmethod
    def _from_residuals(cls, scores, levels):
        nominal = to_floats(_LEVELS if levels is None else levels, "levels")
        if nominal.ndim != 1 or not ((nominal > 0) & (nominal < 1)).all():
            raise ValueError(f"levels must be numbers between 0 and 1, got {levels!r}.")
        needed = np.sort(2 * ndtr(np.abs(scores)) - 1)  # the interval that just reaches each observation
        coverage = np.searchsorted(needed, nominal, side="right") / len(needed)
        return cls(nominal, coverage, len(needed))

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, output=0, levels=None):
        """Compute the coverage of the predictions of a regressor, on data that it was not fitted to.

        Parameters
        ----------
        estimator : regressor or TableModel
            Its ``predict`` takes ``return_std=True``. Intervals are those of its likelihood, if it has
            ``predict_cumulative``; of counts and classes randomised, so that they can contain any share.
        X, y : array-like
            Inputs and observations; of a table model a table, which has both.
        output : int, default=0
            Which target, where there are several.
        levels : array-like, optional
            See :meth:`from_predictions`.

        Returns
        -------
        CalibrationDisplay
        """
        estimator, X, y = to_rows(estimator, X, y)
        return cls._from_residuals(quantile_residuals(estimator, X, y, output)[1], levels)

    def plot(self, ax=None, *, confidence=0.95, **kwargs):
        """Draw the coverage, and where it lies by chance alone if predictions are right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        confidence : float, default=0.95
            Probability with which each point of a calibrated prediction falls into the band, for independent
            observations.
        **kwargs
            Passed to ``Axes.plot`` for the coverage.

        Returns
        -------
        self
        """
        ax = new_axes(ax, figsize=(4.8, 4.8))
        levels = np.linspace(0, 1, 201)
        low, high = binom.interval(confidence, self.n_samples, levels[1:-1])
        ax.fill_between(
            levels,
            np.concatenate([[0], low / self.n_samples, [1]]),
            np.concatenate([[0], high / self.n_samples, [1]]),
            color="0.5",
            alpha=0.3,
            linewidth=0,
            label=f"{confidence:.0%} of chance, n = {self.n_samples}",
        )
        ax.plot([0, 1], [0, 1], color="black", linewidth=1.0, linestyle="--", label="calibrated")
        style = {"color": OKABE_ITO[0], "marker": "o", "markersize": 3.5, "linewidth": 1.5, "label": "observed"}
        ax.plot(self.nominal, self.coverage, **{**style, **kwargs})
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="probability of the interval", ylabel="share of observations inside")
        ax.set_aspect("equal")
        ax.grid(alpha=0.3)
        ax.legend(loc="upper left")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def quantile_residuals(estimator, X, y, output):
    """Predicted means of one target, and residuals that are standard normal if predictions are right.

    With normal noise these are residuals in units of the predicted standard deviations; otherwise normal quantiles of
    the probability of an observation up to the one there is. That of a whole number is drawn between those of less and
    of at most it, always in the same way.
    """
    likelihood = getattr(estimator, "likelihood_", None)
    y = to_floats(y, "y")
    if np.shape(X)[:1] != y.shape[:1] or y.ndim not in (1, 2):
        raise ValueError(f"y must have one row for each row of X, got shapes {np.shape(X)} and {y.shape}.")
    check_output(output, y.shape[1] if y.ndim == 2 else 1)
    if likelihood is None or likelihood.name == "normal":
        mean, std = estimator.predict(X, return_std=True)
        y, mean, std = (values if values.ndim == 1 else values[:, output] for values in (y, mean, std))
        return mean, standardised_residuals(y, mean, std)
    mean, rank = estimator.predict(X), estimator.predict_cumulative(X, y)
    mean, rank = (values if values.ndim == 1 else values[:, output] for values in (mean, rank))
    if likelihood.is_discrete:
        below = estimator.predict_cumulative(X, y - 1)
        rank = below + np.random.default_rng(0).uniform(size=len(rank)) * (rank - below)
    return mean, ndtri(np.clip(rank, *_INSIDE))


def standardised_residuals(y_true, y_mean, y_std):
    """Residuals in units of the predicted standard deviations."""
    y_true, y_mean, y_std = (np.asarray(values, dtype=float) for values in (y_true, y_mean, y_std))
    if not (y_true.ndim == 1 and y_true.shape == y_mean.shape == y_std.shape and len(y_true)):
        raise ValueError(
            "Observations, means and standard deviations must be vectors of the same length, got shapes "
            f"{y_true.shape}, {y_mean.shape} and {y_std.shape}."
        )
    if not (y_std > 0).all():
        raise ValueError(f"y_std must be positive, its smallest value is {y_std.min()!r}.")
    return (y_true - y_mean) / y_std
