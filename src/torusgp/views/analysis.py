r"""Which inputs a fitted regressor attributes its variance to, and what each of them does.

On the torus with the uniform measure cosines and sines of different frequencies are orthogonal, and the average over a
dimension removes every frequency that is not zero there. So the ANOVA decomposition of Sobol (1993) can be read off
the weights, without quadrature or sampling: the component of a set u of dimensions consists of the frequencies whose
non-zero entries are exactly those of u, and its variance is :math:`\sum_k (a_k^2 + b_k^2) / 2` over the weights of
their cosines and sines.

Dimensions are those of the torus. An input that feeds several of them, with several periods, has a component for each.
On an oblique cell they are the directions of the lattice vectors: the uniform measure on the cell makes their phases
independent, so all of this holds, for the basis of the lattice that the model has.

The measure is the uniform one, wherever the data lie. Where inputs determine each other, as a weekday that moves on
with every hour determines the hour, only the prior divides what they share: whole days keep them apart. Slow change
beside the period (``trend_``) is not periodic: it is no part of any component.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.inference import Posterior
from torusgp.estimators.features import resolve_columns
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.kernels.kernel import to_phases

_TIMES = " \N{MULTIPLICATION SIGN} "  # between the names of dimensions that interact
_MOST_LINES = 15  # components that are printed
_LINE_POINTS, _GRID_POINTS = 201, 3721  # of a grid along one dimension, and over several in all
_CHUNK_ENTRIES = 2**22  # values of columns that are held at a time


@dataclass(frozen=True, eq=False, repr=False)
class SobolIndices:
    """Shares of the variance of a fitted function, by the dimensions that act, alone or together.

    Arrays end in an axis of outputs if the targets had one.

    Attributes
    ----------
    names : tuple of str
        Names of the dimensions of the torus.
    components : tuple of tuple of int
        Dimensions of each component: first every dimension alone, then those that interact, by their number.
    share : ndarray of shape (n_components,) or (n_components, n_outputs)
        Share of each component in the variance of the predicted function.
    total_order : ndarray of shape (dimension,) or (dimension, n_outputs)
        Share of all components that a dimension takes part in: what would be lost with it.
    rest : float or ndarray of shape (n_outputs,)
        Share of components with more dimensions than ``max_order``. With ``share`` it sums to one.
    variance : float or ndarray of shape (n_outputs,)
        Variance of the predicted function, in squared units of the target.
    share_draws : ndarray of shape (n_components, n_samples) or (n_components, n_outputs, n_samples)
        Shares in functions drawn from the posterior.
    total_order_draws : ndarray of shape (dimension, n_samples) or (dimension, n_outputs, n_samples)
        The same for the total order.
    """

    names: tuple
    components: tuple
    share: np.ndarray
    total_order: np.ndarray
    rest: float | np.ndarray
    variance: float | np.ndarray
    share_draws: np.ndarray
    total_order_draws: np.ndarray

    @property
    def first_order(self):
        """Share of every dimension alone, shape (dimension,) or (dimension, n_outputs)."""
        return self.share[: len(self.names)]

    @property
    def labels(self):
        """Names of the components: those of their dimensions, joined by a multiplication sign."""
        return tuple(_TIMES.join(self.names[d] for d in component) for component in self.components)

    def __getitem__(self, component):
        """Share of the component of these dimensions, by position or name; zero if no frequency belongs to it."""
        wanted = tuple(sorted(_find_dimensions(component, self.names)))
        if wanted in self.components:
            return self.share[self.components.index(wanted)]
        if np.any(self.rest) and len(wanted) > max(map(len, self.components)):
            raise KeyError(f"{component!r} is part of the rest: raise max_order to {len(wanted)}.")
        return np.zeros(self.share.shape[1:])[()]

    def interval(self, coverage=0.95):
        """Smallest and largest share of each component, as ``share`` plus and minus a margin, within 0 and 1.

        The share of a function drawn from the posterior is inside with this probability, see :func:`sobol_indices`.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability.

        Returns
        -------
        lower, upper : ndarray of the shape of ``share``
        """
        return _around(self.share, self.share_draws, coverage)

    def total_order_interval(self, coverage=0.95):
        """The same as :meth:`interval` for the total order.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability.

        Returns
        -------
        lower, upper : ndarray of the shape of ``total_order``
        """
        return _around(self.total_order, self.total_order_draws, coverage)

    def to_frame(self, coverage=0.95):
        """Table of the components as a data frame of pandas.

        Parameters
        ----------
        coverage : float, default=0.95
            Probability of the intervals.

        Returns
        -------
        pandas.DataFrame
            With columns component, order (number of dimensions), share, lower, upper, and the total order, where a
            component is one dimension. Several outputs have a column output before, and a row each.
        """
        try:
            import pandas
        except ImportError as error:
            raise ImportError('A data frame needs pandas. Install it with: pip install "torusgp[io]"') from error
        lower, upper = self.interval(coverage)
        total = np.full(self.share.shape, np.nan)
        total[: len(self.names)] = self.total_order
        columns = {"share": self.share, "lower": lower, "upper": upper, "total_order": total}
        n_components, n_outputs = len(self.components), self.share[0].size
        frame = {
            "component": list(self.labels) * n_outputs,
            "order": [len(component) for component in self.components] * n_outputs,
        } | {name: values.reshape(n_components, -1).T.ravel() for name, values in columns.items()}
        if self.share.ndim == 2:
            frame = {"output": np.repeat(np.arange(n_outputs), n_components)} | frame
        return pandas.DataFrame(frame)

    def __repr__(self):
        share, total = (values.reshape(len(values), -1) for values in (self.share, self.total_order))
        lower, upper = (values.reshape(share.shape) for values in self.interval())
        variance, rest = np.atleast_1d(self.variance), np.atleast_1d(self.rest)
        width = max(len(label) for label in (*self.labels, "component"))
        lines = []
        for q in range(share.shape[1]):
            of = f"output {q}, " if share.shape[1] > 1 else ""
            lines += [
                f"Shares of the variance of the predicted function ({of}variance {variance[q]:.4g})",
                f"{'component':{width}}  share   95 % interval   total order",
            ]
            order = np.argsort(-share[:, q], kind="stable")
            for i in order[:_MOST_LINES]:
                line = f"{self.labels[i]:{width}}  {share[i, q]:.3f}   {lower[i, q]:.3f} to {upper[i, q]:.3f}"
                lines.append(line + (f"  {total[i, q]:.3f}" if i < len(self.names) else ""))
            if len(order) > _MOST_LINES:
                label = f"{len(order) - _MOST_LINES} smaller"
                lines.append(f"{label:{width}}  {share[order[_MOST_LINES:], q].sum():.3f}")
            if rest[q]:
                lines.append(f"{'higher orders':{width}}  {rest[q]:.3f}")
        return "\n".join(lines)


def sobol_indices(model, *, max_order=None, n_samples=1000, random_state=0):
    r"""Sobol indices of a fitted function: shares of its variance, by the dimensions that act, alone or together.

    The share of a component is that of the *predicted* function, the posterior mean of the weights: exact, the same in
    every run, and what any estimate from values of ``model.predict`` converges to. The posterior expectation of a
    component's variance would add the posterior variances of its weights,

    .. math:: E\Big[\sum_k \frac{a_k^2 + b_k^2}{2}\Big] = \sum_k \frac{E[a_k]^2 + E[b_k]^2}{2}
              + \sum_k \frac{\mathrm{Var}[a_k] + \mathrm{Var}[b_k]}{2},

    which is right on average over functions from the prior, but gives to a component that is absent what the prior
    expects of its many frequencies: an additive function seems to have interactions.

    How far the truth may be from that, functions drawn from the posterior tell. Every one of them holds the second sum,
    so quantiles of their shares would leave out the share of the predicted function, and zero. The margin of
    :meth:`SobolIndices.interval` is the quantile of their *distance* from it: an interval around the share that holds
    the truth with the given posterior probability, and reaches zero where the data do not tell a component from none.
    Hyperparameters are held at what was learned.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    max_order : int, optional
        Most dimensions of a component; those with more are counted in ``rest``. By default all are listed.
    n_samples : int, default=1000
        Number of functions drawn from the posterior.
    random_state : int, RandomState or None, default=0
        Determines them.

    Returns
    -------
    SobolIndices

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, [24, 7], (500, 2))
    >>> hour, weekday = 2 * np.pi * X.T / np.array([[24], [7]])
    >>> y = np.cos(hour) * (1 + 0.5 * np.sin(weekday)) + 0.05 * rng.normal(size=500)
    >>> indices = sobol_indices(TorusGPRegressor(period=[24, 7]).fit(X, y))
    >>> indices.components
    ((0,), (1,), (0, 1))
    >>> bool(np.allclose(indices.share, [8 / 9, 0, 1 / 9], atol=0.01))
    True
    """
    names, _ = _describe_dimensions(model)
    if max_order is not None and (not isinstance(max_order, int | np.integer) or max_order < 1):
        raise ValueError(f"max_order must be a positive integer or None, got {max_order!r}.")
    if not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise ValueError(f"n_samples must be a positive integer, got {n_samples!r}.")
    posterior, center = _posterior(model)
    components, member = _components(model.index_set_.frequencies)
    by_component = _variances(posterior.weights, member, len(components))
    draws = posterior.sample_weights(n_samples, check_random_state(random_state))
    drawn = _variances(draws, member, len(components))
    variance = by_component.sum(axis=0)
    constant = variance <= (1e-12 * np.abs(center)) ** 2
    if constant.any():
        of = "the target" if len(constant) == 1 else f"output {int(constant.argmax())}"
        raise ValueError(f"The predicted function of {of} is constant: it has no variance to attribute.")
    share, drawn = by_component / variance, drawn / drawn.sum(axis=0)
    takes_part = np.array([[d in component for component in components] for d in range(len(names))], dtype=float)
    order = np.array([len(component) for component in components])
    listed = order <= (len(names) if max_order is None else max_order)
    several = np.ndim(model.coef_) == 2

    def squeezed(values):  # as the model does
        return values if several else values[:, 0]

    return SobolIndices(
        names=names,
        components=tuple(component for component, is_listed in zip(components, listed, strict=True) if is_listed),
        share=squeezed(share[listed]),
        total_order=squeezed(takes_part @ share),
        rest=share[~listed].sum(axis=0) if several else float(share[~listed].sum()),
        variance=variance if several else float(variance[0]),
        share_draws=squeezed(drawn[listed]),
        total_order_draws=squeezed(np.tensordot(takes_part, drawn, axes=1)),
    )


@dataclass(frozen=True, eq=False)
class Effect:
    """What one dimension does, or several together, averaged over the others: a function with its uncertainty.

    Call it for values at any points: ``effect(points)`` or ``effect(points, return_std=True)``. Points are in the units
    of the inputs, along an oblique lattice vector in the same units from the origin.

    Attributes
    ----------
    names : tuple of str
        Names of the dimensions.
    period : tuple of float
        Their periods, or the lengths of their lattice vectors.
    joint : bool
        Whether lower orders and the mean are included.
    grid : tuple of ndarray
        Values of each dimension.
    mean, std : ndarray of the shape of the grid, with an axis of outputs at the end if the targets had one
        The effect on the grid and its posterior standard deviation, in the units of the target.
    """

    names: tuple
    period: tuple
    joint: bool
    grid: tuple = field(repr=False)
    mean: np.ndarray = field(repr=False)
    std: np.ndarray = field(repr=False)
    _series: "_Series" = field(repr=False)

    def __call__(self, points, return_std=False):
        """Values of the effect.

        Parameters
        ----------
        points : array-like of shape (n_points, n_dimensions), or (n_points,) for one dimension
            Where.
        return_std : bool, default=False
            Also return the posterior standard deviation of the effect, which is without noise.

        Returns
        -------
        mean : ndarray of shape (n_points,) or (n_points, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        """
        points = np.asarray(points, dtype=float)
        points = points[:, None] if points.ndim == 1 and len(self.names) == 1 else points
        if points.ndim != 2 or points.shape[1] != len(self.names):
            raise ValueError(f"points must have shape (n_points, {len(self.names)}), got {points.shape}.")
        mean, std = self._series(points, return_std)
        return (mean, std) if return_std else mean


def effect(model, dimensions, *, joint=False, grid=None, n_points=None):
    """Effect of one dimension, or of several together, averaged over the others.

    For one dimension it is the main effect, for more what they do together beyond their effects in smaller groups: a
    component of the ANOVA decomposition, whose average over any of its dimensions is zero. The mean and the components
    of all sets of dimensions add up to the prediction. With ``joint`` it is the average of the prediction over all
    other dimensions: the mean and the components of all subsets added up. Mean and standard deviation are exact, from
    the posterior of the weights that the effect consists of. The average is over the uniform measure, without
    ``trend_``.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    dimensions : int, str or sequence of these
        Dimensions of the torus, by position or name as in ``sobol_indices(model).names``.
    joint : bool, default=False
        Include the mean and the effects of fewer of the dimensions.
    grid : array-like, or for several dimensions a sequence of these, optional
        Values of each dimension on which the effect is computed; by default one period.
    n_points : int, optional
        Points of each dimension over one period; by default 201 for one and fewer for several, 61 for two.

    Returns
    -------
    Effect

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, [24, 7], (500, 2))
    >>> hour, weekday = 2 * np.pi * X.T / np.array([[24], [7]])
    >>> y = 3 + np.cos(hour) * (1 + 0.5 * np.sin(weekday)) + 0.05 * rng.normal(size=500)
    >>> model = TorusGPRegressor(period=[24, 7]).fit(X, y)
    >>> main = effect(model, 0)
    >>> bool(np.allclose(main.mean, np.cos(2 * np.pi * main.grid[0] / 24), atol=0.05))
    True
    >>> bool(np.isclose(effect(model, [0, 1], joint=True)([[6.0, 1.0]])[0], model.predict([[6.0, 1.0]])[0]))
    True
    """
    names, period = _describe_dimensions(model)
    chosen = _find_dimensions(dimensions, names)
    frequencies = model.index_set_.frequencies
    inside = np.isin(np.arange(len(names)), chosen)
    used = frequencies[1:] != 0
    pairs = np.flatnonzero(~used[:, ~inside].any(axis=1) if joint else (used == inside).all(axis=1))
    columns = np.append(np.zeros(int(joint), dtype=int), np.column_stack([2 * pairs + 1, 2 * pairs + 2]).ravel())
    posterior, center = _posterior(model)
    period = tuple(period[d] for d in chosen)
    series = _Series(
        period,
        frequencies[np.append(0, pairs + 1)][:, chosen],
        posterior.weights[columns],
        tuple(_covariance_root(*one, columns) for one in zip(posterior.factors, posterior.roots, strict=True)),
        center if joint else np.zeros_like(center),
        np.ndim(model.coef_) == 2,
    )
    grid = _check_grid(grid, n_points, period)
    mesh = np.meshgrid(*grid, indexing="ij")
    mean, std = (
        values.reshape(mesh[0].shape + values.shape[1:])
        for values in series(np.column_stack([values.ravel() for values in mesh]), return_std=True)
    )
    return Effect(tuple(names[d] for d in chosen), period, bool(joint), grid, mean, std, series)


@dataclass(frozen=True, eq=False)
class _Series:
    """A Fourier series of some of the columns, with a Gaussian over its weights."""

    period: tuple
    frequencies: np.ndarray  # the zero vector first
    weights: np.ndarray  # (n_columns, n_outputs), without the constant unless it belongs to the series
    roots: tuple  # of each output a matrix whose product with its transpose is the covariance of the weights
    center: np.ndarray
    several: bool  # outputs have an axis

    def __call__(self, points, return_std):
        phases = to_phases(points, np.array(self.period))
        mean = np.empty((len(points), len(self.roots)))
        std = np.empty_like(mean) if return_std else None
        first = 2 * len(self.frequencies) - 1 - len(self.weights)  # whether the constant is left out
        step = max(1, _CHUNK_ENTRIES // (2 * len(self.frequencies)))
        for start in range(0, len(points), step):
            rows = slice(start, start + step)
            features = basis_columns(phases[rows], self.frequencies)[:, first:]
            mean[rows] = features @ self.weights + self.center
            if std is not None:
                for q, root in enumerate(self.roots):
                    std[rows, q] = np.linalg.norm(features @ root, axis=1)
        if not self.several:
            return mean[:, 0], None if std is None else std[:, 0]
        return mean, std


def _posterior(model):
    """Posterior of the weights of the unweighted columns, and what was taken off the targets."""
    linear, center = model.statistics_.linear(model.index_set_, model.intercept)
    prior = model.prior_variance_.reshape(len(linear.gram), -1)
    return Posterior(linear, prior, np.atleast_1d(model.noise_variance_)), center


def _covariance_root(factor, root, columns):
    """A square matrix whose product with its transpose is the posterior covariance of some weights."""
    selected = np.zeros((len(root), len(columns)))
    selected[columns, np.arange(len(columns))] = root[columns]
    whitened = solve_triangular(factor, selected, lower=True, check_finite=False)
    return np.asarray(np.linalg.qr(whitened, mode="r")).T


def _components(frequencies):
    """Sets of dimensions that occur, first every dimension alone, and the position among them of each frequency."""
    used = [tuple(np.flatnonzero(row).tolist()) for row in frequencies[1:]]
    single = [(d,) for d in range(frequencies.shape[1])]
    components = single + sorted(set(used) - set(single), key=lambda component: (len(component), component))
    position = {component: i for i, component in enumerate(components)}
    return components, np.array([position[component] for component in used], dtype=int)


def _variances(weights, member, n_components):
    """Variance of every component, for weights of shape (n_columns, ...)."""
    power = (weights[1::2] ** 2 + weights[2::2] ** 2) / 2
    return np.stack([power[member == i].sum(axis=0) for i in range(n_components)])


def _around(values, draws, coverage):
    """Values plus and minus the distance within which a share of the draws lies, within 0 and 1."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage!r}.")
    margin = np.quantile(np.abs(draws - values[..., None]), coverage, axis=-1)
    return np.maximum(values - margin, 0.0), np.minimum(values + margin, 1.0)


