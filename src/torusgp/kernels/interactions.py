"""The sum of all interactions of some axes, and the walk that slow change is in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from torusgp.checks import check_count
from torusgp.kernels.axes import (
    Bounds,
    Category,
    Circle,
    Expression,
    Factor,
    Input,
    Line,
    Product,
    Slope,
    Sum,
    check_input,
    check_range,
    check_variance_and_name,
)
from torusgp.kernels.checks import line_family
from torusgp.kernels.spectra import Spectrum


@dataclass(frozen=True, eq=False, repr=False)
class Walk(Factor):
    r"""Slow change that holds its level: Brownian motion along an input, usually the time.

    Beyond the range of the rows it stays where it was, and its variance grows by that of the increments. It is an axis
    of :class:`Anova`, alone and in products with others: a season that drifts.

    Parameters
    ----------
    input : str or int
        Name or position of the input.
    range : pair of float, optional
        Range from which on it holds its level; by default that of the data.
    variance, name : optional
        See :class:`torusgp.Circle`.
    """

    input: Input
    range: tuple[float, float] | None = None
    variance: float | None = None
    name: str | None = None
    family: Any = field(default="walk", init=False)

    def __post_init__(self) -> None:
        check_input(self.input)
        check_variance_and_name(self)
        check_range(self.range)

    @property
    def length_scale(self) -> float:  # type: ignore[override]
        """One: a walk has no length scale."""
        return 1.0

    @property
    def length_scale_bounds(self) -> Bounds:  # type: ignore[override]
        """Fixed."""
        return "fixed"


@dataclass(frozen=True, eq=False, repr=False)
class Anova(Expression):
    r"""The sum of all interactions of some axes up to an order: :math:`w_0 + \sum_u f_u(x_u)`.

    Every term has a variance and length scales of its own and mean zero over the rows in each of its inputs, so that a
    term that is not needed vanishes by itself, and nobody has to say which inputs interact.

    Parameters
    ----------
    factors : sequence of Circle, Line, Category and Walk
        The axes, each of another input or period.
    order : int, default=2
        Largest number of axes that interact.
    family : str or Spectrum, default="matern32"
        Family of all circles and lines, instead of their own: rough enough to look for more than there is.
    """

    factors: tuple[Factor, ...]
    order: int = 2
    family: str | Spectrum = "matern32"

    def __post_init__(self) -> None:
        factors = tuple(self.factors)
        for factor in factors:
            if not isinstance(factor, Circle | Line | Category | Walk):
                raise ValueError(f"The axes of Anova are Circle, Line, Category and Walk, got {factor!r}.")
            if isinstance(factor, Circle) and factor.learns_period:
                raise ValueError(f"{factor!r}: periods of Anova are given; find it with find_period first.")
        if not factors:
            raise ValueError("Anova needs at least one axis, as in Anova([Circle('hour', 24), Walk('time')]).")
        check_count(self.order, "order")
        line_family(self.family)
        object.__setattr__(self, "factors", factors)

    @property
    def terms(self) -> tuple[Product | Slope, ...]:
        """All products, those of few axes first."""
        n_axes = len(self.factors)
        sizes = range(1, min(self.order, n_axes) + 1)
        return tuple(
            Product(tuple(self.factors[d] for d in chosen)) for k in sizes for chosen in combinations(range(n_axes), k)
        )

    def __add__(self, other: Expression) -> Sum:
        raise ValueError("Anova is a whole model: give it more axes instead of adding terms.")

    def __mul__(self, other: Expression | float) -> Expression:
        raise ValueError("Anova is a whole model: give it more axes, or a larger order, instead of multiplying it.")
