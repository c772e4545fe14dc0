"""When a table gets a product of all inputs beside the pairs of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from torusgp.fitting.selection import spared
from torusgp.tables.regressors import is_clearly_better

N = 2000


def fitted(left_out=None, n_components=401, log_evidence=0.0):
    """What the rule reads of a regressor."""
    return SimpleNamespace(
        fit_=SimpleNamespace(left_out=left_out),
        fitted_=SimpleNamespace(statistics=SimpleNamespace(n_samples=float(N))),
        index_set_=SimpleNamespace(n_components=n_components, frequencies=np.zeros(((n_components + 1) // 2, 5))),
        log_marginal_likelihood_=log_evidence,
    )


def test_it_predicts_blocks_better_that_took_no_part_in_choosing():
    residuals, new = np.random.default_rng(0).normal(size=N), spared(N)
    assert new.mean() == 0.2
    flattered = np.where(new, 1.01, 0.5) * residuals
    assert is_clearly_better(fitted(0.95 * residuals), fitted(residuals))
    assert not is_clearly_better(fitted(flattered), fitted(residuals))
    assert not is_clearly_better(fitted(residuals), fitted(residuals))


def test_it_predicts_most_blocks_better():
    """One of ten blocks alone is no evidence."""
    residuals = np.random.default_rng(0).normal(size=N)
    surprise = np.where(np.arange(N) < N // 10, 3.0, 1.0) * residuals
    assert not is_clearly_better(fitted(residuals), fitted(surprise))


def test_a_few_exceptional_rows_do_not_hide_that_all_others_are_predicted_better():
    pairs, exceptional = np.random.default_rng(0).normal(size=N), np.arange(4) * N // 4 + 7
    whole = 0.8 * pairs
    pairs[exceptional], whole[exceptional] = 30.0, [10.0, 31.0, 10.0, 31.0]
    assert is_clearly_better(fitted(whole), fitted(pairs))


@pytest.mark.parametrize(("gain", "is_better"), [(1000, False), (2000, True)])
def test_of_independent_rows_each_frequency_pays_for_its_choice(gain, is_better):
    assert is_clearly_better(fitted(log_evidence=gain), fitted()) == is_better  # 201 frequencies cost 1528
