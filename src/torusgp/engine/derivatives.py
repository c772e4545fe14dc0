r"""Sums over observed partial derivatives, from which they enter the regression like values.

A derivative of a column of the Fourier basis is a column of the basis: with wave number :math:`\omega_k` along an
input, :math:`\partial \cos k\theta = -\omega_k \sin k\theta` and :math:`\partial \sin k\theta = \omega_k \cos k\theta`.
So the sums :math:`F'PF` and :math:`F'Pg` of the usual backends, over the points where derivatives :math:`g` were
observed, hold all that is needed: rows and columns change places and are multiplied by wave numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import make_sums
from torusgp.engine.inference import Derivatives
from torusgp.kernels.torus import Torus

_BLOCK_ROWS = 2**19  # rows that are worked on at once


@dataclass(frozen=True)
class Partials:
    """Inputs along which a model can be differentiated.

    Attributes
    ----------
    names : tuple of str
        Their names.
    inputs : tuple of int
        Their positions among all inputs.
    axes : tuple of int
        For each axis of the torus its place among these, -1 for a category.
    plain : tuple of int
        The same for each plain column.
    """

    names: tuple[str, ...]
    inputs: tuple[int, ...]
    axes: tuple[int, ...]
    plain: tuple[int, ...]

    @classmethod
    def of(cls, torus: Torus, plain_inputs: Sequence[int]) -> Partials:
        """Partial derivatives of a model on a torus with plain columns of these inputs."""
        used = {axis.input for axis in torus.axes if axis.kind != "category"} | set(plain_inputs)
        inputs = tuple(sorted(used))
        axes = tuple(-1 if axis.kind == "category" else inputs.index(axis.input) for axis in torus.axes)
        return cls(tuple(torus.names[i] for i in inputs), inputs, axes, tuple(inputs.index(i) for i in plain_inputs))

    def wave_numbers(self, frequencies: NDArray[np.int64], period: Any) -> NDArray[np.float64]:
        """Wave numbers along the inputs, shape (n_partials, n_frequencies): radians for each unit of the input."""
        period = np.broadcast_to(period, frequencies.shape[1]) if np.ndim(period) < 2 else np.asarray(period)
        cell = period if period.ndim == 2 else np.diag(period)
        along = 2 * np.pi * np.linalg.inv(cell) @ frequencies.T
        waves = np.zeros((len(self.names), len(frequencies)))
        axes = np.array(self.axes)
        np.add.at(waves, axes[axes >= 0], along[axes >= 0])  # an input may feed several axes
        return waves


class DerivativeSums:
    """Sums over points with observed partial derivatives.

    Points where all of them were observed share sums; the others are counted for each input apart.

    Parameters
    ----------
    partials : Partials
        Inputs along which derivatives may be observed.
    n_outputs : int
        Number of targets.
    make_arguments : tuple
        Of :func:`torusgp.engine.backends.make_sums`: implementation, frequencies, and what follows the number of
        targets.
    """

    def __init__(self, partials: Partials, n_outputs: int, make_arguments: tuple[Any, ...]):
        self.partials, self.n_outputs, self._make_arguments = partials, n_outputs, make_arguments
        n_partials = len(partials.names)
        self.n_samples = np.zeros(n_partials)
        self.log_precision = np.zeros(n_partials)
        self.squares = np.zeros((n_partials, n_outputs))
        self._groups: dict[tuple[int, ...], Any] = {}  # sums by the inputs whose derivatives are their targets

    def _group(self, key: tuple[int, ...]) -> Any:
        if key not in self._groups:
            name, frequencies, *rest = self._make_arguments
            self._groups[key] = make_sums(name, frequencies, len(key) * self.n_outputs, *rest)
        return self._groups[key]

    def update(
        self,
        X: NDArray[np.float64],
        gradient: NDArray[np.float64],
        noise_scale: NDArray[np.float64] | None,
        period: Any,
    ) -> None:
        """Add points: coordinates on the axes, gradient (n, n_partials, n_outputs) with NaN where not observed."""
        observed: Any = ~np.isnan(gradient).any(axis=2)
        precision = np.ones(len(X)) if noise_scale is None else noise_scale**-2.0
        self.n_samples = self.n_samples + observed.sum(axis=0)
        self.log_precision = self.log_precision + np.log(precision) @ observed
        self.squares = self.squares + np.einsum(
            "n,ndq->dq", precision, np.where(observed[..., None], gradient, 0.0) ** 2
        )
        complete = observed.all(axis=1)
        everything = tuple(range(len(self.partials.names)))
        self._add(everything, X, gradient, precision, complete, period)
        for d in everything:
            self._add((d,), X, gradient, precision, observed[:, d] & ~complete, period)

    def _add(self, key: tuple[int, ...], X: Any, gradient: Any, precision: Any, chosen: Any, period: Any) -> None:
        where = np.flatnonzero(chosen)
        for start in range(0, len(where), _BLOCK_ROWS):
            rows = where[start : start + _BLOCK_ROWS]
            targets = gradient[rows][:, list(key)].reshape(len(rows), -1)
            sums = self._group(key)
            sums.add_chunk(sums.locate(X[rows], period), precision[rows], targets)

    def add(self, other: DerivativeSums) -> None:
        """Add the sums of other points."""
        self.n_samples = self.n_samples + other.n_samples
        self.log_precision = self.log_precision + other.log_precision
        self.squares = self.squares + other.squares
        for key, sums in other._groups.items():
            self._group(key).add(sums)

    def subset(self, frequencies: NDArray[np.int64]) -> DerivativeSums:
        """Sums of these frequencies alone."""
        result = copy(self)
        result._make_arguments = (self._make_arguments[0], frequencies, *self._make_arguments[2:])
        result._groups = {key: sums.subset(frequencies) for key, sums in self._groups.items()}
        return result

    def linear(
        self, frequencies: NDArray[np.int64], period: Any, plain_spread: NDArray[np.float64]
    ) -> tuple[Derivatives, ...]:
        """Statistics of the linear model with the columns of these frequencies, plain columns after them.

        Parameters
        ----------
        frequencies : ndarray of int, shape (n_frequencies, dimension)
            Frequencies of the columns, the zero vector first.
        period : float or ndarray
            Periods or cell.
        plain_spread : ndarray of shape (n_plain,)
            What plain columns are divided by.
        """
        n_partials, n_plain = len(self.partials.names), len(plain_spread)
        waves = self.partials.wave_numbers(frequencies, period)
        n_fourier = 2 * len(frequencies) - 1
        # the derivative of column j is a multiple of column source[j]; that of a plain column is constant
        source = np.zeros(n_fourier + n_plain, dtype=np.intp)
        source[1:n_fourier:2], source[2:n_fourier:2] = np.arange(2, n_fourier, 2), np.arange(1, n_fourier, 2)
        factors = np.zeros((n_partials, n_fourier + n_plain))
        factors[:, 1:n_fourier:2], factors[:, 2:n_fourier:2] = -waves[:, 1:], waves[:, 1:]
        factors[list(self.partials.plain), n_fourier + np.arange(n_plain)] = 1 / plain_spread
        result = []
        for key, sums in self._groups.items():
            own = np.isin(np.arange(n_partials), key)
            moments = np.zeros((n_partials, n_fourier + n_plain, self.n_outputs))
            summed = sums.moments(frequencies)[source].reshape(len(source), len(key), self.n_outputs)
            moments[own] = np.moveaxis(summed, 1, 0)
            gram = sums.gram(frequencies)[np.ix_(source, source)]
            result.append(Derivatives(factors * own[:, None], gram, moments))
        return tuple(result)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays that hold the sums, by name."""
        result: dict[str, NDArray[Any]] = {
            "counts": self.n_samples,
            "log_precision": self.log_precision,
            "squares": self.squares,
        }
        for key, sums in self._groups.items():
            which = "_".join(map(str, key))
            result |= {f"of_{which}.{name}": array for name, array in sums.to_arrays().items()}
        return result

    def set_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take sums over from arrays of the same names."""
        self.n_samples, self.log_precision, self.squares = (
            arrays[name] for name in ("counts", "log_precision", "squares")
        )
        groups: dict[tuple[int, ...], dict[str, NDArray[Any]]] = {}
        for name, array in arrays.items():
            if name.startswith("of_"):
                which, own = name[3:].split(".")
                groups.setdefault(tuple(map(int, which.split("_"))), {})[own] = array
        for key, own_arrays in groups.items():
            self._group(key).set_arrays(own_arrays)
