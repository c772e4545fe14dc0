"""Forecasts of a fitted regressor: the next rows of a series, and those in gaps, whose noise is not independent."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from torusgp.checks import check_count, check_scale
from torusgp.estimators.correlated import continue_from, row_times
from torusgp.estimators.predictions import Array, Predictions, check_quantiles, check_wanted
from torusgp.estimators.refits import refit
from torusgp.fitting.forecasts import SeriesForecast
from torusgp.fitting.noise_process import NoiseProcess


class Forecasts(Predictions):
    """Methods that forecast."""

    @property
    def noise_process_(self) -> NoiseProcess | None:
        """The noise as a process in time, given the last rows; None if rows are independent."""
        return self.fitted_.noise_process

    @overload
    def forecast(
        self,
        X: Any,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        time: Any = None,
        noise_scale: Any = None,
    ) -> Array: ...

    @overload
    def forecast(
        self,
        X: Any,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        time: Any = None,
        noise_scale: Any = None,
    ) -> tuple[Array, Array]: ...

    @overload
    def forecast(
        self,
        X: Any,
        return_std: Literal[False] = False,
        *,
        return_cov: Literal[True],
        time: Any = None,
        noise_scale: Any = None,
    ) -> tuple[Array, Array]: ...

    def forecast(
        self, X: Any, return_std: bool = False, return_cov: bool = False, time: Any = None, noise_scale: Any = None
    ) -> Any:
        """Predict observations after the last row, whose noise goes on from there, and in gaps between rows.

        Intervals start narrow and grow to those of :meth:`predict`; in gaps they do from both sides. Where rows are
        independent, it is the same.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs at times later than the rows of the fit, or between them where there is none, in any order.
        return_std : bool, default=False
            Also return standard deviations.
        return_cov : bool, default=False
            Also return the covariance between all points, if the likelihood is normal and they are after the last row.
        time : array-like of shape (n_samples,), optional
            Times of the rows, where they were given to :meth:`fit`.
        noise_scale : array-like of shape (n_samples,), optional
            Known standard deviations of their noise, in the units of those of the fit; by default one.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        std : ndarray of shape (n_samples,)
            With ``return_std``.
        cov : ndarray of shape (n_samples, n_samples)
            With ``return_cov``.
        """
        check_wanted(return_std, return_cov)
        if self._rows_are_independent(time, noise_scale):
            return self.predict(X, return_std=return_std, return_cov=return_cov)  # type: ignore[call-overload]
        ahead, likelihood = self._ahead(X, time, noise_scale), self.likelihood_
        if return_cov:
            if likelihood.name != "normal":
                raise ValueError(f"return_cov is for likelihood='normal'; with {likelihood.name!r} use return_std.")
            return self._shaped(ahead.mean_and_variance()[0]), self._shaped(ahead.covariance())
        mean, variance = ahead.mean_and_variance()
        mean, std = likelihood.mean_and_std(mean[:, None], variance[:, None], 1.0, False, None)
        return (self._squeeze_points(mean), self._squeeze_points(std)) if return_std else self._squeeze_points(mean)

    def forecast_quantiles(
        self, X: Any, quantiles: ArrayLike = (0.025, 0.5, 0.975), time: Any = None, noise_scale: Any = None
    ) -> Array:
        """Quantiles of observations after the last row, and in gaps between rows.

        Parameters
        ----------
        X, time, noise_scale
            See :meth:`forecast`.
        quantiles : array-like of float, default=(0.025, 0.5, 0.975)
            Probabilities in (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
        """
        if self._rows_are_independent(time, noise_scale):
            return self.predict_quantiles(X, quantiles)
        wanted = check_quantiles(quantiles)
        mean, variance = self._ahead(X, time, noise_scale).mean_and_variance()
        values = self.likelihood_.quantiles(mean[:, None], variance[:, None], wanted, 1.0, False, None)
        return values if self.y_ndim_ == 2 else values[:, 0]

    def sample_forecast(
        self, X: Any, n_samples: int = 1, random_state: Any = None, time: Any = None, noise_scale: Any = None
    ) -> Array:
        """Draw paths of observations after the last row: sums, peaks and others follow from them.

        Parameters
        ----------
        X, time, noise_scale
            See :meth:`forecast`.
        n_samples : int, default=1
            Number of paths.
        random_state : int, RandomState or None
            Determines the paths.

        Returns
        -------
        ndarray of shape (n_points, n_samples) or (n_points, n_outputs, n_samples)
        """
        if self._rows_are_independent(time, noise_scale):
            return self.sample_y(X, n_samples, random_state, include_noise=True)
        check_count(n_samples, "n_samples")
        paths = self._ahead(X, time, noise_scale).sample(n_samples, check_random_state(random_state))
        return self._shaped(self.likelihood_.function(paths, 1.0), -2)

    def can_forecast(self, X: Any, time: Any = None) -> NDArray[np.bool_]:
        """Mask of the rows that :meth:`forecast` takes: after the last row of the fit, or between two at other times.

        Parameters
        ----------
        X, time
            See :meth:`forecast`.

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            All are True where rows are independent.
        """
        points, process = self._points(X), self.noise_process_
        if process is None:
            return np.ones(len(points), dtype=bool)
        return process.is_open(row_times(points, time, process.time_input, self.fit_.model.torus.names))

    def continue_from(self, X: Any, y: Any, noise_scale: Any = None, time: Any = None) -> Self:
        """The same model, whose forecasts go on from other rows, such as those since the fit.

        Nothing is learned from them; only their residuals tell where the noise is. It does nothing where rows are
        independent.

        Parameters
        ----------
        X, y, noise_scale, time
            The last rows, as for a fit. Of what is to come at most the last thousand tell; earlier ones of gaps
            between them.

        Returns
        -------
        TorusGPRegressor
            A copy.
        """
        result = copy(self)
        if self.noise_process_ is not None:
            result._fit = replace(self.fit_, fitted=continue_from(self, X, y, noise_scale, time))
        return result

    def refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        noise_scale: Any = None,
        exposure: Any = None,
        time: Any = None,
    ) -> Self:
        """The same model fitted to other rows, from where this fit has ended: soon done, as nothing is searched for.

        For rows much like those of the fit, such as the same and some more. If they are many more or far fewer, or a
        period is to be found, it is a fit from the beginning.

        Parameters
        ----------
        X, y, sample_weight, noise_scale, exposure, time
            All rows to fit, as for :meth:`fit`, within the ranges of lines and with the levels of this fit.

        Returns
        -------
        TorusGPRegressor
            A copy.
        """
        return refit(self, X, y, sample_weight, noise_scale, exposure, time)

    def _rows_are_independent(self, time: Any, noise_scale: Any) -> bool:
        """True if forecasts are predictions, for which nothing may be given that only a noise process can use."""
        if self.noise_process_ is not None:
            return False
        for name, value in (("time", time), ("noise_scale", noise_scale)):
            if value is not None:
                raise ValueError(f"{name} is for correlated noise, and here rows are independent: leave it out.")
        return True

    def _ahead(self, X: Any, time: Any, noise_scale: Any) -> SeriesForecast:
        points, process = self._points(X), self.noise_process_
        assert process is not None
        times = row_times(points, time, process.time_input, self.fit_.model.torus.names)
        scale = np.ones(len(points)) if noise_scale is None else check_scale(noise_scale, "noise_scale", len(points))
        scale = scale * self.noise_.scale(points)[:, 0] if hasattr(self, "noise_") else scale
        return SeriesForecast(self.fitted_, process, points, times, scale)

    def _shaped(self, values: Array, axis: int = -1) -> Array:
        """Values with an axis of outputs, if the targets had one."""
        return np.expand_dims(values, axis) if self.y_ndim_ == 2 else values
