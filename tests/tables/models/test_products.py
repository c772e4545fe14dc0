"""When a table gets a product of all inputs beside the pairs of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from torusgp.fitting.selection import spared
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


def test_it_predicts_blocks_better_that_took_no_part_in_choosing():
    residuals, new = np.random.default_rng(0).normal(size=N), spared(N)
    assert new.mean() == 0.2
    better = fitted(np.where(new, 0.95, 1.0) * residuals)
    flattered = fitted(np.where(new, 1.0, 0.5) * residuals)
    assert is_clearly_better(better, fitted(residuals))
    assert not is_clearly_better(flattered, fitted(residuals))
    assert not is_clearly_better(fitted(residuals), fitted(residuals))


def test_it_predicts_most_blocks_better():
    """One of ten blocks alone is no evidence."""
    residuals, first = np.random.default_rng(0).normal(size=N), np.flatnonzero(spared(N))[: N // 50]
    surprise = residuals.copy()
    surprise[first] *= 3.0
    assert not is_clearly_better(fitted(residuals), fitted(surprise))


@pytest.mark.parametrize(("gain", "is_better"), [(1000, False), (2000, True)])
def test_of_independent_rows_each_frequency_pays_for_its_choice(gain, is_better):
    assert is_clearly_better(fitted(log_evidence=gain), fitted()) == is_better  # 201 frequencies cost 1528
