"""Residuals of predictions."""

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO, new_axes, to_rows
from torusgp.views.plotting._calibration import quantile_residuals, standardised_residuals

_MOST_MARKERS = 5000
_N_BINS = 20  # along the mean, for the running spread


class ResidualDisplay:
    """Residuals in units of the predicted standard deviation, against the mean and beside the normal density.

    Parameters
    ----------
    mean : ndarray of shape (n_samples,)
        Predicted means.
    residuals : ndarray of shape (n_samples,)
        Observations minus means, divided by the predicted standard deviations.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot: the residuals, and their distribution unless a single axes was given.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> display = ResidualDisplay.from_predictions([1.0, 2.0], [0.0, 2.0], [2.0, 1.0])
    >>> display.residuals.tolist()
    [0.5, 0.0]
    """

    def __init__(self, mean, residuals):
        self.mean = mean
        self.residuals = residuals

    @classmethod
    def from_predictions(cls, y_true, y_mean, y_std):
        """Compute residuals of predictions.

        Parameters
        ----------
        y_true, y_mean, y_std : array-like of shape (n_samples,)
            Observations, and means and standard deviations of their predictions.

        Returns
        -------
        ResidualDisplay
        """
        return cls(np.asarray(y_mean, dtype=float), standardised_residuals(y_true, y_mean, y_std))

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, output=0):
        """Compute residuals of a regressor, on data that it was not fitted to.

        Parameters
        ----------
        estimator : regressor or TableModel
            Its ``predict`` takes ``return_std=True``. Residuals of likelihoods other than the normal one are normal
            quantiles of the probability of an observation up to the one there is, of counts and classes randomised.
        X, y : array-like
            Inputs and observations; of a table model a table, which has both.
        output : int, default=0
            Which target, where there are several.

        Returns
        -------
        ResidualDisplay
        """
        estimator, X, y = to_rows(estimator, X, y)
        return cls(*quantile_residuals(estimator, X, y, output))

    def plot(self, ax=None, **kwargs):
        """Draw the residuals and their distribution.

        Parameters
        ----------
        ax : matplotlib Axes or pair of these, optional
            One to draw the residuals only, two to draw their distribution too; by default a new figure with two.
        **kwargs
            Passed to ``Axes.plot`` for the residuals.

        Returns
        -------
        self
        """
        ax = new_axes(ax, 1, 2, figsize=(8.0, 3.8), width_ratios=(3, 1), sharey=True)
        axes = np.atleast_1d(ax)
        if axes.shape not in ((1,), (2,)):
            raise ValueError(f"ax must be one axes or two, got an array of shape {axes.shape}.")
        self._plot_residuals(axes[0], kwargs)
        if len(axes) == 2:
            self._plot_distribution(axes[1])
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _plot_residuals(self, ax, kwargs):
        step = -(-len(self.mean) // _MOST_MARKERS)
        label = "observations" if step == 1 else f"one of {step} observations"
        style = {"color": OKABE_ITO[0], "marker": ".", "linestyle": "", "markersize": 3, "alpha": 0.5, "label": label}
        ax.plot(self.mean[::step], self.residuals[::step], **{**style, **kwargs})
        if len(self.mean) >= 10 * _N_BINS:
            groups = np.array_split(np.argsort(self.mean), _N_BINS)
            spread = np.array([np.sqrt(np.mean(self.residuals[group] ** 2)) for group in groups])
            centres = np.array([self.mean[group].mean() for group in groups])
            ax.plot(centres, spread, color=OKABE_ITO[1], linewidth=1.8, label="root mean square")
            ax.plot(centres, -spread, color=OKABE_ITO[1], linewidth=1.8)
        for level in (-1, 1):
            ax.axhline(level, color="black", linewidth=0.9, linestyle="--", label="as predicted" if level > 0 else None)
        reach = max(4.0, 1.1 * np.abs(self.residuals).max())
        ax.set_ylim(-reach, reach)
        ax.set(xlabel="predicted mean", ylabel="standardised residual")
        ax.grid(alpha=0.3)
        ax.legend(loc="upper left", ncols=3, fontsize="small")

    def _plot_distribution(self, ax):
        ax.hist(self.residuals, bins="fd", density=True, orientation="horizontal", color=OKABE_ITO[0], alpha=0.5)
        reach = max(4.0, 1.1 * np.abs(self.residuals).max())
        z = np.linspace(-reach, reach, 301)
        density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        ax.plot(density, z, color="black", linewidth=1.2, linestyle="--", label="normal")
        ax.set_xlabel("density")
        ax.grid(alpha=0.3)
        ax.legend(loc="upper right", fontsize="small")
