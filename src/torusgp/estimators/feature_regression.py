"""Bayesian linear regression on the features of any transformer, with the inference of the torus regressor."""

import warnings

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_count, check_flag, check_sample_weight, check_size
from torusgp.engine.inference import LinearStatistics, Posterior, evidence
from torusgp.estimators.features import IndexSetFourierFeatures
from torusgp.estimators.validation import check_number_inputs
from torusgp.fitting.descent import descend
from torusgp.fitting.prior import BROAD
from torusgp.fitting.rows import Rows
from torusgp.fitting.schedule import limited_blas
from torusgp.kernels.checks import check_positive_array

_CHUNK_ROWS = 1024
_FEW_ROWS = 10_000  # up to here equal rows are merged, in a fixed order: learning amplifies rounding
_VARIANCES = ("signal_variance", "noise_variance")
_OF_TRANSFORMER = ("length_scale", "period")


class BayesianFeatureRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Bayesian linear regression on features: a Gaussian process whose kernel is the product of the features.

    The same inference and evidence as :class:`TorusGPRegressor`, so that feature maps can be compared with nothing else
    in between.

    Parameters
    ----------
    transformer : transformer, optional
        Makes the columns; by default :class:`IndexSetFourierFeatures`.
    signal_variance : float, default=1.0
        Prior variance of every weight, if it is not learned.
    noise_variance : float, default=0.1
        Variance of the noise, if it is not learned.
    learn : collection of str, default=("signal_variance", "noise_variance")
        What is learned by maximising the evidence. It may also hold "length_scale" and "period", of a transformer with
        the methods of :class:`WarpedFourierFeatures`; a period is learned from where it is given.
    max_samples : int, default=5000
        Length scales and periods are learned on at most this number of rows, chosen at random.
    intercept : bool, default=True
        Whether there is a constant beside the features, with a broad prior around the mean of the targets; see
        :class:`TorusGPRegressor`.

    Attributes
    ----------
    transformer_ : transformer
        Fitted transformer.
    coef_ : ndarray of shape (n_components,) or (n_components, n_outputs)
        Posterior mean of the weights.
    signal_variance_, noise_variance_ : float, or ndarray of shape (n_outputs,)
        Variances; every output has its own.
    log_marginal_likelihood_ : float
        Log evidence, summed over outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> X = np.random.default_rng(0).uniform(size=(100, 1))
    >>> y = np.sin(5 * X[:, 0])
    >>> model = BayesianFeatureRegressor(RBFSampler(gamma=2.0, random_state=0)).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    """

    def __init__(
        self,
        transformer=None,
        *,
        signal_variance=1.0,
        noise_variance=0.1,
        learn=("signal_variance", "noise_variance"),
        max_samples=5000,
        intercept=True,
    ):
        self.transformer = transformer
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.learn = learn
        self.max_samples = max_samples
        self.intercept = intercept

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # the default features of ten inputs, as in the checks, are far too few
        return tags

    def fit(self, X, y, sample_weight=None):
        """Gather the statistics of the features and learn the variances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("BayesianFeatureRegressor requires y to be passed, but the target y is None.")
        X, y = check_number_inputs(self, X, True, y)
        check_size(y, "y")
        check_flag(self.intercept, "intercept")
        known = (*_VARIANCES, *_OF_TRANSFORMER)
        is_one = isinstance(self.learn, str) or not np.iterable(self.learn)
        if is_one or not all(isinstance(name, str) and name in known for name in self.learn):
            raise ValueError(
                f"learn may hold {', '.join(map(repr, _VARIANCES + _OF_TRANSFORMER))}, got {self.learn!r}."
            )
        weight = check_sample_weight(sample_weight, len(X))
        self._y_ndim = y.ndim
        X, targets, weight = _merged(X, y.astype(float, copy=False).reshape(len(y), -1), weight)
        transformer = IndexSetFourierFeatures() if self.transformer is None else self.transformer
        if not (hasattr(transformer, "fit") and hasattr(transformer, "transform")):
            raise ValueError(f"transformer must have fit and transform, got {transformer!r}.")
        self.transformer_ = clone(transformer).fit(X)
        self._center = np.average(targets, axis=0, weights=weight) if self.intercept else np.zeros(targets.shape[1])
        self._set_variance(targets, weight)
        with limited_blas(self.transformer_.transform(X[:1]).shape[1]):
            if set(self.learn) & set(_OF_TRANSFORMER):
                self._learn_transformer(X, targets - self._center, weight)
            statistics = self._statistics(X, targets - self._center, weight)
            variances = [self._learn_output(statistics, output) for output in range(targets.shape[1])]
        signal, noise = np.array(variances).T
        prior = np.stack([self._prior(statistics, *one) for one in enumerate(signal)], axis=1)
        self._posterior = Posterior(statistics, prior, noise)
        self._noise = noise
        self.coef_ = self._squeeze(self._posterior.weights[int(self.intercept) :])
        self.signal_variance_ = self._squeeze(signal)
        self.noise_variance_ = self._squeeze(noise)
        self.log_marginal_likelihood_ = self._posterior.log_evidence
        return self

    def _set_variance(self, targets, weight):
        """Variance of the targets; that of one row is what was given, of which nothing is then learned."""
        center = np.average(targets, axis=0, weights=weight)
        self._variance = np.average((targets - center) ** 2, axis=0, weights=weight)
        varies = self._variance > 1e-24 * center**2
        self._has_one_row = bool(weight.sum() <= 1 and not varies.any())
        if self._has_one_row:
            given = sum(check_positive_array(getattr(self, name), name, max_ndim=0) for name in _VARIANCES)
            self._variance = np.full(len(center), float(given))
            if set(self.learn) & set(_VARIANCES):
                warnings.warn(
                    "One row cannot show how much y varies: signal_variance and noise_variance are kept as they were "
                    "given.",
                    stacklevel=3,
                )
        self._variance[self._variance == 0] = 1e-12  # constant targets

    def _prior(self, statistics, output, signal_variance):
        """Prior variances of the weights: of the intercept, if there is one, and of the features."""
        prior = np.full(len(statistics.gram), signal_variance)
        if self.intercept:
            prior[0] = BROAD * self._variance[output]
        return prior

    def _learn_transformer(self, X, targets, weight):
        """Put a transformer with learned length scales and periods into the place of the given one."""
        if not hasattr(self.transformer_, "parameter_gradient"):
            raise ValueError(
                f"learn={self.learn!r} needs a transformer that tells how its features depend on length scales and "
                f"periods, such as WarpedFourierFeatures; {self.transformer_!r} does not."
            )
        check_count(self.max_samples, "max_samples")
        if len(X) > self.max_samples:
            some = np.random.default_rng(0).choice(len(X), self.max_samples, replace=False)
            X, targets, weight = X[some], targets[some], weight[some]
        problem = _TransformerProblem(self, X, targets, weight)
        self.transformer_ = problem.solve()

    def _columns(self, X):
        """Chunks of rows and their columns."""
        for start in range(0, len(X), _CHUNK_ROWS):
            rows = slice(start, start + _CHUNK_ROWS)
            yield rows, self._with_intercept(np.asarray(self.transformer_.transform(X[rows]), dtype=float))

    def _with_intercept(self, features):
        return np.hstack([np.ones((len(features), 1)), features]) if self.intercept else features

    def _statistics(self, X, targets, weight):
        n_columns = self.transformer_.transform(X[:1]).shape[1] + int(self.intercept)
        gram, moments = np.zeros((n_columns, n_columns)), np.zeros((n_columns, targets.shape[1]))
        for rows, columns in self._columns(X):
            weighted = columns.T * weight[rows]
            gram += weighted @ columns
            moments += weighted @ targets[rows]
        return LinearStatistics(gram, moments, weight @ targets**2, float(weight.sum()))

    def _learn_output(self, statistics, output):
        given = np.array([check_positive_array(getattr(self, name), name, max_ndim=0) for name in _VARIANCES])
        learned = np.array([name in self.learn and not self._has_one_row for name in _VARIANCES])
        if not learned.any():
            return given
        first = int(self.intercept)
        variance = statistics.squares[output] / statistics.n_samples or 1e-12
        # of a unit mean square
        per_weight = variance * statistics.n_samples / max(np.trace(statistics.gram[first:, first:]), 1e-300)
        limits = np.log([[1e-6 * per_weight, 1e6 * per_weight], [1e-8 * variance, 10 * variance]])

        def objective(vector):
            values = np.where(learned, np.exp(vector), given)
            result = evidence(statistics, self._prior(statistics, output, values[0]), values[1], output)
            by_prior, by_noise = result.gradient()
            return -result.log_evidence, -np.where(learned, [by_prior[first:].sum(), by_noise], 0.0)

        start = np.where(learned, np.log([per_weight, 0.1 * variance]), np.log(given))
        bounds = np.where(learned[:, None], limits, start[:, None])
        found = descend(objective, start, bounds, value_tolerance=1e-9)
        return np.where(learned, np.exp(found.vector), given)

    def _squeeze(self, values):
        if self._y_ndim == 2:
            return values
        return float(values[0]) if values.ndim == 1 else values[..., 0]

    def predict(self, X, return_std=False, include_noise=True):
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return standard deviations.
        include_noise : bool, default=True
            Whether these are of new observations, or of the function itself.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        """
        check_is_fitted(self)
        X = check_number_inputs(self, X, False)
        posterior = self._posterior
        mean = np.empty((len(X), len(self._center)))
        variance = np.empty_like(mean)
        for rows, columns in self._columns(X):
            mean[rows] = columns @ posterior.weights + self._center
            if return_std:
                for output, (factor, root) in enumerate(zip(posterior.factors, posterior.roots, strict=True)):
                    half = solve_triangular(factor, (columns * root).T, lower=True, check_finite=False)
                    variance[rows, output] = (half**2).sum(axis=0) + include_noise * self._noise[output]
        mean = mean if self._y_ndim == 2 else mean[:, 0]
        if not return_std:
            return mean
        std = np.sqrt(variance)
        return mean, std if self._y_ndim == 2 else std[:, 0]


def _merged(X, targets, weight):
    """Rows of positive weight: others are no rows, and must not widen a range."""
    if len(X) > _FEW_ROWS:
        chosen = weight > 0
        return X[chosen], targets[chosen], weight[chosen]
    rows = Rows(X, targets, weight).merged()
    return rows.X, rows.y, rows.sample_weight


class _TransformerProblem:
    """Evidence as a function of length scales and periods of a transformer, and of the variances of all outputs."""

    def __init__(self, regressor, X, targets, weight):
        self._regressor, self._X, self._targets, self._weight = regressor, X, targets, weight
        self._transformer = regressor.transformer_
        dimension = self._transformer.kernel_.resolve_dimension(X.shape[1])
        self._names = [name for name in _OF_TRANSFORMER if name in regressor.learn]
        kernel = self._transformer.kernel_
        if "period" in self._names and np.ndim(kernel.period) == 2:
            raise ValueError("learn holds 'period', but the transformer has a cell, which is not learned here.")
        self._start = {
            "length_scale": np.broadcast_to(kernel.length_scale, (dimension,)),
            "period": kernel.period if np.ndim(kernel.period) == 2 else np.broadcast_to(kernel.period, (dimension,)),
        }
        self._dimension = dimension

    def solve(self):
        """Transformer of the largest evidence."""
        statistics = self._statistics(self._transformer.transform(self._X))
        variances = [self._regressor._learn_output(statistics, q) for q in range(self._targets.shape[1])]
        first = np.concatenate([np.zeros(self._dimension * len(self._names)), np.log(variances).ravel()])
        bounds = [(-4.0, 4.0) if name == "length_scale" else (-0.3, 0.3) for name in self._names]
        limits = [bound for bound in bounds for _ in range(self._dimension)]
        for index, value in enumerate(first[len(limits) :]):
            learned = _VARIANCES[index % 2] in self._regressor.learn and not self._regressor._has_one_row
            limits.append((value - 12, value + 12) if learned else (value, value))
        scale = np.ones(len(first))
        if "period" in self._names:  # it moves phases by its relative change times the number of turns
            turns = np.ptp(self._X, axis=0) / self._start["period"]
            place = self._names.index("period") * self._dimension
            scale[place : place + self._dimension] = 0.1 / (1 + turns)

        def scaled_loss(vector):
            value, gradient = self._loss(vector * scale)
            return value, gradient * scale

        found = descend(scaled_loss, first / scale, np.array(limits) / scale[:, None], 60, value_tolerance=1e-6)
        return self._at(found.vector * scale)

    def _at(self, vector):
        values = dict(self._start)
        for i, name in enumerate(self._names):
            values[name] = values[name] * np.exp(vector[i * self._dimension : (i + 1) * self._dimension])
        return self._transformer.with_parameters(values["length_scale"], values["period"])

    def _statistics(self, features):
        columns = self._regressor._with_intercept(features)
        weighted = columns.T * self._weight
        return LinearStatistics(
            weighted @ columns, weighted @ self._targets, self._weight @ self._targets**2, float(self._weight.sum())
        )

    def _loss(self, vector):
        """Negative log evidence and its gradient."""
        transformer = self._at(vector)
        features = transformer.transform(self._X)
        statistics, columns = self._statistics(features), self._regressor._with_intercept(features)
        first = int(self._regressor.intercept)
        total, slope, by_variances = 0.0, np.zeros(columns.shape), []
        for output, (signal, noise) in enumerate(np.exp(vector[-2 * self._targets.shape[1] :]).reshape(-1, 2)):
            result = evidence(statistics, self._regressor._prior(statistics, output, signal), noise, output)
            by_prior, by_noise = result.gradient()
            by_variances += [by_prior[first:].sum(), by_noise]
            total += result.log_evidence
            quadratic = result.covariance() + np.outer(result.weights, result.weights)
            slope += (np.outer(self._targets[:, output], result.weights) - columns @ quadratic) / noise
        gradient = transformer.parameter_gradient(self._X, slope[:, first:] * self._weight[:, None])
        return -total, -np.concatenate([*(gradient[name] for name in self._names), by_variances])
