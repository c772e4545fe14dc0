import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusgp.views.numbers import TIMES, count, listed, number, percent, quantity, ratio, signed, with_error


def to_number(text):
    """The first number in a text, as people read them."""
    found = re.search(rf"([-+]?[\d,]*\.?\d+)(?: {TIMES} 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?", text)
    power = (found[2] or "⁰").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    return float(found[1].replace(",", "")) * 10.0 ** int(power)


reasonable = st.floats(1e-30, 1e30).flatmap(lambda size: st.sampled_from([size, -size]))


@given(reasonable, st.integers(2, 9))
def test_a_number_keeps_its_significant_digits(value, digits):
    assert to_number(number(value, digits)) == pytest.approx(value, rel=0.5000001 * 10.0 ** (1 - digits))


@given(st.integers(-999_999, 999_999))
def test_whole_numbers_are_exact(value):
    assert to_number(number(value)) == value


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e3))
def test_a_number_is_as_exact_as_its_error(value, error):
    shown, _, of = with_error(value, error).partition(" ± ")
    assert to_number(of) == pytest.approx(error, rel=0.051)
    assert abs(to_number(shown) - value) <= 0.051 * max(error, 1.0)


def test_a_number_without_an_error_stands_alone():
    assert with_error(24.0, np.nan) == with_error(24.0, 0.0) == "24"


@given(st.floats(0, 1))
def test_a_share_is_right_to_its_last_digit(share):
    text = percent(share)
    assert text.endswith(" %")
    if text.startswith("<"):
        assert 0 < share < 0.001
    else:
        assert to_number(text) == pytest.approx(100 * share, abs=0.0500001)
        assert (to_number(text) == 0) == (share == 0)


def test_words_around_numbers():
    assert [count(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert count(2, "frequency", "frequencies") == "2 frequencies"
    assert [listed(["a", "b", "c"][:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]
    assert quantity(2.5, "MW") == "2.5 MW"
    assert quantity(2.5, "") == "2.5"
    assert [signed(value) for value in (-1.5, 0, 1.5)] == ["-1.5", "0", "+1.5"]
    assert number(np.nan) == "not a number"
    assert number(-np.inf).endswith("infinity")


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (15.01731, 0.00152, "15.0173 ± 0.0015"),
        (-3.14159, 0.2, "-3.14 ± 0.20"),
        (1234.5, 71.0, "1,234 ± 71"),
        (1234.5, 7100.0, "1,234 ± 7,100"),
        (2.5, None, "2.5"),
    ],
)
def test_digits_are_those_of_the_error(value, error, text):
    assert with_error(value, error) == text


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.07, "7 % of the noise"), (1.01, "101 % of the noise"), (9.99, "999 % of the noise"), (10, "10 times the noise"),
     (342405.93, "342,406 times the noise"), (3.4e9, f"3.4 {TIMES} 10⁹ times the noise")],
)  # fmt: skip
def test_what_is_large_beside_a_whole_is_so_many_times_it(share, said):
    assert ratio(share, "the noise") == said
