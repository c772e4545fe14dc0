"""The target of a table model with the predictions of the rows held out."""

import numpy as np

from torusgp.views.plotting._base import OKABE_ITO, new_axes


class RecordDisplay:
    """Rows of a table model along what orders them, and predictions of those that it had not seen, with 95 % intervals.

    Without order, observations are drawn against predictions.

    Parameters
    ----------
    record : Record
        Rows to draw.
    target : str
        Name of the target, with its unit.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last plot.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp.views.record import Record
    >>> record = Record.from_rows(np.arange(30.0), along="day", place=np.arange(30.0))
    >>> RecordDisplay(record, "sales").record.n_rows
    30
    """

    def __init__(self, record, target="target"):
        self.record = record
        self.target = target

    @classmethod
    def from_estimator(cls, estimator):
        """Take the rows that a fitted table model has kept.

        Parameters
        ----------
        estimator : TableModel
            Fitted model.

        Returns
        -------
        RecordDisplay
        """
        return cls(estimator.record_, f"{estimator.target} ({estimator.unit})" if estimator.unit else estimator.target)

    def plot(self, ax=None):
        """Draw them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; by default a new figure.

        Returns
        -------
        self
        """
        record = self.record
        ax = new_axes(ax, figsize=(9, 3.8) if record.along else (4.6, 4.4))
        unseen = record.is_unseen
        if not record.along:
            self._plot_scatter(ax, unseen)
        else:
            self._plot_along(ax, unseen)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _plot_scatter(self, ax, unseen):
        mean, observed = self.record.mean[unseen], self.record.observed[unseen]
        ends = [min(mean.min(), observed.min()), max(mean.max(), observed.max())]
        ax.plot(ends, ends, color="0.5", linestyle="--", linewidth=1)
        ax.plot(mean, observed, ".", color=OKABE_ITO[0], markersize=4)
        ax.set(xlabel=f"predicted {self.target}", ylabel=f"observed {self.target}")

    def _plot_along(self, ax, unseen):
        record = self.record
        order = np.argsort(record.place, kind="stable")
        place = record.place.astype("datetime64[ms]") if record.kind == "time" else record.place
        style = {"linewidth": 0.7} if record.is_ordered else {"linestyle": "", "marker": ".", "markersize": 3}
        ax.plot(place[order], record.observed[order], color="0.35", label="observed", zorder=1, **style)
        chosen = order[unseen[order]]
        if len(chosen):
            ends = record.low[chosen], record.high[chosen]
            ax.fill_between(place[chosen], *ends, color=OKABE_ITO[1], alpha=0.25, linewidth=0, zorder=2)
            label = "prediction of rows held out, 95 %"
            ax.plot(place[chosen], record.mean[chosen], color=OKABE_ITO[1], linewidth=1.2, label=label, zorder=3)
        ax.set(xlabel=record.along, ylabel=self.target)
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
