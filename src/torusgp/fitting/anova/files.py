"""Fitted ANOVA sums in files."""

from __future__ import annotations

from typing import Any

import numpy as np

from torusgp.engine.inference import LinearStatistics
from torusgp.fitting.anova.fitted import FittedAnova, Sum
from torusgp.fitting.anova.prior import AnovaPrior
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.likelihoods import likelihood_from_json, likelihood_to_json
from torusgp.kernels.anova import AnovaBasis, CentredAxis
from torusgp.storage.serialisation import from_json, to_json

_OWN = "anova_"  # before the names of its arrays


def anova_to_archive(fitted: FittedAnova) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is stored beside that of every fitted model: content for JSON, and arrays."""
    learned = fitted.learned
    basis, linear = learned.basis, learned.linear
    content = {
        "terms": [list(term) for term in basis.terms],
        "families": [to_json(axis.family) for axis in basis.axes],
        "noise_variance": learned.noise_variance,
        "scale": learned.scale,
        "n_samples": linear.n_samples,
        "offset": fitted.own_offset,
        "n_effective": fitted.n_effective,
        "likelihood": None if fitted.likelihood is None else likelihood_to_json(fitted.likelihood),
    }
    arrays = {
        "vector": learned.vector,
        "owner": basis.owner,
        "harmonics": basis.harmonics,
        "gram": linear.gram,
        "moments": linear.moments,
        "squares": linear.squares,
        "averages": learned.averages,
    }
    for d, axis in enumerate(basis.axes):
        arrays |= {f"waves_{d}": np.stack([axis.averages.real, axis.averages.imag]), f"powers_{d}": axis.powers}
    return content, {f"{_OWN}{name}": array for name, array in arrays.items()}


def anova_from_archive(base: FittedTorusGP, content: dict[str, Any], arrays: dict[str, Any]) -> FittedAnova:
    """Invert :func:`anova_to_archive`; all else is that of a fitted model."""
    own = {name[len(_OWN) :]: array for name, array in arrays.items() if name.startswith(_OWN)}
    torus, period = base.prior.torus, base.parameters.period
    axes = tuple(
        CentredAxis(axis, float(period[d]), from_json(family), own[f"waves_{d}"][0] + 1j * own[f"waves_{d}"][1], powers)
        for d, (axis, family, powers) in enumerate(
            zip(torus.axes, content["families"], [own[f"powers_{d}"] for d in range(torus.dimension)], strict=True)
        )
    )
    terms = tuple(tuple(int(d) for d in term) for term in content["terms"])
    owner, harmonics = own["owner"].astype(np.int64), own["harmonics"].astype(np.int64)
    _check_basis(axes, terms, owner, harmonics)
    prior, basis = AnovaPrior(axes, terms), AnovaBasis(axes, terms, owner, harmonics)
    linear = LinearStatistics(own["gram"], own["moments"], own["squares"], float(content["n_samples"]))
    size = basis.n_columns
    shapes = linear.gram.shape, linear.moments.shape, own["averages"].shape, own["vector"].shape
    if shapes != ((size, size), (size, 1), (size,), (prior.n_parameters,)):
        raise ValueError(f"the stored sums of an ANOVA sum with {size} columns have the shapes {shapes}.")
    noise, scale = float(content["noise_variance"]), float(content["scale"])
    if not (noise > 0 and scale > 0 and np.isfinite(own["vector"]).all()):
        raise ValueError(f"the stored noise variance {noise}, scale {scale} or hyperparameters cannot be.")
    learned = Sum(prior, own["vector"], basis, linear, noise, own["averages"], scale)
    return FittedAnova(
        base.prior,
        base.parameters,
        base.index_set,
        base.statistics,
        True,
        compute=base.compute,
        noise_process=base.noise_process,
        learned=learned,
        own_offset=float(content["offset"]),
        n_effective=float(content["n_effective"]),
        likelihood=None if content["likelihood"] is None else likelihood_from_json(content["likelihood"]),
    )


def _check_basis(axes: Any, terms: Any, owner: Any, harmonics: Any) -> None:
    """Raise if stored columns are not products of the harmonics of their axes."""
    is_good = all(term and list(term) == sorted(set(term)) and term[0] >= 0 and term[-1] < len(axes) for term in terms)
    is_good = is_good and harmonics.ndim == 2 and len(harmonics) == len(owner) and (np.diff(owner) >= 0).all()
    if is_good and len(owner):
        is_good = owner[0] >= 0 and owner[-1] < len(terms)
    for t in np.unique(owner) if is_good else ():
        own = harmonics[owner == t]
        for i, d in enumerate(terms[t]):
            is_good = is_good and bool((own[:, i] >= 1).all() and (own[:, i] <= axes[d].n_harmonics).all())
    if not is_good:
        raise ValueError("the stored columns of an ANOVA sum are not products of the harmonics of its axes.")
