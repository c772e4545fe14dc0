"""The kernel of a model, as users hold it: one product of circles in a short form, or any expression."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from torusgp.checks import check_numbers
from torusgp.kernels.axes import Expression
from torusgp.kernels.checks import check_inputs
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.product import ProductKernel, to_phases
from torusgp.kernels.resolve import resolve
from torusgp.kernels.spectra import Spectrum
from torusgp.kernels.sums import SumKernel


class TorusKernel:
    r"""Kernel on a torus: a sum of products over circles, lines, categories and lattices.

    .. math:: k(x, y) = \sum_{k \in \mathbb{Z}^D} c_k e^{i k \cdot (\theta(x) - \theta(y))}, \quad
              \theta(x) = 2 \pi x \, \text{cell}^{-1}

    Parameters
    ----------
    kernel : Expression, str, Spectrum or sequence of these, default="squared_exponential"
        An expression such as ``Circle("hour", 24) * Line("temperature", range=(-10, 40))``; or a family for all inputs,
        or one for each: then the kernel is one product of circles, of variance one. Names: "squared_exponential",
        "matern12", "matern32", "matern52", "rational_quadratic", "heat", "torus_matern".
    length_scale : float or array-like of shape (dimension,), default=1.0
        Of that product: dimensionless, of the order of the phase in radians over which the function changes. For
        Cartesian families a single number in the units of the inputs.
    period : float, array-like of shape (dimension,) or (dimension, dimension), optional
        Of that product: period of each input, or a cell whose rows are lattice vectors, used as it is. Without it the
        kernel has coefficients, but no inputs.
    max_interaction : int, optional
        Of that product: keep only coefficients with at most this many non-zero entries, scaled to sum to one, which is
        the ANOVA kernel of that order.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import Circle, Line
    >>> kernel = TorusKernel(length_scale=[0.5, 1.0], period=[24.0, 7.0])
    >>> X = np.array([[1.0, 2.0], [25.0, -5.0]])
    >>> bool(np.allclose(kernel(X), 1.0))  # the same point of the torus
    True
    >>> kernel = TorusKernel(Circle(0, 24) * Line(1, length_scale=2.0, range=(0, 10)) + 0.5 * Circle(0, 24))
    >>> bool(np.allclose(kernel(X)[0, 1], np.exp(-0.5 * 3.5**2) + 0.5))  # seven units apart on the line
    True
    """

    def __init__(
        self,
        kernel: Expression | str | Spectrum | list[Any] | tuple[Any, ...] = "squared_exponential",
        length_scale: ArrayLike = 1.0,
        period: ArrayLike | None = None,
        *,
        max_interaction: int | None = None,
    ):
        self._sum: SumKernel | None = None
        self._product: ProductKernel | None = None
        if not isinstance(kernel, Expression):
            self._product = ProductKernel(kernel, length_scale, period, max_interaction=max_interaction)
            return
        if np.ndim(length_scale) or length_scale != 1.0 or period is not None or max_interaction is not None:
            raise ValueError(
                "length_scale, period and max_interaction belong to the short form; in an expression every axis has "
                "its own, as in Circle(0, 24, length_scale=0.5), and a product is limited by .limited(2)."
            )
        model = resolve(kernel, None)
        if model.columns:
            raise ValueError(
                f"{model.columns[0].name!r} is a plain column, not a kernel: use TorusGPRegressor with it."
            )
        if not np.isfinite(model.period).all():
            raise ValueError("A kernel has no data to find a period in: give the period instead of 'auto'.")
        variances = np.array([1.0 if term.variance is None else term.variance for term in model.terms])
        scales = tuple(term.length_scale for term in model.terms)
        self._sum = SumKernel(model.torus, model.terms, scales, variances, model.period)

    @classmethod
    def from_sum(cls, kernel: SumKernel) -> TorusKernel:
        """Kernel of a fitted model."""
        result = cls.__new__(cls)
        result._sum, result._product = kernel, None
        return result

    def __repr__(self) -> str:
        if self._product is not None:
            return repr(self._product).replace("ProductKernel", "TorusKernel")
        assert self._sum is not None
        parts = [f"{v:.4g} * {term.name}" for v, term in zip(self._sum.variances, self._sum.terms, strict=True)]
        return f"TorusKernel({' + '.join(parts)})"

    @property
    def sum(self) -> SumKernel | None:
        """The sum of products, if the kernel was not given in the short form."""
        return self._sum

    def _only(self, what: str) -> ProductKernel:
        """The product of the short form; a sum has no single one."""
        if self._product is None:
            raise AttributeError(f"{what} belongs to one product of circles; this kernel is {self!r}.")
        return self._product

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of the terms."""
        return () if self._sum is None else tuple(term.name for term in self._sum.terms)

    @property
    def family(self) -> Any:
        """Family, or families of the dimensions, of one product."""
        return self._only("family").family

    @property
    def length_scale(self) -> Any:
        """Length scales: of one product as given, of a sum one array for each term, by its name."""
        if self._sum is None:
            return self._only("length_scale").length_scale
        return dict(zip(self.terms, self._sum.scales, strict=True))

    @property
    def period(self) -> Any:
        """Periods or cell of the axes; those of lines and categories are the lengths of their circles."""
        return self._only("period").period if self._sum is None else self._sum.period

    @property
    def max_interaction(self) -> int | None:
        """Largest number of axes that interact, of one product."""
        return None if self._product is None else self._product.max_interaction

    @property
    def metric(self) -> str:
        """Kind of coefficients: "phase" for a product over phases, "cartesian" for functions of the wave vector."""
        return "phase" if self._product is None else self._product.metric

    @property
    def dimension(self) -> int | None:
        """Number of axes, or None if all parameters are scalars, which fit any."""
        return self._only("dimension").dimension if self._sum is None else self._sum.dimension

    @property
    def variance(self) -> float:
        """Variance of the kernel: one for a product in the short form."""
        return 1.0 if self._sum is None else self._sum.variance

    def resolve_dimension(self, dimension: int | None = None) -> int | None:
        """Return the dimension that the kernel and the argument agree on."""
        if self._sum is None:
            return self._only("dimension").resolve_dimension(dimension)
        if dimension not in (None, self._sum.dimension):
            raise ValueError(f"{self!r} has {self._sum.dimension} axes, not {dimension}.")
        return self._sum.dimension

    def cell(self, dimension: int | None = None) -> NDArray[np.float64]:
        """Lattice vectors as rows, in the units of the inputs."""
        if self._sum is None:
            return self._only("cell").cell(dimension)
        return self._sum.period if self._sum.period.ndim == 2 else np.diag(self._sum.period)

    def axis_spectra(self, dimension: int | None = None) -> list[tuple[Spectrum, float]]:
        """Family and length scale of each dimension of one product."""
        return self._only("axis_spectra").axis_spectra(dimension)

    def refinement_weights(self, index_set: Any, n_components: int, dimension: int | None = None) -> NDArray[Any]:
        r"""Weights :math:`\gamma` with which an index set has the smallest error for one product, at a budget.

        The paper's non-isotropic approximation. The expected Frobenius error of a set is known without data, so weights
        are found by minimising it, from :math:`\gamma = 1` and from the cuts that leave the same error on every axis: a
        set with these weights is never worse than one without.

        Parameters
        ----------
        index_set : str or callable
            Name of a function of :mod:`torusgp.kernels.index_sets` other than the adaptive one, which needs no weights;
            or a function that takes a dimension, ``n_components``, ``weights`` and ``max_interaction``.
        n_components : int
            Largest number of components of the set.
        dimension : int, optional
            Number of periodic inputs, where the kernel's own parameters do not tell.

        Returns
        -------
        ndarray of shape (dimension,)

        Examples
        --------
        >>> from torusgp.kernels.index_sets import hyperbolic_cross
        >>> kernel = TorusKernel(length_scale=[0.2, 0.6, 1.5])
        >>> weights = kernel.refinement_weights("hyperbolic_cross", 201)
        >>> plain, weighted = (hyperbolic_cross(3, n_components=201, weights=w) for w in (1.0, weights))
        >>> kernel.frobenius_error(weighted) < kernel.frobenius_error(plain) / 1.5
        True
        """
        return self._only("refinement_weights").refinement_weights(index_set, n_components, dimension)

    def phases(self, X: ArrayLike) -> NDArray[np.float64]:
        """Phases in radians, in [0, 2 pi], of inputs of shape (n_samples, n_inputs)."""
        if self._sum is None:
            return self._only("phases").phases(X)
        return to_phases(self._sum.coordinates(self._inputs(X, "X")), self._sum.period)

    def __call__(self, X: ArrayLike, Y: ArrayLike | None = None) -> NDArray[np.float64]:
        """Exact Gram matrix between the rows of X and of Y, or of X and X; lines are lines here, not circles."""
        if self._sum is None:
            return self._only("__call__")(X, Y)
        x = self._inputs(X, "X")
        return self._sum.gram(x, x if Y is None else self._inputs(Y, "Y"))

    def _inputs(self, X: ArrayLike, name: str) -> NDArray[Any]:
        assert self._sum is not None
        if len(self._sum.torus.kinds("category")):
            check_numbers(X, name)
            return np.asarray(X)
        return check_inputs(X, name, len(self._sum.torus.names))

    def coefficients(self, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Fourier coefficients of integer frequencies of shape (n_frequencies, dimension)."""
        if self._sum is None:
            return self._only("coefficients").coefficients(frequencies)
        return self._sum.coefficients(np.asarray(frequencies))

    def log_coefficients(self, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Logarithms of the coefficients; those of one product are accurate where the coefficients underflow."""
        if self._sum is None:
            return self._only("log_coefficients").log_coefficients(frequencies)
        with np.errstate(divide="ignore"):
            return np.log(self._sum.coefficients(np.asarray(frequencies)))

    def log_coefficients_gradient(self, frequencies: NDArray[np.int64]) -> NDArray[np.float64]:
        """Derivatives of the log coefficients of one product with respect to the logarithm of each length scale."""
        return self._only("log_coefficients_gradient").log_coefficients_gradient(frequencies)

    def largest(self, n_components: int) -> IndexSet | None:
        """Set of the largest coefficients of a sum; None for one product, whose set the adaptive function finds."""
        return None if self._sum is None else self._sum.largest(n_components)

    def truncation_error(self, index_set: IndexSet) -> float:
        """Largest error of the approximation on an index set: the sum of the coefficients that it drops.

        It is attained at distance zero. Tails are summed themselves, so the value is meaningful however small it is;
        only :class:`~torusgp.kernels.spectra.Warped`, Cartesian families and their products have a floor, of about
        1e-14.

        Parameters
        ----------
        index_set : IndexSet
            Frequencies that are kept.

        Returns
        -------
        float
        """
        if self._sum is None:
            return self._only("truncation_error").truncation_error(index_set)
        return float(self._sum.variances @ self._sum.truncation_errors(index_set))

    def aliasing_error(self) -> float:
        """Largest error by lines being laid on circles of finite length; zero without lines.

        Together with :meth:`truncation_error` it bounds the error of the kernel between any two points of which at
        least one lies in the range of every line.
        """
        return 0.0 if self._sum is None else float(self._sum.variances @ self._sum.aliasing_errors())

    def frobenius_error(self, index_set: IndexSet, n_samples: int | None = None) -> float:
        r"""Expected relative Frobenius error of the Gram matrix of uniform points, of one product of circles.

        .. math:: \sqrt{\frac{n (n - 1) S_2 + n S_1^2}{n (n - 1) T_2 + n}}

        with :math:`S_1, S_2` the sums of the dropped coefficients and of their squares and :math:`T_2` the sum of all
        squares: the ratio of the expected squared norms. Cartesian families, whose dropped squares are a difference
        of sums, have a floor of about 1e-7.

        Parameters
        ----------
        index_set : IndexSet
            Frequencies that are kept.
        n_samples : int, optional
            Number of points; by default the limit of many.

        Returns
        -------
        float
        """
        return self._only("frobenius_error").frobenius_error(index_set, n_samples)
