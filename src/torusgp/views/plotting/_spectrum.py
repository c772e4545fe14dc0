"""Spectra of a regressor: the prior of each frequency, and the posterior."""

import numpy as np

from torusgp.checks import check_output
from torusgp.views.plotting._base import OKABE_ITO, new_axes, to_regressor


class SpectrumDisplay:
    r"""Prior variance of every frequency against its posterior power.

    The power is :math:`E[w_c^2 + w_s^2] / 2` for the weights of a cosine and a sine, given the data; its prior
    expectation is their variance. Where the data say nothing both agree. The constant is left out if the model has an
    intercept, whose prior is broad and says nothing of a spectrum.

    Parameters
    ----------
    frequencies : ndarray of int, shape (n_frequencies, dimension)
        One frequency of each pair.
    prior_variance : ndarray of shape (n_frequencies,)
        Variance that the prior gives to each.
    power : ndarray of shape (n_frequencies,)
        Posterior power.
    determined : ndarray of shape (n_frequencies,)
        Share of the prior variance that the data removed: 1 where they determine the weights, 0 where they do not.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = np.sin(2 * np.pi * 3 * X[:, 0]) + 0.1 * rng.normal(size=300)
    >>> model = TorusGPRegressor(period=1.0, n_components=21).fit(X, y)
    >>> display = SpectrumDisplay.from_estimator(model)
    >>> display.frequencies[display.power.argmax()].tolist()
    [3]
    """

    def __init__(self, frequencies, prior_variance, power, determined):
        self.frequencies = frequencies
        self.prior_variance = prior_variance
        self.power = power
        self.determined = determined

    @classmethod
    def from_estimator(cls, estimator, *, output=0):
        """Collect prior and posterior of a fitted regressor.

        Parameters
        ----------
        estimator : TorusGPRegressor or TableModel
            Fitted regressor.
        output : int, default=0
            Which target, where there are several.

        Returns
        -------
        SpectrumDisplay
        """
        estimator = to_regressor(estimator)
        fitted = estimator.fitted_
        check_output(output, fitted.n_outputs)
        n_fourier = fitted.n_fourier  # plain columns come after these, and have no frequency
        prior = fitted.prior_variances[:, output]
        kept = fitted.learned_posterior.shares(output)[:n_fourier]
        prior = prior[:n_fourier]
        power = fitted.learned_posterior.weights[:n_fourier, output] ** 2 + prior * kept
        first = int(fitted.prior.intercept_variance[output] > 0)
        values = (_per_frequency(one)[first:] for one in (prior, power, 1 - kept))
        return cls(fitted.index_set.frequencies[first:], *values)

    def plot(self, ax=None, *, kind="sorted", **kwargs):
        """Draw prior variance and posterior power on a logarithmic scale.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        kind : {"sorted", "norm"}, default="sorted"
            Frequencies in the order of their prior variances, or at their Euclidean norm.
        **kwargs
            Passed to ``Axes.plot`` for the posterior power.

        Returns
        -------
        self
        """
        if kind not in ("sorted", "norm"):
            raise ValueError(f"kind must be 'sorted' or 'norm', got {kind!r}.")
        ax = new_axes(ax, figsize=(6.4, 4.4))
        if kind == "sorted":
            order = np.argsort(-self.prior_variance, kind="stable")
            place = np.arange(1, len(order) + 1)
            ax.set_xlabel("rank of the frequency, by prior variance")
        else:
            norms = np.linalg.norm(self.frequencies, axis=1)
            order = np.argsort(norms, kind="stable")
            place = norms[order]
            ax.set_xlabel("length of the frequency $|k|$ (cycles per period)")
        prior, power, determined = self.prior_variance[order], self.power[order], self.determined[order] > 0.5
        # at one |k| there are several priors, which a line would join to a zigzag
        line = {"linestyle": "-"} if kind == "sorted" else {"linestyle": "", "marker": "_", "markersize": 7}
        ax.plot(place, _positive(prior), color="black", linewidth=1.5, label="prior variance", zorder=3, **line)
        style = {"marker": "o", "linestyle": "", "markersize": 4, "color": OKABE_ITO[0]}
        ax.plot(
            place[determined],
            _positive(power[determined]),
            **{**style, "label": "posterior power, determined by the data", **kwargs},
        )
        if not determined.all():
            hollow = {**style, "label": "posterior power, mostly prior", "markerfacecolor": "none", "alpha": 0.6}
            ax.plot(place[~determined], _positive(power[~determined]), **{**hollow, **kwargs})
        ax.set_yscale("log")
        ax.set_ylabel("variance (squared units of the target)")
        ax.grid(alpha=0.3)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _per_frequency(values):
    """Constant, then the mean over the cosine and the sine of each frequency."""
    return np.append(values[0], (values[1::2] + values[2::2]) / 2)


def _positive(values):
    return np.where(values > 0, values, np.nan)  # zeros have no place on a logarithmic axis
