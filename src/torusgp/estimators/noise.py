"""Regressors whose noise changes with the inputs."""

from __future__ import annotations

from typing import Any

from torusgp.estimators.settings import make_fitter, make_settings
from torusgp.estimators.short_form import resolve_kernel
from torusgp.estimators.validation import check_fit_rows, check_used
from torusgp.fitting.changing_noise import MOST_COLUMNS, fit_with_noise, noise_likelihood
from torusgp.fitting.latent_fitter import LatentFitter
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.rows import Rows
from torusgp.kernels.axes import Expression


def fit_changing_noise(model: Any, X: Any, y: Any, sample_weight: Any, scale: Any) -> Any:
    """Fit a regressor with a ``noise_kernel``; see :meth:`TorusGPRegressor.fit`."""
    likelihood = check_likelihood(model.likelihood)
    if likelihood.takes != "noise_scale":
        raise ValueError(
            f"noise_kernel is for 'normal', 'log_normal' and 'student_t'; the likelihood is {likelihood.name!r}, whose "
            "variance follows from its mean."
        )
    if not isinstance(model.noise_kernel, Expression):
        raise ValueError(f"noise_kernel must be an expression such as Circle('hour', 24), got {model.noise_kernel!r}.")
    checked = check_fit_rows(model, X, y, sample_weight, scale, None, reset=True)
    if checked.y.shape[1] != 1:
        raise ValueError(f"noise_kernel takes one target at a time, got {checked.y.shape[1]}.")
    fitter = make_fitter(model, model.resolve(checked.X))
    names = list(getattr(model, "feature_names_in_", [])) or None
    settings = make_settings(model.__class__(backend=model.backend, n_threads=model.n_threads, verbose=model.verbose))
    noise_model = resolve_kernel(model.noise_kernel, None, 1.0, checked.X, names, settings.learn, None, 0.0)
    noise_fitter = LatentFitter(noise_model, settings, noise_likelihood(), MOST_COLUMNS)
    for one in (fitter.model, noise_model):
        check_used(checked.X, one)
    rows, noise_rows = (
        Rows(coordinates, checked.y, checked.sample_weight, checked.noise_scale, plain)
        for coordinates, plain in (fitter.layout(checked.X), noise_fitter.layout(checked.X))
    )
    fit, noise = fit_with_noise(fitter, noise_fitter, rows, noise_rows)
    model.set_fit(fit)
    model.set_noise(noise)
    return model
