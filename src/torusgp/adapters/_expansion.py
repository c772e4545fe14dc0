"""A kernel as columns of an index set and standard deviations of their weights, in any array library."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from torusgp.adapters._coefficients import LogCoefficients, SumLogCoefficients
from torusgp.adapters._libraries import NUMPY, known_shape
from torusgp.engine.basis import columns as basis_columns
from torusgp.kernels.axes import Category, Circle, Expression, Lattice, Slope
from torusgp.kernels.index_sets import IndexSet, adaptive
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.product import to_phases
from torusgp.kernels.resolve import DEFAULT_TOLERANCE
from torusgp.kernels.terms import circle_length

LENGTH_SCALE_BOUNDS = (1e-2, 1e2)  # those of TorusGPRegressor


class Expansion:
    r"""Functions :math:`f(x) = \sum_j F_j(x) s_j z_j` with standard normal :math:`z`, whose covariance is the kernel.

    The columns :math:`F` are those of :mod:`torusgp.engine.basis`, in its order; the standard deviations :math:`s` are
    :math:`\sqrt{c_0}` and, twice for each pair of columns, :math:`\sqrt{2 c_k}`.

    Standard deviations are accurate to rounding for length scales between the bounds, of which ``limits`` are those in
    the units of the kernel's length scales.
    """

    def __init__(self, kernel, index_set, bounds=LENGTH_SCALE_BOUNDS):
        kernel = check_kernel(kernel)
        if not isinstance(index_set, IndexSet):
            raise ValueError(f"index_set must be an IndexSet, as torusgp.index_sets makes them, got {index_set!r}.")
        self.sum = kernel.sum
        self.kernel = kernel if self.sum is not None else _with_limit_of(kernel, index_set)
        self.index_set = index_set
        self.bounds = check_bounds(bounds)
        kernel.resolve_dimension(index_set.dimension)
        frequencies = index_set.frequencies
        self._log_coefficients: Any
        if self.sum is None:
            self._log_coefficients = LogCoefficients(self.kernel, frequencies, self.bounds)
        else:
            self._log_coefficients = SumLogCoefficients(self.sum, frequencies, self.bounds)
            self._axes = _AxesOfInputs(self.sum)
        self.limits = self._log_coefficients.limits
        self._frequency_of_column = np.append(0, np.repeat(np.arange(1, len(frequencies)), 2))
        self._column_frequencies = frequencies[self._frequency_of_column].T.astype(float)
        # A sine is a cosine a quarter of a turn later
        self._turns_before = np.append(0.0, np.tile([0.0, 0.25], len(frequencies) - 1))
        self._log_multiplicity = np.append(0.0, np.full(2 * (len(frequencies) - 1), np.log(2.0)))

    @property
    def n_inputs(self):
        """Number of inputs that X has."""
        return self.index_set.dimension if self.sum is None else len(self.sum.torus.names)

    @property
    def period(self):
        """Period or cell of the axes; those of lines are the lengths of their circles."""
        if self.kernel.period is None:
            raise ValueError(f"{self.kernel!r} has no period, so inputs have no phases: give it, as in period=24.0.")
        return self.kernel.period

    def standard_deviations(self, xp, length_scale, variance=None):
        """Prior standard deviations of the weights, of shape (..., n_components).

        Shapes: length_scale (), (..., 1) or (..., dimension); variance (..., n_terms).
        """
        if self.sum is None:
            _check_length_scale(length_scale, self._log_coefficients.n_length_scales)
            log_coefficients = self._log_coefficients(xp, length_scale)
        else:
            for term, one in zip(self.sum.terms, length_scale, strict=True):
                _check_length_scale(one, len(term.length_scale), f" of the term {term.name!r}")
            log_coefficients = self._log_coefficients(xp, length_scale, variance)
        log_coefficients = log_coefficients[..., xp.constant(self._frequency_of_column)]
        return xp.exp(0.5 * (log_coefficients + xp.constant(self._log_multiplicity)))

    def columns(self, xp, X, period, is_cell):
        """Columns of shape (..., n_samples, n_components), differentiable in inputs and period.

        Shapes: X (..., n_samples, n_inputs); period (), (dimension,) or (..., 1, dimension).
        """
        self._check_inputs(known_shape(X))
        if self.sum is not None:
            X = self._axes.coordinates(xp, X)
        # The remainder of a large input is exact, a difference of numbers of turns is not
        turns = X @ xp.linalg.inv(period) if is_cell else X % period / period
        turns = turns @ xp.constant(self._column_frequencies) - xp.constant(self._turns_before)
        return xp.cos(2 * np.pi * (turns - xp.floor(turns)))

    def constant_columns(self, X, period):
        """The same for arrays of numbers, by NumPy and in double precision."""
        X = np.asarray(X, dtype=float)
        self._check_inputs(X.shape)
        coordinates = X if self.sum is None else self.sum.torus.coordinates(X, self.sum.period)
        return basis_columns(to_phases(coordinates, period), self.index_set.frequencies)

    def with_circles(self, xp, period):
        """Periods of all axes of a sum, from those of its circles, of shape (..., n_circles) or ()."""
        return self._axes.period(xp, period)

    @property
    def n_circles(self):
        """Number of axes of a sum that are circles."""
        return len(self.sum.torus.kinds("circle"))

    def outside(self, X):
        """Mask of the rows of an array of numbers that lie beyond the range of a line."""
        return np.zeros(len(X), dtype=bool) if self.sum is None else self.sum.torus.outside(X)

    def _check_inputs(self, shape):
        if len(shape) < 2 or shape[-1] not in (None, self.n_inputs):
            if self.sum is not None:
                names = ", ".join(self.sum.torus.names)
                raise ValueError(f"X must have shape (n_samples, {self.n_inputs}), with {names}, got {tuple(shape)}.")
            raise ValueError(
                f"X must have shape (n_samples, {self.index_set.dimension}), a column for each dimension of the index "
                f"set, got {tuple(shape)}. An input that has several periods is given several times, as X[:, [0, 0]]."
            )


class _AxesOfInputs:
    """Coordinates of the inputs of a sum on its axes, in any array library."""

    def __init__(self, kernel):
        axes, self._given = kernel.torus.axes, kernel.period
        lengths = np.diagonal(kernel.period) if kernel.period.ndim == 2 else kernel.period
        self._inputs = kernel.torus.inputs
        self._circles = kernel.torus.kinds("circle")
        reach = np.array([axis.reach(length) for axis, length in zip(axes, lengths, strict=True)])
        is_line = np.array([axis.kind == "line" for axis in axes])
        low, high = (np.array([getattr(axis, name) for axis in axes]) for name in ("low", "high"))
        # beyond its range a line is clamped where the kernel has fallen to nothing
        self._lower, self._upper = np.where(is_line, low - reach, -np.inf), np.where(is_line, high + reach, np.inf)
        self._origin = np.where(is_line, low, 0.0)
        self._has_lines = is_line.any()

    def coordinates(self, xp, X):
        result = X[..., xp.constant(self._inputs)]
        if not self._has_lines:
            return result
        return xp.clip(result, xp.constant(self._lower), xp.constant(self._upper)) - xp.constant(self._origin)

    def period(self, xp, circles):
        """Periods of all axes, from those of the circles."""
        unit = np.zeros((len(self._circles), len(self._inputs)))
        unit[np.arange(len(self._circles)), self._circles] = 1.0
        others = np.where(unit.any(axis=0), 0.0, self._given)
        return (circles * xp.constant(np.ones(len(self._circles)))) @ xp.constant(unit) + xp.constant(others)


def check_kernel(kernel):
    """Return a kernel that the adapters can differentiate, from one or from an expression, or raise."""
    if isinstance(kernel, Expression):
        _check_expression(kernel)
        kernel = TorusKernel(kernel)
    if not isinstance(kernel, TorusKernel):
        raise ValueError(f"kernel must be a torusgp.TorusKernel or an expression, got {kernel!r}.")
    if kernel.sum is not None:
        for axis in kernel.sum.torus.axes:
            if axis.kind == "category":
                _refuse_category(axis.name)
    return kernel


def _check_expression(expression):
    for term in expression.terms:
        if isinstance(term, Slope):
            raise ValueError(
                f"{term!r} is a plain column, not a kernel: add it to the mean of your model, as a coefficient times "
                "the input, or use TorusGPRegressor."
            )
        for factor in term.factors:
            if isinstance(factor, Category):
                _refuse_category(factor.input)
            if isinstance(factor, Lattice) and factor.learns_period:
                raise ValueError(
                    f"{factor!r} has a cell that is to be found or learned, which the adapters do not: fit "
                    "TorusGPRegressor with it, and give the cell that it has learned."
                )
            if isinstance(factor, Circle) and factor.learns_period:
                raise ValueError(
                    f"{factor!r} has a period that is to be found or learned: give a number, as find_period or a "
                    "fitted TorusGPRegressor tells it. The adapters learn it from there where they are asked to."
                )


def _refuse_category(name):
    raise ValueError(
        f"The category {name!r} cannot be used here: its blocks of components are those of TorusGPRegressor alone. "
        "Give each level a kernel or an effect of its own in your model, or use TorusGPRegressor."
    )


def _with_limit_of(kernel, index_set):
    limit = index_set.max_interaction if kernel.max_interaction is None else kernel.max_interaction
    return TorusKernel(kernel.family, kernel.length_scale, kernel.period, max_interaction=limit)


def _check_length_scale(length_scale, most, of=""):
    shape = known_shape(length_scale)
    if len(shape) and shape[-1] not in (None, 1, most):
        raise ValueError(f"length_scale{of} must be a number or an array with {most} entries, got the shape {shape}.")


def check_bounds(bounds):
    """Return bounds of length scales as floats, or raise if they are not a pair of rising positive numbers."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 < low < high < np.inf:
        raise ValueError(f"length_scale_bounds must be two positive numbers, the smaller first, got {bounds!r}.")
    return low, high


