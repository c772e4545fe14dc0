import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torusgp.views.autocorrelation import autocorrelation, correlation_time


@given(st.floats(-0.95, 0.95))
def test_correlation_time_of_known_noise(memory):
    power = memory ** (2 * np.arange(2000))
    assert correlation_time(power) == pytest.approx((1 + memory**2) / (1 - memory**2), rel=0.02)


def test_autocorrelation_is_that_of_the_definition():
    values = np.convolve(np.random.default_rng(0).normal(size=201), [1, 0.5], "valid")
    centred = values - values.mean()
    expected = [centred[lag:] @ centred[: len(centred) - lag] for lag in range(200)]
    np.testing.assert_allclose(autocorrelation(values), np.array(expected) / expected[0], atol=1e-12)
    np.testing.assert_array_equal(autocorrelation(np.ones(4)), [1, 0, 0, 0])
