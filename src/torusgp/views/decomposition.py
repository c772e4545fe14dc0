r"""Variances of the components of the ANOVA decomposition of fitted functions.

With :math:`f = \sum_k \mathrm{Re}\, z_k \prod_d g_{k_d}(x_d)`, means :math:`m` and covariances :math:`C_d` of the
functions :math:`g` along each dimension, the component of a set u of dimensions is :math:`h_u = \sum_k z_k \prod_{d \in
u} (g_{k_d} - m_{k_d}) \prod_{d \notin u} m_{k_d}` and its variance

.. math:: V_u = \tfrac12 \sum_{k, l} v_k \bar v_l \prod_{d \in u} C_d(k_d, l_d)
          + \tfrac12 \mathrm{Re} \sum_{k, l} v_k v_l \prod_{d \in u} C_d(k_d, -l_d), \quad
          v_k = z_k \prod_{d \notin u} m_{k_d}.

On circles sinusoids of different frequencies are orthogonal and have no mean: only frequencies that agree there meet,
in exactly the components of the circles that they depend on, and the second sum vanishes unless they depend on none.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.views.dimensions import Along, Dimension

Component = tuple[int, ...]


class Decomposition:
    """Components of a fitted function, and their variances for any weights of its columns.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.
    dimensions : tuple of Dimension
        Its dimensions.

    Attributes
    ----------
    components : list of tuple of int
        Dimensions of each component: first every dimension alone, then those that interact, by their number.
    """

    def __init__(self, fitted: FittedTorusGP, dimensions: tuple[Dimension, ...]):
        self._along = [Along(fitted, one) for one in dimensions]
        self._functions = np.stack([one.functions for one in self._along], axis=1)
        self._conjugates = np.stack([one.conjugates for one in self._along], axis=1)
        self._n_frequencies = len(fitted.index_set.frequencies)
        self._periodic = [d for d, one in enumerate(dimensions) if one.is_periodic]
        self._others = [d for d, one in enumerate(dimensions) if not one.is_periodic]
        circles = [dimensions[d].axes[0] for d in self._periodic]
        turns = fitted.index_set.frequencies[:, circles]
        self._sign = _leading_signs(turns)
        n_plain = len(self._functions) - self._n_frequencies
        turns = np.vstack([turns * self._sign[:, None], np.zeros((n_plain, len(circles)), dtype=np.int64)])
        self._groups = _groups_of_rows(turns)
        single: list[Component] = [(d,) for d in range(len(dimensions))]
        found = {component for group in self._groups for component in self._components_of(group)}
        self.components = single + sorted(found - set(single), key=lambda component: (len(component), component))

    def _components_of(self, group: NDArray[np.int64]) -> list[Component]:
        """Components that frequencies with the same turns on circles take part in."""
        fixed = [d for d in self._periodic if self._functions[group[0], d]]
        supports = {tuple(d for d in self._others if row[d]) for row in self._functions[group].tolist()}
        parts = {
            part for support in supports for size in range(len(support) + 1) for part in combinations(support, size)
        }
        return sorted(tuple(sorted((*fixed, *part))) for part in parts if fixed or part)

    def variances(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Variances of the components.

        Parameters
        ----------
        weights : ndarray of shape (n_columns, ...)
            Weights of the columns of one function or several.

        Returns
        -------
        ndarray of shape (n_components, ...)
        """
        flat = weights.reshape(len(weights), -1)
        n = self._n_frequencies
        position = {component: i for i, component in enumerate(self.components)}
        result = np.zeros((len(self.components), flat.shape[1]))
        for group in self._groups:
            sinusoids, plain = group[group < n], group[group >= n]
            cosine = flat[np.maximum(2 * sinusoids - 1, 0)]  # the constant has no sine
            sine = np.where(sinusoids[:, None] > 0, flat[2 * sinusoids], 0.0)
            z = np.vstack([cosine - 1j * self._sign[sinusoids, None] * sine, flat[n - 1 + plain]])
            swap = np.append(self._sign[sinusoids] < 0, np.zeros(len(plain), dtype=bool))[:, None]
            functions, conjugates = self._functions[group], self._conjugates[group]
            functions, conjugates = np.where(swap, conjugates, functions), np.where(swap, functions, conjugates)
            for component in self._components_of(group):
                result[position[component]] += self._variance(component, functions, conjugates, z)
        return np.maximum(result, 0.0).reshape(-1, *weights.shape[1:])

    def _variance(
        self,
        component: Component,
        functions: NDArray[np.int64],
        conjugates: NDArray[np.int64],
        z: NDArray[np.complex128],
    ) -> NDArray[np.float64]:
        """Share of a group of frequencies in the variance of a component."""
        inside = [d for d in self._others if d in component]
        takes_part = (functions[:, inside] != 0).all(axis=1)
        functions, conjugates = functions[takes_part], conjugates[takes_part]
        v = z[takes_part]
        for d in self._others:
            if d not in component:
                v = v * self._along[d].mean[functions[:, d], None]
        is_complex = len(component) > len(inside)  # on a circle, where products without a conjugate average out
        if not inside:
            return np.abs(v.sum(axis=0)) ** 2 / 2
        products, straight = np.ones((len(v), len(v)), dtype=complex), np.ones((len(v), len(v)), dtype=complex)
        for d in inside:
            covariance = self._along[d].covariance
            products *= covariance[np.ix_(functions[:, d], functions[:, d])]
            if not is_complex:
                straight *= covariance[np.ix_(functions[:, d], conjugates[:, d])]
        total = (v.conj() * (products.T @ v)).sum(axis=0).real
        if not is_complex:
            total = total + (v * (straight.T @ v)).sum(axis=0).real
        return total / 2


def _leading_signs(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sign of the first entry of each row that is not zero; one for rows of zeros."""
    if not rows.shape[1]:
        return np.ones(len(rows), dtype=np.int64)
    first = (rows != 0).argmax(axis=1)
    leading = np.sign(rows[np.arange(len(rows)), first])
    return np.where(leading == 0, 1, leading)


def _groups_of_rows(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Positions of equal rows."""
    if not rows.shape[1]:
        return [np.arange(len(rows))]
    _, member = np.unique(rows, axis=0, return_inverse=True)
    order = np.argsort(member.ravel(), kind="stable")
    return np.split(order, np.cumsum(np.bincount(member.ravel()))[:-1])
