"""Predictions of a regressor along one input or over two."""

import warnings

import numpy as np
from scipy.special import ndtri

from torusgp.checks import check_count, check_share, to_floats
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.views.plotting._base import OKABE_ITO, to_regressor, to_rows
from torusgp.views.plotting._functions import axes_of_function

_MOST_MARKERS = 1000  # observations drawn on a map; more would hide it


class PredictionDisplay:
    """Predicted mean with its uncertainty: a line with a band along one input, or two maps over a pair of inputs.

    Parameters
    ----------
    grid : tuple of one or two ndarrays of shape (n_points,)
        Values of the inputs that vary.
    mean, std : ndarray of shape (n_points,), or (n_points_second, n_points_first) for two inputs
        Predictions.
    names : tuple of str
        Names of the inputs that vary.
    include_noise : bool, default=True
        Whether the standard deviation is that of a new observation, or of the function.
    observations : pair of ndarrays, optional
        Inputs that vary and targets of observations, shapes (n_samples, n_varying) and (n_samples,).
    band : pair of ndarray of shape (n_points,), optional
        Lower and upper ends of the band of a line.
    coverage : float, default=0.95
        Probability that the band covers.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Axes of the last plot: one for a line, those of mean and standard deviation for maps.
    ax_ : matplotlib Axes
        The first of these.
    figure_ : matplotlib Figure
        Figure of the last plot.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 24, (200, 1))
    >>> y = np.sin(2 * np.pi * X[:, 0] / 24) + 0.1 * rng.normal(size=200)
    >>> model = TorusGPRegressor(period=24).fit(X, y)
    >>> display = PredictionDisplay.from_estimator(model)
    >>> bool(np.isclose(display.mean[0], display.mean[-1]))  # one period
    True
    """

    def __init__(self, grid, mean, std, names, include_noise=True, observations=None, band=None, coverage=0.95):
        self.grid = grid
        self.mean = mean
        self.std = std
        self.names = names
        self.include_noise = include_noise
        self.observations = observations
        self.band = band
        self.coverage = coverage

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X=None,
        y=None,
        *,
        features=None,
        at=None,
        limits=None,
        n_points=None,
        include_noise=True,
        output=0,
        coverage=0.95,
    ):
        """Predict along one input or over two, the others being held.

        Parameters
        ----------
        estimator : TorusGPRegressor, BayesianFeatureRegressor or TableModel
            Fitted regressor; its ``predict`` takes ``return_std`` and ``include_noise``. The band of a line has the
            quantiles of its likelihood as ends, if it has ``predict_quantiles``, else those of a normal distribution.
        X : array-like of shape (n_samples, n_features), optional
            Observations, of a table model a table: they give the ranges of the inputs and the values at which others
            are held. They are drawn if no other input is held, since only then do they lie on the slice.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Their targets.
        features : int, str or pair of these, optional
            Inputs that vary, by position or name; by default the first two, or the only one.
        at : array-like of shape (n_features,), optional
            Values of the others (those of inputs that vary are not used); by default the medians of X and the most
            frequent levels, or without X zero, the middle of the range of a line and the first level.
        limits : pair of float, or one pair for each input that varies, optional
            Range of each; by default that of X or, without, one period or the range of a line.
        n_points : int, optional
            Points along each input; by default 400 for a line and 120 for maps.
        include_noise : bool, default=True
            Whether the standard deviation is that of a new observation, or of the function.
        output : int, default=0
            Which target, where there are several.
        coverage : float, default=0.95
            Probability that the band of a line covers.

        Returns
        -------
        PredictionDisplay
        """
        if X is None:
            estimator = to_regressor(estimator)
        else:
            estimator, X, y = to_rows(estimator, X, y)
        check_share(coverage, "coverage")
        check_count(n_points, "n_points", optional=True)
        X = None if X is None else np.asarray(X)
        if X is not None and X.ndim != 2:
            raise ValueError(f"X must have two axes, rows and inputs; its shape is {X.shape}.")
        n_features = estimator.n_features_in_
        positions, names = _resolve_features(estimator, features)
        if limits is None:
            limits = [_default_limits(estimator, X, j) for j in positions]
        limits = to_floats(limits, "limits")
        if limits.shape not in ((2,), (len(positions), 2)):
            raise ValueError(
                f"limits must be two numbers for each of {len(positions)} input(s), got {limits.tolist()!r}."
            )
        limits = np.broadcast_to(limits, (len(positions), 2))
        size = n_points or (400 if len(positions) == 1 else 120)
        grid = tuple(np.linspace(low, high, size) for low, high in limits)
        held = [_default_value(estimator, X, j) for j in range(n_features)] if at is None else at
        if not np.iterable(held) or isinstance(held, str | bytes):
            raise ValueError(f"at must hold {n_features} values, one for each input, got {at!r}.")
        held = list(held)
        if len(held) != n_features:
            raise ValueError(f"at must hold {n_features} values, one for each input, got {len(held)}.")
        is_numeric = all(isinstance(value, int | float | np.number) for value in held)
        points = np.empty((size ** len(positions), n_features), dtype=float if is_numeric else object)
        points[:] = held
        for position, values in zip(positions, np.meshgrid(*grid), strict=True):
            points[:, position] = values.ravel()
        with warnings.catch_warnings():
            # the columns are in the order of fitting; names would need the library that the names came from
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            mean, std = estimator.predict(points, return_std=True, include_noise=include_noise)
            levels, ends = (0.5 - coverage / 2, 0.5 + coverage / 2), None
            if len(positions) == 1 and hasattr(estimator, "predict_quantiles"):
                ends = estimator.predict_quantiles(points, levels, include_noise=include_noise)
        shape = (size,) * len(positions)
        mean, std = (_choose(values, output).reshape(shape) for values in (mean, std))
        observations = None
        if X is not None and y is not None and len(positions) == n_features:
            observations = X[:, positions].astype(float), _choose(np.asarray(y, dtype=float), output)
        if ends is None:
            band = tuple(mean + ndtri(level) * std for level in levels)
        else:
            band = tuple(_choose(ends[..., i], output) for i in range(2))
        return cls(grid, mean, std, names, include_noise, observations, band, coverage)

    def plot(self, ax=None, **kwargs):
        """Draw the mean and its uncertainty.

        Parameters
        ----------
        ax : matplotlib Axes or pair of these, optional
            One for a line; for maps one for the mean alone, or two. By default a new figure.
        **kwargs
            Passed to ``Axes.plot`` for the line, to ``Axes.pcolormesh`` for the maps.

        Returns
        -------
        self
        """
        is_line = len(self.grid) == 1
        size = (6.4, 4.0) if is_line else (9.6, 3.9)
        axes = axes_of_function(ax, is_line, size)
        if is_line:
            self._plot_line(axes[0], kwargs)
        else:
            self._plot_maps(axes, kwargs)
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        return self

    def _plot_line(self, ax, kwargs):
        (x,) = self.grid
        if self.observations is not None:
            inputs, targets = self.observations
            inside = (inputs[:, 0] >= x[0]) & (inputs[:, 0] <= x[-1])
            ax.plot(inputs[inside, 0], targets[inside], ".", color="0.55", markersize=3, label="observed", zorder=1)
        if self.band is not None:
            label = f"{self.coverage:.0%} of {'observations' if self.include_noise else 'the function'}"
            style = {"color": OKABE_ITO[5], "alpha": 0.35, "linewidth": 0, "label": label, "zorder": 2}
            ax.fill_between(x, *self.band, **style)
        style = {"color": OKABE_ITO[0], "linewidth": 1.8, "label": "mean", "zorder": 3}
        ax.plot(x, self.mean, **{**style, **kwargs})
        ax.set_xlim(x[0], x[-1])
        ax.set_xlabel(self.names[0])
        ax.set_ylabel("prediction")
        ax.grid(alpha=0.3)
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False
        )  # periodic curves leave no corner

    def _plot_maps(self, axes, kwargs):
        of = "an observation" if self.include_noise else "the function"
        for ax, values, cmap, title in zip(
            axes,
            (self.mean, self.std),
            ("viridis", "cividis"),
            ("mean", f"standard deviation of {of}"),
            strict=False,
        ):
            style = {"cmap": cmap, "shading": "gouraud", "rasterized": True}
            image = ax.pcolormesh(*self.grid, values, **{**style, **kwargs})
            ax.figure.colorbar(image, ax=ax)
            ax.set_title(title)
            ax.set(xlabel=self.names[0], ylabel=self.names[1])
        if self.observations is not None and len(axes) == 2:
            inputs = self.observations[0]
            drawn = inputs[:: -(-len(inputs) // _MOST_MARKERS)]
            axes[1].plot(*drawn.T, ".", color="white", markersize=1.5, alpha=0.6)
            axes[1].set(xlim=self.grid[0][[0, -1]], ylim=self.grid[1][[0, -1]])


def _resolve_features(estimator, features):
    """Positions and names of the inputs that vary."""
    n_features = estimator.n_features_in_
    known = list(getattr(estimator, "feature_names_in_", []))
    if features is None:
        features = tuple(range(min(2, n_features)))
    features = tuple(features) if np.iterable(features) and not isinstance(features, str) else (features,)
    positions = []
    for one in features:
        if isinstance(one, str) and one not in known:
            raise ValueError(f"features holds {one!r}, but the inputs are {known or 'without names'}.")
        if not isinstance(one, str | int | np.integer):
            raise ValueError(f"features must be names or positions of inputs, got {one!r}.")
        positions.append(known.index(one) if isinstance(one, str) else int(one))
    if (
        len(positions) not in (1, 2)
        or len(set(positions)) < len(positions)
        or not all(0 <= j < n_features for j in positions)
    ):
        raise ValueError(f"features must be one or two different ones of {n_features} inputs, got {features!r}.")
    return positions, tuple(str(known[j]) if known else f"x{j}" for j in positions)


def _axes_of(estimator, position):
    """Positions and axes of the torus that an input feeds; none for other regressors."""
    if not isinstance(estimator, TorusGPRegressor):
        return []
    return [(d, axis) for d, axis in enumerate(estimator.fitted_.prior.torus.axes) if axis.input == position]


def _default_limits(estimator, X, position):
    axes = _axes_of(estimator, position)
    if any(axis.kind == "category" for _, axis in axes):
        raise ValueError(f"Input {position} is a category, whose levels are no line: use EffectDisplay.")
    if X is not None:
        values = X[:, position].astype(float)
        return values.min(), values.max()
    if not isinstance(estimator, TorusGPRegressor):
        raise ValueError("Without X the range of the inputs is not known: give X or limits.")
    if not axes:
        raise ValueError(f"Input {position} feeds no dimension of the torus: give X or limits.")
    lines = [axis for _, axis in axes if axis.kind == "line"]
    if lines:
        return min(axis.low for axis in lines), max(axis.high for axis in lines)
    period = estimator.fitted_.parameters.period
    cell = period if period.ndim == 2 else np.diag(period)
    return axes[0][1].window(np.abs(cell[:, [d for d, _ in axes]]).max())


def _default_value(estimator, X, position):
    axes = [axis for _, axis in _axes_of(estimator, position)]
    levels = [axis.levels for axis in axes if axis.kind == "category"]
    if levels:
        column = None if X is None else X[:, position].tolist()
        return levels[0][0] if column is None else max(levels[0], key=column.count)
    if X is not None:
        return float(np.median(X[:, position].astype(float)))
    lines = [(axis.low + axis.high) / 2 for axis in axes if axis.kind == "line"]
    return lines[0] if lines else 0.0


def _choose(values, output):
    return values if values.ndim == 1 else values[:, output]
