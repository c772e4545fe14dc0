"""Methods of scikit-learn: the exact Gaussian process, random and Nyström features, gradient boosting."""

import warnings

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import ParameterSampler

from benchmarks.engine import PeriodicProduct
from benchmarks.peers.common import SEED, held_out, on_circles, some_rows

LENGTH_SCALES = tuple(2.0**power for power in range(-2, 6))  # those that are tried of the feature methods
SEARCH_ROWS = 5_000  # rows on which they are compared; torusgp looks for its length scales on as many
_CHUNK_ROWS = 2_000  # points of which an exact prediction holds the covariances with the data at once


class ExactGaussianProcess:
    """GaussianProcessRegressor with a product of periodic kernels on some of the rows, optimised by its L-BFGS."""

    def __init__(self, period, max_rows=2_000):
        self.period, self.max_rows = period, max_rows

    def fit(self, X, y):
        rows = some_rows(len(X), self.max_rows)
        kernel = ConstantKernel(1.0, (1e-3, 1e6)) * PeriodicProduct((1.0,) * len(self.period), tuple(self.period))
        self._model = GaussianProcessRegressor(kernel + WhiteKernel(0.1, (1e-6, 1e1)), normalize_y=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of length scales at their bounds: not needed inputs
            self._model.fit(X[rows], y[rows])
        self.details = {"rows": len(rows)}
        return self

    def predict(self, X):
        parts = np.array_split(X, -(-len(X) // _CHUNK_ROWS))
        means, stds = zip(*(self._model.predict(part, return_std=True) for part in parts), strict=True)
        return np.concatenate(means), np.concatenate(stds)


class _Features:
    """Features of a squared exponential on cosines and sines, and BayesianRidge on them.

    The length scale is that of the largest evidence on some of the rows; the regression then uses all of them.
    """

    _transformer = None  # class of the features

    def __init__(self, period, n_components, length_scales=LENGTH_SCALES):
        self.period, self.n_components, self.length_scales = period, n_components, length_scales

    def fit(self, X, y):
        circles = on_circles(X, self.period)
        rows = some_rows(len(X), SEARCH_ROWS)
        attempts = []
        for length_scale in self.length_scales:
            # exp(-gamma d^2) of the distance d of two points on circles is exp((cos - 1) / length_scale^2)
            gamma = 1 / (2 * length_scale**2)
            features = self._transformer(gamma=gamma, n_components=self._n_columns(X), random_state=SEED).fit(circles)
            ridge = BayesianRidge(compute_score=True).fit(features.transform(circles[rows]), y[rows])
            attempts.append((ridge.scores_[-1], length_scale, features, ridge))
        _, length_scale, self._features, self._ridge = max(attempts, key=lambda attempt: attempt[0])
        if len(rows) < len(X):
            self._ridge = BayesianRidge().fit(self._features.transform(circles), y)
        self.details = {"rows": len(X), "columns": self._n_columns(X), "length scale": length_scale}
        return self

    def _n_columns(self, X):
        return self.n_components

    def predict(self, X):
        return self._ridge.predict(self._features.transform(on_circles(X, self.period)), return_std=True)


class RandomFeatures(_Features):
    """RBFSampler and BayesianRidge."""

    _transformer = RBFSampler


class NystroemFeatures(_Features):
    """Nystroem and BayesianRidge."""

    _transformer = Nystroem

    def _n_columns(self, X):
        return min(self.n_components, len(X))  # its columns are rows


class GradientBoosting:
    """HistGradientBoostingRegressor on cosines and sines, its settings drawn at random and judged on held-out blocks.

    The standard deviation of a prediction is that of the held-out residuals, the same for every point.
    """

    choices = {  # noqa: RUF012  read only
        "learning_rate": [0.03, 0.1, 0.3],
        "max_leaf_nodes": [15, 31, 63, 127],
        "min_samples_leaf": [5, 20, 80],
        "l2_regularization": [0.0, 1.0, 10.0],
    }

    def __init__(self, period, n_draws=8, max_trees=1_000):
        self.period, self.n_draws, self.max_trees = period, n_draws, max_trees

    def fit(self, X, y):
        circles, out = on_circles(X, self.period), held_out(len(X))
        attempts = []
        for settings in ParameterSampler(self.choices, self.n_draws, random_state=SEED):
            model = HistGradientBoostingRegressor(
                **settings, max_iter=self.max_trees, early_stopping=True, random_state=SEED
            )
            model.fit(circles[~out], y[~out], X_val=circles[out], y_val=y[out])
            attempts.append((np.mean((model.predict(circles[out]) - y[out]) ** 2), settings, model.n_iter_))
        variance, settings, n_trees = min(attempts, key=lambda attempt: attempt[0])
        self._model = HistGradientBoostingRegressor(
            **settings, max_iter=n_trees, early_stopping=False, random_state=SEED
        ).fit(circles, y)
        self._std = float(np.sqrt(variance))
        self.details = {"rows": len(X), "trees": n_trees}
        return self

    def predict(self, X):
        mean = self._model.predict(on_circles(X, self.period))
        return mean, np.full(len(mean), self._std)