def by_term(kernel, values, name):
    """Values of the terms of a sum in their order, from a sequence or a mapping by name."""
    terms = kernel.terms
    if isinstance(values, Mapping):
        if set(values) != set(terms):
            raise ValueError(f"{name} must have the keys {list(terms)}, got {list(values)}.")
        return [values[term] for term in terms]
    values = list(values) if isinstance(values, list | tuple) else [values[j] for j in range(len(terms))]
    if len(values) != len(terms):
        raise ValueError(f"{name} must have one entry for each of the terms {list(terms)}, got {len(values)}.")
    return values


def with_parameters(kernel, length_scale=None, variance=None, room=None):
    """A sum with other length scales and variances.

    With room, lines lie on circles for length scales that are learned and so much longer; without, circles stay.
    """
    present = kernel.sum
    if length_scale is not None:
        pairs = zip(length_scale, present.terms, strict=True)
        scales = tuple(
            np.broadcast_to(np.asarray(one, dtype=float), term.length_scale.shape).copy() for one, term in pairs
        )
        present = replace(present, scales=scales)
    if variance is not None:
        present = replace(present, variances=np.array(variance, dtype=float))
    return TorusKernel.from_sum(present if room is None else _with_new_circles(present, room))


def _with_new_circles(kernel, room):
    needed: dict[int, float] = {}
    for term, scales in zip(kernel.terms, kernel.scales, strict=True):
        place = 0
        for factor in term.factors:
            if factor.is_line:
                axis = factor.axes[0]
                scale = scales[place] * (room if factor.learned else 1.0)
                extent = kernel.torus.axes[axis].extent
                length = circle_length(factor.family, scale, extent, factor.tolerance or DEFAULT_TOLERANCE)
                needed[axis] = max(needed.get(axis, 0.0), length)
            place += len(factor.length_scale)
    period = kernel.period.copy()
    for axis, length in needed.items():
        period[(axis, axis) if period.ndim == 2 else axis] = length
    return replace(kernel, period=period)


