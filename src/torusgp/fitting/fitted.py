"""A fitted model: prior, what was learned, statistics and posterior; it predicts, and knows nothing of estimators."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import InputSpace, count_threads
from torusgp.engine.dual import few_rows
from torusgp.engine.inference import LinearStatistics, Posterior
from torusgp.engine.moments import Moments
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.advice import advise
from torusgp.fitting.mixture import MixedPosterior, Mixture, find_mixture
from torusgp.fitting.noise_process import NoiseProcess
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.parts import Parts
from torusgp.fitting.prior import NOISE, Prior, derivative_noise
from torusgp.fitting.rows import Compute, inexactness_ratio
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.product import check_turns, to_phases
from torusgp.kernels.resolve import Layout

_MOST_OF_NOISE = 0.99  # that may be the function's: an observation is never free of noise


@dataclass(frozen=True)
class FittedTorusGP:
    """A fitted model.

    Attributes
    ----------
    prior : Prior
        Terms on a torus, plain columns and an intercept.
    parameters : Parameters
        What was learned or given.
    index_set : IndexSet
        Frequencies in use.
    statistics : SufficientStatistics
        Sums over the rows.
    center : bool
        Whether the mean of the targets was subtracted: with an intercept.
    spectrum : ndarray of shape (n_columns, n_outputs) or None
        Prior variances of the columns, where each was learned on its own.
    compute : Compute
        How predictions are computed.
    moments : Moments or None
        What rows with correlated noise say of the weights.
    noise_process : NoiseProcess or None
        Their noise as a process in time; None if rows are independent.
    centre : ndarray of shape (n_learned,) or None
        Logarithms around which the learned parameters are expected: predictions then integrate over what is uncertain
        of them. None takes them as they were learned.
    rest_share : float
        Of the prior variance outside the set that the function is taken to have there.
    """

    prior: Prior
    parameters: Parameters
    index_set: IndexSet
    statistics: SufficientStatistics
    center: bool
    spectrum: NDArray[np.float64] | None = None
    compute: Compute = field(default_factory=Compute)
    moments: Moments | None = None
    noise_process: NoiseProcess | None = None
    centre: NDArray[np.float64] | None = None
    rest_share: float = 0.0
    _predictors: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def with_process(self, process: NoiseProcess) -> FittedTorusGP:
        """The same with other noise in time, on which nothing rests that was computed before."""
        result = copy(self)
        object.__setattr__(result, "noise_process", process)
        return result

    # What was learned --------------------------------------------------------------------------------------------

    @cached_property
    def _linear(self) -> tuple[LinearStatistics, NDArray[np.float64]]:
        return self.statistics.linear(self.index_set, self.center)

    @property
    def linear(self) -> LinearStatistics:
        """Statistics of the columns in use that give posterior and evidence."""
        return self._linear[0] if self.moments is None else self._of_moments

    @cached_property
    def _of_moments(self) -> LinearStatistics:
        assert self.moments is not None
        return self.moments.linear(self._linear[0], float(self.noise_variance[0]))

    @property
    def own_likelihood(self) -> Any:
        """The likelihood with the learned values of its parameters, unless it is that of normal noise."""
        return None

    @property
    def effective_sample_size(self) -> float:
        """How many independent rows would tell as much, on average over the components by what is learned of each.

        It may be more than there are, where the noise is less at the frequencies of the model than on average.
        """
        n_samples = float(self.statistics.n_samples)
        if self.moments is None:
            return n_samples
        known = 1 - self.learned_posterior.shares(0)
        known[0] = 0.0  # the constant, which is known whatever the noise
        plain = np.diagonal(self._linear[0].gram)
        known[plain <= 0] = 0.0  # as a sine that vanishes on all rows
        if not known.any():
            return n_samples
        precision = float(self.noise_variance[0]) * np.diagonal(self.moments.precision)
        return n_samples * float(known @ (precision / np.where(plain > 0, plain, 1.0)) / known.sum())

    @property
    def gram(self) -> NDArray[np.float64] | None:
        """Sums of products of the columns in use over the rows; None where they are of other columns."""
        return np.asarray(self._linear[0].gram)

    @property
    def offset(self) -> NDArray[np.float64]:
        """What was subtracted from the targets, shape (n_outputs,)."""
        return self._linear[1]

    @cached_property
    def prior_variances(self) -> NDArray[np.float64]:
        """Prior variances of the weights of the columns, shape (n_columns, n_outputs)."""
        if self.spectrum is not None:
            return self.spectrum
        return self.prior.variances(self.parameters, self.index_set.frequencies)

    @property
    def noise_variance(self) -> NDArray[np.float64]:
        """Noise variances of the outputs."""
        return self.parameters[NOISE]

    @cached_property
    def learned_posterior(self) -> Posterior:
        """Posterior of the weights with the parameters as they were learned."""
        own = derivative_noise(self.parameters, self.linear)
        return Posterior(self.linear, self.prior_variances, self.noise_variance, own)

    @cached_property
    def posterior(self) -> Posterior | MixedPosterior:
        """Posterior of the weights of all columns: those of the frequencies, then the plain ones."""
        return self.learned_posterior if self.mixture is None else self._mixed()

    def _mixed(self, n_columns: int | None = None) -> MixedPosterior:
        """Posterior of the first columns, or of all, over plausible parameters."""
        assert self.mixture is not None
        linear, frequencies = self._cheap_linear, self.index_set.frequencies
        posteriors = (
            Posterior(linear, self.prior.variances(one, frequencies), one[NOISE], derivative_noise(one, linear))
            for one in self.mixture.parameters
        )
        return MixedPosterior(posteriors, self.mixture.weights, n_columns)

    @cached_property
    def _cheap_linear(self) -> Any:
        """Statistics of the columns, as rows where these are few."""
        return few_rows(self.linear)

    @property
    def log_evidence(self) -> float:
        """Log evidence, summed over outputs, with the parameters as they were learned."""
        return self.learned_posterior.log_evidence

    @cached_property
    def mixture(self) -> Mixture | None:
        """Plausible values of what was learned, over which predictions integrate, or None."""
        if self.centre is None or not len(self.centre):
            return None
        return find_mixture(self._cheap_linear, self.prior, self.index_set, self.parameters, self.centre)

    def components(self) -> Iterator[FittedTorusGP]:
        """Models with plausible parameters of which this one is the mixture: itself, if it takes its own as certain."""
        if self.mixture is None:
            yield self
            return
        for parameters in self.mixture.parameters:
            rest_share = 1.0 if self.moments is None else self.rest_share
            yield replace(self, parameters=parameters, centre=None, rest_share=rest_share, _predictors={})

    @property
    def component_weights(self) -> NDArray[np.float64]:
        """Probabilities of the components."""
        return np.ones(1) if self.mixture is None else self.mixture.weights

    @property
    def expected_noise_variance(self) -> NDArray[np.float64]:
        """Noise variances of the outputs that predictions have: averages over what is uncertain of them.

        Less what is the function's: it looks like noise to the rows.
        """
        noise = self.component_weights @ np.array([one.noise_variance for one in self.components()])
        is_learned = self.parameters.entry(NOISE).learned
        return np.asarray(noise - np.where(is_learned, self.rest_variance / self.prior.noise_unit, 0.0))

    @cached_property
    def rest_variance(self) -> NDArray[np.float64]:
        """Variance of the function beyond the frequencies of the set, of each output.

        The rows cannot tell it from noise, so it is no more than the noise that they show. Of plausible parameters it
        is the average: short length scales that are plausible may leave out much.
        """
        if self.mixture is not None and self.moments is None:
            return np.asarray(self.mixture.weights @ self.mixture.dropped)
        if not self.rest_share:  # as where blocks left out have shown what noise is, this variance included
            return np.zeros(self.n_outputs)
        rest = self.rest_share * self.prior.truncation_error(self.parameters, self.index_set)
        most = np.where(self.parameters.entry(NOISE).learned, self.prior.typical_noise(self.parameters), np.inf)
        return np.minimum(rest, _MOST_OF_NOISE * most)

    @cached_property
    def kernel(self) -> TorusKernel:
        """Kernel of variance one."""
        return self.prior.kernel(self.parameters)

    @cached_property
    def truncation_error(self) -> float:
        """Largest error of the kernel of variance one, by the frequencies left out and by lines lying on circles."""
        total = self.prior.truncation_error(self.parameters, self.index_set) + self.prior.aliasing_error(
            self.parameters
        )
        return float((total / self.prior.signal_variances(self.parameters).sum(axis=0)).max())

    @property
    def inexactness(self) -> float:
        """Error of the posterior precision that inexact sums cause, relative to the prior's."""
        ratio = inexactness_ratio(self.prior, self.parameters, self.index_set)
        return self.linear.rounding * self.statistics.n_samples * ratio

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return self.prior.n_outputs

    @property
    def n_fourier(self) -> int:
        """Number of components of the frequencies."""
        return self.index_set.n_components

    @property
    def layout(self) -> Layout:
        """How rows are laid on the torus."""
        return Layout(self.prior.torus, tuple(column.input for column in self.prior.columns))

    def with_noise_variance(self, noise_variance: NDArray[np.float64]) -> FittedTorusGP:
        """The same model with another noise variance; the posterior follows from the statistics alone."""
        if self.moments is not None:
            raise ValueError("Correlated noise has a covariance, not a variance that could be set after a fit.")
        parameters, centre = self.parameters.with_value(NOISE, noise_variance), self.centre
        if centre is not None:  # the noise is known now
            is_noise = np.concatenate([np.full(int(parameters.entry(n).learned.sum()), n == NOISE) for n in parameters])
            centre = centre[~is_noise]
        return replace(self, parameters=parameters.with_given(NOISE), centre=centre, _predictors={})

    def with_compute(self, compute: Compute) -> FittedTorusGP:
        """The same model, whose predictions are computed in another way."""
        return replace(self, compute=compute, _predictors={})

    @cached_property
    def parts(self) -> Parts:
        """What each term contributes."""
        return Parts(self)

    @property
    def intercept(self) -> NDArray[np.float64]:
        """Average of the function over the rows: the constant beside the parts, shape (n_outputs,)."""
        return self.parts.average + self.offset

    # Prediction --------------------------------------------------------------------------------------------------

    def phases(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Phases of inputs of shape (n_samples, n_inputs); those beyond the range of a line are clamped."""
        coordinates, period = self.prior.torus.coordinates(X, self.parameters.period), self.parameters.period
        check_turns(coordinates, period)
        return to_phases(coordinates, period)

    def plain(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Plain columns of inputs, in the units of the model."""
        return self.plain_in_units(self.layout.plain_columns(X), len(X))

    def plain_in_units(self, values: NDArray[np.float64] | None, n_samples: int) -> NDArray[np.float64]:
        """Plain columns in the units of the model, from those of the rows."""
        if values is None:
            return np.empty((n_samples, 0))
        mean, spread = self.statistics.plain_units()
        return (values - mean) / spread

    @cached_property
    def _fourier(self) -> Any:
        """Posterior of the weights of the Fourier columns."""
        if not self.prior.columns:
            return self.posterior
        if self.mixture is not None:
            return self._mixed(self.n_fourier)
        own = derivative_noise(self.parameters, self.linear)
        return Posterior(self.linear, self.prior_variances, self.noise_variance, own, self.n_fourier)

    def _located(self, X: NDArray[Any]) -> tuple[Any, Any]:
        """Points, as the implementation of choice wants them, and its predictor."""
        return self._located_at(self.prior.torus.coordinates(X, self.parameters.period))

    def _located_at(self, coordinates: NDArray[np.float64]) -> tuple[Any, Any]:
        """The same from coordinates on the axes."""
        frequencies, period, n_points = self.index_set.frequencies, self.parameters.period, len(coordinates)
        check_turns(coordinates, period)
        extent = self._space.extent(coordinates)
        name = self.compute.choose(frequencies, n_points, self._space, extent)
        key = (name, count_threads(self.compute.n_threads, n_points))
        if key not in self._predictors:
            arguments = frequencies, self._fourier, n_points, self._space, extent
            self._predictors[key] = self.compute.make_predictor(*arguments)
        return self._predictors[key].locate(coordinates, period), self._predictors[key]

    @cached_property
    def _space(self) -> InputSpace:
        return InputSpace(self.prior.torus.sharing(self.parameters.period), self.parameters.period)

    def forget_predictors(self) -> None:
        """Drop what predictions keep for the next ones."""
        self._predictors.clear()

    def mean(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Posterior mean of the function, shape (n_samples, n_outputs)."""
        return self.values(X, self.posterior.weights) + self.offset

    def values(self, X: NDArray[Any], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of functions with weights of all columns, shape (n_samples, n_functions), without the offset."""
        points, predictor = self._located(X)
        values = predictor.mean(points, weights[: self.n_fourier])
        return values + self.plain(X) @ weights[self.n_fourier :] if self.prior.columns else values

    def mean_at(self, coordinates: NDArray[np.float64], plain: NDArray[np.float64]) -> NDArray[np.float64]:
        """Posterior mean at coordinates on the axes, with plain columns in the units of the model."""
        points, predictor = self._located_at(coordinates)
        fourier, rest = np.split(self.posterior.weights, [self.n_fourier])
        return predictor.mean(points, fourier) + plain @ rest + self.offset

    def mean_and_variance(self, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and variance of the function, each of shape (n_samples, n_outputs).

        The variance counts what the set leaves out.
        """
        coordinates = self.prior.torus.coordinates(X, self.parameters.period)
        mean, variance = self.mean_and_variance_at(coordinates, self.plain(X))
        return mean, variance + self.rest_variance

    def mean_and_variance_at(
        self, coordinates: NDArray[np.float64], plain: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same from coordinates on the axes, and plain columns in the units of the model, of the set alone."""
        phases, predictor = self._located_at(coordinates)
        mean, variance = np.empty((len(phases), self.n_outputs)), np.empty((len(phases), self.n_outputs))
        for output in range(self.n_outputs):
            mean[:, output], variance[:, output] = predictor.mean_and_variance(phases, output)
            if self.prior.columns:
                mean[:, output] += plain @ self.posterior.weights[self.n_fourier :, output]
                variance[:, output] += self._plain_variance(predictor, phases, plain, output)
        return mean + self.offset, np.maximum(variance, 0.0)

    def _plain_variance(self, predictor: Any, phases: Any, plain: NDArray[np.float64], output: int) -> Any:
        """What plain columns add to the variance."""
        n = self.n_fourier
        covariance = self._plain_covariance[output]
        beside = predictor.mean(phases, covariance[:n])
        return 2 * (beside * plain).sum(axis=1) + np.einsum("ni,ij,nj->n", plain, covariance[n:], plain)

    @cached_property
    def _plain_covariance(self) -> list[NDArray[np.float64]]:
        """Covariances of the weights of all columns with those of the plain ones, of each output."""
        return [self.posterior.covariance(output)[:, self.n_fourier :] for output in range(self.n_outputs)]

    def covariance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Posterior covariance of the function between all points, shape (n_samples, n_samples, n_outputs).

        What the set leaves out is of high frequencies: it counts as uncorrelated between points.
        """
        self.warn_beyond(X)
        (phases, predictor), plain = self._located(X), self.plain(X)
        result = np.stack([predictor.covariance(phases, output) for output in range(self.n_outputs)], axis=-1)
        if self.prior.columns:
            n = self.n_fourier
            for output, covariance in enumerate(self._plain_covariance):
                beside = predictor.mean(phases, covariance[:n]) @ plain.T
                result[..., output] += beside + beside.T + plain @ covariance[n:] @ plain.T
        return result + np.eye(len(X))[..., None] * self.rest_variance

    def warn_beyond(self, X: NDArray[Any]) -> None:
        """Warn of points that lie together beyond a range, where they are one point of the circle."""
        outside = self.prior.torus.outside(X)
        if outside.sum() > 1:
            lines = [axis.name for axis in self.prior.torus.axes if axis.kind == "line"]
            advise(
                f"{int(outside.sum())} points lie beyond the range of the data on {' or '.join(map(repr, lines))}: the "
                "covariances between them, and functions drawn there, are not right, while means and standard "
                "deviations are. Fit with Line(..., range=(low, high)) that holds them.",
            )

    def sample(self, X: NDArray[Any], n_samples: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Functions drawn from the posterior, shape (n_points, n_outputs, n_samples)."""
        self.warn_beyond(X)
        draws = self.sample_weights(n_samples, random_state)
        values = self.values(X, draws.reshape(len(draws), -1)).reshape(len(X), -1, n_samples)
        return values + self.offset[:, None]

    def later_variance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Variance that walks gain after the rows, shape (n_samples,)."""
        return np.zeros(len(X))

    def later_covariance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Covariance of what walks gain after the rows, shape (n_samples, n_samples)."""
        return np.zeros((len(X), len(X)))

    def later_draws(self, X: NDArray[Any], n_samples: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Draws of what walks gain after the rows, shape (n_points, n_samples)."""
        covariance = self.later_covariance(X)
        values, vectors = np.linalg.eigh(covariance)  # points before the end have none, so it is singular
        return (vectors * np.sqrt(np.maximum(values, 0.0))) @ random_state.standard_normal((len(X), n_samples))

    def add_rest(self, values: NDArray[np.float64], random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Values of shape (n_points, n_outputs, n_samples) with what the set leaves out: as noise, point by point."""
        rest = np.sqrt(self.rest_variance)[:, None]
        return values + rest * random_state.normal(size=values.shape) if rest.any() else values

    def sample_weights(self, n_samples: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Draws of the weights of all columns, shape (n_columns, n_outputs, n_samples)."""
        return self.sample_components(n_samples, random_state)[0]

    def sample_components(
        self, n_samples: int, random_state: np.random.RandomState
    ) -> tuple[NDArray[np.float64], list[tuple[FittedTorusGP, NDArray[np.int64]]]]:
        """Draws of the weights, and components with the positions of the draws that come from each."""
        groups = [(self, np.arange(n_samples))]
        if self.mixture is not None:
            which = random_state.choice(len(self.mixture.weights), n_samples, p=self.mixture.weights)
            groups = [(component, np.flatnonzero(which == i)) for i, component in enumerate(self.components())]
            groups = [(component, chosen) for component, chosen in groups if chosen.size]
        draws = np.empty((*self.posterior.weights.shape, n_samples))
        for component, chosen in groups:
            draws[..., chosen] = component.learned_posterior.sample_weights(len(chosen), random_state)
        return draws, groups

    def _wave_numbers(self) -> NDArray[np.float64]:
        """Wave numbers of the frequencies along the inputs, shape (n_inputs, n_frequencies)."""
        torus, period = self.prior.torus, self.parameters.period
        cell = period if period.ndim == 2 else np.diag(period)
        along = 2 * np.pi * np.linalg.inv(cell) @ self.index_set.frequencies.T
        along[torus.kinds("category")] = 0.0
        waves = np.zeros((len(torus.names), along.shape[1]))
        np.add.at(waves, torus.inputs, along)  # an input may feed several axes
        return waves

    def gradient(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Derivatives along the inputs, shape (n_samples, n_inputs, n_outputs); not a number along categories.

        Beyond the range of a line it is the derivative at the clamped phase, which the kernel has let fall to nothing.
        """
        weights = self.posterior.weights
        points, predictor = self._located(X)
        result = predictor.gradient(points, weights[: self.n_fourier], self._wave_numbers())
        for slope, column in zip(self._slopes(), self.prior.columns, strict=True):
            result[:, column.input] += slope
        result[:, self._without_gradient()] = np.nan
        return result

    def _slopes(self) -> NDArray[np.float64]:
        """Slopes along the inputs of plain columns, shape (n_plain, n_outputs)."""
        if not self.prior.columns:
            return np.empty((0, self.n_outputs))
        return self.posterior.weights[self.n_fourier :] / self.statistics.plain_units()[1][:, None]

    def _without_gradient(self) -> NDArray[np.int64]:
        torus = self.prior.torus
        return np.unique(torus.inputs[torus.kinds("category")])

    def gradient_variance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Posterior variances of the derivatives, shape (n_samples, n_inputs, n_outputs)."""
        (phases, predictor), waves = self._located(X), self._wave_numbers()
        outputs = range(self.n_outputs)
        result = np.stack([predictor.gradient_variance(phases, waves, output) for output in outputs], axis=-1)
        if self.prior.columns:
            n, (_, spread) = self.n_fourier, self.statistics.plain_units()
            for output, covariance in enumerate(self._plain_covariance):
                beside = predictor.gradient(phases, covariance[:n], waves)  # (n, n_inputs, n_plain)
                for i, column in enumerate(self.prior.columns):
                    result[:, column.input, output] += 2 * beside[:, column.input, i] / spread[i]
                    result[:, column.input, output] += covariance[n + i, i] / spread[i] ** 2
        result[:, self._without_gradient()] = np.nan
        return np.maximum(result, 0.0)
