"""Distributions of targets around the function: one small class for each kind of observation."""

from __future__ import annotations

from typing import Any

from torusgp.fitting.likelihoods._base import Derivatives, Likelihood, OwnDerivatives
from torusgp.fitting.likelihoods._quadrature import skewed_values
from torusgp.fitting.likelihoods.bernoulli import Bernoulli
from torusgp.fitting.likelihoods.gamma import Gamma
from torusgp.fitting.likelihoods.negative_binomial import NegativeBinomial
from torusgp.fitting.likelihoods.normal import LogNormal, Normal
from torusgp.fitting.likelihoods.poisson import Poisson
from torusgp.fitting.likelihoods.student_t import StudentT

__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "Derivatives",
    "Gamma",
    "Likelihood",
    "LogNormal",
    "NegativeBinomial",
    "Normal",
    "OwnDerivatives",
    "Poisson",
    "StudentT",
    "check_likelihood",
    "likelihood_from_json",
    "likelihood_to_json",
    "skewed_values",
]

LIKELIHOODS: dict[str, type[Any]] = {
    kind.name: kind for kind in (Normal, LogNormal, StudentT, Poisson, NegativeBinomial, Gamma, Bernoulli)
}


def check_likelihood(likelihood: object) -> Any:
    """The likelihood of this name, or the one given; an error lists those there are."""
    if isinstance(likelihood, Likelihood):
        return likelihood
    if not isinstance(likelihood, str) or likelihood not in LIKELIHOODS:
        raise ValueError(
            f"likelihood must be one of {', '.join(map(repr, LIKELIHOODS))}, or an object such as StudentT(dof=4), "
            f"got {likelihood!r}."
        )
    return LIKELIHOODS[likelihood]()


def likelihood_to_json(likelihood: Likelihood) -> dict[str, Any]:
    """Name and parameters of a likelihood, as JSON holds them."""
    return {"name": likelihood.name, **{name: getattr(likelihood, name) for name in likelihood.own}}


def likelihood_from_json(content: dict[str, Any]) -> Any:
    """Invert :func:`likelihood_to_json`."""
    return LIKELIHOODS[content["name"]](**{name: value for name, value in content.items() if name != "name"})
