"""Learning of an index set, and its results."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from torusgp.checks import check_count, check_output
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.learning import Round
from torusgp.views.analysis import sobol_indices
from torusgp.views.dimensions import frequencies_by_order


@dataclass(frozen=True)
class SelectionSummary:
    """Results of learning an index set.

    Attributes
    ----------
    rounds : tuple of Round
        Components, log evidence and mean log density of the rows that were held out, of every round of choosing; the
        last one is that of the set which was kept, and may be smaller than those before.
    orders : dict of int to int
        Number of frequencies by the number of inputs that interact in them, without the constant.
    interactions : dict of str to float
        Inputs that act, alone or together, with their shares of the variance of the predicted function; the largest
        first.
    noise_factor : float
        By how much the rows that were held out raise the noise variance that evidence alone would give.
    """

    rounds: tuple[Round, ...]
    orders: dict[int, int]
    interactions: dict[str, float]
    noise_factor: float

    def to_dict(self) -> dict[str, Any]:
        """The same as plain numbers, text and lists, for JSON."""
        return {**asdict(self), "rounds": [asdict(one) for one in self.rounds]}

    def __str__(self) -> str:
        """One line: frequencies by order, and the largest interactions."""
        numbers = ", ".join(f"{number} of order {order}" for order, number in sorted(self.orders.items()))
        shares = ", ".join(f"{name} {share:.0%}" for name, share in list(self.interactions.items())[:3])
        return f"{sum(self.orders.values())} frequencies: {numbers or 'none'}" + (f"; {shares}" if shares else "")


def selection_summary(model: TorusGPRegressor, *, output: int = 0, n_interactions: int = 10) -> SelectionSummary:
    """Results of a model with ``index_set="learned"``.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    output : int, default=0
        Which target, where there are several.
    n_interactions : int, default=10
        How many of the largest shares are listed.

    Returns
    -------
    SelectionSummary

    Raises
    ------
    ValueError
        If the index set was not learned.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 2 * np.pi, size=(1000, 5))
    >>> y = np.cos(X[:, 0] + X[:, 3] - X[:, 4]) + 0.1 * rng.normal(size=1000)
    >>> found = selection_summary(TorusGPRegressor(period=2 * np.pi, index_set="learned").fit(X, y))
    >>> found.orders
    {3: 1}
    >>> [name.replace("\u00d7", "x") for name in found.interactions]
    ['x0 x x3 x x4']
    """
    learned = model.fit_.learned
    if not learned.rounds:
        raise ValueError(
            f"The index set of this model was not learned: index_set={model.index_set!r}. Fit with index_set='learned'."
        )
    check_output(output, model.fitted_.n_outputs)
    check_count(n_interactions, "n_interactions")
    orders = frequencies_by_order(model.fitted_)
    factor = 1.0 if learned.noise_factor is None else float(learned.noise_factor[output])
    if not orders:
        return SelectionSummary(learned.rounds, orders, {}, factor)
    indices = sobol_indices(model, n_samples=1)
    shares = indices.share if indices.share.ndim == 1 else indices.share[:, output]
    largest = sorted(zip(shares.tolist(), indices.labels, strict=True), key=lambda one: -one[0])[:n_interactions]
    interactions = {label: share for share, label in largest if share > 0}
    return SelectionSummary(learned.rounds, orders, interactions, factor)
