r"""Averages with the weights :math:`e^{-f(x) / kT}` of a surface, with errors by the delta method.

An average :math:`\langle A \rangle` changes with the surface by :math:`-\mathrm{Cov}(A, \delta f) / kT`, and a free
energy by the average of :math:`\delta f` under its own weights: both are linear in the weights of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from torusgp.checks import is_real
from torusgp.fitting.advice import advise
from torusgp.surfaces._field import Array, Field

_RESOLUTION = 16  # points of the grid for each oscillation
_MOST_POINTS = 200_000
_CHUNK = 4096  # points whose columns are held at once


@dataclass(frozen=True)
class FreeEnergy:
    """Free energy along some inputs, over its lowest point.

    Attributes
    ----------
    grid : tuple of ndarray
        Values of these inputs.
    names : tuple of str
        Their names.
    value, std : ndarray of the shape of the grid
        Free energy in the units of the surface, zero where it is lowest, and its standard error.
    """

    grid: tuple[Array, ...]
    names: tuple[str, ...]
    value: Array
    std: Array


class _Ensemble:
    """Points of a grid with their Boltzmann weights."""

    def __init__(self, model: Any, temperature: float, output: int, sizes: Sequence[int] | None):
        if not (is_real(temperature) and 0 < temperature < np.inf):
            raise ValueError(f"temperature is kT in the units of the surface, a positive number; got {temperature!r}.")
        self.field, self.temperature = Field(model, output), float(temperature)
        domain = self.field.domain
        given = sizes if sizes is not None else self.field.sizes(_RESOLUTION, _MOST_POINTS)
        self.sizes = tuple(given) if np.iterable(given) else ()
        are_whole = all(isinstance(one, int | np.integer) and one >= 2 for one in self.sizes)
        if len(self.sizes) != domain.dimension or not are_whole:
            raise ValueError(f"sizes must be {domain.dimension} numbers of points, at least 2, got {sizes!r}.")
        self.points = domain.grid(self.sizes).reshape(-1, domain.dimension)
        mean, variance = self.field.fitted.mean_and_variance(self.points)
        self.log_weights = self.log_edges(range(domain.dimension)).ravel() - mean[:, output] / self.temperature
        probability = np.exp(self.log_weights - logsumexp(self.log_weights))
        # differences matter: the part of the error that all points share does not
        typical = float(np.sqrt(max(0.0, probability @ variance[:, output] - self._shared(probability))))
        if typical > self.temperature:
            advise(
                f"The standard error of the surface where it is low, {typical:.3g}, is more than kT = "
                f"{self.temperature:.3g}: errors of Boltzmann averages, which are for small ones, are too small."
            )

    def _shared(self, probability: Array) -> float:
        """Variance of the average of the surface."""
        return float(self.field.covariance(self.average_columns(probability)[None])[0, 0])

    def log_edges(self, inputs: Sequence[int]) -> Array:
        """Logarithms of the weights of a grid over some inputs: the ends of a range count half."""
        result = np.zeros(tuple(self.sizes[d] for d in inputs))
        for place, d in enumerate(inputs):
            if not self.field.domain.is_periodic[d]:
                ends = np.moveaxis(result, place, 0)  # a view
                ends[[0, -1]] += np.log(0.5)
        return result

    def average_columns(self, weights: Array) -> Array:
        """Sums of the basis functions at the points, with weights."""
        result = np.zeros(len(self.field.weights))
        for start in range(0, len(self.points), _CHUNK):
            rows = slice(start, start + _CHUNK)
            result = result + weights[rows] @ self.field.columns(self.points[rows])
        return result


def boltzmann_average(
    model: Any,
    temperature: float,
    observable: Callable[[Array], Array],
    *,
    sizes: Sequence[int] | None = None,
    output: int = 0,
) -> tuple[float, float]:
    """Average of a function of the inputs with the weights of a surface.

    Parameters
    ----------
    model : TorusGPRegressor or FittedTorusGP
        Fitted model of the energy, of circles, lines or a lattice; of a line the range of the data counts.
    temperature : float
        kT in the units of the energy.
    observable : callable
        Values, shape (n_points,), at points of shape (n_points, dimension).
    sizes : sequence of int, optional
        Points of the grid along each input; by default enough for the fastest oscillations of the surface.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    mean, std : float
        The average, and the standard error that the surface gives it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import ive
    >>> from torusgp import TorusGPRegressor
    >>> angle = np.arange(0.0, 360.0, 15.0)[:, None]
    >>> model = TorusGPRegressor(period=360).fit(angle, -np.cos(np.radians(angle[:, 0])))
    >>> mean, std = boltzmann_average(model, 0.5, lambda X: np.cos(np.radians(X[:, 0])))
    >>> bool(abs(mean - ive(1, 2) / ive(0, 2)) < 1e-3)
    True
    """
    ensemble = _Ensemble(model, temperature, output, sizes)
    probability = np.exp(ensemble.log_weights - logsumexp(ensemble.log_weights))
    values = np.asarray(observable(ensemble.points), dtype=float)
    if values.shape != (len(ensemble.points),):
        raise ValueError(f"observable must give one number for each point, got shape {values.shape}.")
    mean = float(probability @ values)
    change = ensemble.average_columns(probability * (values - mean)) / ensemble.temperature
    return mean, float(np.sqrt(ensemble.field.covariance(change[None])[0, 0]))


def free_energy(
    model: Any,
    temperature: float,
    inputs: int | str | Sequence[int | str],
    *,
    sizes: Sequence[int] | None = None,
    output: int = 0,
) -> FreeEnergy:
    """Free energy along some inputs: minus kT times the logarithm of the weights of all others.

    Parameters
    ----------
    model, temperature, sizes, output
        See :func:`boltzmann_average`.
    inputs : int, str or sequence of these
        Which inputs it is a function of.

    Returns
    -------
    FreeEnergy
        Over its lowest point, where by definition it has no error.
    """
    ensemble = _Ensemble(model, temperature, output, sizes)
    field, domain, names = ensemble.field, ensemble.field.domain, ensemble.field.names
    order = _positions(inputs, names)
    if np.count_nonzero(domain.cell - np.diag(np.diag(domain.cell))):
        raise ValueError("A free energy along inputs of a lattice is not defined: they do not repeat by themselves.")
    shape = tuple(ensemble.sizes[d] for d in order)
    numbers = np.arange(len(ensemble.points)).reshape(ensemble.sizes)
    rows = np.moveaxis(numbers, order, range(len(order))).reshape(int(np.prod(shape)), -1)  # points of each value
    log_weights = ensemble.log_weights[rows]
    total = logsumexp(log_weights, axis=1)
    value = -ensemble.temperature * (total - ensemble.log_edges(order).ravel())
    conditional = np.exp(log_weights - total[:, None])
    averages = np.stack(
        [weights @ field.columns(ensemble.points[own]) for weights, own in zip(conditional, rows, strict=True)]
    )
    lowest = int(np.argmin(value))
    std = np.sqrt((field.whiten(averages - averages[lowest]) ** 2).sum(axis=0))
    grid = tuple(domain.origin[d] + domain.cell[d, d] * domain.ticks(d, ensemble.sizes[d]) for d in order)
    return FreeEnergy(grid, tuple(names[d] for d in order), (value - value[lowest]).reshape(shape), std.reshape(shape))


def _positions(inputs: int | str | Sequence[int | str], names: tuple[str, ...]) -> list[int]:
    chosen: list[Any] = list(inputs) if np.iterable(inputs) and not isinstance(inputs, str) else [inputs]
    found = [names.index(one) if isinstance(one, str) and one in names else one for one in chosen]
    known = [one for one in found if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < len(names)]
    if not known or known != found or len(set(known)) < len(known):
        raise ValueError(f"inputs must be some of {list(names)} or their positions, got {inputs!r}.")
    return known
