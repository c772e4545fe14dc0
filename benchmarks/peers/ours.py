"""TorusGPRegressor as it comes, and as it is fitted to rows in the order of time."""

import math
import warnings

import numpy as np

from benchmarks.peers.common import some_rows
from torusgp import Circle, TorusGPRegressor


class Torus:
    """TorusGPRegressor with the periods and, if asked, a number of components; all else by default."""

    def __init__(self, period, n_components="auto", max_rows=None):
        self.period, self.n_components, self.max_rows = period, n_components, max_rows

    def fit(self, X, y):
        if self.max_rows is not None:
            rows = some_rows(len(X), self.max_rows)
            X, y = X[rows], y[rows]
        self._model = self._fitted(X, y)
        self.details = self._describe(len(X))
        return self

    def _unfitted(self, n_components):
        return TorusGPRegressor(period=self.period, n_components=n_components, n_threads=1)

    def _fitted(self, X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a set that is too small for the function: the results show it
            return self._unfitted(self.n_components).fit(X, y)

    def _describe(self, n_rows):
        model = self._model
        return {
            "rows": n_rows,
            "columns": model.index_set_.n_components,
            "noise std": float(np.sqrt(model.noise_variance_)),
        }

    def predict(self, X):
        return self._model.predict(X, return_std=True)


class OrderedTorus(Torus):
    """The same for rows in the order of time: each frequency counts as the noise at it allows."""

    def fit(self, X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            circles = [Circle(d, float(one)) for d, one in enumerate(self.period)]
            kernel = sum(circles, math.prod(circles[1:], start=circles[0]))
            model = TorusGPRegressor(kernel, noise="correlated", n_components=self.n_components, n_threads=1)
            self._model = model.fit(X, y, time=np.arange(len(y)))
        self.details = {**self._describe(len(X)), "effective rows": self._model.fitted_.effective_sample_size}
        return self
