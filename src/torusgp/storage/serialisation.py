"""Parameters of estimators as JSON: numbers, strings, arrays, tuples, spectra and index sets."""

import numpy as np

from torusgp.kernels import spectra
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
    if isinstance(value, tuple | list | set | frozenset):
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
    raise ValueError(f"{value!r} cannot be saved: a file holds arrays and JSON only. Use pickle for a model with it.")


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
