r"""Does a pattern repeat, or is it noise of some colour? Its sinusoids against the frequencies right beside them.

A random walk or a smooth random field has strong sinusoids, too, but their neighbours are as strong. The power of a
frequency is half of what its cosine and sine explain beside everything else. For a sinusoid of power :math:`I` and
:math:`K` neighbours of mean power :math:`S`, all exponentially distributed, the evidence of an extra variance :math:`r`
times the noise's, with the level of the noise integrated out, is

.. math:: -\log(1 + r) - (K + 1) \log \frac{K + x / (1 + r)}{K + x}, \quad x = I / S

Spectra may fall as steeply as a random walk's, so the power of faster neighbours is raised accordingly.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from torusgp.fitting.periods._trend import FEWEST_TURNS

_REACH = {1: 6, 2: 4, 3: 3}  # turns to each side along an axis within which neighbours lie
_APART = 0.9  # turns between a neighbour and any sinusoid of the model
_OWN = 0.1  # least part of a neighbour that no other column explains
_DEPENDENT = 1e-10  # of the largest eigenvalue: combinations of columns that are none


@dataclass(frozen=True)
class Contrasts:
    """Powers of sinusoids relative to those of their neighbours.

    Attributes
    ----------
    ratios : ndarray of shape (n_sinusoids, n_outputs)
        Power of each sinusoid over the mean of its neighbours; zero where it has none.
    counts : ndarray of shape (n_sinusoids, 1)
        Number of neighbours, at least one.
    squares : ndarray of shape (n_sinusoids, 1)
        Squared lengths of the frequencies, relative to those of the basis.
    """

    ratios: np.ndarray
    counts: np.ndarray
    squares: np.ndarray

    def gain(self, chosen):
        """Log evidence of chosen sinusoids with a variance that falls with their length, at its maximum."""
        if not chosen.any():
            return 0.0
        x, counts, squares = self.ratios[chosen], self.counts[chosen], self.squares[chosen]

        def loss(point):
            extra = np.exp(point[0] - 0.5 * squares * np.exp(2 * point[1]))
            return (np.log1p(extra) + (counts + 1) * np.log((counts + x / (1 + extra)) / (counts + x))).sum()

        starts = [(np.log(x.max() + 1), scale) for scale in (np.log(0.1), np.log(0.5), np.log(1.5))]
        return -min(float(minimize(loss, start, method="Nelder-Mead").fun) for start in starts)

    def strongest_direction(self, indices):
        """Which sinusoids lie along the direction that has the most power: these repeat in this direction only."""
        directions = indices // np.gcd.reduce(indices, axis=1)[:, None]
        _, direction = np.unique(directions, axis=0, return_inverse=True)
        return direction == np.bincount(direction, np.log1p(self.ratios).sum(axis=1)).argmax()


def contrasts(model, fit):
    """Compare the sinusoids of the last block of a fit with the frequencies beside them.

    Parameters
    ----------
    model : SinusoidModel
        The data.
    fit : Fit
        Blocks of sinusoids.

    Returns
    -------
    Contrasts
    """
    rows, block = model.rows, fit.blocks[-1]
    root = np.sqrt(rows.weight)[:, None]
    columns, targets = model.columns(fit.blocks) * root, rows.targets * root
    values, vectors = np.linalg.eigh(columns.T @ columns)
    kept = values > _DEPENDENT * values[-1]  # the sine of a sinusoid at Nyquist's frequency is none
    whitening = vectors[:, kept] / np.sqrt(values[kept])
    covariance = whitening @ whitening.T
    weights = covariance @ (columns.T @ targets)
    residual = targets - columns @ weights
    size, everything = len(block.indices), np.vstack([one.frequencies for one in fit.blocks])
    ratios, counts = np.zeros((size, targets.shape[1])), np.ones((size, 1))
    for i, frequency in enumerate(block.frequencies):
        pair = [len(weights) - 2 * (size - i), len(weights) - 2 * (size - i) + 1]
        precision = np.linalg.pinv(covariance[np.ix_(pair, pair)], rcond=1e-6, hermitian=True)
        power = 0.5 * np.einsum("aq,ab,bq->q", weights[pair], precision, weights[pair])
        neighbours = _neighbours(frequency, everything)
        if not len(neighbours):
            continue
        powers = _powers(rows.inputs, root, columns, whitening, residual, neighbours)
        own = np.isfinite(powers[:, 0])
        if own.any():
            steepness = (np.linalg.norm(neighbours[own], axis=1) / np.linalg.norm(frequency)) ** (len(frequency) + 1)
            noise = (powers[own] * np.maximum(1.0, steepness)[:, None]).mean(axis=0)
            ratios[i], counts[i] = power / np.maximum(noise, np.finfo(float).tiny), own.sum()
    squares = ((block.frequencies / np.linalg.norm(block.reciprocal, axis=1).mean()) ** 2).sum(axis=1)[:, None]
    return Contrasts(ratios, counts, squares)


def _powers(inputs, root, columns, whitening, residual, frequencies):
    """Powers of frequencies beside all columns, shape (n_frequencies, n_outputs); NaN where these explain them."""
    angles = 2 * np.pi * inputs @ frequencies.T
    sinusoids = np.stack([np.cos(angles), np.sin(angles)], axis=2) * root[:, :, None]  # (n, n_frequencies, 2)
    explained = (whitening.T @ (columns.T @ sinusoids.reshape(len(inputs), -1))).reshape(-1, *sinusoids.shape[1:])
    powers = np.full((len(frequencies), residual.shape[1]), np.nan)
    for i in range(len(frequencies)):
        gram = sinusoids[:, i].T @ sinusoids[:, i] - explained[:, i].T @ explained[:, i]
        if np.linalg.eigvalsh(gram)[0] >= _OWN * (root**2).sum() / 2:
            moment = sinusoids[:, i].T @ residual
            powers[i] = 0.5 * (moment * np.linalg.solve(gram, moment)).sum(axis=0)
    return powers


def _neighbours(frequency, sinusoids):
    """Frequencies beside one, at whole turns over the data along the axes, that are no slow change and no sinusoids."""
    dimension = len(frequency)
    reach = _REACH[dimension]
    offsets = np.delete(np.arange(-reach, reach + 1), reach)
    points = frequency + (offsets[:, None, None] * np.eye(dimension)).reshape(-1, dimension)
    signed = np.vstack([sinusoids, -sinusoids])
    distance = np.abs(points[:, None] - signed).max(axis=2).min(axis=1)
    return points[(distance >= _APART) & (np.linalg.norm(points, axis=1) >= FEWEST_TURNS)]
