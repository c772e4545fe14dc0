r"""The effective sample size of rows whose noise is autocorrelated.

The evidence takes the noise of different rows for independent. Where it is not, as with weather that lasts for days,
the fit counts part of the noise as signal: length scales come out too short and intervals of the function too narrow.

By how much, one number tells. A fit is a linear smoother, :math:`\hat y = S y`, and the noise that it takes for signal,
:math:`\mathrm{E}[\varepsilon' S \varepsilon] = \mathrm{tr}(S C)`, would be :math:`\sigma^2 \mathrm{tr}(S)` if the rows
were independent. Their ratio, the *redundancy*

.. math:: r = \frac{\mathrm{tr}(S C)}{\sigma^2 \, \mathrm{tr}(S)},

is how many times more of the noise is taken for signal. Rows that count :math:`1 / r` each undo that: the likelihood is
raised to the power :math:`1 / r`, which is the adjustment of magnitude of composite likelihoods (Pauli, Racugno and
Ventura, 2011). For a smoother that is a constant, r is the integrated autocorrelation time; for others the spectrum of
the noise is averaged over the waves that the fit consists of. On the effect of correlated noise on smoothers see Altman
(1990) and Opsomer, Wang and Yang (2001).

It is estimated from residuals. They have to be those of rows that the fit has not seen, as a fit that follows the noise
leaves nothing of its correlation: folds of consecutive rows are predicted from the others.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.sparse import csr_array

from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.statistics import SufficientStatistics
from torusgp.views.autocorrelation import autocorrelation, correlation_time

FEWEST_ROWS = 100  # from which a correlation is looked for
_FOLDS = 10
_BLOCK = 10.0  # correlation times that a block of rows has: what goes on beyond it is left out
_FEWEST_BLOCKS = 20
_SIGNIFICANT = 2.0  # standard errors above one from which rows are taken for correlated
_CHUNK_ENTRIES = 2**19  # values of columns that are held at a time: few enough to stay in the cache


@dataclass(frozen=True)
class Redundancy:
    """Ratio of the number of rows to their effective sample size, for a certain fit.

    Attributes
    ----------
    estimate : float
        What the residuals say.
    std : float
        Its standard error.
    block_rows : int
        Consecutive rows whose noise was taken for correlated.
    is_limited : bool
        Whether the correlation may reach further, but there are too few rows to follow it.
    """

    estimate: float
    std: float
    block_rows: int
    is_limited: bool

    @property
    def value(self):
        """The estimate, or one if it is not clearly larger."""
        return self.estimate if self.estimate - 1.0 > _SIGNIFICANT * self.std else 1.0


def estimate_redundancy(model, X, y, noise_scale=None):
    """Estimate the ratio of the number of rows to their effective sample size, from residuals in their order.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted to these rows, of one target, each of which counted the same.
    X : array-like of shape (n_samples, n_features)
        Inputs of consecutive rows.
    y : array-like of shape (n_samples,)
        Targets.
    noise_scale : array-like of shape (n_samples,), optional
        Known standard deviations of the noise that the model was fitted with: residuals are looked at in units of them.

    Returns
    -------
    Redundancy

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from torusgp import TorusGPRegressor
    >>> hours = np.arange(4000.0)[:, None]
    >>> white = np.random.default_rng(0).normal(size=4000)
    >>> day = np.sin(2 * np.pi * hours[:, 0] / 24)
    >>> def redundancy(noise):
    ...     model = TorusGPRegressor(period=24).fit(hours, day + noise)
    ...     return estimate_redundancy(model, hours, day + noise)
    >>> redundancy(white).value
    1.0
    >>> redundancy(lfilter([1], [1, -0.5], white)).value > 1  # each hour remembers half of the hour before
    True
    """
    y = np.asarray(y, dtype=float)
    smoother = _Smoother(model, X, noise_scale)
    residuals, std = _residuals(model, smoother, X, y)
    time = correlation_time(autocorrelation(residuals) ** 2)
    most = max(1, len(y) // _FEWEST_BLOCKS)
    block_rows = min(int(np.ceil(_BLOCK * time)), most)
    # noise that is taken for signal in each block, with the correlation of its rows and without
    starts = np.linspace(0, len(y), len(y) // block_rows + 1).astype(int)
    joint = smoother.energies(residuals, starts)
    single = np.add.reduceat(std**2 * residuals**2, starts[:-1])
    estimate = joint.sum() / single.sum() if single.any() else 1.0
    error = np.sqrt(np.sum((joint - estimate * single) ** 2)) / single.sum() if single.any() else 0.0
    return Redundancy(float(estimate), float(error), block_rows, bool(_BLOCK * time > most))


def unseen_noise_variance(model, X, y, noise_scale=None):
    """Variance of the noise of rows that a fit has not seen, from folds of consecutive rows left out of it.

    What lasts longer than the gaps between the repeats of a season, such as a cold winter, looks like the season to the
    fit, which takes it off the noise; the next winter is another one.

    Parameters
    ----------
    model, X, y, noise_scale
        See :func:`estimate_redundancy`.

    Returns
    -------
    float
        At least the noise variance of the model.
    """
    smoother = _Smoother(model, X, noise_scale)
    residuals, std = _residuals(model, smoother, X, np.asarray(y, dtype=float))
    return float(max(model.noise_variance_, np.mean(residuals**2) - np.mean(std**2)))


def redundancy_along(model, X, y, direction, block_rows, noise_scale=None):
    """Redundancy for a linear combination of the noise, such as the one that a slope takes up.

    Parameters
    ----------
    model, X, y, noise_scale
        See :func:`estimate_redundancy`.
    direction : ndarray of shape (n_samples,)
        Coefficients of the rows.
    block_rows : int
        Consecutive rows whose noise is taken for correlated.

    Returns
    -------
    float
    """
    y = np.asarray(y, dtype=float)
    smoother = _Smoother(model, X, noise_scale)
    parts = direction * smoother.scale * _residuals(model, smoother, X, y)[0]
    starts = np.linspace(0, len(y), len(y) // block_rows + 1).astype(int)
    single = np.sum(parts**2)
    return float(np.sum(np.add.reduceat(parts, starts[:-1]) ** 2) / single) if single > 0 else 1.0


def _residuals(model, smoother, X, y):
    """Residuals of rows that the fit has not seen, and standard deviations of the function, in units of the noise."""
    mean, variance = model.fitted_.as_learned().mean_and_variance(np.asarray(X))  # which the smoother gives
    return smoother.unseen((y - mean[:, 0]) / smoother.scale), np.sqrt(variance[:, 0]) / smoother.scale


class _Smoother:
    """The fit as a linear map of the targets, up to a factor: a product of columns with their posterior covariance.

    Columns are those of the frequencies and the plain ones. Rows whose noise is known have their columns and residuals
    in units of it.
    """

    def __init__(self, model, X, noise_scale=None):
        self.scale = np.ones(len(X)) if noise_scale is None else np.asarray(noise_scale, dtype=float)
        self._is_scaled = noise_scale is not None
        self._fitted, self._X = model.fitted_, np.asarray(X)
        self._root = np.sqrt(model.fitted_.prior_variances[:, 0])
        self._precision = model.n_samples_seen_ / len(X) / model.noise_variance_  # of a row
        self._folds = np.linspace(0, len(X), min(_FOLDS, len(X)) + 1).astype(int)

    def unseen(self, residuals):
        """Residuals of each fold if it had been left out: those of the fit, and what it then moves by."""
        folds = [slice(*bounds) for bounds in zip(self._folds[:-1], self._folds[1:], strict=True)]
        parts = [self._information(rows, residuals) for rows in folds]
        whole = np.eye(len(self._root)) + sum(gram for gram, _ in parts)
        self._factor = cho_factor(whole, lower=True)
        result = residuals.copy()
        for rows, (gram, moment) in zip(folds, parts, strict=True):
            moved = self._root * cho_solve(cho_factor(whole - gram, lower=True), moment)
            result[rows] += self._values(rows, moved)
        return result

    def energies(self, residuals, starts):
        """Squared lengths of what the residuals of each block would move the fit by."""
        moments = np.zeros((len(starts) - 1, len(self._root)))
        for some in self._chunks(0, len(residuals)):
            block = np.searchsorted(starts, np.arange(some.start, some.stop), side="right") - 1
            first, last = block[0], block[-1]
            in_blocks = csr_array((residuals[some], (block - first, np.arange(len(block)))))
            moments[first : last + 1] += in_blocks @ self._columns(some)
        whitened = solve_triangular(self._factor[0], (moments * self._root).T, lower=True)
        return np.sum(whitened**2, axis=0)

    def _information(self, rows, residuals):
        """What a fold adds to the posterior precision of the weights in units of their prior, and its moments."""
        fitted, scale = self._fitted, self.scale[rows]
        n, plain = fitted.n_fourier, fitted.plain(self._X[rows]) / scale[:, None]
        # plain columns are summed like targets
        targets = np.column_stack([residuals[rows], plain])
        statistics = SufficientStatistics.from_data(
            fitted.layout(self._X[rows])[0],
            targets * scale[:, None],
            fitted.index_set,
            period=fitted.parameters.period,
            noise_scale=scale if self._is_scaled else None,
        )
        linear, _ = statistics.linear(center=False)
        gram = np.empty((len(self._root), len(self._root)))
        gram[:n, :n] = linear.gram
        gram[:n, n:] = linear.moments[:, 1:]
        gram[n:, :n] = gram[:n, n:].T
        gram[n:, n:] = plain.T @ plain
        moments = np.append(linear.moments[:, 0], plain.T @ residuals[rows])
        return self._precision * self._root[:, None] * gram * self._root, self._precision * self._root * moments

    def _values(self, rows, weights):
        """Values at some rows of the function with these weights: columns times weights, by the faster way to do it."""
        return self._fitted.values(self._X[rows], weights[:, None])[:, 0] / self.scale[rows]

    def _columns(self, rows):
        fitted = self._fitted
        fourier = basis_columns(fitted.phases(self._X[rows]), fitted.index_set.frequencies)
        return np.hstack([fourier, fitted.plain(self._X[rows])]) / self.scale[rows, None]

    def _chunks(self, start, stop):
        step = max(1, _CHUNK_ENTRIES // len(self._root))
        return [slice(one, min(one + step, stop)) for one in range(start, stop, step)]
