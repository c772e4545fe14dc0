r"""Slow distortion of an image that repeats: displacement, background and contrast as polynomials of the position.

An image is taken as :math:`b(r) + (1 + c(r)) f(r - u(r))` with a periodic motif f. Around a guess all three enter
linearly, :math:`-(1 + c) \nabla f \cdot \delta u`, :math:`\delta b` and :math:`f \, \delta c`, so their polynomials
follow from one regression, whose unknowns are the whole of them. Displacements of the highest degrees are left out as
long as they are not significant together, and those of the others that are not significant alone: an image without
distortion gets none, and one that is stretched along its rows no strain along its columns. What is not significant
need not be zero: standard errors are root mean squares around what is kept, and hold what was estimated and left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray
from scipy.stats import chi2

Array = NDArray[np.float64]

_CHUNK = 2**16  # pixels that are worked on at once
_FAR_OFF = 3.0  # standard deviations from which a pixel counts less
# Chances that an image without strain gets one of this degree, and of each degree above: what these say of the borders
# is much less certain, so that one that is none does harm there.
_LEVELS = (0.05, 0.001)
_ALONE = 4.0  # squared standard errors from which one coefficient of the degrees that are kept is kept
_LINEAR = (2, 1)  # places of the polynomials that are the row and the column


@dataclass(frozen=True)
class Polynomials:
    """Products of Legendre polynomials of the two coordinates of an image, up to a total degree.

    Attributes
    ----------
    shape : pair of int
        Rows and columns of the image, which is laid on the square from -1 to 1.
    degree : int
        Largest total degree.
    """

    shape: tuple[int, int]
    degree: int

    @property
    def scale(self) -> Array:
        """Pixels for each unit of the scaled coordinates, along rows and columns."""
        return np.asarray(np.maximum(np.array(self.shape) - 1, 1) / 2)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Degrees along rows and columns, shape (n_polynomials, 2), by total degree."""
        pairs = [(i, total - i) for total in range(self.degree + 1) for i in range(total + 1)]
        return np.array(pairs, dtype=np.int64)

    def __call__(self, points: Array, derivative: int | None = None) -> Array:
        """Values at points (row, column), or derivatives along rows (0) or columns (1): (n_points, n_polynomials)."""
        size = self.scale
        unit = points / size - 1
        tables = []
        for d in range(2):
            coefficients = np.eye(self.degree + 1)
            if derivative == d:
                lowered = legendre.legder(coefficients) / size[d]
                table = legendre.legval(unit[:, d], lowered) if self.degree else np.zeros((1, len(unit)))
            else:
                table = legendre.legval(unit[:, d], coefficients)
            tables.append(table)
        rows, columns = self.degrees.T
        return np.asarray((tables[0][rows] * tables[1][columns]).T)


