"""Fits to rows in their order, each counting as much as the correlation of the noise lets it."""

import warnings
from dataclasses import dataclass

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.schedule import limited_blas
from torusgp.kernels.axes import Expression
from torusgp.tables.models._correlation import (
    FEWEST_ROWS,
    Redundancy,
    estimate_redundancy,
    unseen_noise_variance,
)
from torusgp.tables.models._terms import is_searched, with_found_periods, with_learned_scales
from torusgp.tables.models._words import word

FEW_COLUMNS = 401  # columns, at most, of fits from which the redundancy is estimated
_MOST_STEPS = 8
_SETTLED = 0.1  # relative change of the redundancy that ends the search
_WORTHWHILE = 1.0  # log evidence by which one number of columns is better than another


def fit_counted(regressor, X, y, redundancy, noise_scale=None):
    """Fit a regressor to rows, weighted by their redundancy.

    Parameters
    ----------
    regressor : TorusGPRegressor
        Unfitted regressor.
    X, y : array-like
        Rows.
    redundancy : float
        Number of rows over their effective sample size.
    noise_scale : ndarray of shape (n_samples,), optional
        Known standard deviations of the noise, up to a factor.

    Returns
    -------
    TorusGPRegressor
        The same.
    """
    weights = None if redundancy == 1.0 else np.full(len(y), 1 / redundancy)
    with limited_blas(_size(regressor.n_components)):
        return regressor.fit(X, y, sample_weight=weights, noise_scale=noise_scale)


def _size(n_components):
    """Columns that matrices are expected to have."""
    return FEW_COLUMNS if n_components == "auto" else n_components


def fit_in_order(make, X, y, *, n_components="auto", start=1.0, noise_scale=None, report=lambda line: None, hint=""):
    """Fit to rows in the order of time, with the redundancy that the residuals of this very fit have.

    A first fit takes the rows for independent, unless a redundancy to start from is known. The redundancy of its
    residuals gives the weights of the next fit, and so on until it agrees with the one that was used. If the first
    shows none, the result is the fit to independent rows. Otherwise the noise variance is that of rows left out of the
    fit, which takes slow noise for signal.

    Parameters
    ----------
    make : callable
        Makes an unfitted regressor with a number of columns; periods that are to be found need an expression.
    X : pandas.DataFrame
        Inputs of consecutive rows.
    y : ndarray of shape (n_samples,)
        Targets.
    n_components : int or "auto", default="auto"
        Number of columns of the final fit.
    start : float, default=1.0
        Redundancy to start from.
    noise_scale : ndarray of shape (n_samples,), optional
        Known standard deviations of the noise, up to a factor.
    report : callable
        Takes lines of progress.
    hint : str or None, default=""
        What to do about noise that is correlated further than the rows can tell; None leaves that unsaid.

    Returns
    -------
    model : TorusGPRegressor
        Fitted regressor.
    redundancy : float
        How many rows counted as one.
    found : Redundancy or None
        The last estimate, None if there were too few rows for one.
    """
    if len(y) < FEWEST_ROWS:
        return make(n_components).fit(X, y, noise_scale=noise_scale), 1.0, None
    explorer = _Explorer(make, X, y, noise_scale, min(_size(n_components), FEW_COLUMNS))
    attempt = explorer.attempt(start)
    for _ in range(_MOST_STEPS):
        report(f"redundancy {attempt.found.estimate:.3g} of the residuals, where {attempt.redundancy:.3g} was assumed")
        if attempt.is_settled:
            break
        attempt = explorer.attempt(attempt.found.value)
    attempt.warn(len(y), hint)
    try:
        model = explorer.finish(attempt, n_components)
        if attempt.redundancy > 1:
            with limited_blas(model.index_set_.n_components):
                model.set_noise_variance(unseen_noise_variance(model, X, y, noise_scale))
        return model, attempt.redundancy, attempt.found
    except ValueError:
        if attempt.redundancy == 1 or not explorer.has_search:
            raise
    warnings.warn(
        f"The noise is autocorrelated: the effective sample size is {len(y) / attempt.redundancy:.3g} of {len(y)} "
        "rows, which would show no period. All rows count fully instead, and standard errors are too small.",
        stacklevel=3,
    )
    return make(n_components).fit(X, y, noise_scale=noise_scale), 1.0, attempt.found


