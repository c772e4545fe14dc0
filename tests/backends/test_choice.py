"""The one place that chooses an implementation."""

import numpy as np
import pytest

from torusgp.backends import choose_backend
from torusgp.index_sets import tensor, total_order


@pytest.mark.parametrize("name", ["dense", "finufft"])
def test_what_is_asked_for_is_used(name):
    assert choose_backend(name, tensor(2, 2).frequencies, 10) == name


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"backend must be 'auto', 'dense', 'finufft', got 'magic'"):
        choose_backend("magic", tensor(2, 2).frequencies, 10)


def test_transforms_have_at_most_three_dimensions():
    with pytest.raises(ValueError, match=r"at most 3 dimensions, here are 4\. Use backend='dense'"):
        choose_backend("finufft", tensor(4, 1).frequencies, 10)


def test_a_grid_beyond_memory_is_refused_and_never_chosen():
    frequencies = np.array([[0, 0, 0], [500, 500, 500]])
    with pytest.raises(ValueError, match=r"its grid would take .* GiB"):
        choose_backend("finufft", frequencies, 10)
    assert choose_backend("auto", frequencies, 10**9) == "dense"


@pytest.mark.parametrize(
    ("index_set", "n_samples", "expected"),
    [
        (tensor(2, 10), 1_000_000, "finufft"),
        (tensor(1, 1), 100, "dense"),
        (total_order(5, 4), 1_000_000, "dense"),
    ],
)
def test_the_cheaper_one_is_chosen(index_set, n_samples, expected):
    assert choose_backend("auto", index_set.frequencies, n_samples) == expected