@dataclass(frozen=True)
class Distortion:
    """Displacement, background and contrast of an image, as coefficients of polynomials.

    Attributes
    ----------
    moving : Polynomials
        Of the displacement.
    shading : Polynomials
        Of background and contrast.
    displacement : ndarray of shape (n_moving, 2)
        Coefficients of the displacement along rows and columns, in pixels.
    background : ndarray of shape (n_shading, n_channels)
        Coefficients of what is added to the motif.
    contrast : ndarray of shape (n_shading,)
        Coefficients of what multiplies it, less one.
    covariance : ndarray of shape (2 n_moving, 2 n_moving)
        Of the displacement: rows first, then columns.
    """

    moving: Polynomials
    shading: Polynomials
    displacement: Array
    background: Array
    contrast: Array
    covariance: Array

    @classmethod
    def none(cls, shape: tuple[int, int], n_channels: int, degree: int, shading_degree: int) -> Distortion:
        """No distortion."""
        moving, shading = Polynomials(shape, degree), Polynomials(shape, shading_degree)
        n, m = len(moving.degrees), len(shading.degrees)
        return cls(moving, shading, np.zeros((n, 2)), np.zeros((m, n_channels)), np.zeros(m), np.zeros((2 * n, 2 * n)))

    def straightened(self, points: Array) -> Array:
        """Places of the points of the image before the displacement."""
        return points - self.moving(points) @ self.displacement

    def shades(self, points: Array) -> tuple[Array, Array]:
        """Background, (n, n_channels), and factor of the motif, (n, 1)."""
        values = self.shading(points)
        return values @ self.background, 1 + (values @ self.contrast)[:, None]

    def gradient(self, points: Array) -> tuple[Array, Array]:
        """Derivatives of the displacement, entry i, j along input i of component j, and their covariances.

        Returns
        -------
        gradient : ndarray of shape (n_points, 2, 2)
        covariance : ndarray of shape (n_points, 4, 4)
            Of the entries in the order of rows.
        """
        slopes = np.stack([self.moving(points, d) for d in range(2)], axis=1)  # (n, 2, n_moving)
        n, n_moving = len(points), slopes.shape[2]
        functionals = np.zeros((n, 2, 2, 2, n_moving))  # along i, of component j, from the coefficients of j
        for j in range(2):
            functionals[:, :, j, j] = slopes
        flat = functionals.reshape(n, 4, 2 * n_moving)
        return slopes @ self.displacement, flat @ self.covariance @ flat.transpose(0, 2, 1)

    def against_average(self, points: Array) -> tuple[Array, Array, Distortion]:
        """The average gradient of the displacement, its covariance, and what is left without it.

        Constants go to the motif: a shift, its level and its height.

        Returns
        -------
        average : ndarray of shape (2, 2)
        covariance : ndarray of shape (2, 2, 2, 2)
            Of entries i, j and k, l.
        distortion : Distortion
        """
        slopes = np.stack([self.moving(points, d).mean(axis=0) for d in range(2)])  # (2, n_moving)
        n_moving = slopes.shape[1]
        change = np.eye(n_moving)
        change[0] = 0.0
        for place, size, slope in zip(_LINEAR, self.moving.scale, slopes, strict=True):
            change[place] -= size * slope  # polynomials of degree one are the scaled coordinates
        both = np.kron(np.eye(2), change)
        background, contrast = self.background.copy(), self.contrast / (1 + self.contrast[0])
        background[0], contrast[0] = 0.0, 0.0
        left = replace(
            self,
            displacement=change @ self.displacement,
            background=background,
            contrast=contrast,
            covariance=both @ self.covariance @ both.T,
        )
        blocks = self.covariance.reshape(2, n_moving, 2, n_moving)
        return slopes @ self.displacement, np.einsum("ia,jalb,kb->ijkl", slopes, blocks, slopes), left


def refine(distortion: Distortion, points: Array, values: Array, motif, blocks: NDArray[np.int64]) -> Distortion:
    """A better distortion for an image and its motif.

    Parameters
    ----------
    distortion : Distortion
        A guess.
    points : ndarray of shape (n, 2)
        Known pixels.
    values : ndarray of shape (n, n_channels)
        Their values.
    motif : callable
        Values, (n, n_channels), and derivatives, (n, 2, n_channels), of the motif at straightened points.
    blocks : ndarray of int, shape (n,)
        Block of the image that each pixel is in: errors within a block may be correlated.

    Returns
    -------
    Distortion
    """
    n_channels = values.shape[1]
    n_moving, n_shading = len(distortion.displacement), len(distortion.contrast)
    size = 2 * n_moving + n_shading * (n_channels + 1)
    gram, moments, squares = np.zeros((size, size)), np.zeros(size), 0.0
    spread = 1.4826 * float(np.median(np.abs(_residual(distortion, points, values, motif))))
    for columns, residual in _linearised(distortion, points, values, motif, spread):
        gram += columns.T @ columns
        moments += columns.T @ residual
        squares += float(residual @ residual)
    totals = distortion.moving.degrees.sum(axis=1)
    degrees = np.concatenate([totals, totals, np.zeros(size - 2 * n_moving, dtype=np.int64)])
    redundancy, covariance, estimate = 1.0, np.zeros((size, size)), np.zeros(size)
    for degree in range(distortion.moving.degree, 0, -1):
        kept = np.flatnonzero(degrees <= degree)
        weights, inverse, noise = _solve(gram, moments, squares, values.size, kept)
        if degree == distortion.moving.degree:
            redundancy = _redundancy(distortion, points, values, motif, spread, blocks, weights, noise, gram)
        if degree > 1 or not covariance.any():  # of a strain that is none something is uncertain, too
            covariance, estimate = np.zeros((size, size)), weights
            covariance[np.ix_(kept, kept)] = noise * redundancy * inverse
        last = np.flatnonzero(degrees[kept] == degree)
        own = weights[kept][last]
        square = own @ np.linalg.solve(inverse[np.ix_(last, last)], own) / max(noise * redundancy, 1e-300)
        if square > chi2.isf(_LEVELS[degree > 2], len(last)):
            break
    while True:
        variance = np.maximum(noise * redundancy * np.diag(inverse), 1e-300)
        square = np.where(degrees[kept] > 1, weights[kept] ** 2 / variance, np.inf)
        if square.min() > _ALONE:
            break
        kept = np.delete(kept, square.argmin())
        weights, inverse, noise = _solve(gram, moments, squares, values.size, kept)
    covariance += np.outer(estimate - weights, estimate - weights)
    moved, rest = weights[: 2 * n_moving].reshape(2, n_moving).T, weights[2 * n_moving :]
    return Distortion(
        distortion.moving,
        distortion.shading,
        moved,
        rest[:-n_shading].reshape(n_channels, n_shading).T,
        rest[-n_shading:],
        covariance[: 2 * n_moving, : 2 * n_moving],
    )


