r"""Points to compute next: those that reduce the posterior variance of what is wanted most.

With whitened columns z of a candidate and q of a target, whose products are posterior covariances, an observation of
noise variance :math:`s^2` reduces the variance of the target by :math:`(q'z)^2 / (z'z + s^2)`. It does not depend on
what will be observed, so several points are chosen one after the other without observing any.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.checks import check_flag
from torusgp.fitting.prior import derivative_noise_name
from torusgp.surfaces._field import Array, Field
from torusgp.surfaces._paths import MinimumEnergyPath

_CANDIDATES = 1024
_TARGETS = 512  # points that stand for the whole surface


def suggest(
    model: Any,
    n: int = 1,
    *,
    path: MinimumEnergyPath | None = None,
    with_gradient: bool = False,
    output: int = 0,
    random_state: int = 0,
) -> Array:
    """The next points to compute.

    Parameters
    ----------
    model : TorusGPRegressor or FittedTorusGP
        Fitted model, of circles, lines or a lattice.
    n : int, default=1
        Number of points.
    path : MinimumEnergyPath, optional
        Reduce the uncertainty of its barrier: of its highest saddle point over its first minimum, both wherever their
        standard errors allow. By default that of the whole surface, on average.
    with_gradient : bool, default=False
        Whether the gradient will be computed too, with the noise that it had before.
    output : int, default=0
        Which target, where there are several.
    random_state : int, default=0
        Determines the candidates.

    Returns
    -------
    ndarray of shape (n, dimension)

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusGPRegressor
    >>> angle = np.array([0.0, 20, 40, 60, 80, 100, 120, 140, 160, 180])[:, None]
    >>> model = TorusGPRegressor(period=360).fit(angle, np.cos(np.radians(angle[:, 0])))
    >>> bool(180 < suggest(model)[0, 0] < 360)  # where nothing was computed yet
    True
    """
    if not (isinstance(n, int | np.integer) and n >= 1):
        raise ValueError(f"n must be a positive number of points, got {n!r}.")
    check_flag(with_gradient, "with_gradient")
    field = Field(model, output)
    domain = field.domain
    from scipy.stats import qmc  # slow to import

    sobol = qmc.Sobol(domain.dimension, rng=random_state)
    candidates = domain.from_unit(sobol.random(_CANDIDATES))
    if path is None:
        targets = field.columns(domain.from_unit(sobol.random(_TARGETS)))
    else:
        candidates = np.vstack([candidates, *(_around(field, point) for point in (path.minima[0], path.highest))])
        candidates = candidates[domain.holds(candidates)]
        targets = _barriers(field, path)
    noise = np.append(field.fitted.noise_variance[output], _gradient_noise(field) if with_gradient else [])
    directions = np.eye(domain.dimension)[: len(noise) - 1]
    columns = [field.columns(candidates), *(field.columns(candidates, unit) for unit in directions)]
    observed = np.stack([field.whiten(one) for one in columns])  # (n_observed, n_columns, n_candidates)
    wanted = field.whiten(targets)  # (n_columns, n_targets)
    chosen = []
    for _ in range(n):
        best = int(np.argmax(_gains(observed, wanted, noise)))
        chosen.append(candidates[best])
        for i, variance in enumerate(noise):
            seen = observed[i, :, best].copy()
            wanted, observed = _updated(wanted, seen, variance), _updated(observed, seen, variance)
    return domain.wrap(np.array(chosen))


def _gains(observed: Array, wanted: Array, noise: Array) -> Array:
    """Reduction of the summed variance of the targets by each candidate."""
    together = wanted @ wanted.T
    own = np.einsum("ipc,jpc->cij", observed, observed)
    own[:, np.arange(len(noise)), np.arange(len(noise))] += noise
    through = np.einsum("ipc,pq,jqc->cij", observed, together, observed, optimize=True)
    return np.asarray(np.trace(np.linalg.solve(own, through), axis1=1, axis2=2))


def _updated(vectors: Array, seen: Array, noise: float) -> Array:
    """Whitened columns after an observation: their products lose what it tells."""
    square = float(seen @ seen)
    if square == 0:
        return vectors
    # (1 - a z z') is the root of 1 - z z' / (z'z + s^2)
    factor = (1 - np.sqrt(noise / (square + noise))) / square
    along = np.tensordot(seen, vectors, axes=(0, vectors.ndim - 2))
    return np.asarray(vectors - factor * seen[:, None] * along[..., None, :])


def _around(field: Field, point: Any) -> Array:
    """A stationary point, and points one and two standard errors away from it in all directions."""
    values, vectors = np.linalg.eigh(point.position_covariance)
    steps = vectors.T * np.sqrt(np.maximum(values, 0.0))[:, None]
    away = np.vstack([factor * steps for factor in (-2, -1, 1, 2)])
    return np.vstack([point.position, point.position + away])


def _barriers(field: Field, path: MinimumEnergyPath) -> Array:
    """Differences of the columns at places where the highest saddle point and the first minimum may be."""
    top, bottom = (field.columns(_around(field, point)) for point in (path.highest, path.minima[0]))
    return np.vstack([top - bottom[0], top[0] - bottom[1:]])


def _gradient_noise(field: Field) -> Array:
    parameters = field.fitted.parameters
    missing = [name for name in field.names if derivative_noise_name(name) not in parameters]
    if missing:
        raise ValueError(f"with_gradient needs the noise of gradients, but none along {missing[0]!r} was observed yet.")
    return np.array([parameters[derivative_noise_name(name)][field.output] for name in field.names])
