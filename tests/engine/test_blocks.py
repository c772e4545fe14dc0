"""Sums in blocks: parts are the whole, and blocks left out are refits without them."""

import numpy as np
import pytest

from torusgp.engine.blocks import BlockSums, cross_products, moment_likelihood
from torusgp.engine.inference import LinearStatistics, evidence

N_ROWS, N_COLUMNS, N_BLOCKS = 240, 31, 6
NOISE = 0.3


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    columns = np.column_stack([np.ones(N_ROWS), rng.normal(size=(N_ROWS, N_COLUMNS - 1))])
    return columns, columns @ rng.normal(size=N_COLUMNS) + rng.normal(size=N_ROWS), rng.uniform(0.1, 2, N_COLUMNS)


def covariance(n_rows):
    """That of an autoregression."""
    lags = np.abs(np.subtract.outer(np.arange(n_rows), np.arange(n_rows)))
    return 0.7**lags


def sums_of(columns, target, correlated=False):
    parts = []
    for rows in np.array_split(np.arange(N_ROWS), N_BLOCKS):
        noise = columns[rows].T @ covariance(len(rows)) @ columns[rows] if correlated else None
        parts.append(BlockSums.of_rows(columns[rows], target[rows], len(rows), noise))
    return BlockSums.of(parts)


def test_cross_products_are_those_of_any_layout(data):
    columns = data[0]
    for one in (columns, np.asfortranarray(columns), columns[::2], columns[:, ::2]):
        assert cross_products(one) == pytest.approx(one.T @ one, rel=1e-13, abs=1e-12)


def test_blocks_add_up_to_one_pass(data):
    columns, target, variances = data
    whole = LinearStatistics(columns.T @ columns, (columns.T @ target)[:, None], np.array([target @ target]), N_ROWS)
    found = evidence(sums_of(columns, target).total, variances, NOISE)
    assert found.log_evidence == pytest.approx(evidence(whole, variances, NOISE).log_evidence, abs=1e-9 * N_ROWS)
    merged = sums_of(columns, target, correlated=True).merged()
    assert len(merged) == N_BLOCKS // 2
    assert merged.total.gram == pytest.approx(sums_of(columns, target, correlated=True).total.gram, rel=1e-9)


@pytest.mark.parametrize("correlated", [False, True], ids=["independent", "correlated"])
def test_a_block_left_out_is_a_fit_without_it(data, correlated):
    """Of correlated noise by generalised least squares in the space of the columns' moments."""
    columns, target, variances = data
    sums, blocks = sums_of(columns, target, correlated), np.array_split(np.arange(N_ROWS), N_BLOCKS)
    for block in (0, 3):
        for found, kept in (
            (sums.without(block), [b for b in range(N_BLOCKS) if b != block]),
            (sums.before(block + 1), list(range(block + 1))),
        ):
            rows = np.concatenate([blocks[b] for b in kept])
            F, y = columns[rows], target[rows]
            gram, moments = F.T @ F, F.T @ y
            if correlated:
                noise = np.zeros((len(rows), len(rows)))
                start = 0
                for b in kept:
                    own = slice(start, start + len(blocks[b]))
                    noise[own, own] = covariance(len(blocks[b]))
                    start = own.stop
                among = F.T @ noise @ F
                precision, linear = gram @ np.linalg.solve(among, gram), gram @ np.linalg.solve(among, moments)
            else:
                precision, linear = gram / NOISE, moments / NOISE
            expected = np.linalg.solve(precision + np.diag(1 / variances), linear)
            result = evidence(found, variances, 1.0 if correlated else NOISE)
            assert result.weights == pytest.approx(expected, abs=1e-6 if correlated else 1e-9)


def test_some_columns_are_those_of_a_smaller_model(data):
    columns, target, variances = data
    chosen = np.array([0, 3, 4, 17])
    found = sums_of(columns, target, correlated=True).take(chosen).total
    alone = sums_of(columns[:, chosen], target, correlated=True).total
    assert found.gram == pytest.approx(alone.gram, rel=1e-12)
    assert evidence(found, variances[chosen], 1.0).log_evidence == pytest.approx(
        evidence(alone, variances[chosen], 1.0).log_evidence
    )


def test_moments_of_independent_noise_say_what_rows_say(data):
    columns, target, _ = data
    gram, moments = columns.T @ columns, columns.T @ target
    precision, linear = moment_likelihood(gram, moments, NOISE * gram)
    assert precision == pytest.approx(gram / NOISE, rel=1e-7)
    assert linear == pytest.approx(moments / NOISE, rel=1e-7)


def test_columns_that_rows_hardly_show_do_no_harm(data):
    columns, target, variances = data
    twice = np.column_stack([columns, columns[:, 1:3]])  # the Gram matrix and that of the noise are singular
    result = evidence(sums_of(twice, target, correlated=True).total, np.append(variances, [1.0, 1.0]), 1.0)
    assert np.isfinite(result.log_evidence)
