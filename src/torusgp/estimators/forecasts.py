"""Forecasts of a fitted regressor: the next rows of a series, whose noise goes on from the last ones."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from torusgp.estimators.predictions import Array, Predictions
from torusgp.fitting import forecasts
from torusgp.fitting.noise_process import NoiseProcess


class Forecasts(Predictions):
    """Methods that forecast."""

    @property
    def noise_process_(self) -> NoiseProcess | None:
        """The noise as a process in time, given the last rows; None if rows are independent."""
        return self.fitted_.noise_process

    @overload
    def forecast(self, X: Any, return_std: Literal[False] = False, return_cov: Literal[False] = False) -> Array: ...

    @overload
    def forecast(
        self, X: Any, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[Array, Array]: ...

    @overload
    def forecast(
        self, X: Any, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[Array, Array]: ...

    def forecast(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict observations after the last row, whose noise goes on from there.

        Intervals start narrow and grow to those of :meth:`predict`. Where rows are independent, it is the same.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs of rows later than those of the fit, in any order.
        return_std : bool, default=False
            Also return standard deviations.
        return_cov : bool, default=False
            Also return the covariance between all points, if the likelihood is normal.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            With ``return_std``.
        cov : ndarray of shape (n_samples, n_samples)
            With ``return_cov``.
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be true: ask for one of them.")
        process = self.noise_process_
        if process is None:
            return self.predict(X, return_std=return_std, return_cov=return_cov)  # type: ignore[call-overload]
        points, likelihood = self._points(X), self.likelihood_
        scale = self._noise_scale(points)
        mean, variance = forecasts.mean_and_variance(self.fitted_, process, points, scale)
        if return_cov:
            if likelihood.name != "normal":
                raise ValueError(f"return_cov is for likelihood='normal'; with {likelihood.name!r} use return_std.")
            covariance = forecasts.covariance(self.fitted_, process, points, scale)
            return self._shaped(mean), self._shaped(covariance)
        mean, std = likelihood.mean_and_std(mean[:, None], variance[:, None], 1.0, False, None)
        return (self._squeeze_points(mean), self._squeeze_points(std)) if return_std else self._squeeze_points(mean)

    def forecast_quantiles(self, X: Any, quantiles: ArrayLike = (0.025, 0.5, 0.975)) -> Array:
        """Quantiles of observations after the last row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            See :meth:`forecast`.
        quantiles : array-like of float, default=(0.025, 0.5, 0.975)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
        """
        process = self.noise_process_
        if process is None:
            return self.predict_quantiles(X, quantiles)
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=float))
        if wanted.ndim != 1 or not ((wanted > 0) & (wanted < 1)).all():
            raise ValueError(f"quantiles must be probabilities between 0 and 1, got {quantiles!r}.")
        points = self._points(X)
        mean, variance = forecasts.mean_and_variance(self.fitted_, process, points, self._noise_scale(points))
        values = self.likelihood_.quantiles(mean[:, None], variance[:, None], wanted, 1.0, False, None)
        return values if self._y_ndim == 2 else values[:, 0]

    def sample_forecast(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw paths of observations after the last row: sums, peaks and others follow from them.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            See :meth:`forecast`.
        n_samples : int, default=1
            Number of paths.
        random_state : int, RandomState or None
            Determines the paths.

        Returns
        -------
        ndarray of shape (n_points, n_samples) or (n_points, n_outputs, n_samples)
        """
        process = self.noise_process_
        if process is None:
            return self.sample_y(X, n_samples, random_state, include_noise=True)
        random_state, points = check_random_state(random_state), self._points(X)
        scale = self._noise_scale(points)
        paths = forecasts.sample(self.fitted_, process, points, scale, n_samples, random_state)
        return self._shaped(self.likelihood_.function(paths, 1.0), -2)

    def _noise_scale(self, points: Any) -> Array:
        """Scales of the noise of rows; one, unless a model of its variance says otherwise."""
        return self.noise_.scale(points)[:, 0] if hasattr(self, "noise_") else np.ones(len(points))

    def _shaped(self, values: Array, axis: int = -1) -> Array:
        """Values with an axis of outputs, if the targets had one."""
        return np.expand_dims(values, axis) if self._y_ndim == 2 else values
