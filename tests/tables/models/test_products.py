"""When a table gets a product of all inputs beside the pairs of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from torusgp.tables.models._regressors import is_clearly_better

N = 2000


def fitted(left_out=None, n_components=401, log_evidence=0.0):
    """What the rule reads of a regressor."""
    return SimpleNamespace(
        fit_=SimpleNamespace(left_out=left_out),
        fitted_=SimpleNamespace(statistics=SimpleNamespace(n_samples=float(N))),
        index_set_=SimpleNamespace(n_components=n_components, frequencies=np.zeros(((n_components + 1) // 2, 5))),
        log_marginal_likelihood_=log_evidence,
    )


@pytest.mark.parametrize(("gain", "n_components", "is_better"), [(0.3, 401, True), (0.1, 401, False), (0.1, 101, True)])
def test_it_predicts_blocks_left_out_better_by_its_components_over_the_rows(gain, n_components, is_better):
    residuals = np.random.default_rng(0).normal(size=N)
    assert is_clearly_better(fitted(np.sqrt(1 - gain) * residuals, n_components), fitted(residuals)) == is_better


def test_it_predicts_most_blocks_better():
    """One of ten blocks alone is no evidence."""
    residuals = np.random.default_rng(0).normal(size=N)
    surprise = np.where(np.arange(N) < N // 10, 3.0, 1.0) * residuals
    assert not is_clearly_better(fitted(residuals, 11), fitted(surprise))
    assert not is_clearly_better(fitted(residuals, 11), fitted(residuals))


@pytest.mark.parametrize(("gain", "is_better"), [(1000, False), (2000, True)])
def test_of_independent_rows_each_frequency_pays_for_its_choice(gain, is_better):
    assert is_clearly_better(fitted(log_evidence=gain), fitted()) == is_better  # 201 frequencies cost 1528
