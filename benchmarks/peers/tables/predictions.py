"""What a method predicts, and how well: errors, calibration, and how sharp the intervals are."""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri
from scipy.stats import nbinom

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
N_BLOCKS = 26  # of consecutive rows, whose losses are compared in pairs: neighbouring rows are not independent


@dataclass(frozen=True)
class Prediction:
    """Means, quantiles at LEVELS (one row each), and log densities of the observations where the method has them."""

    mean: np.ndarray
    quantiles: np.ndarray
    log_density: np.ndarray | None = None
    details: dict = field(default_factory=dict)


def normal(y, mean, std, **details):
    """A prediction with normal errors."""
    mean, std = np.asarray(mean, float), np.broadcast_to(np.asarray(std, float), np.shape(mean))
    density = -0.5 * np.log(2 * np.pi * std**2) - (y - mean) ** 2 / (2 * std**2)
    return Prediction(mean, mean[:, None] + std[:, None] * ndtri(LEVELS), density, details)


def negative_binomial(y, mean, dispersion, **details):
    """A prediction of counts."""
    mean = np.maximum(mean, 1e-9)
    arguments = 1 / dispersion, 1 / (1 + dispersion * mean)
    quantiles = np.column_stack([nbinom.ppf(level, *arguments) for level in LEVELS])
    return Prediction(mean, quantiles, nbinom.logpmf(y, *arguments), details | {"dispersion": dispersion})


def fitted_dispersion(y, mean):
    """Dispersion of counts around given means, by maximum likelihood."""
    mean = np.maximum(mean, 1e-9)

    def loss(log):
        return -nbinom.logpmf(y, np.exp(-log), 1 / (1 + np.exp(log) * mean)).mean()

    return float(np.exp(minimize_scalar(loss, bounds=(-8, 3), method="bounded").x))


def scores(y, prediction):
    """Errors and calibration of a prediction."""
    error, quantiles = y - prediction.mean, prediction.quantiles
    below = y[:, None] - quantiles
    pinball = np.maximum(LEVELS * below, (LEVELS - 1) * below)
    density = prediction.log_density
    return {
        "R2": float(1 - np.mean(error**2) / np.var(y)),
        "MAE": float(np.mean(np.abs(error))),
        "pinball": float(2 * pinball.mean()),
        "log loss": None if density is None else float(-density.mean()),
        "coverage": float(np.mean((y >= quantiles[:, 0]) & (y <= quantiles[:, -1]))),
    }


def block_losses(prediction):
    """Mean log loss of blocks of consecutive rows; None where the method has no densities."""
    if prediction.log_density is None:
        return None
    return [float(-np.mean(block)) for block in np.array_split(prediction.log_density, N_BLOCKS)]
