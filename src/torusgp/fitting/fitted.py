"""A fitted model: prior, what was learned, statistics and posterior; it predicts, and knows nothing of estimators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import InputSpace, count_threads
from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.dual import few_rows
from torusgp.engine.inference import LinearStatistics, Posterior, evidence
from torusgp.engine.moments import Moments
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.advice import advise
from torusgp.fitting.mixture import MixedPosterior, Mixture, find_mixture
from torusgp.fitting.noise_process import NoiseProcess
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior, derivative_noise
from torusgp.fitting.rows import Compute, inexactness_ratio
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.product import check_turns, to_phases
from torusgp.kernels.resolve import Layout

_CHUNK_ENTRIES = 2**22  # values of columns that are held at a time


class _FourierPosterior:
    """Posterior of the weights of the Fourier columns beside plain ones, which are integrated out.

    It has the verbs of :class:`~torusgp.engine.inference.Posterior` that predictors use.
    """

    def __init__(
        self,
        all_outputs: LinearStatistics,
        variances: NDArray[np.float64],
        noise: NDArray[np.float64],
        n: int,
        of_derivatives: NDArray[np.float64] | None,
    ):
        self._results = []
        for output, noise_variance in enumerate(noise):
            ratios = None if of_derivatives is None else noise_variance / of_derivatives[:, output]
            own = all_outputs.joined(ratios, output)
            inner = own.gram[n:, n:] + np.diag(noise_variance / variances[n:, output])
            through = np.linalg.solve(inner, np.column_stack([own.gram[n:, :n], own.moments[n:, 0]]))
            gram = own.gram[:n, :n] - own.gram[:n, n:] @ through[:, :-1]
            moments = own.moments[:n] - own.gram[:n, n:] @ through[:, -1:]
            reduced = LinearStatistics((gram + gram.T) / 2, moments, own.squares, own.n_samples, device=own.device)
            self._results.append(evidence(reduced, variances[:n, output], noise_variance))
        self.weights = np.stack([result.weights for result in self._results], axis=1)
        self.roots = [result.root for result in self._results]

    def factor(self, output: int) -> Any:
        """Cholesky factor of one output."""
        return self._results[output].factor

    def whiten(self, columns: NDArray[np.float64], output: int) -> Any:
        """Product of the inverse of the factor with the scaled columns of points."""
        return self.factor(output).solve((columns * self.roots[output]).T)

    def covariance(self, output: int) -> NDArray[np.float64]:
        """Posterior covariance of the weights of one output."""
        return self._results[output].covariance()


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
    _predictors: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

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
    def effective_sample_size(self) -> float:
        """How many independent rows would tell as much, on average over the components by what is learned of each.

        It may be more than there are, where the noise is less at the frequencies of the model than on average.
        """
        n_samples = float(self.statistics.n_samples)
        if self.moments is None:
            return n_samples
        known = 1 - self._learned_posterior.shares(0)
        known[0] = 0.0  # the constant, which is known whatever the noise
        plain = np.diagonal(self.gram)
        known[plain <= 0] = 0.0  # as a sine that vanishes on all rows
        if not known.any():
            return n_samples
        precision = float(self.noise_variance[0]) * np.diagonal(self.moments.precision)
        return n_samples * float(known @ (precision / np.where(plain > 0, plain, 1.0)) / known.sum())

    @property
    def gram(self) -> NDArray[np.float64]:
        """Sums of products of the columns in use over the rows."""
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
    def _learned_posterior(self) -> Posterior:
        """Posterior of the weights with the parameters as they were learned."""
        own = derivative_noise(self.parameters, self.linear)
        return Posterior(self.linear, self.prior_variances, self.noise_variance, own)

    @cached_property
    def posterior(self) -> Posterior | MixedPosterior:
        """Posterior of the weights of all columns: those of the frequencies, then the plain ones."""
        return self._learned_posterior if self.mixture is None else self._mixed()

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
        return self._learned_posterior.log_evidence

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
            yield replace(self, parameters=parameters, centre=None, _predictors={})

    @property
    def component_weights(self) -> NDArray[np.float64]:
        """Probabilities of the components."""
        return np.ones(1) if self.mixture is None else self.mixture.weights

    @property
    def expected_noise_variance(self) -> NDArray[np.float64]:
        """Noise variances of the outputs that predictions have: averages over what is uncertain of them."""
        return self.component_weights @ np.array([one.noise_variance for one in self.components()])

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
        return self.linear.rounding * self.linear.n_samples * ratio

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
            centre, parameters = centre[~is_noise], parameters.with_given(NOISE)
        return replace(self, parameters=parameters, centre=centre, _predictors={})

    def with_compute(self, compute: Compute) -> FittedTorusGP:
        """The same model, whose predictions are computed in another way."""
        return replace(self, compute=compute, _predictors={})

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
        return _FourierPosterior(self.linear, self.prior_variances, self.noise_variance, self.n_fourier, own)

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

    def mean_and_variance(self, X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Posterior mean and variance of the function, each of shape (n_samples, n_outputs)."""
        return self.mean_and_variance_at(self.prior.torus.coordinates(X, self.parameters.period), self.plain(X))

    def mean_and_variance_at(
        self, coordinates: NDArray[np.float64], plain: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The same from coordinates on the axes, and plain columns in the units of the model."""
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
        """Posterior covariance of the function between all points, shape (n_samples, n_samples, n_outputs)."""
        self._warn_beyond(X)
        (phases, predictor), plain = self._located(X), self.plain(X)
        result = np.stack([predictor.covariance(phases, output) for output in range(self.n_outputs)], axis=-1)
        if self.prior.columns:
            n = self.n_fourier
            for output, covariance in enumerate(self._plain_covariance):
                beside = predictor.mean(phases, covariance[:n]) @ plain.T
                result[..., output] += beside + beside.T + plain @ covariance[n:] @ plain.T
        return result

    def _warn_beyond(self, X: NDArray[Any]) -> None:
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
        self._warn_beyond(X)
        draws = self.sample_weights(n_samples, random_state)
        values = self.values(X, draws.reshape(len(draws), -1)).reshape(len(X), -1, n_samples)
        return values + self.offset[:, None]

    def sample_weights(self, n_samples: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Draws of the weights of all columns, shape (n_columns, n_outputs, n_samples)."""
        return self._draw(self._drawn_components(n_samples, random_state), n_samples, random_state)

    def _draw(self, groups: Any, n_samples: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
        """The same from components and the draws that come from each."""
        draws = np.empty((*self.posterior.weights.shape, n_samples))
        for component, chosen in groups:
            draws[..., chosen] = component._learned_posterior.sample_weights(len(chosen), random_state)
        return draws

    def _drawn_components(
        self, n_samples: int, random_state: np.random.RandomState
    ) -> Iterator[tuple[FittedTorusGP, NDArray[np.int64]]]:
        """Components, and which of some draws come from each."""
        if self.mixture is None:
            yield self, np.arange(n_samples)
            return
        which = random_state.choice(len(self.mixture.weights), n_samples, p=self.mixture.weights)
        for i, component in enumerate(self.components()):
            if (chosen := np.flatnonzero(which == i)).size:
                yield component, chosen

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

    # Parts -------------------------------------------------------------------------------------------------------

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of the terms, products first and then plain columns."""
        return (*(term.name for term in self.prior.terms), *(column.name for column in self.prior.columns))

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """Shares of the parts in the prior variance of each column, shape (n_parts, n_columns, n_outputs)."""
        n_terms, n_plain = len(self.prior.terms), len(self.prior.columns)
        ratios = self.prior.at(self.parameters, self.index_set.frequencies).ratios()
        shares = np.zeros((n_terms + n_plain, self.n_fourier + n_plain, self.n_outputs))
        shares[:n_terms, : self.n_fourier] = np.repeat(ratios, 2, axis=1)[:, 1:]
        for i in range(n_plain):
            shares[n_terms + i, self.n_fourier + i] = 1.0
        return shares

    @cached_property
    def average_columns(self) -> NDArray[np.float64]:
        """Averages of the columns over the rows, weighted by their precision, shape (n_columns,)."""
        total = self.gram[0, 0]
        if not total:
            raise ValueError("Parts are centred on the rows of the targets, but only derivatives were given.")
        return self.gram[0] / total

    def _centred_columns(self, X: NDArray[Any]) -> NDArray[np.float64]:
        fourier = basis_columns(self.phases(X), self.index_set.frequencies)
        return np.hstack([fourier, self.plain(X)]) - self.average_columns

    @property
    def intercept(self) -> NDArray[np.float64]:
        """Average of the function over the rows: the constant beside the parts, shape (n_outputs,)."""
        return self.average_columns @ self.posterior.weights + self.offset

    @cached_property
    def _part_weights(self) -> NDArray[np.float64]:
        """Posterior means of the weights of the parts, shape (n_parts, n_columns, n_outputs)."""
        parts = [one._shares * one._learned_posterior.weights for one in self.components()]
        return np.einsum("i,ipmq->pmq", self.component_weights, parts)

    def parts(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Posterior means of the parts, centred on the rows, shape (n_samples, n_parts, n_outputs).

        With the intercept they add up to the mean.
        """
        weights = self._part_weights
        flat = np.moveaxis(weights, 1, 0).reshape(weights.shape[1], -1)
        values = self.values(X, flat) - self.average_columns @ flat
        return values.reshape(len(X), len(weights), self.n_outputs)

    def parts_covariance(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Posterior covariances of the parts at each point, shape (n_samples, n_parts, n_parts, n_outputs)."""
        if self.mixture is not None:
            result, mean = np.zeros(()), self.parts(X)
            for weight, one in zip(self.component_weights, self.components(), strict=True):
                off = one.parts(X) - mean
                result = result + weight * (one.parts_covariance(X) + off[:, :, None] * off[:, None])
            return result
        n_parts = len(self._shares)
        result = np.empty((len(X), n_parts, n_parts, self.n_outputs))
        step = max(1, _CHUNK_ENTRIES // (n_parts * len(self.average_columns)))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            columns = self._centred_columns(X[rows])
            for output in range(self.n_outputs):
                shares, root = self._shares[..., output], self.prior_variances[:, output]
                scaled = [columns * share for share in shares]
                whitened = [self.posterior.whiten(one, output) for one in scaled]
                for i in range(n_parts):
                    for j in range(i, n_parts):
                        value = (whitened[i] * whitened[j]).sum(axis=0)
                        # what the data cannot tell apart: the prior covariance of the shares given their sum
                        prior = root * shares[i] * ((i == j) - shares[j])
                        value = value + columns**2 @ prior
                        result[rows, i, j, output] = result[rows, j, i, output] = value
        return result

    def sample_parts(self, X: NDArray[Any], n_samples: int, random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Draws of the parts that add up, with the intercept's, to draws of the whole.

        Returns
        -------
        ndarray of shape (n_points, n_parts, n_outputs, n_samples)
            The same state gives the draws of :meth:`sample`.
        """
        self._warn_beyond(X)
        groups = list(self._drawn_components(n_samples, random_state))
        draws = self._draw(groups, n_samples, random_state)
        weights = np.empty((len(self._shares), *draws.shape))
        for component, chosen in groups:
            weights[..., chosen] = component._split(draws[..., chosen], random_state)
        flat = np.moveaxis(weights, 1, 0).reshape(draws.shape[0], -1)
        values = self.values(X, flat) - self.average_columns @ flat
        return values.reshape(len(X), len(weights), self.n_outputs, n_samples)

    def _split(self, draws: NDArray[np.float64], random_state: np.random.RandomState) -> NDArray[np.float64]:
        """Weights of the parts of functions that were drawn, shape (n_parts, n_columns, n_outputs, n_samples)."""
        shares = self._shares[..., None]
        variance = self.prior_variances[..., None]
        own = np.sqrt(variance * shares) * random_state.standard_normal((len(shares), *draws.shape))
        # the intercept's share of the constant column is no part: it takes up what is left
        left = 1 - shares.sum(axis=0)
        rest = np.sqrt(np.maximum(variance * left, 0.0)) * random_state.standard_normal(draws.shape)
        return own + shares * (draws - own.sum(axis=0) - rest)
