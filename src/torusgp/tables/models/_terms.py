"""Terms that a user gives as an expression, and terms that are added to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torusgp.estimators.settings import FEW_AXES
from torusgp.kernels.axes import Category, Circle, Expression, Factor, Input, Lattice, Line, Product, Slope, Sum
from torusgp.tables.table import to_level

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
    for factor in all_factors(model):
        if isinstance(factor, Circle):
            found.setdefault(id(factor) if factor.learns_period else (factor.input, float(factor.period)), factor)
    return list(found.values())


def category_inputs(terms: Expression | None) -> list[Input]:
    """Inputs that are categories."""
    return [] if terms is None else [one.input for one in all_factors(terms) if isinstance(one, Category)]


def number_inputs(terms: Expression | None) -> list[Input]:
    """Inputs that are numbers."""
    if terms is None:
        return []
    others = [name for one in all_factors(terms) if not isinstance(one, Category) for name in one.used]
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


def within(terms: Expression, X: Any) -> Expression:
    """The terms with the ranges and levels of inputs, where none are given: fits to some of the rows share them."""

    def changed(factor):
        if isinstance(factor, Category) and factor.levels is None:
            return replace(factor, levels=tuple(sorted(X[factor.input].dropna().unique())))
        if isinstance(factor, Line) and factor.range is None:
            low, high = float(X[factor.input].min()), float(X[factor.input].max())
            return factor if low == high else replace(factor, range=(low, high))
        return factor

    return _mapped(terms, changed)


def with_single_effects(kernel: Expression) -> Expression:
    """Products, and each of their inputs on its own beside them, as a * b is read in formulas: a + b + a:b.

    With correlated noise quick components are known much better than slow ones. They would decide alone how smooth
    everything is along a slow circle, such as the year, if its own effect had no variance and length scale of its own:
    it would be left to the noise, which is then larger, and so on. Of products of many inputs the data choose the
    frequencies, and need no such effects: beside them what interacts would start from nothing.
    """
    if any(len(term.factors) > FEW_AXES and _is_open(term) for term in kernel.terms if isinstance(term, Product)):
        return kernel
    alone = {_key(term.factors[0]) for term in kernel.terms if isinstance(term, Product) and len(term.factors) == 1}
    singles: dict[Any, Product] = {}
    for term in kernel.terms:
        if isinstance(term, Product) and 1 < len(term.factors) <= FEW_AXES and _is_open(term):
            for factor in term.factors:
                if _key(factor) not in alone:
                    singles.setdefault(_key(factor), Product((factor,)))
    return kernel if not singles else Sum((*kernel.terms, *singles.values()))


def _is_open(product: Product) -> bool:
    """Whether all orders of a product are there, of given periods."""
    finds = any(isinstance(one, Circle | Lattice) and one.learns_period for one in product.factors)
    return product.max_interaction is None and not finds


def _key(factor: Factor) -> Any:
    """What two factors share that are the same effect."""
    return type(factor), tuple(factor.used), getattr(factor, "period", None)


def _slopes(expression: Expression) -> list[Slope]:
    return [term for term in expression.terms if isinstance(term, Slope)]


def all_factors(expression: Expression) -> list[Factor]:
    """Factors of all products."""
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
