"""What each term of a fitted model contributes: means, covariances and draws, centred on the rows of the fit."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.basis import columns as basis_columns

_CHUNK_ENTRIES = 2**22  # values of columns that are held at a time

Array = NDArray[np.float64]


class Parts:
    """The terms of a fitted model, products first and then plain columns.

    Parameters
    ----------
    fitted : FittedTorusGP
        The model.
    """

    def __init__(self, fitted: Any):
        self._fitted = fitted

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the terms."""
        prior = self._fitted.prior
        return (*(term.name for term in prior.terms), *(column.name for column in prior.columns))

    @cached_property
    def shares(self) -> Array:
        """Shares of the parts in the prior variance of each column, shape (n_parts, n_columns, n_outputs)."""
        fitted = self._fitted
        n_terms, n_plain, n_fourier = len(fitted.prior.terms), len(fitted.prior.columns), fitted.n_fourier
        ratios = fitted.prior.at(fitted.parameters, fitted.index_set.frequencies).ratios()
        shares = np.zeros((n_terms + n_plain, n_fourier + n_plain, fitted.n_outputs))
        shares[:n_terms, :n_fourier] = np.repeat(ratios, 2, axis=1)[:, 1:]
        for i in range(n_plain):
            shares[n_terms + i, n_fourier + i] = 1.0
        return shares

    @cached_property
    def average_columns(self) -> Array:
        """Averages of the columns over the rows, weighted by their precision, shape (n_columns,)."""
        gram = self._fitted.gram
        if not gram[0, 0]:
            raise ValueError("Parts are centred on the rows of the targets, but only derivatives were given.")
        return gram[0] / gram[0, 0]

    @property
    def average(self) -> Array:
        """Average of the function over the rows less the offset, shape (n_outputs,)."""
        return np.asarray(self.average_columns @ self._fitted.posterior.weights)

    @cached_property
    def _weights(self) -> Array:
        """Posterior means of the weights of the parts, shape (n_parts, n_columns, n_outputs)."""
        parts = [one.parts.shares * one.learned_posterior.weights for one in self._fitted.components()]
        return np.einsum("i,ipmq->pmq", self._fitted.component_weights, parts)

    def _values(self, X: NDArray[Any], weights: Array) -> Array:
        """Centred values of parts with weights of shape (n_parts, n_columns, ...)."""
        flat = np.moveaxis(weights, 1, 0).reshape(weights.shape[1], -1)
        values = self._fitted.values(X, flat) - self.average_columns @ flat
        return values.reshape(len(X), len(weights), *weights.shape[2:])

    def mean(self, X: NDArray[Any]) -> Array:
        """Posterior means, shape (n_samples, n_parts, n_outputs): with the intercept they add up to the mean."""
        return self._values(X, self._weights)

    def covariance(self, X: NDArray[Any]) -> Array:
        """Posterior covariances of the parts at each point, shape (n_samples, n_parts, n_parts, n_outputs)."""
        fitted = self._fitted
        if fitted.mixture is not None:
            result, mean = np.zeros(()), self.mean(X)
            for weight, one in zip(fitted.component_weights, fitted.components(), strict=True):
                off = one.parts.mean(X) - mean
                result = result + weight * (one.parts.covariance(X) + off[:, :, None] * off[:, None])
            return result
        n_parts = len(self.shares)
        result = np.empty((len(X), n_parts, n_parts, fitted.n_outputs))
        step = max(1, _CHUNK_ENTRIES // (n_parts * len(self.average_columns)))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            fourier = basis_columns(fitted.phases(X[rows]), fitted.index_set.frequencies)
            columns = np.hstack([fourier, fitted.plain(X[rows])]) - self.average_columns
            for output in range(fitted.n_outputs):
                shares, variances = self.shares[..., output], fitted.prior_variances[:, output]
                whitened = [fitted.posterior.whiten(columns * share, output) for share in shares]
                for i in range(n_parts):
                    for j in range(i, n_parts):
                        # what the data cannot separate: the prior covariance of the shares given their sum
                        prior = variances * shares[i] * ((i == j) - shares[j])
                        value = (whitened[i] * whitened[j]).sum(axis=0) + columns**2 @ prior
                        result[rows, i, j, output] = result[rows, j, i, output] = value
        return result

    def sample(self, X: NDArray[Any], n_samples: int, random_state: np.random.RandomState) -> Array:
        """Draws of the parts that add up, with the intercept's, to draws of the whole.

        Returns
        -------
        ndarray of shape (n_points, n_parts, n_outputs, n_samples)
            The same state gives the draws of :meth:`FittedTorusGP.sample`.
        """
        self._fitted.warn_beyond(X)
        draws, groups = self._fitted.sample_components(n_samples, random_state)
        weights = np.empty((len(self.shares), *draws.shape))
        for component, chosen in groups:
            weights[..., chosen] = component.parts.split(draws[..., chosen], random_state)
        return self._values(X, weights)

    def split(self, draws: Array, random_state: np.random.RandomState) -> Array:
        """Weights of the parts of functions that were drawn, shape (n_parts, n_columns, n_outputs, n_samples)."""
        shares, variance = self.shares[..., None], self._fitted.prior_variances[..., None]
        own = np.sqrt(variance * shares) * random_state.standard_normal((len(shares), *draws.shape))
        # the intercept's share of the constant column is no part: it takes up what is left
        left = 1 - shares.sum(axis=0)
        rest = np.sqrt(np.maximum(variance * left, 0.0)) * random_state.standard_normal(draws.shape)
        return own + shares * (draws - own.sum(axis=0) - rest)
