"""Parameters of estimators as JSON: numbers, strings, arrays, tuples, spectra and index sets."""

from dataclasses import fields
from typing import Any

import numpy as np

from torusgp.kernels import axes, interactions, spectra
from torusgp.kernels.axes import Expression
from torusgp.kernels.index_sets import IndexSet


def to_json(value):
    """Turn a parameter into what JSON can hold; raise if it cannot be written without pickle."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, dict):
        return {"dict": {key: to_json(item) for key, item in value.items()}}
    if isinstance(value, set | frozenset):  # their order differs from process to process
        return {type(value).__name__: sorted((to_json(item) for item in value), key=repr)}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [to_json(item) for item in value]}
    if isinstance(value, IndexSet):
        return {
            "index_set": value.frequencies.tolist(),
            "indices": None if value.indices is None else value.indices.tolist(),
            "name": value.name,
            "max_interaction": value.max_interaction,
        }
    if isinstance(value, spectra.Spectrum) and not isinstance(value, spectra.Warped):
        parameters = {field: getattr(value, field) for field in getattr(value, "__dataclass_fields__", ())}
        return {"spectrum": type(value).__name__, "parameters": parameters}
    if isinstance(value, interactions.Anova):
        factors = [{"kind": type(factor).__name__, **_fields_to_json(factor)} for factor in value.factors]
        return {"anova": {"factors": factors, **_fields_to_json(value, without=("factors",))}}
    if isinstance(value, Expression):
        return _expression_to_json(value)
    raise ValueError(f"{value!r} cannot be saved: a file holds arrays and JSON only. Use pickle for a model with it.")


def _expression_to_json(expression):
    """Factors once each, since the same object with a learned period is one axis; then the terms, by their numbers."""
    factors: list[Any] = []
    terms: list[Any] = []
    for term in expression.terms:
        if isinstance(term, axes.Slope):
            terms.append({"slope": _fields_to_json(term)})
            continue
        numbers = []
        for factor in term.factors:
            if not any(factor is known for known in factors):
                factors.append(factor)
            numbers.append(next(i for i, known in enumerate(factors) if known is factor))
        terms.append({"product": numbers, **_fields_to_json(term, without=("factors",))})
    kinds = [{"kind": type(factor).__name__, **_fields_to_json(factor)} for factor in factors]
    return {"expression": {"factors": kinds, "terms": terms}}


def _fields_to_json(value, without=()):
    names = [one.name for one in fields(value) if one.init and one.name not in without]
    return {name: to_json(getattr(value, name)) for name in names}


def _factor_from_json(content):
    kind = content["kind"]
    if kind not in ("Circle", "Line", "Category", "Lattice", "Walk"):
        raise ValueError(f"Unknown axis {kind!r}: was the file written by a newer version of torusgp?")
    home = interactions if kind == "Walk" else axes
    return getattr(home, kind)(**{name: from_json(entry) for name, entry in content.items() if name != "kind"})


def _anova_from_json(content):
    others = {name: from_json(entry) for name, entry in content.items() if name != "factors"}
    return interactions.Anova(tuple(_factor_from_json(one) for one in content["factors"]), **others)


def _expression_from_json(content):
    factors = [_factor_from_json(one) for one in content["factors"]]
    terms: list[Any] = []
    for one in content["terms"]:
        if "slope" in one:
            terms.append(axes.Slope(**{name: from_json(entry) for name, entry in one["slope"].items()}))
        else:
            others = {name: from_json(entry) for name, entry in one.items() if name != "product"}
            terms.append(axes.Product(tuple(factors[number] for number in one["product"]), **others))
    return terms[0] if len(terms) == 1 else axes.Sum(tuple(terms))


def from_json(value):
    """Invert :func:`to_json`."""
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(value["array"], dtype=value["dtype"])
    if "dict" in value:
        return {key: from_json(item) for key, item in value["dict"].items()}
    if "index_set" in value:
        indices = None if value["indices"] is None else np.array(value["indices"], dtype=np.int64)
        return IndexSet(np.array(value["index_set"], dtype=np.int64), indices, value["name"], value["max_interaction"])
    if "anova" in value:
        return _anova_from_json(value["anova"])
    if "expression" in value:
        return _expression_from_json(value["expression"])
    if "spectrum" in value:
        if value["spectrum"] not in spectra.__all__:
            raise ValueError(
                f"Unknown family {value['spectrum']!r}: was the file written by a newer version of torusgp?"
            )
        return getattr(spectra, value["spectrum"])(**value["parameters"])
    (kind, items), *rest = value.items()
    if rest or kind not in {"tuple", "list", "set", "frozenset"}:
        raise ValueError(f"Unknown entry {value!r}: was the file written by a newer version of torusgp?")
    return {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind](from_json(item) for item in items)
