r"""Does a pattern repeat, or is it noise of some colour? Its waves against the frequencies right beside them.

A random walk or a smooth random field has strong waves, too, but their neighbours are as strong. The power of a
frequency is half of what its cosine and sine explain beside everything else. For a wave of power :math:`I` and
:math:`K` neighbours of mean power :math:`S`, all exponentially distributed, the evidence of an extra variance :math:`r`
times the noise's, with the level of the noise integrated out, is

.. math:: -\log(1 + r) - (K + 1) \log \frac{K + x / (1 + r)}{K + x}, \quad x = I / S

Spectra may fall as steeply as a random walk's, so the power of faster neighbours is raised accordingly.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from torusgp.periods._trend import FEWEST_TURNS

_REACH = {1: 6, 2: 4, 3: 3}  # turns to each side along an axis within which neighbours lie
_APART = 0.9  # turns between a neighbour and any wave of the model
_OWN = 0.3  # least part of a neighbour that no other column explains


def local_gain(model, fit):
    """Log evidence of the waves of the last block of a fit, over noise of the power that their neighbours have.

    Parameters
    ----------
    model : WaveModel
        The data.
    fit : Fit
        Blocks of waves.

    Returns
    -------
    gain : float
        Of all waves.
    gain_of_rest : float
        Of all but those along the strongest direction.
    """
    rows, block = model.rows, fit.blocks[-1]
    root = np.sqrt(rows.weight)[:, None]
    columns = model.columns(fit.blocks) * root
    basis, triangle = np.linalg.qr(columns)
    if np.abs(np.diag(triangle)).min() < 1e-9 * np.abs(np.diag(triangle)).max():
        return -np.inf, -np.inf  # waves that cannot be told apart
    weights = solve_triangular(triangle, basis.T @ (rows.targets * root))
    inverse = solve_triangular(triangle, np.eye(len(triangle)))
    size, everything = len(block.indices), np.vstack([one.frequencies for one in fit.blocks])
    residual = rows.targets * root - columns @ weights
    ratios, counts = [], []
    for i, frequency in enumerate(block.frequencies):
        pair = [len(weights) - 2 * (size - i), len(weights) - 2 * (size - i) + 1]
        precision = np.linalg.inv(inverse[pair] @ inverse[pair].T)
        power = 0.5 * np.einsum("aq,ab,bq->q", weights[pair], precision, weights[pair])
        # along the axis where neighbours are strongest: spectra of images often have ridges
        noise, count = np.zeros(len(power)), 0
        for axis in range(len(frequency)):
            powers = _powers(rows, root, basis, residual, frequency, _neighbours(frequency, axis, everything))
            if len(powers):
                noise, count = np.maximum(noise, powers.mean(axis=0)), max(count, len(powers))
        ratios.append(np.divide(power, noise, out=np.zeros_like(power), where=noise > 0))
        counts.append(max(count, 1))
    x, known = np.array(ratios), np.array(counts)[:, None]
    squares = ((block.frequencies / np.linalg.norm(block.reciprocal, axis=1).mean()) ** 2).sum(axis=1)[:, None]
    # waves along one direction repeat in this direction only
    directions = block.indices // np.gcd.reduce(block.indices, axis=1)[:, None]
    _, direction = np.unique(directions, axis=0, return_inverse=True)
    strongest = np.bincount(direction, np.log1p(x).sum(axis=1)).argmax()
    rest = direction != strongest
    return _evidence(x, known, squares), _evidence(x[rest], known[rest], squares[rest])


def _evidence(x, known, squares):
    """Log evidence of waves with a variance that falls with their length, at its maximum."""
    if not len(x):
        return 0.0

    def loss(point):
        extra = np.exp(point[0] - 0.5 * squares * np.exp(2 * point[1]))
        return (np.log1p(extra) + (known + 1) * np.log((known + x / (1 + extra)) / (known + x))).sum()

    starts = [(np.log(x.max() + 1), scale) for scale in (np.log(0.1), np.log(0.5), np.log(1.5))]
    return -min(float(minimize(loss, start, method="Nelder-Mead").fun) for start in starts)


def _powers(rows, root, basis, residual, frequency, neighbours):
    """Powers of the neighbours of a frequency, shape (n_neighbours, n_outputs), raised where they are faster."""
    powers = []
    for neighbour in neighbours:
        angles = 2 * np.pi * rows.inputs @ neighbour
        pair = np.column_stack([np.cos(angles), np.sin(angles)]) * root
        own = pair - basis @ (basis.T @ pair)
        gram = own.T @ own
        if np.linalg.eigvalsh(gram)[0] < _OWN * rows.weight.sum() / 2:
            continue
        moment = own.T @ residual
        steepness = (np.linalg.norm(neighbour) / np.linalg.norm(frequency)) ** (len(frequency) + 1)
        powers.append(0.5 * (moment * np.linalg.solve(gram, moment)).sum(axis=0) * max(1.0, steepness))
    return np.array(powers)


def _neighbours(frequency, axis, waves):
    """Frequencies beside one, at whole turns over the data along an axis, that are no slow change and none of waves."""
    reach = _REACH[len(frequency)]
    offsets = np.delete(np.arange(-reach, reach + 1), reach)
    points = frequency + offsets[:, None] * np.eye(len(frequency))[axis]
    signed = np.vstack([waves, -waves])
    distance = np.abs(points[:, None] - signed).max(axis=2).min(axis=1)
    return points[(distance >= _APART) & (np.linalg.norm(points, axis=1) >= FEWEST_TURNS)]
