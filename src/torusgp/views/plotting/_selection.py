"""How an index set was learned, and what it found."""

import numpy as np

from torusgp.views.analysis import sobol_indices
from torusgp.views.dimensions import frequencies_by_order
from torusgp.views.plotting._base import OKABE_ITO, import_pyplot


class SelectionDisplay:
    r"""Rounds in which an index set was learned, and the interactions that it holds.

    Parameters
    ----------
    n_components : ndarray of int, shape (n_rounds,)
        Components of the set in each round.
    log_evidence : ndarray of shape (n_rounds,)
        Log evidence of the rows that took part in choosing. After choosing it is optimistic.
    log_density : ndarray of shape (n_rounds,)
        Mean log predictive density of the rows that took no part.
    orders : dict of int
        Number of frequencies by the number of dimensions that interact in them.
    interactions : list of str
        Dimensions that act together, those of the largest shares first.
    shares : ndarray of shape (n_interactions,)
        Their shares of the variance of the predicted function.

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
    >>> SelectionDisplay.from_estimator(model).interactions[0].replace("\u00d7", "x")
    'x0 x x3 x x4'
    """

    def __init__(self, n_components, log_evidence, log_density, orders, interactions, shares):
        self.n_components = n_components
        self.log_evidence = log_evidence
        self.log_density = log_density
        self.orders = orders
        self.interactions = interactions
        self.shares = shares

    @classmethod
    def from_estimator(cls, estimator, *, output=0, n_interactions=10):
        """Collect the rounds and the shares of a fitted regressor.

        Parameters
        ----------
        estimator : TorusGPRegressor
            Fitted with ``index_set="learned"``.
        output : int, default=0
            Which target, where there are several.
        n_interactions : int, default=10
            How many of the largest shares are kept.

        Returns
        -------
        SelectionDisplay
        """
        rounds = estimator.fit_.learned.rounds
        if not rounds:
            raise ValueError(
                f"The index set of this model was not learned: index_set={estimator.index_set!r}. Fit with "
                "index_set='learned'."
            )
        indices = sobol_indices(estimator, n_samples=1)
        share = indices.share if indices.share.ndim == 1 else indices.share[:, output]
        best = np.argsort(-share, kind="stable")[:n_interactions]
        return cls(
            np.array([one.n_components for one in rounds]),
            np.array([one.log_evidence for one in rounds]),
            np.array([one.log_density for one in rounds]),
            frequencies_by_order(estimator.fitted_),
            [indices.labels[i] for i in best],
            share[best],
        )

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
        left.plot(self.n_components, self.log_density, "o-", color=OKABE_ITO[0])
        left.set(xscale="log", xlabel="components", ylabel="mean log density of rows that took no part")
        beside = left.twinx()
        beside.plot(self.n_components, self.log_evidence, "s--", color=OKABE_ITO[1], markersize=4)
        beside.set_ylabel("log evidence of the rows that took part")
        for axis, colour in ((left, OKABE_ITO[0]), (beside, OKABE_ITO[1])):
            axis.yaxis.label.set_color(colour)
        places = np.arange(len(self.shares))[::-1]
        right.barh(places, 100 * self.shares, color=OKABE_ITO[2])
        right.set_yticks(places, self.interactions)
        right.set_xlabel("share of the variance (%)")
        orders = ", ".join(f"{number} of order {order}" for order, number in sorted(self.orders.items()))
        right.set_title(f"Frequencies: {orders}", fontsize="small")
        self.axes_, self.figure_ = np.array([left, right]), left.figure
        return self
