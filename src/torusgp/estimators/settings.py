"""Parameters of estimators, checked: what a fitter is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from torusgp.checks import check_count, check_flag, check_verbose
from torusgp.engine.backends import check_n_threads
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.latent_fitter import LatentFitter
from torusgp.fitting.likelihoods import Likelihood, check_likelihood
from torusgp.fitting.noise_models import WhiteNoise, check_noise
from torusgp.fitting.problem import LEARNABLE, Settings
from torusgp.fitting.rows import Compute
from torusgp.kernels.checks import check_positive_array
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.index_sets._names import check_index_set
from torusgp.kernels.resolve import Model

AUTO = "auto"
FEW_AXES = 3  # up to here the prior's own set is as good and sooner found; see `python -m benchmarks learned default`


@dataclass(frozen=True)
class Torch:
    """Dense sums, predictions and large matrices by PyTorch, on a device.

    Parameters
    ----------
    device : str, optional
        Such as "cuda" or "cpu"; by default a GPU if there is one.
    precision : {"float64", "float32", "tf32"}, default="float64"
        Of the columns and their products; the sums are in float64. Less is faster, and a warning says if the data are
        too many or the noise too small for it.
    transforms : bool, default=True
        Use FINUFFT on the CPU where that is cheaper, in up to three dimensions; never with less precision.
    """

    device: str | None = None
    precision: str = "float64"
    transforms: bool = True


def make_compute(backend: Any, n_threads: Any) -> Compute:
    """Settings of the computation of sums and predictions."""
    threads = check_n_threads(n_threads)
    if isinstance(backend, Torch):
        chosen = "auto" if backend.transforms and backend.precision == "float64" else "torch"
        compute = Compute(chosen, threads, backend.device, backend.precision)
    else:
        compute = Compute(backend, threads)
    compute.choose(np.zeros((1, 1), int), 1)  # raises if it is not to be had
    return compute


def make_settings(estimator: Any) -> Settings:
    """Settings of a regressor, or an error that names what is wrong with them."""
    learn = estimator.learn
    if isinstance(learn, str) or not np.iterable(learn):
        raise ValueError(f"learn must be a collection of names, as in learn=('length_scale',), got {learn!r}.")
    unknown = [name for name in learn if not isinstance(name, str) or name not in LEARNABLE]
    if unknown:
        raise ValueError(f"learn holds {sorted(map(str, unknown))}; it may hold {list(LEARNABLE)}.")
    check_flag(estimator.intercept, "intercept")
    check_index_set(estimator.index_set, more=("learned", AUTO))
    if not (isinstance(estimator.n_components, str) and estimator.n_components == "auto"):
        check_count(estimator.n_components, "n_components")
    noise = check_positive_array(estimator.noise_variance, "noise_variance", max_ndim=1)
    white = check_noise(getattr(estimator, "noise", "white"))
    verbose = estimator.verbose
    check_verbose(verbose)

    def report(line: str) -> None:
        if callable(verbose):
            verbose(line)
        elif verbose:
            print(f"[torusgp] {line}")

    given = estimator.index_set
    return Settings(
        given if isinstance(given, IndexSet) else "adaptive" if given == AUTO else str(given),
        estimator.n_components,
        frozenset(learn),
        bool(estimator.intercept),
        noise,
        white.variance_bounds if isinstance(white, WhiteNoise) else None,
        make_compute(estimator.backend, estimator.n_threads),
        report,
        integrate=_check_integrate(estimator),
    )


def _check_integrate(estimator: Any) -> bool | str:
    """Return whether to integrate over what is uncertain of the learned parameters, or raise if that cannot be."""
    integrate = getattr(estimator, "integrate", False)
    if isinstance(integrate, str) and integrate == "auto":
        return "auto"
    if isinstance(integrate, str):
        raise ValueError(f"integrate must be True, False or 'auto', got {integrate!r}.")
    check_flag(integrate, "integrate")
    if integrate and ("spectrum" in estimator.learn or str(estimator.index_set) == "learned"):
        raise ValueError(
            "integrate=True is not possible with index_set='learned' or 'spectrum' in learn, where the data choose "
            "more than can be integrated over: use integrate='auto' or False."
        )
    return bool(integrate)


def settings_for(estimator: Any, model: Model, learns_set: bool = True) -> Settings:
    """Settings of an estimator; where it can learn the index set, "auto" does if more than a few axes interact."""
    settings, likelihood = make_settings(estimator), check_likelihood(estimator.likelihood)
    is_automatic = isinstance(estimator.index_set, str) and estimator.index_set == AUTO
    learns_set = learns_set and settings.integrate is not True and _interacts_widely(model, settings, likelihood)
    return replace(settings, index_set="learned") if is_automatic and learns_set else settings


def make_fitter(estimator: Any, model: Model, learns_set: bool = False) -> Fitter:
    """Fitter of a model with the likelihood of an estimator, see :func:`settings_for`."""
    settings, likelihood = settings_for(estimator, model, learns_set), check_likelihood(estimator.likelihood)
    if not likelihood.needs_passes:
        return Fitter(model, settings)
    if settings.integrate is True:
        raise ValueError(
            f"integrate=True needs likelihood='normal' or 'log_normal', not {likelihood.name!r}: use "
            "integrate='auto' or False."
        )
    return LatentFitter(model, settings, likelihood)


def _interacts_widely(model: Model, settings: Settings, likelihood: Likelihood) -> bool:
    """True if more axes of given periods interact than the prior can choose frequencies for: the data choose better."""
    orders = [min(len(term.axes), term.max_interaction or len(term.axes)) for term in model.terms]
    is_given = not (model.moving.any() or np.isnan(model.period).any())
    learned = LEARNABLE[:2] if likelihood.needs_passes else LEARNABLE[:3]  # the noise is of the likelihood, or learned
    return max(orders, default=0) > FEW_AXES and is_given and set(learned) <= settings.learn
