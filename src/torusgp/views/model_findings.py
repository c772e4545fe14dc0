"""Findings on a fitted regressor, with or without a table."""

from __future__ import annotations

import numpy as np

from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.fitting.curvature import bounds_reached
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.prior import scale_name
from torusgp.views.dimensions import find_dimensions
from torusgp.views.findings import NOTE, Finding
from torusgp.views.numbers import TIMES, listed, percent, ratio

_TRUNCATED = 0.1  # of the noise variance, from which what is left out is not small
_MOST_COMPONENTS = 4000  # whose correlations are looked at
_ALIKE = 0.7  # correlation of two basis functions from which rows do not tell them apart
_NEGLIGIBLE = 1e-3  # of the largest prior variance: basis functions that cannot take anything from others
_MOST_NAMED = 2


def model_findings(model: TorusGPRegressor) -> list[Finding]:
    """Notes on a fitted regressor: what was left out, inputs without effect, and inputs that move together.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.

    Returns
    -------
    list of Finding
    """
    texts = []
    noise = np.atleast_1d(model.noise_variance_)
    left_out = float(np.max(model.truncation_error_ * np.atleast_1d(model.signal_variance_) / noise))
    if left_out > _TRUNCATED:
        texts.append(
            f"Frequencies that are left out may matter: their prior variance is {percent(model.truncation_error_)} of "
            f"the signal variance and {ratio(left_out, 'the noise variance')}. More components would tell."
        )
    flat = _flat_inputs(model.fitted_)
    if flat:
        texts.append(
            f"Along {listed(flat)} the length scale has reached its upper bound: the target follows a single slow "
            "harmonic there, or does not depend on it."
        )
    names = [one.name for one in find_dimensions(model.fitted_)]
    for one, other, correlation in entangled_components(model)[:_MOST_NAMED]:
        first, second = (f" {TIMES} ".join(names[d] for d in group) for group in (one, other))
        texts.append(
            f"In the rows, {first} and {second} move together (correlation up to {correlation:.2f}): how much of the "
            "effect belongs to which is the model's guess; their sum is not."
        )
    return [Finding(NOTE, "model", text) for text in texts]


def _flat_inputs(fitted: FittedTorusGP) -> list[str]:
    """Circles whose learned length scale has reached its upper bound in all terms that have them."""
    torus = fitted.prior.torus
    found: dict[str, bool] = {}
    for term in fitted.prior.terms:
        axes = [axis for factor in term.factors for axis in factor.axes[: len(factor.length_scale)]]
        bounds = np.broadcast_to(np.array(bounds_reached(fitted, scale_name(term)), dtype=object), len(axes))
        for axis, bound in zip(axes, bounds, strict=True):
            if torus.axes[axis].kind == "circle":
                name = torus.names[torus.axes[axis].input]
                found[name] = found.get(name, True) and bound == "upper"
    return [name for name, is_flat in found.items() if is_flat]


def entangled_components(model: TorusGPRegressor) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
    r"""Groups of dimensions whose effects the data cannot separate, because their inputs move together.

    Effects of different groups are sums of different basis functions. Where those of two groups are strongly correlated
    over the rows, as the hour and a weekday that moves on with every hour may be, the data see only their sum, and the
    prior divides it. Only circles and lattices are looked at: on lines and categories basis functions are no effects of
    their own.

    Parameters
    ----------
    model : TorusGPRegressor
        Fitted regressor.

    Returns
    -------
    list of tuple
        Two groups of dimensions each and the largest correlation between their basis functions, the largest first.
    """
    fitted = model.fitted_
    member = {one.axes[0]: d for d, one in enumerate(find_dimensions(fitted)) if one.is_periodic}
    others = [d for d in range(fitted.index_set.dimension) if d not in member]
    frequencies = fitted.index_set.frequencies
    chosen = np.flatnonzero(~frequencies[:, others].any(axis=1))[1:]
    if not 0 < 2 * len(chosen) < _MOST_COMPONENTS or fitted.gram is None:
        return []
    positions = np.append(0, np.column_stack([2 * chosen - 1, 2 * chosen]))
    gram = fitted.gram[np.ix_(positions, positions)]
    mean = gram[0] / gram[0, 0]
    covariance = (gram / gram[0, 0] - np.outer(mean, mean))[1:, 1:]
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-8))  # what hardly varies is tied to nothing
    correlation = np.abs(covariance / np.outer(scale, scale))
    prior = fitted.prior_variances[positions[1:]].max(axis=1)
    bits = np.array([1 << member[d] if d in member else 0 for d in range(frequencies.shape[1])])
    group = np.repeat((frequencies[chosen] != 0) @ bits, 2)
    matters = prior > _NEGLIGIBLE * prior.max()
    first, second = np.nonzero(np.triu((correlation > _ALIKE) & matters & matters[:, None]))
    largest: dict[tuple[int, int], float] = {}
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        low, high = sorted((int(group[i]), int(group[j])))
        if low != high:
            largest[low, high] = max(largest.get((low, high), 0.0), float(correlation[i, j]))
    found = [(_members(one), _members(other), min(value, 1.0)) for (one, other), value in largest.items()]
    return sorted(found, key=lambda entry: (-entry[2], entry[0], entry[1]))


def _members(group: int) -> tuple[int, ...]:
    return tuple(d for d in range(group.bit_length()) if group >> d & 1)