def index_set_at(kernel, n_components, length_scale, variance=None):
    """The set of the largest coefficients of a kernel at other length scales, on the same circles.

    The circle of a line is as long as the length scale in the expression needs: give the longest one there, and choose
    the set for the shortest.

    Parameters
    ----------
    kernel : TorusKernel or Expression
        A sum of products.
    n_components : int
        Largest number of components.
    length_scale : sequence of array-like, or mapping by the names of the terms
        Length scales of each term.
    variance : array-like of shape (n_terms,) or mapping, optional
        Variances of the terms; by default the kernel's own.

    Returns
    -------
    IndexSet
    """
    kernel = check_kernel(kernel)
    if kernel.sum is None:
        raise ValueError(
            "index_set_at is for expressions; of one product take adaptive(TorusKernel(...), n_components)."
        )
    variance = None if variance is None else by_term(kernel, variance, "variance")
    return adaptive(with_parameters(kernel, by_term(kernel, length_scale, "length_scale"), variance), n_components)


def prior_linearized(xp, is_traced, X, kernel, index_set, length_scale, variance, period, bounds):
    """Columns and standard deviations as arrays of a library; what PyMC's and NumPyro's adapters share.

    Columns of plain numbers are computed in double precision before the library sees them.
    """
    expansion = Expansion(kernel, index_set, bounds)
    kernel = expansion.kernel
    if kernel.sum is not None:
        return _sum_linearized(xp, is_traced, X, expansion, length_scale, variance, period)
    if variance is not None:
        raise ValueError("variance is for the terms of an expression; multiply one product with a standard deviation.")
    if period is not None and kernel.metric == "cartesian":
        raise ValueError(
            "The period of a Cartesian kernel cannot be a variable of the model: the normalisation of its coefficients "
            "depends on the cell. Leave period out, or use a product kernel (metric='phase')."
        )
    period = expansion.period if period is None else period
    standard_deviations = expansion.standard_deviations(xp, xp.constant(length_scale))
    if not (is_traced(X) or is_traced(period)):
        return xp.constant(expansion.constant_columns(X, np.asarray(period, dtype=float))), standard_deviations
    period = xp.constant(period)
    return expansion.columns(xp, xp.constant(X), period, is_cell=period.ndim == 2), standard_deviations


