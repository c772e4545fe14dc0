"""Expressions that describe a model: circles, lines, categories, lattices and plain columns, their products and sums.

An expression says what a function may depend on, and how. It holds no data: ranges of lines, levels of categories and
periods that are to be found are filled in when a model is fitted, see :mod:`torusgp.kernels.torus`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Literal, cast

import numpy as np

from torusgp.checks import check_count, check_flag, is_real
from torusgp.kernels.checks import check_family, check_period, line_family
from torusgp.kernels.spectra import Spectrum

Input = str | int
_CELL_BOUNDS = ("free", "fixed")
Bounds = tuple[float, float] | Literal["fixed"] | None


class Expression:
    """Base class of everything that ``+`` and ``*`` combine into a model."""

    @property
    def terms(self) -> tuple[Product | Slope, ...]:
        """The terms of the sum."""
        raise NotImplementedError

    def __add__(self, other: Expression) -> Sum:
        if not isinstance(other, Expression):
            return NotImplemented
        return Sum((*self.terms, *other.terms))

    def __mul__(self, other: Expression | float) -> Expression:
        if isinstance(other, Expression):
            return _multiply(self, other)
        return _scale(self, other)

    def __rmul__(self, other: float) -> Expression:
        return _scale(self, other)

    def __repr__(self) -> str:
        shown = []
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if one.init and one.default is MISSING:
                shown.append(repr(value))
            elif one.init and value is not one.default and not np.array_equal(value, cast(Any, one.default)):
                shown.append(f"{one.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Factor(Expression):
    """One factor of a product: a kernel of variance one on one input, or on several."""

    variance: float | None
    family: Any
    length_scale: float | None
    length_scale_bounds: Bounds

    @property
    def terms(self) -> tuple[Product | Slope, ...]:
        """The factor alone, as a sum of one product."""
        return (Product((self,)),)

    @property
    def used(self) -> tuple[Input, ...]:
        """Inputs that the factor depends on."""
        return (self.input,)  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False, repr=False)
class Circle(Factor):
    """An input that repeats: an hour, a weekday, an angle.

    Parameters
    ----------
    input : str or int
        Name or position of the input.
    period : float or "auto"
        Period in the units of the input; "auto" finds it, see :func:`torusgp.find_period`, and learns it with the rest.
    family : str or Spectrum, default="squared_exponential"
        Family of the kernel, see :class:`torusgp.TorusKernel`.
    length_scale : float, default=1.0
        Dimensionless, of the order of the phase in radians over which the function changes; where learning starts.
    length_scale_bounds : pair of float or "fixed", default=(1e-2, 1e2)
        Bounds of the learned length scale.
    period_bounds : pair of float or "fixed", optional
        Bounds of a learned period; by default a given period is fixed and one that was found is free.
    variance : float, optional
        Variance of the product that this is a factor of, if it is not learned, or where learning starts.
    name : str, optional
        What the axis is called in results, by default the input.

    Notes
    -----
    Circles of the same input and period are one axis. With a learned period only the same object is.
    """

    input: Input
    period: float | Literal["auto"]
    family: str | Spectrum = "squared_exponential"
    length_scale: float = 1.0
    length_scale_bounds: Bounds = (1e-2, 1e2)
    period_bounds: Bounds = None
    variance: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check_input(self.input)
        if not isinstance(self.period, str) or self.period != "auto":
            _check_positive(self.period, "period", self)
        elif isinstance(self.period_bounds, str):
            raise ValueError(f"{self!r}: a period that is to be found cannot be fixed; give its number.")
        _check_phase_family(self)
        _check_scale(self)
        _check_bounds("period_bounds", self)

    @property
    def learns_period(self) -> bool:
        """True if the period is learned with the rest."""
        return self.period == "auto" or isinstance(self.period_bounds, tuple)


@dataclass(frozen=True, eq=False, repr=False)
class Line(Factor):
    """An input that does not repeat: a temperature, a distance, time.

    It is laid on a circle that is longer than the range of the data by so much that the ends do not feel each other.

    Parameters
    ----------
    input : str or int
        Name or position of the input.
    family : {"squared_exponential", "matern12", "matern32", "matern52"} or TorusMatern, default="squared_exponential"
        Family of the kernel.
    length_scale : float, optional
        In the units of the input; where learning starts. By default a quarter of the range.
    length_scale_bounds : pair of float or "fixed", optional
        Bounds of the learned length scale; by default from a hundredth of the range to ten times it, and no shorter
        than the longest period of a circle of the same input.
    range : pair of float, optional
        Range of the input, if it is wider than that of the data. Joint predictions are right inside it; training rows
        outside are refused.
    tolerance : float, optional
        Largest error of the kernel, of variance one, by the circle's being finite. By default a hundredth of the
        noise over the signal's variance.
    variance, name : optional
        See :class:`torusgp.Circle`.
    """

    input: Input
    family: str | Spectrum = "squared_exponential"
    length_scale: float | None = None
    length_scale_bounds: Bounds = None
    range: tuple[float, float] | None = None
    tolerance: float | None = None
    variance: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check_input(self.input)
        line_family(self.family)
        _check_scale(self)
        check_range(self.range)
        if self.tolerance is not None:
            _check_positive(self.tolerance, "tolerance", self)
            if not 1e-14 <= self.tolerance < 0.5:
                raise ValueError(f"tolerance must lie in [1e-14, 0.5), got {self.tolerance!r}.")


@dataclass(frozen=True, eq=False, repr=False)
class Category(Factor):
    r"""An input whose values have no distance: a shop, a holiday, a kind.

    The kernel of two levels is :math:`\rho + (1 - \rho) [a = b]`: what the levels share, and what each has for itself.

    Parameters
    ----------
    input : str or int
        Name or position of the input: strings, booleans or integers.
    correlation : float, default=0.5
        The share :math:`\rho` in [0, 1), where learning starts. It is fixed at 0 where what the levels share is
        another term's or the intercept's: for a category alone, and beside the same product without it.
    correlation_bounds : pair of float or "fixed", default=(0.01, 0.99)
        Bounds of the learned share.
    levels : sequence, optional
        The levels, if the data may lack some; by default those of the data.
    variance, name : optional
        See :class:`torusgp.Circle`.
    """

    input: Input
    correlation: float = 0.5
    correlation_bounds: Bounds = (0.01, 0.99)
    levels: Sequence[Any] | None = None
    variance: float | None = None
    name: str | None = None
    family: Any = field(default="levels", init=False)

    def __post_init__(self) -> None:
        check_input(self.input)
        if not (_is_number(self.correlation) and 0 <= self.correlation < 1):
            raise ValueError(f"correlation must lie in [0, 1), got {self.correlation!r}.")
        _check_bounds("correlation_bounds", self)
        if isinstance(self.correlation_bounds, tuple) and not self.correlation_bounds[1] < 1:
            raise ValueError(f"correlation_bounds must lie in (0, 1), got {self.correlation_bounds!r}.")
        if self.levels is not None and (isinstance(self.levels, str | bytes) or np.ndim(self.levels) != 1):
            raise ValueError(f"levels must be a sequence of the values of the category, got {self.levels!r}.")
        check_variance_and_name(self)

    @property
    def length_scale(self) -> float:  # type: ignore[override]
        r"""The odds :math:`\rho / (1 - \rho)`: what plays the part of a length scale."""
        return self.correlation / (1 - self.correlation)

    @property
    def length_scale_bounds(self) -> Bounds:  # type: ignore[override]
        """Bounds of the odds."""
        if self.correlation == 0:
            return "fixed"
        if not isinstance(self.correlation_bounds, tuple):
            return self.correlation_bounds
        low, high = self.correlation_bounds
        return low / (1 - low), high / (1 - high)


@dataclass(frozen=True, eq=False, repr=False)
class Lattice(Factor):
    """Several inputs that repeat together, with the vectors of a cell.

    Parameters
    ----------
    inputs : sequence of str or int
        Names or positions of the inputs.
    cell : array-like of shape (dimension, dimension) or "auto"
        Lattice vectors as rows; "auto" finds them.
    family : str or Spectrum, default="squared_exponential"
        Family of the kernel; with ``metric="cartesian"`` it is a function of the vector in the units of the inputs.
    length_scale : float, default=1.0
        Dimensionless along each lattice vector; in the units of the inputs for Cartesian families.
    length_scale_bounds : pair of float or "fixed", default=(1e-2, 1e2)
        Bounds of the learned length scales.
    cell_bounds : "free" or "fixed", optional
        Whether the cell is learned; by default one that was found is.
    variance, name : optional
        See :class:`torusgp.Circle`.
    """

    inputs: tuple[Input, ...]
    cell: Any
    family: str | Spectrum = "squared_exponential"
    length_scale: float = 1.0
    length_scale_bounds: Bounds = (1e-2, 1e2)
    cell_bounds: Literal["free", "fixed"] | None = None
    variance: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        given: Any = self.inputs
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) < 2:
            raise ValueError(f"inputs of a Lattice must be two or more names or positions, got {self.inputs!r}.")
        for one in self.inputs:
            check_input(one)
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if not (isinstance(self.cell, str) and self.cell == "auto"):
            shape, dimension = np.shape(check_period(self.cell)), len(self.inputs)
            if shape != (dimension, dimension):
                raise ValueError(f"cell must have {dimension} vectors of {dimension} entries, got {self.cell!r}.")
        if not (self.cell_bounds is None or (isinstance(self.cell_bounds, str) and self.cell_bounds in _CELL_BOUNDS)):
            raise ValueError(f"cell_bounds must be 'free', 'fixed' or None, got {self.cell_bounds!r}.")
        check_family(self.family)
        _check_scale(self)

    @property
    def used(self) -> tuple[Input, ...]:
        """The inputs."""
        return self.inputs

    @property
    def learns_period(self) -> bool:
        """True if the cell is learned with the rest."""
        return self.cell_bounds == "free" or (isinstance(self.cell, str) and self.cell_bounds is None)


@dataclass(frozen=True, eq=False, repr=False)
class Slope(Expression):
    """A plain column: a straight line in an input, such as a trend, a price or an indicator.

    Parameters
    ----------
    input : str or int
        Name or position of the input.
    variance : float, optional
        Prior variance of the effect of one standard deviation of the input, in squared units of the target; by
        default broad, a hundred times the variance of the targets.
    learned : bool, default=False
        Whether that variance is learned.
    name : str, optional
        What the term is called in results, by default "slope of" the input.
    """

    input: Input
    variance: float | None = None
    learned: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        check_input(self.input)
        check_flag(self.learned, "learned")
        check_variance_and_name(self)

    @property
    def terms(self) -> tuple[Product | Slope, ...]:
        """The column alone."""
        return (self,)


@dataclass(frozen=True, eq=False, repr=False)
class Product(Expression):
    """A product of factors, with a variance of its own: one term of a sum.

    Parameters
    ----------
    factors : tuple of Factor
        The factors.
    variance : float, optional
        Variance of the term, if it is not learned, or where learning starts.
    variance_bounds : pair of float or "fixed", optional
        Bounds of the learned variance; by default wide multiples of the variance of the targets.
    max_interaction : int, optional
        Keep only interactions of at most this number of axes, see :class:`torusgp.TorusKernel`.
    name : str, optional
        What the term is called in results, by default its axes.
    """

    factors: tuple[Factor, ...]
    variance: float | None = None
    variance_bounds: Bounds = None
    max_interaction: int | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        given = [factor.variance for factor in self.factors if factor.variance is not None]
        if self.variance is None and given:
            object.__setattr__(self, "variance", float(np.prod(given)))
        check_variance_and_name(self)
        _check_bounds("variance_bounds", self)
        check_count(self.max_interaction, "max_interaction", optional=True)
        used = [one for factor in self.factors for one in _axis_keys(factor)]
        for one in used:
            if used.count(one) > 1:
                raise ValueError(
                    f"A product has two factors on the same axis, {one[1]!r}: a product of kernels on one axis is no "
                    "new model. Use one factor, or add them."
                )

    def __repr__(self) -> str:
        product = " * ".join(map(repr, self.factors))
        inside = [factor.variance for factor in self.factors if factor.variance is not None]
        return product if self.variance is None or inside else f"{self.variance!r} * {product}"

    @property
    def terms(self) -> tuple[Product | Slope, ...]:
        """The product alone."""
        return (self,)

    def limited(self, max_interaction: int) -> Product:
        """The same product with interactions of at most n axes: the ANOVA kernel of that order."""
        return replace(self, max_interaction=max_interaction)

    def named(self, name: str) -> Product:
        """The same product with another name in results."""
        return replace(self, name=name)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Expression):
    """A sum of products and plain columns."""

    parts: tuple[Product | Slope, ...]

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.parts))

    @property
    def terms(self) -> tuple[Product | Slope, ...]:
        """The terms of the sum."""
        return self.parts


def _multiply(left: Expression, right: Expression) -> Expression:
    """Distribute a product over the terms of two expressions."""
    products = []
    for one in left.terms:
        for other in right.terms:
            if isinstance(one, Slope) or isinstance(other, Slope):
                column = one if isinstance(one, Slope) else other
                raise ValueError(
                    f"{column!r} is a plain column, which cannot be multiplied with another axis: add it to the model, "
                    "or use Line, whose products are kernels."
                )
            variances = [term.variance for term in (one, other) if term.variance is not None]
            limits = [term.max_interaction for term in (one, other) if term.max_interaction is not None]
            if limits:
                raise ValueError("Limit the interactions of a product after it is complete: (a * b * c).limited(2).")
            products.append(Product((*one.factors, *other.factors), float(np.prod(variances)) if variances else None))
    return products[0] if len(products) == 1 else Sum(tuple(products))


def _scale(expression: Expression, factor: float) -> Expression:
    """Multiply the variance of every term by a number."""
    if not _is_number(factor):
        return NotImplemented
    _check_positive(factor, "The factor of a term", expression)
    scaled = [
        replace(term, variance=factor * (1.0 if term.variance is None else term.variance)) for term in expression.terms
    ]
    return scaled[0] if len(scaled) == 1 else Sum(tuple(scaled))


def _axis_keys(factor: Factor) -> list[tuple[Any, ...]]:
    if isinstance(factor, Circle):
        return [(id(factor) if factor.learns_period else factor.period, factor.input)]
    return [(type(factor).__name__, one) for one in factor.used]


def check_range(given: Any) -> None:
    """Raise unless a range is two finite numbers, the lower one first, or none."""
    if given is None:
        return
    low_high = _pair(given)
    if low_high is None or not low_high[0] < low_high[1]:
        raise ValueError(f"range must be two finite numbers, the lower one first, got {given!r}.")


def _is_number(value: Any) -> bool:
    return is_real(value) and bool(np.isfinite(value))


def _pair(bounds: Any) -> tuple[float, float] | None:
    if isinstance(bounds, str) or not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        return None
    return (float(bounds[0]), float(bounds[1])) if all(map(_is_number, bounds)) else None


def check_input(value: Any) -> None:
    """Raise unless an input is a name or a position."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        raise ValueError(f"input must be the name or the position of a column, got {value!r}.")