def _describe_dimensions(model):
    """Names and periods of the dimensions of the torus of a fitted model."""
    if not isinstance(model, TorusGPRegressor):
        raise TypeError(f"model must be a TorusGPRegressor, got {type(model).__name__}.")
    check_is_fitted(model, "statistics_")
    inputs = resolve_columns(model, model.columns)
    cell = model.kernel_.cell(len(inputs))
    known = getattr(model, "feature_names_in_", None)
    names, periods = [], []
    for d, position in enumerate(inputs):
        # the phase depends on one input alone, which is alone in moving it
        if np.count_nonzero(cell[d]) == np.count_nonzero(cell[:, d]) == 1 and cell[d, d]:
            name, period = f"input {position}" if known is None else str(known[position]), float(cell[d, d])
            names.append(f"{name} (period {period:.5g})" if np.sum(inputs == position) > 1 else name)
        else:
            names.append(f"along ({', '.join(f'{entry:.4g}' for entry in cell[d])})")
            period = float(np.linalg.norm(cell[d]))
        periods.append(period)
    return tuple(names), tuple(periods)


def _find_dimensions(dimensions, names):
    """Positions of dimensions that are given by position or name, in their order."""
    given = [dimensions] if isinstance(dimensions, int | np.integer | str) else list(dimensions)
    found = []
    for one in given:
        if isinstance(one, str) and names.count(one) == 1:
            found.append(names.index(one))
        elif isinstance(one, int | np.integer) and 0 <= one < len(names):
            found.append(int(one))
        else:
            raise ValueError(f"{one!r} is not one of the dimensions 0 to {len(names) - 1}, which are {list(names)}.")
    if not found or len(set(found)) < len(found):
        raise ValueError(f"dimensions must be one or several different ones, got {dimensions!r}.")
    return tuple(found)


def _check_grid(grid, n_points, period):
    """Values of each dimension, as given or over one period."""
    if grid is None:
        if n_points is None:
            n_points = _LINE_POINTS if len(period) == 1 else max(5, round(_GRID_POINTS ** (1 / len(period))))
        return tuple(np.linspace(0.0, abs(one), n_points) for one in period)
    if n_points is not None:
        raise ValueError("grid and n_points cannot both be given.")
    grid = (grid,) if len(period) == 1 and np.ndim(grid) == 1 else grid
    values = tuple(np.asarray(one, dtype=float) for one in grid)
    if len(values) != len(period) or any(one.ndim != 1 for one in values):
        raise ValueError(f"grid must hold one vector for each of {len(period)} dimensions.")
    return values
