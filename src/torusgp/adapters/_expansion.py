"""A kernel as columns of an index set and standard deviations of their weights, in any array library."""

import numpy as np

from torusgp.adapters._coefficients import LogCoefficients
from torusgp.adapters._libraries import known_shape
from torusgp.engine.basis import columns as basis_columns
from torusgp.estimators.features import interaction_limit
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.kernel import TorusKernel, to_phases

LENGTH_SCALE_BOUNDS = (1e-2, 1e2)  # those of TorusGPRegressor


class Expansion:
    r"""Functions :math:`f(x) = \sum_j F_j(x) s_j z_j` with standard normal :math:`z`, whose covariance is the kernel.

    The columns :math:`F` are those of :mod:`torusgp.engine.basis`, in its order; the standard deviations :math:`s` are
    :math:`\sqrt{c_0}` and, twice for each pair of columns, :math:`\sqrt{2 c_k}`.

    Parameters
    ----------
    kernel : TorusKernel
        Families and period; its length scales are where the index set may have been chosen.
    index_set : IndexSet
        Frequencies. A limit of interactions under which it was built holds for the kernel too.
    bounds : pair of float
        Length scales between which standard deviations are accurate to rounding.

    Attributes
    ----------
    limits : pair of float
        The bounds, in the units of the kernel's length scale.
    """

    def __init__(self, kernel, index_set, bounds=LENGTH_SCALE_BOUNDS):
        if not isinstance(kernel, TorusKernel):
            raise ValueError(f"kernel must be a torusgp.TorusKernel, got {kernel!r}.")
        if not isinstance(index_set, IndexSet):
            raise ValueError(f"index_set must be an IndexSet, as torusgp.index_sets makes them, got {index_set!r}.")
        limit = interaction_limit(kernel.max_interaction, index_set)
        self.kernel = TorusKernel(kernel.family, kernel.length_scale, kernel.period, max_interaction=limit)
        self.index_set = index_set
        self.bounds = check_bounds(bounds)
        self._log_coefficients = LogCoefficients(self.kernel, index_set, self.bounds)
        self.limits = self._log_coefficients.limits
        n_frequencies = len(index_set.frequencies)
        self._frequency_of_column = np.append(0, np.repeat(np.arange(1, n_frequencies), 2))
        self._column_frequencies = index_set.frequencies[self._frequency_of_column].T.astype(float)
        # A sine is a cosine a quarter of a turn later
        self._turns_before = np.append(0.0, np.tile([0.0, 0.25], n_frequencies - 1))
        self._log_multiplicity = np.append(0.0, np.full(2 * (n_frequencies - 1), np.log(2.0)))

    def standard_deviations(self, xp, length_scale):
        """Prior standard deviations of the weights, of shape (..., n_components).

        Parameters
        ----------
        xp : ArrayLibrary
            Whose array the other is.
        length_scale : array of shape (), (..., 1) or (..., dimension)
            One for all dimensions or one for each; a Cartesian kernel has a single one.
        """
        shape, most = known_shape(length_scale), self._log_coefficients.n_length_scales
        if len(shape) and shape[-1] not in (None, 1, most):
            raise ValueError(f"length_scale must be a number or an array with {most} entries, got the shape {shape}.")
        log_coefficients = self._log_coefficients(xp, length_scale)[..., xp.constant(self._frequency_of_column)]
        return xp.exp(0.5 * (log_coefficients + xp.constant(self._log_multiplicity)))

    def columns(self, xp, X, period, is_cell):
        """Columns of shape (..., n_samples, n_components), differentiable in inputs and period.

        Parameters
        ----------
        xp : ArrayLibrary
            Whose arrays the others are.
        X : array of shape (..., n_samples, dimension)
            Inputs.
        period : array of shape (), (dimension,) or (..., 1, dimension); for a cell (..., dimension, dimension)
            Periods or lattice vectors.
        is_cell : bool
            Which of the two.
        """
        self._check_inputs(known_shape(X))
        # The remainder of a large input is exact, a difference of numbers of turns is not
        turns = X @ xp.linalg.inv(period) if is_cell else X % period / period
        turns = turns @ xp.constant(self._column_frequencies) - xp.constant(self._turns_before)
        return xp.cos(2 * np.pi * (turns - xp.floor(turns)))

    def constant_columns(self, X, period):
        """The same for arrays of numbers, by NumPy and in double precision."""
        X = np.asarray(X, dtype=float)
        self._check_inputs(X.shape)
        return basis_columns(to_phases(X, period), self.index_set.frequencies)

    def _check_inputs(self, shape):
        if len(shape) < 2 or shape[-1] not in (None, self.index_set.dimension):
            raise ValueError(
                f"X must have shape (n_samples, {self.index_set.dimension}), a column for each dimension of the index "
                f"set, got {tuple(shape)}. An input that has several periods is given several times, as X[:, [0, 0]]."
            )


def check_bounds(bounds):
    """Return bounds of length scales as floats, or raise if they are not a pair of rising positive numbers."""
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 < low < high < np.inf:
        raise ValueError(f"length_scale_bounds must be two positive numbers, the smaller first, got {bounds!r}.")
    return low, high


def prior_linearized(xp, is_traced, X, kernel, index_set, length_scale, period, bounds):
    """Columns and standard deviations as arrays of a library; what PyMC's and NumPyro's adapters share.

    Columns of plain numbers are computed in double precision before the library sees them.
    """
    expansion = Expansion(kernel, index_set, bounds)
    if period is not None and kernel.metric == "cartesian":
        raise ValueError(
            "The period of a Cartesian kernel cannot be a variable of the model: the normalisation of its coefficients "
            "depends on the cell. Leave period out, or use a product kernel (metric='phase')."
        )
    period = kernel.period if period is None else period
    standard_deviations = expansion.standard_deviations(xp, xp.constant(length_scale))
    if not (is_traced(X) or is_traced(period)):
        return xp.constant(expansion.constant_columns(X, np.asarray(period, dtype=float))), standard_deviations
    period = xp.constant(period)
    return expansion.columns(xp, xp.constant(X), period, is_cell=period.ndim == 2), standard_deviations
