"""What a regressor has learned, as attributes of scikit-learn's kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.changing_noise import ChangingNoise
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.fitter import Fit, Preliminary
from torusgp.fitting.latent import LatentTorusGP
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.prior import DERIVATIVE_NOISE
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel


class FittedAttributes:
    """Attributes that follow from a fitted model."""

    likelihood: Any
    noise_: ChangingNoise
    statistics_: SufficientStatistics
    _fit: Fit | None
    _outcome: Preliminary
    _y_ndim: int

    @property
    def fitted_(self) -> FittedTorusGP:
        """The fitted model of the rows seen so far."""
        raise NotImplementedError

    @property
    def kernel_(self) -> TorusKernel:
        """Kernel of variance one with the learned length scales."""
        return self.fitted_.kernel

    @property
    def period_(self) -> Any:
        """Periods of the circles, or cell of the lattice: a number for a single one."""
        return self._of_periodic_axes(self.fitted_.parameters.period)

    def _of_periodic_axes(self, values: NDArray[np.float64]) -> Any:
        axes = self._outcome.model.torus.axes
        where = np.flatnonzero([axis.kind in ("circle", "lattice") for axis in axes])
        chosen = values[np.ix_(where, where)] if values.ndim == 2 else values[where]
        return float(chosen[0]) if chosen.shape == (1,) else chosen

    @property
    def term_names_(self) -> tuple[str, ...]:
        """Names of the terms, products first and then plain columns."""
        return self.fitted_.parts.names

    @property
    def index_set_(self) -> IndexSet:
        """Frequencies in use."""
        return self.fitted_.index_set

    @property
    def truncation_error_(self) -> float:
        """Largest error of the kernel of variance one, by the frequencies left out and by lines lying on circles."""
        return self.fitted_.truncation_error

    @property
    def log_marginal_likelihood_(self) -> float:
        """Log evidence, summed over outputs."""
        return self.fitted_.log_evidence

    @property
    def signal_variance_(self) -> Any:
        """Variance of all terms together, of each output."""
        fitted = self.fitted_
        return self._squeeze(fitted.prior.signal_variances(fitted.parameters).sum(axis=0))

    @property
    def noise_variance_(self) -> Any:
        """Variance of the noise, of each output."""
        return self._squeeze(self.fitted_.noise_variance)

    @property
    def gradient_noise_variance_(self) -> dict[str, Any]:
        """Variance of the noise of observed derivatives, by the name of the input."""
        parameters, ending = self.fitted_.parameters, f": {DERIVATIVE_NOISE}"
        return {name[: -len(ending)]: self._squeeze(parameters[name]) for name in parameters if name.endswith(ending)}

    @property
    def likelihood_(self) -> Any:
        """The likelihood, with the learned values of its parameters."""
        fitted = self.fitted_
        if isinstance(fitted, LatentTorusGP):
            return fitted.likelihood
        return type(check_likelihood(self.likelihood))(fitted.expected_noise_variance)

    @property
    def intercept_variance_(self) -> Any:
        """Prior variance of the intercept, of each output."""
        return self._squeeze(self.fitted_.prior.intercept_variance)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Posterior mean of the weights of the unweighted columns."""
        return self._squeeze(self.fitted_.posterior.weights)

    @property
    def prior_variance_(self) -> NDArray[np.float64]:
        """Prior variances of the weights of the unweighted columns."""
        return self._squeeze(self.fitted_.prior_variances)

    @property
    def backend_(self) -> str:
        """Implementation that gathered the statistics."""
        check_is_fitted(self, "statistics_")
        return self.statistics_.backend

    @property
    def n_samples_seen_(self) -> float:
        """Number of rows; the sum of their sample weights."""
        check_is_fitted(self, "statistics_")
        return self.statistics_.n_samples

    def _squeeze(self, values: NDArray[np.float64]) -> Any:
        """Drop the axis of outputs, the last one, if the targets had none."""
        if self._y_ndim == 2:
            return values
        return float(values[0]) if values.ndim == 1 else values[..., 0]