def _solve(gram: Array, moments: Array, squares: float, n: int, kept: NDArray[np.int64]) -> tuple[Array, Array, float]:
    """Least squares with some of the columns: weights of all, inverse of the Gram matrix of some, noise variance."""
    inverse = np.asarray(np.linalg.pinv(gram[np.ix_(kept, kept)], rcond=1e-12, hermitian=True), dtype=float)
    weights = np.zeros(len(moments))
    weights[kept] = inverse @ moments[kept]
    return weights, inverse, max(0.0, squares - float(weights @ moments)) / max(1, n - len(kept))


def _residual(distortion: Distortion, points: Array, values: Array, motif) -> Array:
    """Residual of the image after a distortion."""
    background, factor = distortion.shades(points)
    return values - background - factor * motif(distortion.straightened(points))[0]


def _linearised(distortion: Distortion, points: Array, values: Array, motif, spread: float):
    """Columns of the regression and what they are to explain, chunk by chunk, all channels one after the other.

    Pixels that are far off, as in defects, count less: they must not pass for a distortion.
    """
    guess = np.concatenate([distortion.displacement.T.ravel(), distortion.background.T.ravel(), distortion.contrast])
    for start in range(0, len(points), _CHUNK):
        some = points[start : start + _CHUNK]
        moving, shading = distortion.moving(some), distortion.shading(some)
        _, factor = distortion.shades(some)
        f, slopes = motif(distortion.straightened(some))
        residual = _residual(distortion, some, values[start : start + _CHUNK], motif)
        weight = np.minimum(1.0, _FAR_OFF * spread / np.maximum(np.abs(residual), 1e-300)).T.ravel()
        columns = []
        for channel in range(values.shape[1]):
            moved = [-factor * slopes[:, [d], channel] * moving for d in range(2)]
            added = [shading if other == channel else np.zeros_like(shading) for other in range(values.shape[1])]
            columns.append(np.hstack([*moved, *added, f[:, [channel]] * shading]))
        design = np.vstack(columns)
        yield weight[:, None] * design, weight * (residual.T.ravel() + design @ guess)


def _redundancy(
    distortion: Distortion,
    points: Array,
    values: Array,
    motif,
    spread: float,
    blocks: NDArray[np.int64],
    weights: Array,
    noise: float,
    gram: Array,
) -> float:
    """Factor of the variances over those of white noise: errors within a block may be correlated.

    The scores of the blocks have the covariance of the noise times the Gram matrix if errors are independent.
    """
    scores = np.zeros((int(blocks.max()) + 1, len(weights)))
    n_channels, done = values.shape[1], 0
    for columns, residual in _linearised(distortion, points, values, motif, spread):
        size = len(residual) // n_channels
        own = np.tile(blocks[done : done + size], n_channels)
        np.add.at(scores, own, columns * (residual - columns @ weights)[:, None])
        done += size
    n_moving = 2 * len(distortion.displacement)
    seen = np.diag(gram)[:n_moving] > 0
    ratio = (scores[:, :n_moving] ** 2).sum(axis=0)[seen] / (noise * np.diag(gram)[:n_moving][seen])
    return max(1.0, float(np.mean(ratio)))