@dataclass(frozen=True)
class _Attempt:
    """A fit with a certain redundancy, its warnings, and the redundancy that its residuals have."""

    model: TorusGPRegressor
    told: list
    redundancy: float
    found: Redundancy

    @property
    def is_settled(self):
        """Whether what was found agrees with what was used, within its error."""
        tolerance = max(_SETTLED * self.redundancy, self.found.std if self.redundancy > 1 else 0.0)
        # an estimate that is now and then not clearly above one must not send the search back and forth
        return min(abs(one - self.redundancy) for one in (self.found.value, self.found.estimate)) <= tolerance

    def warn(self, n_rows, hint):
        """Say what may be wrong with the redundancy."""
        if not self.is_settled:
            warnings.warn(
                f"The effective sample size did not settle: with a redundancy of {self.redundancy:.3g}, residuals have "
                f"one of {self.found.value:.3g}. Give the number yourself ({word('redundancy')}).",
                stacklevel=4,
            )
        if self.redundancy > 1 and self.found.is_limited and hint is not None:
            warnings.warn(
                f"Errors come in runs longer than {self.found.block_rows} rows, longer than {n_rows} rows can tell: "
                f"standard errors of what was learned may be too small. {hint}".rstrip(),
                stacklevel=4,
            )


class _Explorer:
    """Fits with few columns, to estimate the redundancy; a period that is not known is found once."""

    def __init__(self, make, X, y, noise_scale, n_components):
        self._make, self._X, self._y, self._scale, self._n_components = make, X, y, noise_scale, n_components
        first = make(n_components)
        self._is_expression = isinstance(first.kernel, Expression)
        self.has_search = self._is_expression and is_searched(first.kernel)
        self._changes, self._periodic = {}, y
        if self.has_search:
            model, _ = _quietly(first, X, y, 1.0, noise_scale)
            beside = model.fit_.model.has_trend  # slow change, which is taken for what it was found to be
            self._changes = {"kernel": with_found_periods(first.kernel, model.fitted_, alone=beside)}
            if beside:
                self._periodic = y - model.predict_parts(X)[:, 1:].sum(axis=1)

    def attempt(self, redundancy):
        """A fit with a certain redundancy, and that of its residuals."""
        regressor = self._make(self._n_components).set_params(**self._changes)
        model, told = _quietly(regressor, self._X, self._periodic, redundancy, self._scale)
        with limited_blas(self._n_components):
            found = estimate_redundancy(model, self._X, self._periodic, self._scale)
        return _Attempt(model, told, redundancy, found)

    def finish(self, attempt, n_components):
        """The fit with the redundancy of an attempt, and the columns that are wanted."""
        if n_components == self._n_components and not self.has_search:
            for warning in attempt.told:
                warnings.warn(warning.message, stacklevel=4)
            return attempt.model
        regressor = self._make(n_components)
        if attempt.redundancy == 1 or self.has_search:
            return fit_counted(regressor, self._X, self._y, attempt.redundancy, self._scale)
        if self._is_expression:
            regressor.set_params(kernel=with_learned_scales(regressor.kernel, attempt.model.fitted_))
        else:
            regressor.set_params(length_scale=attempt.model.kernel_.length_scale)
        model = fit_counted(regressor, self._X, self._y, attempt.redundancy, self._scale)
        gain = model.log_marginal_likelihood_ - attempt.model.log_marginal_likelihood_
        return model if n_components != "auto" or gain > -_WORTHWHILE else attempt.model


def _quietly(regressor, X, y, redundancy, noise_scale):
    """A fit, and its warnings, which concern nobody unless it is the last one."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        return fit_counted(regressor, X, y, redundancy, noise_scale), told
