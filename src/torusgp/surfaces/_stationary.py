r"""Minima, saddle points and maxima of a surface, with their uncertainty by the delta method.

Where the mean :math:`f` is stationary, a small change :math:`\delta f` of the function moves the point by
:math:`\delta x = -H^{-1} \nabla \delta f`, its value by :math:`\delta f` and the curvature along an eigenvector v by
:math:`v' \nabla\nabla \delta f \, v + \sum_k \partial_k (v' H v) \, \delta x_k`: all linear in the weights, whose
posterior is normal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torusgp.checks import is_real
from torusgp.surfaces._field import Array, Field

_RESOLUTION = 16  # points of the grid for each oscillation
_MOST_POINTS = 300_000  # of the grid
_GRID_DIMENSIONS = 3  # up to here the whole domain is searched
_STARTS = 4096  # points from which more dimensions are searched
_ITERATIONS = 50
_CONVERGED = 1e-9  # of the domain
_SAME = 1e-5  # distance, relative to the domain, below which two points are one
_FAR = 4.0  # steps of the grid that a point may be away from the cell that showed it
_LONGEST_STEP = 0.5  # of the grid


@dataclass(frozen=True)
class StationaryPoint:
    """A point where the derivatives of the predicted function vanish.

    Attributes
    ----------
    position : ndarray of shape (dimension,)
        Where it is, in the units of the inputs; of periodic images the one in the range that is shown.
    position_std : ndarray of shape (dimension,)
        Standard errors.
    position_covariance : ndarray of shape (dimension, dimension)
        Their covariance.
    value, value_std : float
        Predicted function there, and its standard error.
    curvatures, curvature_std : ndarray of shape (dimension,)
        Eigenvalues of the matrix of second derivatives, ascending, and their standard errors.
    directions : ndarray of shape (dimension, dimension)
        Their eigenvectors, as rows.
    """

    position: Array
    position_std: Array
    position_covariance: Array
    value: float
    value_std: float
    curvatures: Array
    curvature_std: Array
    directions: Array

    @property
    def index(self) -> int:
        """Number of directions in which the function falls: 0 for a minimum, 1 for a saddle point between two."""
        return int((self.curvatures < 0).sum())

    @property
    def significance(self) -> float:
        """Smallest curvature in units of its standard error."""
        return float((np.abs(self.curvatures) / self.curvature_std).min())

    def __repr__(self) -> str:
        kind = {0: "minimum", len(self.curvatures): "maximum", 1: "saddle point"}.get(self.index, f"index {self.index}")
        where = ", ".join(f"{x:.5g} +- {e:.2g}" for x, e in zip(self.position, self.position_std, strict=True))
        return f"<{kind} at ({where}): {self.value:.5g} +- {self.value_std:.2g}>"


class StationaryPoints(Sequence[StationaryPoint]):
    """Stationary points of a surface, the lowest first."""

    def __init__(self, points: Sequence[StationaryPoint]):
        self._points = tuple(sorted(points, key=lambda point: point.value))

    def __getitem__(self, which: Any) -> Any:
        return self._points[which]

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[StationaryPoint]:
        return iter(self._points)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._points)) or "<no stationary points>"

    def of_index(self, index: int) -> StationaryPoints:
        """Those with n directions in which the function falls."""
        return StationaryPoints([point for point in self._points if point.index == index])

    @property
    def minima(self) -> StationaryPoints:
        """Points from which the function rises in all directions."""
        return self.of_index(0)

    @property
    def saddles(self) -> StationaryPoints:
        """Points from which it falls in one direction and its opposite: the passes between minima."""
        return self.of_index(1)

    @property
    def maxima(self) -> StationaryPoints:
        """Points from which it falls in all directions."""
        return self.of_index(len(self._points[0].curvatures)) if self._points else self


def find_stationary_points(model: Any, *, min_significance: float = 2.0, output: int = 0) -> StationaryPoints:
    """All points where the derivatives of a fitted function vanish.

    In up to three dimensions a grid that resolves the fastest oscillations shows every cell in which all derivatives
    change sign, and Newton steps go on from there; in more, they start from many points. Along lines only the range of
    the data is searched. Periodic images are counted once.

    Parameters
    ----------
    model : TorusGPRegressor or FittedTorusGP
        Fitted model, of circles, lines or a lattice.
    min_significance : float, default=2.0
        How many standard errors every curvature has to be away from zero. Noise makes shallow dents that do not belong
        to the function; zero shows them too.
    output : int, default=0
        Which target, where there are several.

    Returns
    -------
    StationaryPoints
        The lowest first; ``.minima``, ``.saddles`` and ``.maxima`` are those of a kind.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> angle = np.arange(-180.0, 180.0, 15.0)[:, None]
    >>> model = TorusGPRegressor(period=360).fit(angle, 2 * np.cos(np.radians(3 * angle[:, 0])))
    >>> np.round([minimum.position[0] for minimum in find_stationary_points(model).minima]) % 120
    array([60., 60., 60.])
    """
    if not is_real(min_significance) or not min_significance >= 0:
        raise ValueError(f"min_significance must not be negative, got {min_significance!r}.")
    field = Field(model, output)
    starts, steps = _candidates(field)
    found = _refine(field, starts, steps)
    points = [describe(field, one) for one in found]
    return StationaryPoints([one for one in points if one.significance >= min_significance])


def _candidates(field: Field) -> tuple[Array, Array]:
    """Points near which all derivatives may vanish, and how far these may be, in fractional coordinates."""
    domain = field.domain
    if domain.dimension > _GRID_DIMENSIONS:
        from scipy.stats import qmc  # slow to import

        unit = qmc.Sobol(domain.dimension, rng=0).random(_STARTS)
        return domain.from_unit(unit), np.full(domain.dimension, 0.25)
    sizes = field.sizes(_RESOLUTION, _MOST_POINTS)
    grid = domain.grid(sizes)
    slopes = (field.gradient(grid.reshape(-1, domain.dimension)) @ domain.cell.T).reshape(grid.shape)
    least, most = slopes, slopes
    for d, repeats in enumerate(domain.is_periodic):  # corners of the cells, one direction after the other
        least = np.minimum(least, np.roll(least, -1, axis=d))
        most = np.maximum(most, np.roll(most, -1, axis=d))
        if not repeats:
            least, most = (np.delete(values, -1, axis=d) for values in (least, most))
    cells = np.argwhere(((least <= 0) & (most >= 0)).all(axis=-1))
    steps = np.array(
        [1 / (size if repeats else size - 1) for size, repeats in zip(sizes, domain.is_periodic, strict=True)]
    )
    return domain.from_unit((cells + 0.5) * steps), steps


def _refine(field: Field, starts: Array, steps: Array) -> Array:
    """Stationary points by Newton steps, those that were reached from near by, each of them once."""
    domain = field.domain
    points = starts.copy()
    size = np.full(len(points), np.inf)
    moving = np.arange(len(points))
    for _ in range(_ITERATIONS):
        if not len(moving):
            break
        here = points[moving]
        slopes = field.gradient(here) @ domain.cell.T
        curves = np.einsum("ai,nij,bj->nab", domain.cell, field.hessian(here), domain.cell)
        move = -np.einsum("nij,nj->ni", np.linalg.pinv(curves, hermitian=True), slopes)
        size[moving] = np.abs(move).max(axis=1)
        longest = np.abs(move / (_LONGEST_STEP * steps)).max(axis=1, keepdims=True)
        points[moving] = here + (move / np.maximum(longest, 1.0)) @ domain.cell
        away = np.abs(domain.to_unit(points[moving]) - domain.to_unit(starts[moving])) / steps
        moving = moving[(size[moving] > _CONVERGED) & (away.max(axis=1) <= _FAR)]
    found = points[(size <= _CONVERGED) & domain.holds(points)]
    result: list[Array] = []
    for point in domain.wrap(found):
        if all(np.abs(domain.step(point, other)).max() > _SAME for other in result):
            result.append(point)
    return np.array(result).reshape(-1, domain.dimension)


def describe(field: Field, position: Array) -> StationaryPoint:
    """A stationary point of the mean, with what is uncertain of it."""
    here = position[None]
    units = np.eye(field.domain.dimension)
    curves = field.hessian(here)[0]
    inverse = np.linalg.inv(curves)
    curvatures, vectors = np.linalg.eigh(curves)
    slopes = np.vstack([field.columns(here, unit) for unit in units])
    moves = -inverse @ slopes  # of the position, as functions of the weights
    bends = []
    for vector in vectors.T:
        third = np.array([(field.columns(here, vector, vector, unit) @ field.weights)[0] for unit in units])
        bends.append(field.columns(here, vector, vector)[0] + third @ moves)
    functionals = np.vstack([field.columns(here), moves, *bends])
    covariance = field.covariance(functionals)
    std, n = np.sqrt(np.diag(covariance)), len(units)
    return StationaryPoint(
        position,
        std[1 : 1 + n],
        covariance[1 : 1 + n, 1 : 1 + n],
        float(field.value(here)[0]),
        float(std[0]),
        curvatures,
        std[1 + n :],
        vectors.T,
    )