def _sum_linearized(xp, is_traced, X, expansion, length_scale, variance, period):
    kernel = expansion.kernel
    length_scale = [xp.constant(one) for one in by_term(kernel, length_scale, "length_scale")]
    if variance is None:
        variance = xp.constant(kernel.sum.variances)
    else:
        variance = xp.stack([xp.constant(one) for one in by_term(kernel, variance, "variance")])
    standard_deviations = expansion.standard_deviations(xp, length_scale, variance)
    is_cell = kernel.period.ndim == 2
    if period is not None and (is_cell or not expansion.n_circles):
        raise ValueError("period must be left out: it is for the circles of an expression without lattices.")
    if not (is_traced(X) or is_traced(period)):
        _warn_outside(expansion, np.asarray(X))
        if period is not None:
            period = expansion.with_circles(NUMPY, np.asarray(period, dtype=float))
        return xp.constant(
            expansion.constant_columns(X, kernel.period if period is None else period)
        ), standard_deviations
    period = xp.constant(kernel.period) if period is None else expansion.with_circles(xp, xp.constant(period))
    return expansion.columns(xp, xp.constant(X), period, is_cell), standard_deviations


def _warn_outside(expansion, X):
    if X.ndim == 2 and X.shape[1] == expansion.n_inputs and expansion.outside(X).any():
        warnings.warn(
            f"{int(expansion.outside(X).sum())} rows lie beyond the range of a line: the function is right there, but "
            "not its covariance between two such rows. Give a wider range, as in Line(0, range=(low, high)).",
            stacklevel=4,
        )
