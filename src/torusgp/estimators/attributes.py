"""The fit that a regressor holds, and attributes of scikit-learn's kind."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from threading import Lock, RLock
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from torusgp.engine.statistics import SufficientStatistics
from torusgp.estimators.settings import make_compute, make_fitter
from torusgp.fitting.changing_noise import ChangingNoise
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.outcome import Fit, Preliminary
from torusgp.fitting.prior import DERIVATIVE_NOISE, NOISE
from torusgp.fitting.problem import noise_variances
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.resolve import restricted_period

_GUARD = Lock()
_LOCKS: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # beside the models, which are pickled and copied


def lock_of(model: Any) -> Any:
    """The lock of a model: rows that several threads add are counted one call after the other."""
    with _GUARD:
        return _LOCKS.setdefault(model, RLock())


class FittedAttributes:
    """The fit of a regressor, and attributes that follow from it."""

    backend: Any
    n_threads: int | None
    noise_: ChangingNoise
    statistics_: SufficientStatistics
    _fit: Fit | None
    _outcome: Preliminary
    y_ndim_: int
    parameters_of_fit_: dict[str, Any]

    def forget(self) -> None:
        """Drop what an earlier fit has left, and note what the next one is asked for."""
        for leftover in ("noise_", "statistics_", "_outcome", "_fit", "period_search_", "period_std_"):
            if hasattr(self, leftover):
                delattr(self, leftover)
        given = self.get_params(deep=False)  # type: ignore[attr-defined]  # arrays and lists may be changed in place
        self.parameters_of_fit_ = {k: copy(v) if isinstance(v, list | np.ndarray) else v for k, v in given.items()}

    def set_fit(self, fit: Fit) -> None:
        """Take over what a fitter found."""
        self._fit = fit
        self._outcome = Preliminary(fit.model, fit.learned, fit.period_std, fit.search)
        self.statistics_ = fit.fitted.statistics
        if fit.search is not None:
            self.period_search_ = fit.search
        if fit.period_std is not None:
            self.period_std_ = self._of_periodic_axes(fit.period_std)

    @property
    def fit_(self) -> Fit:
        """The fit of the rows seen so far; learned anew after rows were added."""
        check_is_fitted(self, "statistics_")
        with lock_of(self):
            if self._fit is None:
                fitter = make_fitter(self, self._outcome.model, bool(self._outcome.learned.rounds))
                self.set_fit(fitter.fit_statistics(self._outcome, self.statistics_))
            assert self._fit is not None
            return self._fit

    @property
    def fitted_(self) -> FittedTorusGP:
        """The fitted model of the rows seen so far, which predicts with the backend and threads of today."""
        fit, compute = self.fit_, make_compute(self.backend, self.n_threads)
        if fit.fitted.compute != compute:
            self._fit = fit = replace(fit, fitted=fit.fitted.with_compute(compute))
        return fit.fitted

    def set_noise_variance(self, noise_variance: ArrayLike) -> Self:
        """Replace the noise variance that was learned, and compute the posterior again, from the statistics alone.

        For when something else tells it better, such as rows that were held out.

        Parameters
        ----------
        noise_variance : float or array-like of shape (n_outputs,)
            Variance of the noise.

        Returns
        -------
        self
        """
        fit = self.fit_
        noise = noise_variances(noise_variance, fit.fitted.n_outputs)
        learned = replace(fit.learned, parameters=fit.learned.parameters.with_given(NOISE))  # as a file has it
        self._fit = replace(fit, fitted=fit.fitted.with_noise_variance(noise), learned=learned)
        return self

    @property
    def kernel_(self) -> TorusKernel:
        """Kernel of variance one with the learned length scales."""
        return self.fitted_.kernel

    @property
    def period_(self) -> Any:
        """Periods of the circles, or cell of the lattice: a number for a single one."""
        return self._of_periodic_axes(self.fitted_.parameters.period)

    def _of_periodic_axes(self, values: NDArray[np.float64]) -> Any:
        chosen = restricted_period(values, self._outcome.model.torus.kinds("circle", "lattice"))
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
        if fitted.own_likelihood is not None:
            return fitted.own_likelihood
        # of the fit: parameters may have been set since
        return type(check_likelihood(self.parameters_of_fit_["likelihood"]))(fitted.expected_noise_variance)

    @property
    def intercept_variance_(self) -> Any:
        """Prior variance of the intercept, of each output."""
        return self._squeeze(self.fitted_.prior.intercept_variance)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Posterior mean of the weights of the basis functions."""
        return self._squeeze(self.fitted_.posterior.weights)

    @property
    def prior_variance_(self) -> NDArray[np.float64]:
        """Prior variances of the weights of the basis functions."""
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
        if self.y_ndim_ == 2:
            return values
        return float(values[0]) if values.ndim == 1 else values[..., 0]