def _check_positive(value: Any, name: str, where: Any) -> None:
    if not (_is_number(value) and value > 0):
        raise ValueError(f"{name} must be a positive finite number, got {value!r} in a {type(where).__name__}.")


def _check_scale(factor: Factor) -> None:
    if factor.length_scale is not None or not isinstance(factor, Line):
        _check_positive(factor.length_scale, "length_scale", factor)
    check_variance_and_name(factor)
    _check_bounds("length_scale_bounds", factor)


def check_variance_and_name(part: Any) -> None:
    """Raise unless the variance of a part is positive and its name is text."""
    if part.variance is not None:
        _check_positive(part.variance, "variance", part)
    if part.name is not None and not isinstance(part.name, str):
        raise ValueError(f"name must be text or None, got {part.name!r} in a {type(part).__name__}.")


def _check_bounds(name: str, where: Any) -> None:
    """Raise unless bounds are good; a list becomes a tuple, by which bounds are known from words."""
    bounds = getattr(where, name)
    may_be_none = type(where).__dataclass_fields__[name].default is None
    if (bounds is None and may_be_none) or (isinstance(bounds, str) and bounds == "fixed"):
        return
    pair = _pair(bounds)
    if pair is None or not 0 < pair[0] <= pair[1]:
        raise ValueError(
            f"{name} must be two positive numbers, the lower one first, or 'fixed', got {bounds!r} in a "
            f"{type(where).__name__}."
        )
    object.__setattr__(where, name, pair)


def _check_phase_family(factor: Factor) -> None:
    family = check_family(factor.family)
    if not isinstance(family, Spectrum) or family.metric != "phase":
        raise ValueError(f"family must be one with metric='phase', got {factor.family!r}; Lattice takes the others.")
