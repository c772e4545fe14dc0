"""Terms that a user gives as an expression, and expressions with other starting points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from torusgp.fitting.fitted import FittedTorusGP
from torusgp.kernels.axes import Category, Circle, Expression, Factor, Input, Lattice, Product, Slope, Sum
from torusgp.tables.reading import to_level

TIME = "time"  # what terms call the column that orders the rows, whatever its name


def check_terms(terms: Any) -> None:
    """Raise unless terms are an expression over names."""
    if not isinstance(terms, Expression):
        raise ValueError(
            "terms must be a formula such as 'hour * temperature + weekday' or an expression such as Slope('time') + "
            f"Line('temperature'), got {terms!r}."
        )
    for one in named_inputs(terms):
        if not isinstance(one, str):
            raise ValueError(f"terms name columns of the table, got the position {one!r}.")
    both = set(category_inputs(terms)) & set(number_inputs(terms))
    if both:
        raise ValueError(
            f"terms have {sorted(both)[0]!r} as a category and as a number: copy the column, and use each once."
        )


def rename_time(terms: Expression | None, column: str | None) -> Expression | None:
    """The terms with the name of the column that orders the rows in place of "time"."""
    if terms is None or column is None or column == TIME:
        return terms

    def renamed(name):
        return column if name == TIME else name

    def changed(factor):
        if isinstance(factor, Lattice):
            return replace(factor, inputs=tuple(map(renamed, factor.inputs)))
        return replace(factor, input=renamed(factor.input))

    def moved(slope):
        return replace(slope, input=renamed(slope.input))

    return _mapped(terms, changed, moved)


def named_inputs(terms: Expression | None) -> list[Any]:
    """Inputs of an expression, each once."""
    if terms is None:
        return []
    found = [[term.input] if isinstance(term, Slope) else _used(term) for term in terms.terms]
    return list(dict.fromkeys(one for inputs in found for one in inputs))


def _used(product: Product) -> list[Input]:
    return [one for factor in product.factors for one in factor.used]


def distinct_circles(model: Expression) -> list[Circle]:
    """Circles of an expression, one for each axis: those of the same input and period are one, if it is not learned."""
    found: dict[Any, Circle] = {}
    for factor in _factors(model):
        if isinstance(factor, Circle):
            found.setdefault(id(factor) if factor.learns_period else (factor.input, float(factor.period)), factor)
    return list(found.values())


def category_inputs(terms: Expression | None) -> list[Input]:
    """Inputs that are categories."""
    return [] if terms is None else [one.input for one in _factors(terms) if isinstance(one, Category)]


def number_inputs(terms: Expression | None) -> list[Input]:
    """Inputs that are numbers."""
    if terms is None:
        return []
    others = [name for one in _factors(terms) if not isinstance(one, Category) for name in one.used]
    return [slope.input for slope in _slopes(terms)] + others


def slope_inputs(terms: Expression | None) -> list[Input]:
    """Inputs of plain columns."""
    return [] if terms is None else [slope.input for slope in _slopes(terms)]


def levels_as_text(terms: Expression | None) -> Expression | None:
    """The terms with levels of categories as tables have them."""
    if terms is None:
        return None

    def changed(factor):
        if not isinstance(factor, Category) or factor.levels is None:
            return factor
        return replace(factor, levels=tuple(to_level(level) for level in factor.levels))

    return _mapped(terms, changed)


def is_searched(kernel: Expression) -> bool:
    """Whether an expression has periods that are to be found."""
    return any(isinstance(factor, Circle) and factor.period == "auto" for factor in _factors(kernel))


def with_found_periods(kernel: Expression, fitted: FittedTorusGP, *, alone: bool = False) -> Expression:
    """An expression with the periods that a fit of it found or learned, which stay as they are.

    Parameters
    ----------
    kernel : Expression
        What was fitted.
    fitted : FittedTorusGP
        The fit.
    alone : bool, default=False
        Leave out all terms but the first.

    Returns
    -------
    Expression
    """
    found = {}
    for factor, axes, _ in _fitted_factors(kernel, fitted):
        if isinstance(factor, Circle) and factor.learns_period:
            found[id(factor)] = float(np.atleast_1d(fitted.parameters.period)[axes[0]])

    def changed(factor):
        if id(factor) not in found:
            return factor
        return replace(factor, period=found[id(factor)], period_bounds=None)

    return _mapped(kernel.terms[0] if alone else kernel, changed)


def with_learned_scales(kernel: Expression, fitted: FittedTorusGP) -> Expression:
    """An expression whose length scales start where those of a fit of it ended."""
    scales = iter([scale for _, _, scale in _fitted_factors(kernel, fitted)])

    def changed(factor):
        scale = float(next(scales)[0])
        if isinstance(factor, Category):
            return replace(factor, correlation=scale / (1 + scale)) if factor.correlation else factor
        return replace(factor, length_scale=scale)

    return _mapped(kernel, changed)


def _fitted_factors(kernel: Expression, fitted: FittedTorusGP) -> Iterator[tuple[Factor, tuple[int, ...], Any]]:
    """Factors of an expression in their order, with the axes and the length scales that they have in a fit."""
    products = [term for term in kernel.terms if isinstance(term, Product)]
    scales = fitted.prior.scales(fitted.parameters)
    for term, fitted_term, values in zip(products, fitted.prior.terms, scales, strict=True):
        place = 0
        for factor, fitted_factor in zip(term.factors, fitted_term.factors, strict=True):
            count = len(fitted_factor.length_scale)
            yield factor, fitted_factor.axes, values[place : place + count]
            place += count


def _slopes(expression: Expression) -> list[Slope]:
    return [term for term in expression.terms if isinstance(term, Slope)]


def _factors(expression: Expression) -> list[Factor]:
    return [factor for term in expression.terms if isinstance(term, Product) for factor in term.factors]


def _mapped(
    expression: Expression,
    factor_changed: Callable[[Any], Any],
    slope_changed: Callable[[Slope], Slope] = lambda slope: slope,
) -> Expression:
    """An expression with other factors and plain columns."""
    terms: list[Product | Slope] = []
    for term in expression.terms:
        if isinstance(term, Slope):
            terms.append(slope_changed(term))
        else:
            terms.append(replace(term, factors=tuple(factor_changed(factor) for factor in term.factors)))
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))
