"""Numbers that the page tells: how predictions fare, which inputs move together, how far values are alike."""

import warnings
from dataclasses import dataclass

import numpy as np

from torusgp.fitting.likelihoods import check_likelihood
from torusgp.views.dimensions import find_dimensions
from torusgp.views.metrics import mean_negative_log_loss
from torusgp.views.plotting import CalibrationDisplay

LEVELS = (0.5, 0.8, 0.95)
_MOST_COLUMNS = 4000  # whose correlations are looked at
_FEW_VALUES, _BINS = 31, 24  # different values of an input that keep their own bins, and bins otherwise
_FEWEST_IN_BIN = 5


@dataclass(frozen=True, eq=False)
class Judgement:
    """How the predictions of one target compare with observations.

    Attributes
    ----------
    observed, mean, std : ndarray of shape (n_samples,)
        Observations, and means and standard deviations of their predictions.
    rmse : float
        Root mean square error.
    spread : float
        The same for the mean of the observations as the prediction.
    log_loss : float
        Mean negative log loss.
    r2 : float
        Coefficient of determination; not a number if all observations are equal.
    coverage : dict of float to float
        Share of the observations inside the intervals of each probability.
    run : float
        Correlation of the errors of consecutive rows; not a number for few rows.
    """

    observed: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    rmse: float
    spread: float
    log_loss: float
    r2: float
    coverage: dict
    run: float

    @classmethod
    def from_predictions(cls, observed, mean, std):
        """Compare observations with normal predictions."""
        error = observed - mean
        spread = float(np.std(observed))
        rmse = float(np.sqrt(np.mean(error**2)))
        inside = CalibrationDisplay.from_predictions(observed, mean, std, levels=LEVELS).coverage
        return cls(
            observed,
            mean,
            std,
            rmse,
            spread,
            mean_negative_log_loss(observed, mean, std),
            1 - (rmse / spread) ** 2 if spread else np.nan,
            dict(zip(LEVELS, inside.tolist(), strict=True)),
            _correlation_of_neighbours(error / std),
        )


def judge(model, X, y, predicted_std=None, offset=None):
    """Compare the predictions of a fitted model with observations.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    X, y : array-like
        Rows.
    predicted_std : array-like, optional
        Standard deviations of predicted observations; by default those of the model.
    offset : array-like, optional
        What was taken off the observations before the model saw them; they are compared with it.

    Returns
    -------
    tuple of Judgement
        One for each target.
    """
    n_outputs = len(np.atleast_1d(model.noise_variance_))
    observed = np.asarray(y, dtype=float)
    if observed.ndim not in (1, 2) or observed.reshape(len(observed), -1).shape != (len(X), n_outputs):
        raise ValueError(
            f"y must hold {n_outputs} target(s) of each row of X, as the model was fitted to; got shapes "
            f"{np.shape(X)} and {observed.shape}."
        )
    observed = observed.reshape(len(observed), -1)
    bad = ~np.isfinite(observed).all(axis=1)
    if bad.any():
        raise ValueError(
            f"y must be finite: {bad.sum()} of {len(bad)} rows miss a value, the first is row {int(bad.argmax())} "
            "(counted from 0). Leave them out."
        )
    with warnings.catch_warnings():
        # the columns are in the order of fitting; names would need the library that the names came from
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        mean, std = (values.reshape(len(observed), -1) for values in model.predict(X, return_std=True))
    if predicted_std is not None:
        std = np.asarray(predicted_std, dtype=float).reshape(std.shape)
    if offset is not None:
        offset = np.asarray(offset, dtype=float).reshape(mean.shape)
        observed, mean = observed + offset, mean + offset
    return tuple(Judgement.from_predictions(*columns) for columns in zip(observed.T, mean.T, std.T, strict=True))


def is_fitted_to(model, y, n_rows=None):
    """Whether these seem to be the very rows that a model was fitted to: their number, mean and variance agree.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    y : array-like
        Targets.
    n_rows : int, optional
        Number of rows of the fit, if each had the same weight; by default the sum of their weights.

    Returns
    -------
    bool
        False also where that cannot be told, if rows have noise scales.
    """
    y = np.asarray(y, dtype=float).reshape(len(y), -1)
    if len(y) != (model.n_samples_seen_ if n_rows is None else n_rows):
        return False
    likelihood = check_likelihood(model.likelihood)
    if likelihood.needs_passes or (likelihood.name == "log_normal" and not (y > 0).all()):
        return False
    y = likelihood.to_latent(y)
    linear, center = model.statistics_.linear(model.index_set_)
    if linear.log_precision or y.shape[1] != len(center):
        return False
    variance, mean = y.var(axis=0), y.mean(axis=0)
    rounding = 1e-6 * np.sqrt(variance) + 1e-13 * np.abs(mean)  # that of non-uniform transforms, and of the targets
    return bool(
        (np.abs(mean - center) <= rounding).all()
        and (np.abs(variance - linear.squares / linear.n_samples) <= rounding * (np.sqrt(variance) + rounding)).all()
    )


