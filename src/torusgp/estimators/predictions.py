"""Predictions of a fitted regressor: of targets, quantiles, terms and derivatives, and functions drawn from it."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_count, check_flag, check_scale, to_floats
from torusgp.data.blocks import is_dask
from torusgp.estimators.attributes import FittedAttributes
from torusgp.estimators.passes import predict_blocks
from torusgp.estimators.validation import check_points, row_scale
from torusgp.fitting.likelihoods import skewed_values

Array = NDArray[np.float64]


class Predictions(FittedAttributes):
    """Methods that predict."""

    def _points(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self, "statistics_")
        return check_points(self, X, self._outcome.model)

    def _scale(self, exposure: Any, points: NDArray[Any]) -> Any:
        """Exposures of points, or scales of their noise, as a column; one where there are none."""
        scale = row_scale(self.likelihood_, None, exposure)
        if hasattr(self, "noise_"):
            return self.noise_.scale(points)
        if scale is None:
            return 1.0
        return check_scale(scale, "exposure", len(points))[:, None]

    def _information(self, points: NDArray[Any], variance: Array) -> Any:
        fitted = self.fitted_
        is_skewed = fitted.own_likelihood is not None and fitted.own_likelihood.is_skewed
        return fitted.information(points, variance) if is_skewed else None  # type: ignore[attr-defined]

    def _observations(self, y: Any, n_points: int) -> Array:
        """Values at points, with an axis of outputs."""
        values = to_floats(y, "y")
        shape = (n_points, self.fitted_.n_outputs)
        if values.shape not in ((n_points,) if self.y_ndim_ == 1 else shape, shape):
            raise ValueError(f"y must hold one value for each of {n_points} point(s) and output, got {values.shape}.")
        return values.reshape(shape)

    def _squeeze_points(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self.y_ndim_ == 2 else values[..., 0]

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        include_noise: bool = True,
        exposure: Any = None,
    ) -> Array: ...

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[True],
        return_cov: Literal[False] = False,
        include_noise: bool = True,
        exposure: Any = None,
    ) -> tuple[Array, Array]: ...

    @overload
    def predict(
        self,
        X: Any,
        return_std: Literal[False] = False,
        *,
        return_cov: Literal[True],
        include_noise: bool = True,
        exposure: Any = None,
    ) -> tuple[Array, Array]: ...

    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = True,
        exposure: Any = None,
    ) -> Any:
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. A Dask array or data frame gives lazy Dask arrays.
        return_std : bool, default=False
            Also return standard deviations.
        return_cov : bool, default=False
            Also return the covariance between all points.
        include_noise : bool, default=True
            Whether these are of new observations, or of the function itself: of counts their rate, of classes their
            probability. See :meth:`predict_latent` for the function on the scale of its logarithm.
        exposure : float or array-like of shape (n_samples,), optional
            Of counts: exposures of the points; by default one.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs)
            With ``return_cov``.
        """
        check_wanted(return_std, return_cov)
        check_flag(include_noise, "include_noise")
        if is_dask(X):
            return predict_blocks(self, X, return_std, return_cov, include_noise, exposure)
        points, fitted, likelihood = self._points(X), self.fitted_, self.likelihood_
        scale = self._scale(exposure, points)
        if return_cov:
            if likelihood.name != "normal":
                raise ValueError(f"return_cov is for likelihood='normal'; with {likelihood.name!r} use return_std.")
            noise = fitted.expected_noise_variance if include_noise else np.zeros(fitted.n_outputs)
            noise = np.broadcast_to(noise * np.square(scale), (len(points), fitted.n_outputs))
            covariance = fitted.covariance(points) + np.eye(len(points))[..., None] * noise
            return self._squeeze_points(fitted.mean(points)), self._squeeze_points(covariance)
        if not return_std and likelihood.name in ("normal", "student_t"):
            return self._squeeze_points(fitted.mean(points))
        mean, variance = fitted.mean_and_variance(points)
        mean, std = likelihood.mean_and_std(mean, variance, scale, include_noise, self._information(points, variance))
        return (self._squeeze_points(mean), self._squeeze_points(std)) if return_std else self._squeeze_points(mean)

    @overload
    def predict_latent(self, X: Any, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict_latent(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def predict_latent(self, X: Any, return_std: bool = False) -> Any:
        """Predict the function on its own scale: of counts the logarithm of their rate, of classes the log odds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return standard deviations.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        """
        check_wanted(return_std)
        points = self._points(X)
        if not return_std:
            return self._squeeze_points(self.fitted_.mean(points))
        mean, variance = self.fitted_.mean_and_variance(points)
        return self._squeeze_points(mean), self._squeeze_points(np.sqrt(variance))

    def predict_quantiles(
        self,
        X: Any,
        quantiles: ArrayLike = (0.025, 0.5, 0.975),
        include_noise: bool = True,
        exposure: Any = None,
    ) -> NDArray[np.float64]:
        """Predict quantiles of targets; those of counts are whole numbers, the smallest that reach the probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of float, default=(0.025, 0.5, 0.975)
            Probabilities in (0, 1).
        include_noise : bool, default=True
            Whether these are of new observations, or of the function itself.
        exposure : float or array-like of shape (n_samples,), optional
            See :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
        """
        wanted = check_quantiles(quantiles)
        check_flag(include_noise, "include_noise")
        points = self._points(X)
        mean, variance = self.fitted_.mean_and_variance(points)
        scale = self._scale(exposure, points)
        information = self._information(points, variance)
        values = self.likelihood_.quantiles(mean, variance, wanted, scale, include_noise, information)
        return values if self.y_ndim_ == 2 else values[:, 0]

    def log_predictive_density(self, X: Any, y: Any, exposure: Any = None) -> NDArray[np.float64]:
        """Log density, or of counts and classes log probability, of observations.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observations.
        exposure : float or array-like of shape (n_samples,), optional
            See :meth:`predict`.

        Returns
        -------
        ndarray of the shape of y
        """
        points, likelihood = self._points(X), self.likelihood_
        y = self._observations(y, len(points))
        likelihood.check(y)
        mean, variance = self.fitted_.mean_and_variance(points)
        scale, information = self._scale(exposure, points), self._information(points, variance)
        return self._squeeze_points(likelihood.log_predictive(y, mean, variance, scale, information))

    def predict_cumulative(self, X: Any, y: Any, exposure: Any = None) -> NDArray[np.float64]:
        """Probabilities of new observations up to y: where these are observations, they are uniform.

        Those of counts are uniform if a number between those of y - 1 and of y is drawn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Values.
        exposure : float or array-like of shape (n_samples,), optional
            See :meth:`predict`.

        Returns
        -------
        ndarray of the shape of y
        """
        points = self._points(X)
        y = self._observations(y, len(points))
        mean, variance = self.fitted_.mean_and_variance(points)
        scale, information = self._scale(exposure, points), self._information(points, variance)
        return self._squeeze_points(self.likelihood_.cumulative_predictive(y, mean, variance, scale, information))

    @overload
    def predict_parts(
        self, X: Any, return_std: Literal[False] = False, return_cov: Literal[False] = False
    ) -> Array: ...

    @overload
    def predict_parts(
        self, X: Any, return_std: Literal[True], return_cov: Literal[False] = False
    ) -> tuple[Array, Array]: ...

    @overload
    def predict_parts(
        self, X: Any, return_std: Literal[False] = False, *, return_cov: Literal[True]
    ) -> tuple[Array, Array]: ...

    def predict_parts(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """Predict what each term contributes, centred on the rows of the fit.

        Means add up to :meth:`predict_latent` less ``fitted_.intercept``, which is the prediction itself with normal
        noise. Standard deviations do not add up, since the data tell the sum better than its parts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return standard deviations.
        return_cov : bool, default=False
            Also return the covariances between the terms at each point.

        Returns
        -------
        mean : ndarray of shape (n_samples, n_terms) or (n_samples, n_terms, n_outputs)
            In the order of ``term_names_``.
        std : ndarray of the same shape
            With ``return_std``.
        cov : ndarray of shape (n_samples, n_terms, n_terms) or (n_samples, n_terms, n_terms, n_outputs)
            With ``return_cov``.
        """
        check_wanted(return_std, return_cov)
        points, fitted = self._points(X), self.fitted_
        mean = self._squeeze_points(fitted.parts.mean(points))
        if not (return_std or return_cov):
            return mean
        covariance = fitted.parts.covariance(points)
        if return_cov:
            return mean, self._squeeze_points(covariance)
        variance = np.einsum("nppq->npq", covariance)
        return mean, self._squeeze_points(np.sqrt(np.maximum(variance, 0.0)))

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: Any = None,
        include_noise: bool = False,
        exposure: Any = None,
    ) -> NDArray[np.float64]:
        """Draw functions from the posterior: the same state gives the same functions at any points.

        Functions are those of the index set. What it leaves out (``fitted_.rest_variance``) counts as independent
        between points: predictions and drawn observations have it, drawn functions do not.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Inputs.
        n_samples : int, default=1
            Number of functions.
        random_state : int, RandomState or None
            Determines the functions.
        include_noise : bool, default=False
            Draw observations, instead of functions: of counts counts, and not their rates.
        exposure : float or array-like of shape (n_points,), optional
            See :meth:`predict`.

        Returns
        -------
        ndarray of shape (n_points, n_samples) or (n_points, n_outputs, n_samples)
        """
        check_count(n_samples, "n_samples")
        check_flag(include_noise, "include_noise")
        points, random_state = self._points(X), check_random_state(random_state)
        values = self.fitted_.sample(points, n_samples, random_state)
        if include_noise:
            values = self.fitted_.add_rest(values, random_state)
        scale = self._scale(exposure, points)
        scale = scale[:, None] if np.ndim(scale) else scale
        likelihood = self.likelihood_
        if likelihood.is_skewed:
            mean, variance = self.fitted_.mean_and_variance(points)
            values = skewed_values(values, mean, variance, self._information(points, variance))
        if include_noise:
            values = np.moveaxis(likelihood.sample(np.moveaxis(values, 1, -1), random_state, scale), -1, 1)
        else:
            values = likelihood.function(values, scale)
        return values if self.y_ndim_ == 2 else values[:, 0]

    def sample_parts(self, X: Any, n_samples: int = 1, random_state: Any = None) -> NDArray[np.float64]:
        """Draw the terms of functions from the posterior, centred on the rows of the fit.

        The same state gives the functions of :meth:`sample_y`, of which these are the parts.

        Parameters
        ----------
        X, n_samples, random_state
            See :meth:`sample_y`.

        Returns
        -------
        ndarray of shape (n_points, n_terms, n_samples) or (n_points, n_terms, n_outputs, n_samples)
        """
        check_count(n_samples, "n_samples")
        values = self.fitted_.parts.sample(self._points(X), n_samples, check_random_state(random_state))
        return values if self.y_ndim_ == 2 else values[:, :, 0]

    @overload
    def predict_gradient(self, X: Any, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict_gradient(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...

    def predict_gradient(self, X: Any, return_std: bool = False) -> Any:
        """Derivatives of the predicted function with respect to the inputs; not a number along categories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviations of the derivatives.

        Returns
        -------
        gradient : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        """
        check_wanted(return_std)
        points, fitted = self._points(X), self.fitted_
        gradient = self._squeeze_points(fitted.gradient(points))
        if not return_std:
            return gradient
        return gradient, self._squeeze_points(np.sqrt(fitted.gradient_variance(points)))


def check_wanted(return_std: Any, return_cov: Any = False) -> None:
    """Raise unless at most one of two switches is on."""
    check_flag(return_std, "return_std")
    check_flag(return_cov, "return_cov")
    if return_std and return_cov:
        raise ValueError("return_std and return_cov cannot both be true: ask for one of them.")


def check_quantiles(quantiles: ArrayLike) -> Array:
    """Probabilities, or an error that names what they are instead."""
    try:
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=float))
    except (TypeError, ValueError, OverflowError):
        wanted = np.array([np.nan])
    if wanted.ndim != 1 or not ((wanted > 0) & (wanted < 1)).all():
        raise ValueError(f"quantiles must be probabilities between 0 and 1, got {quantiles!r}.")
    return wanted
