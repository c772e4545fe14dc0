"""The lattice of an image: its cell, the average of all cells, what differs from it, and how the cell changes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter, maximum_filter

from torusgp.checks import check_count, to_floats
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.periods import find_period
from torusgp.images._pixels import check_known_pixels
from torusgp.images.distortion import Distortion, refine
from torusgp.kernels.axes import Lattice
from torusgp.kernels.lattices import shortest_basis
from torusgp.kernels.spectra import Heat

Array = NDArray[np.float64]

_SEARCH_PIXELS = (3000, 20_000)  # on which a cell is looked for, first and if there is none
_ROUNDS = 4  # of motif and distortion in turn
_CONVERGED = 1e-3  # pixels that the distortion still moves
_DEFECT_WIDTH = 0.15  # of the shortest vector: width of the window in which residuals are added up
_DEFECT_SCORE = 5.0  # standard deviations from which a place is called a defect


class LatticeNotFoundError(ValueError):
    """An image in which nothing repeats."""


@dataclass(frozen=True)
class Defect:
    """A place where an image differs from its lattice.

    Attributes
    ----------
    position : ndarray of shape (2,)
        Row and column.
    score : float
        Cube root of the mean square of the residual around it, in standard deviations above that of noise.
    residual : float
        Weighted mean of the residual around it, in the units of the image.
    """

    position: Array
    score: float
    residual: float


@dataclass(frozen=True)
class ImageLattice:
    """The lattice of an image.

    Positions are (row, column) in pixels, and cells have their vectors in rows, in the same order.

    Attributes
    ----------
    image : ndarray of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        What was given.
    known : ndarray of bool, shape (n_rows, n_columns)
        Pixels that were used.
    cell : ndarray of shape (2, 2)
        Shortest lattice vectors, on average over the image.
    cell_covariance : ndarray of shape (4, 4)
        Covariance of their entries, in the order of rows.
    residual : ndarray of the shape of the image
        Image less model; not a number where pixels are not known.
    noise_std : float
        Standard deviation of the residual, from its median size: defects are not in it.
    distortion : Distortion
        Displacement, background and contrast.
    motif : FittedTorusGP
        The periodic function of straightened positions.
    scale : pair of float
        Values of the image that are 0 and 1 for the motif and the distortion.
    gain : float
        Log evidence that the lattice gained in the search, see :class:`~torusgp.fitting.periods.FoundPeriod`.
    """

    image: Array
    known: NDArray[np.bool_]
    cell: Array
    cell_covariance: Array
    residual: Array
    noise_std: float
    distortion: Distortion
    motif: FittedTorusGP
    scale: tuple[float, float]
    gain: float

    @property
    def cell_std(self) -> Array:
        """Standard errors of the entries of the cell."""
        return np.sqrt(np.diag(self.cell_covariance)).reshape(2, 2)

    @property
    def lengths(self) -> Array:
        """Lengths of the vectors, in pixels."""
        return np.linalg.norm(self.cell, axis=1)

    @property
    def lengths_std(self) -> Array:
        """Their standard errors."""
        slopes = np.zeros((2, 4))
        slopes[0, :2], slopes[1, 2:] = self.cell / self.lengths[:, None]
        return np.sqrt(np.diag(slopes @ self.cell_covariance @ slopes.T))

    @property
    def angle(self) -> float:
        """Angle between the vectors, in degrees."""
        return float(np.degrees(np.arccos(np.clip(self.cell[0] @ self.cell[1] / self.lengths.prod(), -1, 1))))

    @property
    def angle_std(self) -> float:
        """Its standard error."""
        turned = self.cell[:, ::-1] * [-1, 1] / (self.lengths**2)[:, None]  # derivatives of the two directions
        sign = np.sign(np.linalg.det(self.cell))
        slope = sign * np.append(-turned[0], turned[1])
        return float(np.degrees(np.sqrt(slope @ self.cell_covariance @ slope)))

    def unit_cell(self, size: int = 64) -> Array:
        """The average cell, drawn finer than the pixels by the model.

        Parameters
        ----------
        size : int, default=64
            Points along each vector.

        Returns
        -------
        ndarray of shape (size, size) or (size, size, n_channels)
            Entry i, j is at ``(i * cell[0] + j * cell[1]) / size``.
        """
        ticks = np.arange(size) / size
        fractions = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        low, high = self.scale
        values = low + (high - low) * self.motif.mean(fractions @ self.cell)
        return values.reshape(size, size, *self.image.shape[2:])

    def strain(self, points: ArrayLike | None = None) -> tuple[Array, Array]:
        """Local strain against the average cell: the symmetric part of the gradient of the displacement.

        Parameters
        ----------
        points : array-like of shape (n_points, 2), optional
            Rows and columns; by default all pixels.

        Returns
        -------
        strain : ndarray of shape (n_points, 3), or (n_rows, n_columns, 3) for all pixels
            Along rows, along columns, and shear, dimensionless. Along a direction v it is ``v @ [[a, c], [c, b]] @ v``.
        std : ndarray of the same shape
            Standard errors.
        """
        return self._of_gradient(points, np.array([[1, 0, 0, 0], [0, 0, 0, 1], [0, 0.5, 0.5, 0]]))

    def rotation(self, points: ArrayLike | None = None) -> tuple[Array, Array]:
        """Local rotation against the average cell, in degrees from rows towards columns, and its standard error."""
        value, std = self._of_gradient(points, np.degrees([[0, 0.5, -0.5, 0]]))
        return value[..., 0], std[..., 0]

    def _of_gradient(self, points: ArrayLike | None, functionals: Array) -> tuple[Array, Array]:
        shape = self.known.shape if points is None else None
        where = np.argwhere(np.ones(self.known.shape)) if points is None else np.asarray(points, dtype=float)
        values, std = [], []
        for start in range(0, len(where), 2**14):
            gradient, covariance = self.distortion.gradient(where[start : start + 2**14].astype(float))
            values.append(gradient.reshape(-1, 4) @ functionals.T)
            std.append(np.sqrt(np.einsum("ki,nij,kj->nk", functionals, covariance, functionals)))
        both = np.concatenate(values), np.concatenate(std)
        return both if shape is None else (both[0].reshape(*shape, -1), both[1].reshape(*shape, -1))

    def defects(self, most: int = 10) -> list[Defect]:
        """Places where the image differs from its lattice, the most different first.

        Parameters
        ----------
        most : int, default=10
            Largest number.

        Returns
        -------
        list of Defect
            Those whose score is five or more.
        """
        width = max(1.0, _DEFECT_WIDTH * float(self.lengths[0]))
        residual = self.residual if self.residual.ndim == 2 else np.nanmean(self.residual, axis=2)
        filled = np.where(self.known, residual, 0.0)
        weight = gaussian_filter(self.known.astype(float), width)
        safe = np.maximum(weight, 1e-12)
        square = np.cbrt(gaussian_filter(filled**2, width) / safe)  # nearly normal for noise (Wilson and Hilferty)
        center = float(np.median(square[self.known]))
        spread = 1.4826 * float(np.median(np.abs(square[self.known] - center)))
        score = np.where(weight > 0.25, (square - center) / max(spread, 1e-300), -np.inf)
        reach = max(3, int(self.lengths[0]) | 1)
        peaks = np.argwhere((score == maximum_filter(score, reach)) & (score > _DEFECT_SCORE))
        order = np.argsort([-score[tuple(peak)] for peak in peaks])[:most]
        mean = gaussian_filter(filled, width) / safe
        return [Defect(p.astype(float), float(score[tuple(p)]), float(mean[tuple(p)])) for p in peaks[order]]

    def to_dict(self) -> dict[str, Any]:
        """Results, as JSON can hold them."""
        strain, strain_std = self.strain()
        names = ("rows", "columns", "shear")
        return {
            "shape": list(self.known.shape),
            "n_known": int(self.known.sum()),
            "cell": self.cell.tolist(),
            "cell_std": self.cell_std.tolist(),
            "lengths": self.lengths.tolist(),
            "lengths_std": self.lengths_std.tolist(),
            "angle": self.angle,
            "angle_std": self.angle_std,
            "gain": float(self.gain),
            "noise_std": self.noise_std,
            "strain": {
                name: {
                    "lowest": float(strain[..., i].min()),
                    "highest": float(strain[..., i].max()),
                    "largest_std": float(strain_std[..., i].max()),
                }
                for i, name in enumerate(names)
            },
            "defects": [
                {"row": d.position[0], "column": d.position[1], "score": d.score, "residual": d.residual}
                for d in self.defects()
            ],
        }


def find_lattice(
    image: ArrayLike,
    mask: ArrayLike | None = None,
    *,
    n_components: int = 401,
    strain_degree: int = 3,
    report: Any = None,
) -> ImageLattice:
    """Find the lattice on which an image repeats, the average cell, and what differs from it.

    The image is a background and a contrast that change slowly, times a periodic motif at positions that are displaced
    slowly; motif and distortion are fitted in turn.

    Parameters
    ----------
    image : array-like of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels)
        Grey or coloured image in any units. Pixels that are NaN are not known.
    mask : array-like of bool, shape (n_rows, n_columns), optional
        True where pixels are not to be used.
    n_components : int, default=401
        Largest number of basis functions of the motif.
    strain_degree : int, default=3
        Degree of the polynomials of the position that the strain may be; zero for the same cell everywhere.
    report : callable, optional
        Takes lines of progress.

    Returns
    -------
    ImageLattice

    Raises
    ------
    LatticeNotFoundError
        If nothing repeats.

    Examples
    --------
    >>> import numpy as np
    >>> row, column = np.indices((48, 48))
    >>> atoms = np.exp(np.cos(2 * np.pi * row / 9.3) + np.cos(2 * np.pi * column / 11.2))
    >>> noise = 0.3 * np.random.default_rng(0).normal(size=atoms.shape)
    >>> found = find_lattice(atoms + noise, n_components=101)
    >>> np.round(found.lengths, 1)
    array([ 9.3, 11.2])
    """
    values = to_floats(image, "image")
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(
            f"image must have shape (n_rows, n_columns) or (n_rows, n_columns, n_channels), got {values.shape}."
        )
    if not (isinstance(strain_degree, int) and 0 <= strain_degree <= 8):
        raise ValueError(f"strain_degree must be an integer from 0 to 8, got {strain_degree!r}.")
    if check_count(n_components, "n_components") < 5:
        raise ValueError(f"n_components must be 5 or more for a lattice of two directions, got {n_components}.")
    say = report or (lambda line: None)
    channels = values.reshape(*values.shape[:2], -1)
    known: NDArray[np.bool_] = np.asarray(np.isfinite(channels).all(axis=2))
    if mask is not None:
        hidden = np.asarray(mask)
        if hidden.dtype != bool or hidden.shape != known.shape:
            raise ValueError(
                f"mask must be of bool and of shape {known.shape}, got {hidden.dtype} of shape {hidden.shape}."
            )
        known = known & ~hidden
    if not known.any():
        raise ValueError("No pixel is known: the mask, or NaN, hides the whole image.")
    low, high = check_known_pixels(channels, known)
    points, targets = np.argwhere(known).astype(float), (channels[known] - low) / (high - low)
    cell, gain = _search(points, targets, say)
    cell, covariance, distortion, motif = _fit(points, targets, cell, known.shape, n_components, strain_degree, say)
    return _result(values, known, points, targets, cell, covariance, distortion, motif, low, high, gain)


def _search(points: Array, targets: Array, report: Any) -> tuple[Array, float]:
    """The cell to start from, and the evidence for it."""
    for most in _SEARCH_PIXELS:
        report(f"searching a lattice on {min(most, len(points))} pixels")
        search = find_period(points, targets, lattice=True, max_samples=most)
        if len(search):
            return shortest_basis(search[0].period), float(search[0].gain)
    shortest, longest = search.searched
    best = max((one.gain for one in search.candidates if np.isfinite(one.gain)), default=-np.inf)
    gained = "nothing repeats"
    if np.isfinite(best):
        gained = (
            f"the best cell gains {best:.2g} in log evidence over an image that does not repeat, and "
            f"{search.min_gain:g} are needed"
        )
    raise LatticeNotFoundError(
        f"The image shows no lattice: {gained}. Searched were periods from {shortest.min():.3g} to "
        f"{longest.max():.3g} pixels; a pattern has to be seen three times or more."
    )


def _fit(
    points: Array,
    targets: Array,
    cell: Array,
    shape: tuple[int, int],
    n_components: int,
    strain_degree: int,
    report: Any,
) -> tuple[Array, Array, Distortion, FittedTorusGP]:
    """Motif and distortion in turn."""
    distortion = Distortion.none(shape, targets.shape[1], strain_degree + 1, 2)
    blocks, some = _blocks(points, cell), points[:: max(1, len(points) // 20_000)]
    motif = _fit_motif(cell, distortion, points, targets, n_components, None)
    for turn in range(_ROUNDS):
        report(f"fitting motif and distortion, turn {turn + 1}")
        refined = refine(distortion, points, targets, _values_and_slopes(motif), blocks)
        change = np.abs(refined.moving(some) @ (refined.displacement - distortion.displacement)).max()
        average, of_average, distortion = refined.against_average(some)
        covariance = np.einsum("ai,ijkl,bk->ajbl", cell, of_average, cell).reshape(4, 4)
        cell = cell @ (np.eye(2) + average)
        motif = _fit_motif(cell, distortion, points, targets, n_components, motif)
        if change < _CONVERGED:
            break
    return cell, covariance, distortion, motif


def _fit_motif(
    cell: Array,
    distortion: Distortion,
    points: Array,
    targets: Array,
    n_components: int,
    before: FittedTorusGP | None,
) -> FittedTorusGP:
    """The motif of straightened positions; after the first time with the parameters that were learned then."""
    kernel = Lattice((0, 1), cell, Heat("cartesian"), float(np.linalg.norm(cell, axis=1).min()) / 4)
    model = TorusGPRegressor(kernel, n_components=n_components)
    if before is not None:
        (scale,) = before.prior.scales(before.parameters)
        variance = float(before.prior.signal_variances(before.parameters).mean())
        kernel = replace(kernel, length_scale=float(scale[0]), length_scale_bounds="fixed", variance=variance)
        model.set_params(kernel=kernel, learn=(), noise_variance=before.noise_variance.copy())
    background, factor = distortion.shades(points)
    with warnings.catch_warnings():  # what the motif leaves out is in the residual
        warnings.filterwarnings("ignore", message="The .* components leave out", category=UserWarning)
        model.fit(distortion.straightened(points), (targets - background) / factor, None, 1 / np.abs(factor[:, 0]))
    return model.fitted_


def _values_and_slopes(fitted: FittedTorusGP) -> Any:
    return lambda where: (fitted.mean(where), fitted.gradient(where))


def _blocks(points: Array, cell: Array) -> NDArray[np.int64]:
    """Blocks of about one cell, in which errors may be correlated."""
    size = max(2.0, float(np.sqrt(abs(np.linalg.det(cell)))))
    rows, columns = np.floor(points / size).astype(np.int64).T
    return np.unique(rows * (columns.max() + 1) + columns, return_inverse=True)[1].reshape(-1)


def _result(
    values: Array,
    known: NDArray[np.bool_],
    points: Array,
    targets: Array,
    cell: Array,
    covariance: Array,
    distortion: Distortion,
    motif: FittedTorusGP,
    low: float,
    high: float,
    gain: float,
) -> ImageLattice:
    background, factor = distortion.shades(points)
    left = targets - background - factor * motif.mean(distortion.straightened(points))
    residual = np.full((*known.shape, targets.shape[1]), np.nan)
    residual[known] = (high - low) * left
    shortest = shortest_basis(cell)
    change = np.kron(np.rint(shortest @ np.linalg.inv(cell)), np.eye(2))
    return ImageLattice(
        values,
        known,
        shortest,
        change @ covariance @ change.T,
        residual.reshape(values.shape),
        float(1.4826 * (high - low) * np.median(np.abs(left))),
        distortion,
        motif,
        (low, high),
        gain,
    )
