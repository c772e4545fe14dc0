"""Parameters as JSON and back."""

import json

import numpy as np
import pytest

from torusgp.kernels.index_sets import adaptive, hyperbolic_cross
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern, Warped
from torusgp.storage.serialisation import from_json, to_json


def back_and_forth(value):
    return from_json(json.loads(json.dumps(to_json(value))))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        0.1,
        "auto",
        (1, "a", None),
        [1.5, [2, 3]],
        {"length_scale", "spectrum"},
        frozenset({"noise_variance"}),
        {"a": (1, 2), "b": {"c": 0.5}},
        SquaredExponential(),
        Matern(1.7),
        RationalQuadratic(0.3),
        Heat("cartesian"),
        TorusMatern(2.2, metric="cartesian"),
        (Matern(0.5), "heat"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_come_back_equal_and_of_the_same_type(value):
    result = back_and_forth(value)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "array",
    [
        np.array([[1.0, 0.1], [0.5, 1e-300]]),
        np.array([1, 0, 2]),
        np.array([1.1], dtype=np.float32),
        np.array(["a", "bc"]),
    ],
    ids=["float", "int", "float32", "text"],
)
def test_arrays_come_back_equal_and_of_the_same_type(array):
    result = back_and_forth(array)
    np.testing.assert_array_equal(result, array)
    assert result.dtype == array.dtype


@pytest.mark.parametrize("value", [np.float64(0.1), np.int64(3), np.bool_(True)])
def test_numpy_scalars_come_back_as_numbers(value):
    assert back_and_forth(value) == value


@pytest.mark.parametrize(
    "index_set",
    [
        hyperbolic_cross(2, 4),
        hyperbolic_cross(3, 3, max_interaction=1),
        adaptive(TorusKernel(length_scale=[0.3, 1]), 21),
    ],
    ids=["cross", "additive", "adaptive"],
)
def test_index_sets_come_back_whole(index_set):
    result = back_and_forth(index_set)
    assert result == index_set
    assert (result.name, result.max_interaction) == (index_set.name, index_set.max_interaction)
    assert len(result) == len(index_set)


@pytest.mark.parametrize(
    "value", [lambda r: r, Warped(np.exp), object(), [1, object()]], ids=["function", "warped", "object", "nested"]
)
def test_what_needs_pickle_is_refused(value):
    with pytest.raises(ValueError, match=r"cannot be saved: .* Use pickle"):
        to_json(value)


@pytest.mark.parametrize(
    "value", [{"spectrum": "Future", "parameters": {}}, {"future": []}, {"tuple": [], "more": 1}], ids=repr
)
def test_unknown_entries_are_told(value):
    with pytest.raises(ValueError, match="newer version of torusgp"):
        from_json(value)