def entangled_components(model, threshold=0.7):
    r"""Groups of dimensions whose effects the data cannot tell apart, because their inputs move together.

    Effects of different groups are sums of different columns. Where columns of two groups are strongly correlated over
    the rows, as the hour and a weekday that moves on with every hour may be, the data see only their sum, and the prior
    divides it. Only circles and lattices are looked at: on lines and categories columns are no effects of their own.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    threshold : float, default=0.7
        Correlation of two columns from which they count.

    Returns
    -------
    list of tuple
        Two groups of dimensions each and the largest correlation between their columns, the largest first.
    """
    fitted = model.fitted_
    dimensions = find_dimensions(fitted)
    member = {one.axes[0]: d for d, one in enumerate(dimensions) if one.is_periodic}
    others = [d for d in range(fitted.index_set.dimension) if d not in member]
    frequencies = fitted.index_set.frequencies
    waves = np.flatnonzero(~frequencies[:, others].any(axis=1))[1:]
    if not 0 < 2 * len(waves) < _MOST_COLUMNS:
        return []
    columns = np.append(0, np.column_stack([2 * waves - 1, 2 * waves]))
    gram = fitted.gram[np.ix_(columns, columns)]
    mean = gram[0] / gram[0, 0]
    covariance = (gram / gram[0, 0] - np.outer(mean, mean))[1:, 1:]
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-8))  # a column that hardly varies is tied to nothing
    correlation = np.abs(covariance / np.outer(scale, scale))
    prior = fitted.prior_variances[columns[1:]].max(axis=1)
    bits = np.array([1 << member[d] if d in member else 0 for d in range(frequencies.shape[1])])
    group = np.repeat((frequencies[waves] != 0) @ bits, 2)
    # columns that the prior all but leaves out cannot take anything from others
    matters = prior > 1e-3 * prior.max()
    first, second = np.nonzero(np.triu((correlation > threshold) & matters & matters[:, None]))
    largest: dict[tuple, float] = {}
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        pair = tuple(sorted((int(group[i]), int(group[j]))))
        if pair[0] != pair[1]:
            largest[pair] = max(largest.get(pair, 0.0), float(correlation[i, j]))
    found = [(_members(one), _members(other), min(value, 1.0)) for (one, other), value in largest.items()]
    return sorted(found, key=lambda entry: (-entry[2], entry[0], entry[1]))


def half_distance(family, length_scale, period, is_line=False):
    """Distance at which the correlation of what varies along a dimension has fallen to one half.

    What is constant along a circle is left out: with it, long length scales would seem to forbid any change.

    Parameters
    ----------
    family : Spectrum
        Family of the kernel along the dimension, as a function of the phase.
    length_scale : float
        Its length scale, in the units of the phase.
    period : float
        Period of the dimension, or the length of the circle of a line.
    is_line : bool, default=False
        Whether it is a line, whose constant is not told from what varies.

    Returns
    -------
    float
        In the units of the input; on circles at most about a sixth of a period, that of a single wave.
    """
    phases = np.concatenate([[0.0], np.geomspace(1e-6, np.pi, 4001)])
    constant = 0.0 if is_line else float(family.coefficients(0, length_scale))
    if 1 - constant > 1e-9:
        below = family.kernel(phases, length_scale) - constant < (1 - constant) / 2
        place = phases[below.argmax()]
    else:  # what varies is lost in rounding: the slowest wave is far above all others
        place = np.pi / 3
    return float(place * period / (2 * np.pi))


@dataclass(frozen=True, eq=False)
class ErrorsAlong:
    """Errors of predictions along a dimension, in bins: mean place, mean error, root mean square, number of rows."""

    place: np.ndarray
    mean: np.ndarray
    rms: np.ndarray
    n_rows: np.ndarray


def errors_along(places, error, dimension):
    """Mean and root mean square of errors along a dimension.

    Parameters
    ----------
    places : ndarray of shape (n_samples,)
        Where rows lie along it, see :func:`places_along`.
    error : ndarray of shape (n_samples,)
        Observations minus predictions.
    dimension : torusgp.views.report._labels.Dimension
        The dimension.

    Returns
    -------
    ErrorsAlong
        Bins with few rows are left out.
    """
    values = np.unique(places)
    if len(values) <= _FEW_VALUES or dimension.kind == "category":
        bins = np.searchsorted(values, places)
    else:
        low, high = dimension.ends
        bins = np.clip(((places - low) / (high - low) * _BINS).astype(int), 0, _BINS - 1)
    n_rows = np.bincount(bins)
    enough = n_rows >= _FEWEST_IN_BIN
    place, mean, square = (np.bincount(bins, of)[enough] / n_rows[enough] for of in (places, error, error**2))
    return ErrorsAlong(place, mean, np.sqrt(square), n_rows[enough])


def levels_along(places, period):
    """Places along a circle, if rows have few that are evenly spaced, such as whole weekdays.

    Parameters
    ----------
    places : ndarray of shape (n_samples,)
        Where rows lie along it, see :func:`places_along`.
    period : float
        Its period.

    Returns
    -------
    ndarray or None
    """
    values = np.unique(places)
    if not 2 <= len(values) <= min(_FEW_VALUES, len(places) // 10):
        return None
    return values if np.ptp(np.diff(values)) <= 1e-6 * period else None


def places_along(model, X, dimension):
    """Where rows lie along a dimension: of a circle from zero up to its period, so that equal places are equal numbers.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    dimension : torusgp.views.report._labels.Dimension
        The dimension.

    Returns
    -------
    ndarray of shape (n_samples,)
        Not a number for levels that the fit did not have.
    """
    if dimension.kind == "category":
        position = {level: float(i) for i, level in enumerate(dimension.levels)}
        return np.array([position.get(value, np.nan) for value in X[:, dimension.input].tolist()])
    if not dimension.is_periodic:
        return X[:, dimension.input].astype(float)
    period = dimension.period
    places = model.fitted_.phases(X)[:, dimension.axes[0]] * period / (2 * np.pi)
    places = np.round(places, 8 - int(np.ceil(np.log10(period))))
    return np.where(places < period, places, 0.0)


def _correlation_of_neighbours(values):
    if len(values) < 50:
        return np.nan
    centred = values - values.mean()
    power = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / power if power else np.nan


def _members(group):
    return tuple(d for d in range(group.bit_length()) if group >> d & 1)
