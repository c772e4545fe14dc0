"""Periodic kernels in several dimensions: their coefficients, exact Gram matrices and error certificates."""

from functools import lru_cache, partial

import numpy as np

from torusgp.checks import check_count, check_numbers
from torusgp.kernels.certificates import dropped_sum, mass_by_order, mass_without_each
from torusgp.kernels.checks import check_family, check_inputs, check_period, check_positive_array
from torusgp.kernels.index_sets import IndexSet, named_set
from torusgp.kernels.spectra import Spectrum

_MOST_TURNS = 1e12  # from zero: beyond, a phase is known to a thousandth of a turn at best
_CHUNK_ENTRIES = 2**21  # entries of a Gram matrix computed at once
_SHORT_TABLE = 256  # orders that are computed whether they occur or not
_ZERO = np.zeros(1, dtype=np.int64)


class ProductKernel:
    r"""Stationary kernel on a torus, of variance one.

    .. math:: k(x, y) = \sum_{k \in \mathbb{Z}^D} c_k e^{i k \cdot (\theta(x) - \theta(y))}, \quad
              \theta(x) = 2 \pi x \, \text{cell}^{-1}

    A product over dimensions, :math:`c_k = \prod_d c^{(d)}_{k_d}`, unless the family is Cartesian.

    Parameters
    ----------
    family : str, Spectrum or sequence of these, default="squared_exponential"
        One family for all dimensions, or one for each. Names: "squared_exponential", "matern12", "matern32",
        "matern52", "rational_quadratic", "heat", "torus_matern".
    length_scale : float or array-like of shape (dimension,), default=1.0
        Dimensionless, of the order of the phase in radians over which the function changes. For Cartesian families a
        single number in the units of the inputs.
    period : float, array-like of shape (dimension,) or (dimension, dimension), optional
        Period of each input, or a cell whose rows are lattice vectors. The cell is used as it is. Without it the kernel
        has coefficients, but no inputs.
    max_interaction : int, optional
        Keep only coefficients with at most this many non-zero entries, scaled to sum to one: the ANOVA kernel of
        that order.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = ProductKernel(length_scale=[0.5, 1.0], period=[24.0, 7.0])
    >>> X = np.array([[1.0, 2.0], [25.0, -5.0]])
    >>> bool(np.allclose(kernel(X), 1.0))  # the same point of the torus
    True
    """

    def __init__(self, family="squared_exponential", length_scale=1.0, period=None, *, max_interaction=None):
        self.family = check_family(family)
        self.length_scale = check_positive_array(length_scale, "length_scale", max_ndim=1)
        self.period = None if period is None else check_period(period)
        self.max_interaction = check_count(max_interaction, "max_interaction", optional=True)
        if self.metric == "cartesian" and (np.ndim(self.length_scale) or self.max_interaction is not None):
            raise ValueError(
                "A Cartesian kernel is a function of the lattice alone: it takes a single length_scale and no "
                f"max_interaction, got length_scale={length_scale!r} and max_interaction={max_interaction!r}."
            )
        self.resolve_dimension()

    def __repr__(self):
        limit = "" if self.max_interaction is None else f", max_interaction={self.max_interaction}"
        return f"ProductKernel({self.family!r}, length_scale={self.length_scale!r}, period={self.period!r}{limit})"

    @property
    def metric(self):
        """Kind of coefficients: "phase" for a product over phases, "cartesian" for functions of the wave vector."""
        return self.family.metric if isinstance(self.family, Spectrum) else "phase"

    @property
    def dimension(self):
        """Number of periodic inputs, or None if all parameters are scalars, which fit any."""
        sizes = self._sizes()
        if len(set(sizes.values())) > 1:
            raise ValueError(
                "Parameters differ in dimension: "
                + ", ".join(f"{name} has {size}" for name, size in sizes.items())
                + "."
            )
        return next(iter(sizes.values()), None)

    def _sizes(self):
        """Numbers of entries of the parameters that are no scalars."""
        sizes = {
            "family": None if isinstance(self.family, Spectrum) else len(self.family),
            "length_scale": len(self.length_scale) if np.ndim(self.length_scale) else None,
            "period": len(self.period) if self.period is not None and np.ndim(self.period) else None,
        }
        return {name: size for name, size in sizes.items() if size is not None}

    def resolve_dimension(self, dimension=None):
        """Return the dimension that the kernel and the argument agree on."""
        check_count(dimension, "dimension", optional=True)
        own = self.dimension
        if own is not None and dimension is not None and own != dimension:
            raise ValueError(
                f"{' and '.join(self._sizes())} of length {own} cannot describe {dimension} periodic input(s): give "
                "one entry for each of them, or a number for all."
            )
        return dimension if own is None else own

    def cell(self, dimension=None):
        """Lattice vectors as rows, in the units of the inputs."""
        dimension = self._known_dimension(dimension)
        period = self._known_period()
        return np.array(period) if np.ndim(period) == 2 else np.diag(np.broadcast_to(period, (dimension,)))

    def _known_period(self):
        if self.period is None:
            raise ValueError(f"{self!r} has no period, so inputs have no phases: give it, as in period=24.0.")
        return self.period

    def axis_spectra(self, dimension=None):
        """Family and length scale of each dimension of a product kernel."""
        dimension = self._known_dimension(dimension)
        families = [self.family] * dimension if isinstance(self.family, Spectrum) else list(self.family)
        return list(zip(families, np.broadcast_to(self.length_scale, (dimension,)).tolist(), strict=True))

    def _known_dimension(self, dimension):
        dimension = self.resolve_dimension(dimension)
        if dimension is None:
            raise ValueError("All parameters of the kernel are scalars: say the dimension, as in dimension=2.")
        return dimension

    def phases(self, X):
        """Phases in radians, in [0, 2 pi], of inputs of shape (n_samples, dimension)."""
        return to_phases(check_inputs(X, "X", self.dimension), self._known_period())

    def __call__(self, X, Y=None):
        """Exact Gram matrix between the rows of X and of Y, or of X and X."""
        X = check_inputs(X, "X", self.dimension)
        Y = X if Y is None else check_inputs(Y, "Y", X.shape[1])
        phases_x, phases_y = self.phases(X), self.phases(Y)
        gram = np.empty((len(X), len(Y)))
        step = max(1, _CHUNK_ENTRIES // max(1, len(Y)))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            gram[rows] = self.evaluate(phases_x[rows, None] - phases_y)
        return gram

    def evaluate(self, phases):
        """Kernel at phase differences of shape (..., dimension)."""
        dimension = phases.shape[-1]
        if self.metric == "cartesian":
            return self.family.kernel(phases, self.length_scale, self.cell(dimension))
        return self.combine(
            [
                family.kernel(phases[..., d], length_scale)
                for d, (family, length_scale) in enumerate(self.axis_spectra(dimension))
            ]
        )

    def combine(self, parts):
        """Kernel from the values of the factors of its dimensions: their product, or the interactions of an order."""
        dimension = len(parts)
        if self._order(dimension) == dimension:
            return np.prod(parts, axis=0)
        constants = [family.coefficients(0, scale) for family, scale in self.axis_spectra(dimension)]
        # by_order[m]: sum of the products with m varying factors
        by_order = [np.ones(parts[0].shape)] + [np.zeros(parts[0].shape)] * self.max_interaction
        for part, constant in zip(parts, constants, strict=True):
            by_order = [
                constant * by_order[m] + ((part - constant) * by_order[m - 1] if m else 0.0)
                for m in range(len(by_order))
            ]
        return sum(by_order) / self._total(dimension)

    def _order(self, dimension):
        return dimension if self.max_interaction is None else min(self.max_interaction, dimension)

    def _total(self, dimension):
        """Sum of the product coefficients that the interaction limit leaves."""
        if self._order(dimension) == dimension:
            return 1.0
        zero, beyond = self._split_at_zero(dimension)
        return mass_by_order(zero, beyond)[0, self._order(dimension)]

    def _split_at_zero(self, dimension):
        spectra = self.axis_spectra(dimension)
        zero = np.array([_at_zero(family, scale)[0] for family, scale in spectra])
        # one minus the constant is exact enough unless it is nearly everything, and then the tail is short
        beyond = [
            1 - constant if constant < 0.9 else 2 * family.tail_sums(0, scale)[0]
            for constant, (family, scale) in zip(zero, spectra, strict=True)
        ]
        return zero, np.array(beyond)

    def coefficients(self, frequencies):
        """Fourier coefficients of integer frequencies of shape (n_frequencies, dimension)."""
        return np.exp(self.log_coefficients(frequencies))

    def log_coefficients(self, frequencies):
        """Logarithms of the coefficients, accurate where the coefficients underflow."""
        frequencies = self._check_frequencies(frequencies)
        dimension = frequencies.shape[1]
        if self.metric == "cartesian":
            return self.family.log_coefficients(frequencies, self.length_scale, self.cell(dimension))
        log_c = np.zeros(len(frequencies))
        for (family, length_scale), column in zip(self.axis_spectra(dimension), frequencies.T, strict=True):
            log_c += _along_axis(family, length_scale, column)
        log_c -= np.log(self._total(dimension))
        log_c[np.count_nonzero(frequencies, axis=1) > self._order(dimension)] = -np.inf
        return log_c

    def log_coefficients_gradient(self, frequencies):
        """Derivatives of the log coefficients with respect to the logarithm of each length scale.

        Returns
        -------
        ndarray of shape (n_frequencies, dimension), or (n_frequencies, 1) for a Cartesian kernel
        """
        frequencies = self._check_frequencies(frequencies)
        dimension = frequencies.shape[1]
        if self.metric == "cartesian":
            gradient = self.family.log_coefficients_gradient(frequencies, self.length_scale, self.cell(dimension))
            return gradient[:, None]
        gradient = np.empty(frequencies.shape)
        for d, (family, length_scale) in enumerate(self.axis_spectra(dimension)):
            gradient[:, d] = _along_axis(family, length_scale, frequencies[:, d], gradient=True)
        if self._order(dimension) < dimension:
            gradient -= self._log_total_gradient(dimension)
        return gradient

    def _log_total_gradient(self, dimension):
        zero, beyond = self._split_at_zero(dimension)
        order = self._order(dimension)
        # mass moves from the coefficient at zero to the others, which count as one more interaction
        moved = zero * [_at_zero(family, length_scale)[1] for family, length_scale in self.axis_spectra(dimension)]
        return moved * mass_without_each(zero, beyond, order) / mass_by_order(zero, beyond)[0, order]

    def truncation_error(self, index_set):
        """Largest error on an index set; see :meth:`torusgp.TorusKernel.truncation_error`."""
        return self._dropped(index_set, 1) / self._total(index_set.dimension)

    def frobenius_error(self, index_set, n_samples=None):
        """Expected relative Frobenius error; see :meth:`torusgp.TorusKernel.frobenius_error`."""
        dimension = self._check_set(index_set)
        total = self._total(dimension)
        dropped = self._dropped(index_set, 1) / total
        dropped_squares = self._dropped(index_set, 2) / total**2
        squares = self._sum_of_squares(dimension) / total**2
        if n_samples is None:
            return float(np.sqrt(dropped_squares / squares))
        check_count(n_samples, "n_samples", optional=True)
        return float(np.sqrt(((n_samples - 1) * dropped_squares + dropped**2) / ((n_samples - 1) * squares + 1)))

    def _sum_of_squares(self, dimension):
        if self.metric == "cartesian":
            return self.family.sum_of_squares(self.length_scale, self.cell(dimension))
        spectra = self.axis_spectra(dimension)
        zero = np.array([float(family.coefficients(0, scale)) ** 2 for family, scale in spectra])
        beyond = np.array([2 * family.tail_sums(0, scale, power=2)[0] for family, scale in spectra])
        return mass_by_order(zero, beyond)[0, self._order(dimension)]

    def _dropped(self, index_set, power):
        """Sum of the powers of the product coefficients outside a set, before they are scaled to sum to one."""
        dimension = self._check_set(index_set)
        if self.metric == "cartesian":
            everything = 1.0 if power == 1 else self._sum_of_squares(dimension)
            kept = np.sort(self.coefficients(index_set.frequencies) ** power)
            return max(0.0, float(everything - 2 * kept[:-1].sum() - kept[-1]))
        order = self._order(dimension)
        frequencies = index_set.frequencies
        frequencies = frequencies[np.count_nonzero(frequencies, axis=1) <= order]
        values, tails = [], []
        for d, (family, length_scale) in enumerate(self.axis_spectra(dimension)):
            largest = int(np.abs(frequencies[:, d]).max())
            values.append(family.coefficients(np.arange(largest + 1), length_scale) ** power)
            tails.append(family.tail_sums(largest, length_scale, power))
        return dropped_sum(frequencies, values, tails, order)

    def largest(self, n_components):
        """None: the largest coefficients of a product are enumerated by :func:`torusgp.kernels.index_sets.adaptive`."""
        return None

    def refinement_weights(self, index_set, n_components, dimension=None):
        """Weights of the smallest error at a budget, by a compass search; see `TorusKernel.refinement_weights`."""
        if self.metric == "cartesian":
            raise ValueError("A Cartesian kernel has no axes to weigh; use the adaptive index set.")
        terms = np.array([max(1, family.n_terms(scale, 1e-3)) for family, scale in self.axis_spectra(dimension)])
        build = partial(named_set, index_set) if isinstance(index_set, str) else index_set
        build = partial(build, len(terms), n_components=n_components, max_interaction=self.max_interaction)

        def error(weights):
            try:
                return self.frobenius_error(build(weights=weights))
            except ValueError:  # no set of these weights is as small
                return np.inf

        moves = np.vstack([np.eye(len(terms)), np.ones(len(terms))])  # of logarithms: each weight, and all together
        best, step = min(np.ones(len(terms)), terms / terms.max(), key=error), 2.0
        while step > 1.09:  # the set hardly changes below
            found = min([best, *(np.minimum(best * step**move, 1.0) for move in (*moves, *-moves))], key=error)
            best, step = found, np.sqrt(step) if found is best else step
        build(weights=best)  # raises where no set fits, and says why
        return best

    def _check_set(self, index_set):
        if not isinstance(index_set, IndexSet):
            raise ValueError(f"index_set must be an IndexSet, got {index_set!r}.")
        return self.resolve_dimension(index_set.dimension)

    def _check_frequencies(self, frequencies):
        frequencies = np.asarray(frequencies)
        if frequencies.ndim != 2 or frequencies.dtype.kind not in "iu":
            raise ValueError(
                f"frequencies must be integers of shape (n_frequencies, dimension), got shape {frequencies.shape} and "
                f"dtype {frequencies.dtype}."
            )
        self.resolve_dimension(frequencies.shape[1])
        return frequencies


def _along_axis(family, length_scale, frequencies, gradient=False):
    """Log coefficients of one dimension or their derivatives, at integers of which many are the same."""
    orders = np.abs(frequencies)
    largest = int(orders.max(initial=0))
    if largest <= len(orders) + _SHORT_TABLE:
        if family.has_both_at_once:
            return _both(family, length_scale, largest)[gradient][orders]
        return _table(family, length_scale, largest, gradient)[orders]
    distinct, inverse = np.unique(orders, return_inverse=True)
    evaluate = family.log_coefficients_gradient if gradient else family.log_coefficients
    return evaluate(distinct, length_scale)[inverse]


@lru_cache(maxsize=256)
def _at_zero(family, length_scale):
    """Coefficient at zero, and the derivative of its logarithm."""
    log_coefficient, gradient = (float(_along_axis(family, length_scale, _ZERO, which)[0]) for which in (False, True))
    return np.exp(log_coefficient), gradient


@lru_cache(maxsize=256)
def _table(family, length_scale, largest, gradient):
    """Log coefficients of the orders up to the largest, or their derivatives."""
    evaluate = family.log_coefficients_gradient if gradient else family.log_coefficients
    return evaluate(np.arange(largest + 1), length_scale)


@lru_cache(maxsize=256)
def _both(family, length_scale, largest):
    """Log coefficients of the orders up to the largest, and their derivatives: a step of learning asks for both."""
    return family.log_coefficients_and_gradient(np.arange(largest + 1), length_scale)


def to_phases(X, period):
    """Phases in radians, in [0, 2 pi], reduced in float64 before anything else is done with them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, dimension)
        Inputs.
    period : float, ndarray of shape (dimension,) or (dimension, dimension)
        Periods, or a cell whose rows are lattice vectors.

    Returns
    -------
    ndarray of shape (n_samples, dimension)
    """
    check_numbers(X)
    X = np.asarray(X, dtype=float)
    if np.ndim(period) < 2:
        phases = np.empty(X.shape[::-1])  # each dimension contiguous, as whoever works on phases wants them
        for column, one, out in zip(X.T, np.broadcast_to(period, X.shape[1]), phases, strict=True):
            np.multiply(_remainder(column, float(one)), 2 * np.pi / one, out=out)
        return phases.T
    turns = X @ np.linalg.inv(period)
    return 2 * np.pi * (turns - np.floor(turns))


def check_turns(X, period):
    """Raise if inputs lie so far from zero that rounding has taken their phases."""
    largest = max(X.max(initial=0.0), -X.min(initial=0.0))
    smallest = np.min(np.linalg.norm(period, axis=-1) if np.ndim(period) == 2 else period)
    if largest > _MOST_TURNS * smallest:  # with the others it need not be, so a closer look follows
        turns = np.abs(X @ np.linalg.inv(period) if np.ndim(period) == 2 else X / period)
        if turns.max() > _MOST_TURNS:
            row, column = np.unravel_index(np.argmax(turns), turns.shape)
            raise ValueError(
                f"X is {X[row, column]:.6g} in row {row}, more than {_MOST_TURNS:g} periods: such numbers are "
                f"{np.spacing(abs(X[row, column])):.2g} apart, and have no phase. Subtract a multiple of the period."
            )


def _remainder(x, period):
    """The same as ``np.remainder``, bit by bit, several times faster.

    The period is split into two numbers of half the digits, so that their products with the number of turns are exact;
    only the last difference is rounded, as that of ``np.remainder`` is.
    """
    turns = x / period
    np.floor(turns, out=turns)
    if not (turns.max(initial=0.0) < 2**26 and turns.min(initial=0.0) > -(2**26)):  # nor infinities or NaN
        return np.remainder(x, period)
    mantissa, exponent = np.frexp(period)
    high = np.ldexp(np.round(np.ldexp(mantissa, 26)), exponent - 26)
    rest = turns * high
    np.subtract(x, rest, out=rest)
    turns *= period - high
    rest -= turns
    # the quotient may have been rounded up to a whole number
    return np.add(rest, period, out=rest, where=rest < 0) if rest.size and rest.min() < 0 else rest
