"""What the methods share: angles as points on circles, a part of the rows, and blocks of rows to hold out."""

import numpy as np

SEED = 0  # of everything random in a method
N_BLOCKS = 50  # of consecutive rows


def on_circles(X, period):
    """Cosines and sines of all inputs, shape (n_samples, 2 * n_features): a method without periods then has them."""
    phases = 2 * np.pi * np.asarray(X) / period
    return np.hstack([np.cos(phases), np.sin(phases)])


def some_rows(n_samples, limit):
    """Positions of at most so many rows, drawn at random."""
    if n_samples <= limit:
        return np.arange(n_samples)
    return np.sort(np.random.default_rng(SEED).choice(n_samples, limit, replace=False))


def blocks(n_samples):
    """Number of the block of consecutive rows that each row is in.

    Rows of a series resemble their neighbours, so that a row is a fair test only for what was learned without them.
    """
    return np.arange(n_samples) * N_BLOCKS // n_samples


def held_out(n_samples, fraction=0.2):
    """Which rows a method that needs them holds out of its training rows: some of the blocks."""
    chosen = np.random.default_rng(SEED).permutation(N_BLOCKS)[: max(1, round(fraction * N_BLOCKS))]
    return np.isin(blocks(n_samples), chosen)
