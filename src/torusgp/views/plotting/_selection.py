"""Learning of an index set, and its results."""

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO, import_pyplot, to_regressor
from torusgp.views.selection import SelectionSummary, selection_summary


class SelectionDisplay:
    r"""Rounds in which an index set was learned, and the interactions that it contains.

    Parameters
    ----------
    summary : SelectionSummary
        What was found.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 2 * np.pi, size=(1000, 5))
    >>> y = np.cos(X[:, 0] + X[:, 3] - X[:, 4]) + 0.1 * rng.normal(size=1000)
    >>> model = TorusGPRegressor(period=2 * np.pi, index_set="learned").fit(X, y)
    >>> SelectionDisplay.from_estimator(model).summary.orders
    {3: 1}
    """

    def __init__(self, summary: SelectionSummary):
        self.summary = summary

    @classmethod
    def from_estimator(cls, estimator, *, output=0, n_interactions=10):
        """Summarise the selection of a fitted regressor.

        Parameters
        ----------
        estimator : TorusGPRegressor or TableModel
            Fitted with ``index_set="learned"``.
        output : int, default=0
            Which target, where there are several.
        n_interactions : int, default=10
            How many of the largest shares are kept.

        Returns
        -------
        SelectionDisplay
        """
        estimator = to_regressor(estimator)
        return cls(selection_summary(estimator, output=output, n_interactions=n_interactions))

    def plot(self, axes=None):
        """Draw density and evidence against the number of components, and bars of the largest shares.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        plt = import_pyplot()
        if axes is None:
            _, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
        left, right = axes
        *rounds, kept = self.summary.rounds
        rounds = rounds or [kept]
        sizes = [one.n_components for one in rounds]
        left.plot(sizes, [one.log_density for one in rounds], "o-", color=OKABE_ITO[0])
        left.plot(kept.n_components, kept.log_density, "*", color=OKABE_ITO[0], markersize=12, label="kept")
        left.legend()
        left.set(xscale="log", xlabel="components", ylabel="mean log density of rows held out")
        beside = left.twinx()
        beside.plot(sizes, [one.log_evidence for one in rounds], "s--", color=OKABE_ITO[1], markersize=4)
        beside.set_ylabel("log evidence of the rows that took part")
        for axis, colour in ((left, OKABE_ITO[0]), (beside, OKABE_ITO[1])):
            axis.yaxis.label.set_color(colour)
        shares = self.summary.interactions
        places = np.arange(len(shares))[::-1]
        right.barh(places, [100 * share for share in shares.values()], color=OKABE_ITO[2])
        right.set_yticks(places, list(shares))
        right.set_xlabel("share of the variance (%)")
        orders = ", ".join(f"{number} of order {order}" for order, number in sorted(self.summary.orders.items()))
        right.set_title(f"Frequencies: {orders}", fontsize="small")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
