"""Contributions of some dimensions of a fitted model, as sums of products of functions of one dimension each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.views.dimensions import Along, Dimension

_CHUNK_ENTRIES = 2**22  # values of components that are held at a time


@dataclass(frozen=True, eq=False)
class EffectSeries:
    """A sum of products of functions of some dimensions, with a Gaussian over its weights."""

    along: tuple[Along, ...]
    subtract: bool  # whether averages are subtracted from the functions
    functions: NDArray[np.int64]  # of each product along each dimension, (n_products, n_dimensions)
    factors: NDArray[np.complex128]  # what the other dimensions are on average, (n_products,)
    product: NDArray[np.int64]  # of which each column is the real or imaginary part
    is_sine: NDArray[np.bool_]  # whether it is the imaginary one
    weights: NDArray[np.float64]  # (n_columns, n_outputs)
    roots: tuple[NDArray[np.float64], ...]  # of each output one whose square is the covariance of the weights
    center: NDArray[np.float64]
    several: bool  # outputs have an axis

    @classmethod
    def of(
        cls,
        fitted: FittedTorusGP,
        dimensions: tuple[Dimension, ...],
        chosen: tuple[int, ...],
        joint: bool,
        several: bool,
    ) -> EffectSeries:
        """The series of the effect of some of the dimensions."""
        along = [Along(fitted, one) for one in dimensions]
        functions = np.stack([one.functions for one in along], axis=1)
        factors = np.ones(len(functions), dtype=complex)
        for d, one in enumerate(along):
            if d not in chosen:
                factors = factors * one.mean[functions[:, d]]
        used = factors != 0 if joint else (functions[:, list(chosen)] != 0).all(axis=1) & (factors != 0)
        fourier, n_plain = np.arange(fitted.n_fourier), len(fitted.prior.columns)
        product = np.append((fourier + 1) // 2, len(functions) - n_plain + np.arange(n_plain))
        is_sine = np.append((fourier > 0) & (fourier % 2 == 0), np.zeros(n_plain, dtype=bool))
        columns = np.flatnonzero(used[product])
        posterior, offset = fitted.posterior, fitted.offset
        return cls(
            tuple(along[d] for d in chosen),
            not joint,
            functions[used][:, list(chosen)],
            factors[used],
            (np.cumsum(used) - 1)[product[columns]],
            is_sine[columns],
            posterior.weights[columns],
            tuple(_covariance_root(posterior, output, columns) for output in range(fitted.n_outputs)),
            offset if joint else np.zeros_like(offset),
            several,
        )

    def __call__(
        self, points: Sequence[NDArray[Any]], return_std: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean, and standard deviation or zeros."""
        n_points = len(points[0])
        mean = np.empty((n_points, len(self.roots)))
        std = np.zeros_like(mean)
        step = max(1, _CHUNK_ENTRIES // max(1, 2 * len(self.functions)))
        for start in range(0, n_points, step):
            rows = slice(start, start + step)
            products = np.broadcast_to(self.factors, (len(points[0][rows]), len(self.factors)))
            for i, one in enumerate(self.along):
                values = one.values(points[i][rows])
                values = values - one.mean if self.subtract else values
                products = products * values[:, self.functions[:, i]]
            features = np.where(self.is_sine, products.imag[:, self.product], products.real[:, self.product])
            mean[rows] = features @ self.weights + self.center
            for q, root in enumerate(self.roots if return_std else ()):
                std[rows, q] = np.linalg.norm(features @ root, axis=1)
        return (mean, std) if self.several else (mean[:, 0], std[:, 0])


def _covariance_root(posterior: Any, output: int, columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """A square matrix whose product with its transpose is the posterior covariance of some weights."""
    selected = np.zeros((len(columns), len(posterior.weights)))
    selected[np.arange(len(columns)), columns] = 1.0
    whitened = posterior.whiten(selected, output)
    return np.asarray(np.linalg.qr(whitened, mode="r")).T
