"""A fitted function as a surface: its domain, derivatives of any order, and what is uncertain of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from torusgp.checks import check_output
from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.derivatives import Partials
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.parameters import Parameters

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Domain:
    """Domain of a surface: a cell, some of whose directions repeat.

    The rows of the cell, of shape (dimension, dimension), are periods, lattice vectors or ranges of lines.
    """

    origin: Array
    cell: Array
    is_periodic: NDArray[np.bool_]

    @property
    def dimension(self) -> int:
        """Number of inputs."""
        return len(self.origin)

    def to_unit(self, X: Array) -> Array:
        """Fractional coordinates."""
        return (X - self.origin) @ np.linalg.inv(self.cell)

    def from_unit(self, unit: Array) -> Array:
        """Points of fractional coordinates."""
        return self.origin + unit @ self.cell

    def wrap(self, X: Array) -> Array:
        """The images of points that lie in the cell."""
        unit = self.to_unit(X)
        wrapped = np.where(self.is_periodic, unit - np.floor(unit + 1e-12), unit)
        return self.from_unit(wrapped)

    def step(self, start: Array, end: Array) -> Array:
        """Shortest steps from points to images of others, in fractional coordinates."""
        difference = (end - start) @ np.linalg.inv(self.cell)
        return np.where(self.is_periodic, difference - np.round(difference), difference)

    def holds(self, X: Array) -> NDArray[np.bool_]:
        """Mask of the points that do not lie beyond the range of a line."""
        unit = self.to_unit(X)
        inside: Any = self.is_periodic | ((unit >= 0) & (unit <= 1))
        return inside.all(axis=-1)

    def ticks(self, direction: int, size: int) -> Array:
        """So many fractional coordinates in one direction; both ends of a range belong to them."""
        return np.arange(size) / size if self.is_periodic[direction] else np.linspace(0, 1, size)

    def grid(self, sizes: Sequence[int]) -> Array:
        """Points of a regular grid, of shape (*sizes, dimension)."""
        ticks = [self.ticks(d, size) for d, size in enumerate(sizes)]
        return self.from_unit(np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1))


class Field:
    """The posterior of one output of a fitted model as a surface over circles, lines or a lattice."""

    def __init__(self, model: Any, output: int = 0):
        likelihood = getattr(model, "likelihood", "normal")
        if likelihood != "normal":
            raise ValueError(f"Surfaces are for likelihood='normal', got {likelihood!r}: its function has other units.")
        self.fitted: FittedTorusGP = getattr(model, "fitted_", model)
        check_output(output, self.fitted.n_outputs)
        self.output = output
        self.domain = _domain(self.fitted)
        torus, plain = self.fitted.prior.torus, [column.input for column in self.fitted.prior.columns]
        self._partials = Partials.of(torus, plain)
        self._waves = self._partials.wave_numbers(self.fitted.index_set.frequencies, self.fitted.parameters.period)
        self.weights: Array = self.fitted.posterior.weights[:, output]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return self.fitted.prior.torus.names

    def columns(self, X: Array, *directions: ArrayLike) -> Array:
        """Derivatives of the basis functions along directions, one after the other; none for the columns.

        Shapes: X (n_points, dimension); *directions (dimension,); returns (n_points, n_columns).
        """
        fourier = basis_columns(self.fitted.phases(X), self.fitted.index_set.frequencies)
        plain = self.fitted.plain(X)
        for order, direction in enumerate(directions):
            along = np.asarray(direction, dtype=float)
            factor = along @ self._waves
            turned = np.zeros_like(fourier)
            turned[:, 1::2], turned[:, 2::2] = -factor[1:] * fourier[:, 2::2], factor[1:] * fourier[:, 1::2]
            fourier = turned
            if plain.shape[1]:
                slope = along[list(self._partials.plain)] / self.fitted.statistics.plain_units()[1]
                plain = np.zeros_like(plain) + (slope if order == 0 else 0.0)
        return np.hstack([fourier, plain])

    def with_parameters(self, parameters: Parameters) -> Field:
        """The same surface with other length scales and variances."""
        fitted = replace(self.fitted, parameters=parameters, centre=None, _predictors={})
        return Field(fitted, self.output)

    def difference(self, X: Array) -> float:
        """The value at the first of two points less that at the second."""
        return float((self.columns(X[:1]) - self.columns(X[1:]))[0] @ self.weights)

    def value(self, X: Array) -> Array:
        """Posterior mean."""
        return self.fitted.mean(X)[:, self.output]

    def gradient(self, X: Array) -> Array:
        """Derivatives of the mean, shape (n_points, dimension)."""
        return self.fitted.gradient(X)[:, :, self.output]

    def hessian(self, X: Array) -> Array:
        """Second derivatives of the mean, shape (n_points, dimension, dimension)."""
        dimension = self.domain.dimension
        result = np.empty((len(X), dimension, dimension))
        fourier = basis_columns(self.fitted.phases(X), self.fitted.index_set.frequencies)
        n = fourier.shape[1]
        for i in range(dimension):
            for j in range(i + 1):
                factor = -np.repeat(self._waves[i] * self._waves[j], 2)[1:]
                result[:, i, j] = result[:, j, i] = fourier @ (factor * self.weights[:n])
        return result

    def covariance(self, functionals: Array) -> Array:
        """Posterior covariance of linear functions of the weights, given as rows."""
        whitened = self.whiten(functionals)
        return whitened.T @ whitened

    def whiten(self, functionals: Array) -> Array:
        """Vectors whose products are the posterior covariances of linear functions of the weights, as columns."""
        return np.asarray(self.fitted.posterior.whiten(functionals, self.output))

    def sizes(self, resolution: float, most: int) -> tuple[int, ...]:
        """Sizes of a grid with the given points for each oscillation of the mean, and a largest number in all."""
        power = self._waves.shape[1]
        amplitude = np.append(self.weights[0] ** 2, self.weights[1 : 2 * power - 1 : 2] ** 2)
        amplitude[1:] += self.weights[2 : 2 * power - 1 : 2] ** 2
        turns = np.abs(self.domain.cell @ self._waves) / (2 * np.pi)  # of each frequency along each edge
        by_slope = amplitude * turns**2
        result = []
        for own, slope in zip(turns, by_slope, strict=True):
            order = np.argsort(own)
            kept = np.cumsum(slope[order]) <= (1 - 1e-6) * max(slope.sum(), 1e-300)
            highest = own[order][min(int(kept.sum()), len(order) - 1)]
            result.append(max(12.0, resolution * highest))
        shrink = min(1.0, (most / np.prod(result)) ** (1 / len(result)))
        return tuple(max(8, int(np.ceil(shrink * size))) for size in result)


def _domain(fitted: FittedTorusGP) -> Domain:
    """The domain of a model, or an error that says why it is no surface."""
    torus, period = fitted.prior.torus, fitted.parameters.period
    whole = period if period.ndim == 2 else np.diag(period)
    dimension = len(torus.names)
    origin, cell, is_periodic = np.zeros(dimension), np.zeros((dimension, dimension)), np.zeros(dimension, dtype=bool)
    for position, name in enumerate(torus.names):
        own = [(d, axis) for d, axis in enumerate(torus.axes) if axis.input == position]
        kinds = {axis.kind for _, axis in own}
        if "category" in kinds or not own:
            what = "is a category" if own else "is no input of the kernel"
            raise ValueError(f"A surface is over circles, lines or a lattice, but {name!r} {what}: leave it out.")
        if kinds == {"circle"}:
            periods = np.array([whole[d, d] for d, _ in own])
            longest = float(np.abs(periods).max())
            if not np.allclose(longest / periods, np.round(longest / periods), atol=1e-6):
                raise ValueError(f"{name!r} has the periods {periods.tolist()}, which have no common one: keep one.")
            origin[position] = own[0][1].window(longest)[0]
            cell[position, position], is_periodic[position] = longest, True
        elif kinds == {"lattice"} and len(own) == 1:
            inputs = torus.inputs
            cell[position, inputs] = whole[own[0][0], :] * (np.array([a.kind for a in torus.axes]) == "lattice")
            is_periodic[position] = True
        elif kinds & {"line", "walk"}:
            lines = [axis for _, axis in own if axis.kind in ("line", "walk")]
            origin[position] = min(axis.low for axis in lines)
            cell[position, position] = max(axis.high for axis in lines) - origin[position]
        else:
            raise ValueError(f"{name!r} feeds a lattice and other axes: a surface needs one of them.")
    return Domain(origin, cell, is_periodic)
