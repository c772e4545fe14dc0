"""Shares of the dimensions of a regressor, alone or together, in its variance."""

import numpy as np

from torusgp.views.analysis import sobol_indices
from torusgp.views.plotting._base import OKABE_ITO, new_axes, to_regressor

# By the number of dimensions; the last is what shares a bar. Hatches, so that colour alone does not carry the meaning.
_KINDS = (
    {"label": "one dimension alone", "color": OKABE_ITO[0], "hatch": ""},
    {"label": "two together", "color": OKABE_ITO[4], "hatch": "//"},
    {"label": "three or more together", "color": OKABE_ITO[2], "hatch": "xx"},
    {"color": "0.65", "hatch": ""},
)


class AttributionDisplay:
    """Shares of the variance of a fitted function as bars with their uncertainty, the largest first.

    Parameters
    ----------
    labels : sequence of str
        Names of the components.
    orders : sequence of int
        Number of dimensions of each.
    share : ndarray of shape (n_components,)
        Shares of the variance.
    lower, upper : ndarray of shape (n_components,)
        Interval of each.
    coverage : float
        Its probability.
    rest : float, default=0.0
        Share of what is not among the components.

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
    >>> X = rng.uniform(0, [24, 7], (300, 2))
    >>> y = np.cos(2 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=300)
    >>> display = AttributionDisplay.from_estimator(TorusGPRegressor(period=[24, 7]).fit(X, y))
    >>> bool(display.share[display.labels.index("x0")] > 0.98)
    True
    """

    def __init__(self, labels, orders, share, lower, upper, coverage, rest=0.0):
        self.labels = labels
        self.orders = orders
        self.share = share
        self.lower = lower
        self.upper = upper
        self.coverage = coverage
        self.rest = rest

    @classmethod
    def from_indices(cls, indices, *, coverage=0.95, output=0):
        """Take shares that are already computed.

        Parameters
        ----------
        indices : SobolIndices
            Result of :func:`torusgp.views.analysis.sobol_indices`.
        coverage : float, default=0.95
            Probability of the intervals.
        output : int, default=0
            Which target, where there are several.

        Returns
        -------
        AttributionDisplay
        """
        several = indices.share.ndim == 2
        share, lower, upper = (
            values[:, output] if several else values for values in (indices.share, *indices.interval(coverage))
        )
        if np.isnan(share).any():
            raise ValueError(f"The predicted function of output {output} is constant: it has no variance to attribute.")
        orders = tuple(len(component) for component in indices.components)
        rest = float(indices.rest[output] if several else indices.rest)
        return cls(indices.labels, orders, share, lower, upper, coverage, rest)

    @classmethod
    def from_estimator(cls, estimator, *, max_order=None, coverage=0.95, output=0, n_samples=1000, random_state=0):
        """Attribute the variance of a fitted regressor.

        Parameters
        ----------
        estimator : TorusGPRegressor or TableModel
            Fitted regressor.
        max_order, n_samples, random_state
            See :func:`torusgp.views.analysis.sobol_indices`.
        coverage, output
            See :meth:`from_indices`.

        Returns
        -------
        AttributionDisplay
        """
        estimator = to_regressor(estimator)
        indices = sobol_indices(estimator, max_order=max_order, n_samples=n_samples, random_state=random_state)
        return cls.from_indices(indices, coverage=coverage, output=output)

    def plot(self, ax=None, *, n_bars=10, **kwargs):
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.
        n_bars : int, default=10
            Most components with a bar of their own; smaller ones share one.
        **kwargs
            Passed to ``Axes.barh``.

        Returns
        -------
        self
        """
        if n_bars < 1:
            raise ValueError(f"n_bars must be positive, got {n_bars!r}.")
        labels, share, lower, upper, kinds = self._rows(n_bars)
        place = np.arange(len(labels))
        ax = new_axes(ax, figsize=(7.2, 1.6 + 0.36 * len(labels)))
        for kind in np.unique(kinds):
            own = kinds == kind
            style = {"height": 0.72, "linewidth": 0, "edgecolor": "white", **_KINDS[kind], **kwargs}
            ax.barh(place[own], 100 * share[own], **style)
        known = kinds < len(_KINDS) - 1
        ax.errorbar(
            100 * share[known],
            place[known],
            xerr=100 * np.stack([share - lower, upper - share])[:, known],
            fmt="none",
            ecolor="black",
            elinewidth=1.2,
            capsize=3,
            label=f"{self.coverage:.0%} interval",
        )
        for row, value, end in zip(place, share, upper, strict=True):
            beside = {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": 9}
            ax.annotate(_percent(value), (100 * end, row), **beside)
        ax.set_yticks(place, labels)
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.set_xlim(0, 116 * upper.max())  # room for the last number
        ax.set_xlabel("share of the variance of the predicted function (%)")
        ax.grid(axis="x", alpha=0.3)
        ax.set_axisbelow(True)
        # bars of equal length leave no corner
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _rows(self, n_bars):
        """Labels, shares, ends of intervals and kinds of the bars; one that several share has no interval."""
        order = np.argsort(-self.share, kind="stable")
        shown, others = order[:n_bars], order[n_bars:]
        labels = [self.labels[i] for i in shown]
        rows = np.stack([self.share, self.lower, self.upper])[:, shown]
        kinds = np.minimum([self.orders[i] for i in shown], len(_KINDS) - 1) - 1
        lumped = [f"{len(others)} smaller one{'s' if len(others) > 1 else ''}"] if len(others) else []
        lumped += ["higher orders"] if self.rest else []
        if lumped:
            labels.append(" and ".join(lumped))
            rows = np.column_stack([rows, np.full(3, self.rest + self.share[others].sum())])
            kinds = np.append(kinds, len(_KINDS) - 1)
        return labels, *rows, kinds


def _percent(share):
    """A share in per cent, with a digit after the point, or as less than what that can show."""
    return "< 0.1 %" if share < 0.0005 else f"{100 * share:.1f} %"
