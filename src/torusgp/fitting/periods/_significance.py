r"""Does a pattern repeat, or is it noise of some colour? Its sinusoids against the frequencies right beside them.

A random walk or a smooth random field has strong sinusoids, too, but their neighbours are as strong. The power of a
frequency is half of what its cosine and sine explain beside everything else. For a sinusoid of power :math:`I` and
:math:`K` neighbours of mean power :math:`S`, all exponentially distributed, the evidence of an extra variance :math:`r`
times the noise's, with the level of the noise integrated out, is

.. math:: -\log(1 + r) - (K + 1) \log \frac{K + x / (1 + r)}{K + x}, \quad x = I / S

Spectra may fall as steeply as a random walk's, so the power of faster neighbours is raised accordingly.

Few rows have too few neighbours to say much. There the share that the strongest sinusoid explains is compared with what
it explains of simulated noise at the same times: white, a random walk, and colours between. If noise does as well with
a chance of :math:`p`, the odds of a period are at most :math:`1 / (-e p \log p)` [1]_.

.. [1] Sellke, Bayarri, Berger: Calibration of p values for testing precise null hypotheses. The American Statistician
   55 (2001).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from torusgp.fitting.periods._periodogram import explained_beside
from torusgp.fitting.periods._trend import FEWEST_TURNS

_REACH = {1: 6, 2: 4, 3: 3}  # turns to each side along an axis within which neighbours lie
_APART = 0.9  # turns between a neighbour and any sinusoid of the model
_COLOURS = (0.0, 1.0, 3.0, 10.0, np.inf)  # correlation of simulated noise, in mean distances of the rows
_DRAWS = 400  # of each colour
_TAIL = 0.1  # share of the draws from which chances beyond all of them are extrapolated
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
    residual, basis = targets - columns @ weights, columns @ whitening
    size, everything = len(block.indices), np.vstack([one.frequencies for one in fit.blocks])
    ratios, counts = np.zeros((size, targets.shape[1])), np.ones((size, 1))
    for i, frequency in enumerate(block.frequencies):
        pair = [len(weights) - 2 * (size - i), len(weights) - 2 * (size - i) + 1]
        precision = np.linalg.pinv(covariance[np.ix_(pair, pair)], rcond=1e-6, hermitian=True)
        power = 0.5 * np.einsum("aq,ab,bq->q", weights[pair], precision, weights[pair])
        neighbours = _neighbours(frequency, everything)
        if not len(neighbours):
            continue
        explained, own = explained_beside(rows.inputs, root, basis, residual, neighbours)
        powers = 0.5 * explained
        if own.any():
            steepness = (np.linalg.norm(neighbours[own], axis=1) / np.linalg.norm(frequency)) ** (len(frequency) + 1)
            noise = (powers[own] * np.maximum(1.0, steepness)[:, None]).mean(axis=0)
            ratios[i], counts[i] = power / np.maximum(noise, np.finfo(float).tiny), own.sum()
    squares = ((block.frequencies / np.linalg.norm(block.reciprocal, axis=1).mean()) ** 2).sum(axis=1)[:, None]
    return Contrasts(ratios, counts, squares)


def odds_against_noise(model, fit, turns):
    """Log of the odds of a sinusoid of the last block of a fit against noise, at most: for few rows of one input.

    Parameters
    ----------
    model : SinusoidModel
        The data.
    fit : Fit
        Blocks of sinusoids.
    turns : ndarray of shape (n_frequencies,)
        Frequencies among which it was found.

    Returns
    -------
    float
    """
    rows = model.rows
    root = np.sqrt(rows.weight)[:, None]
    basis = np.linalg.qr(model.columns(fit.blocks[:-1]) * root)[0]
    n_left = len(root) - basis.shape[1] - 2  # degrees of freedom beside a sinusoid
    if n_left < 1:
        return 0.0

    def strength(targets, frequencies):
        """Of the strongest: twice the log likelihood that it gains, averaged over outputs, by draw."""
        residual = targets - basis @ (basis.T @ targets)
        explained, _ = explained_beside(rows.inputs, root, basis, residual, frequencies)
        share = np.minimum(explained.max(axis=0) / (residual**2).sum(axis=0), 1 - 1e-12)
        return (-n_left * np.log1p(-share)).reshape(-1, rows.targets.shape[1]).mean(axis=1)

    found = strength(rows.targets * root, fit.blocks[-1].frequencies)[0]
    rng = np.random.default_rng(0)
    distance = np.abs(rows.inputs - rows.inputs.T) * len(root)
    log_chance = -np.inf
    for length in _COLOURS:
        noise = rng.normal(size=(len(root), _DRAWS * rows.targets.shape[1]))
        draws = np.sort(strength(_coloured(noise, distance, length), turns[:, None]))
        beyond = np.mean(draws >= found)
        level = draws[int((1 - _TAIL) * len(draws))]
        tail = np.log(_TAIL) - max(found - level, 0.0) / np.mean(draws[draws >= level] - level)
        log_chance = max(log_chance, np.log(beyond) if beyond > _TAIL else tail)
    return float(-1 - log_chance - np.log(-log_chance)) if log_chance < -1 else 0.0


def _coloured(noise, distance, length):
    """White noise made into an Ornstein-Uhlenbeck process of this correlation length; infinite: a random walk."""
    if length == 0:
        return noise
    length = min(length, 100.0 * len(noise))  # of which slow change is subtracted: a walk
    return np.linalg.cholesky(np.exp(-distance / length) + 1e-10 * np.eye(len(noise))) @ noise


def _neighbours(frequency, sinusoids):
    """Frequencies beside one, at whole turns over the data along the axes, that are no slow change and no sinusoids."""
    dimension = len(frequency)
    reach = _REACH[dimension]
    offsets = np.delete(np.arange(-reach, reach + 1), reach)
    points = frequency + (offsets[:, None, None] * np.eye(dimension)).reshape(-1, dimension)
    signed = np.vstack([sinusoids, -sinusoids])
    distance = np.abs(points[:, None] - signed).max(axis=2).min(axis=1)
    return points[(distance >= _APART) & (np.linalg.norm(points, axis=1) >= FEWEST_TURNS)]
