"""What may be wrong with a fit, said as warnings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from torusgp.engine.backends import TRANSFORMS
from torusgp.engine.inference import evidence
from torusgp.fitting.advice import advise
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.learning import Learned
from torusgp.fitting.periods import MIN_GAIN
from torusgp.fitting.problem import Settings
from torusgp.fitting.rows import INEXACT
from torusgp.kernels.torus import Torus

_ENOUGH_TO_TELL = 20  # rows from which a fit should show something


def warn_of_fit(fitted: FittedTorusGP, learned: Learned, settings: Settings) -> None:
    """Warn of what may be wrong with a fit.

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.
    learned : Learned
        What the search for it has to say.
    settings : Settings
        What was asked for.
    """
    gain = _gain_over_constant(fitted, settings)
    if gain < MIN_GAIN:
        periodic = fitted.prior.torus.is_periodic
        what = f"y repeats with period {fitted.kernel.period!r}" if periodic else "y depends on the inputs"
        hint = ""
        if periodic:
            hint = " Is the period in the units of X? If y varies often within it, give a shorter length_scale."
        advise(
            f"There is little evidence that {what}: its logarithm is {gain:.2g} above that of a constant and "
            f"noise.{hint}",
        )
    elif learned.capped and settings.n_components == "auto":
        advise(
            f"n_components='auto' stopped at its cap of {learned.index_set.n_components} components, and more "
            "would still help: give n_components yourself, or expect longer length scales by raising "
            "length_scale_bounds.",
            ConvergenceWarning,
        )
    elif _needs_more_components(fitted, settings):
        advise(
            f"The {fitted.n_fourier} components leave out {fitted.truncation_error:.2g} of the signal variance, which "
            "is not small against the noise: standard deviations are too small where data are few. Raise "
            "n_components.",
        )
    if learned.left_over is not None:
        advise(_left_over_message(fitted.prior.torus, learned), ConvergenceWarning)
    if not learned.converged:
        advise(
            "Learning stopped at its largest number of iterations; the evidence may still rise. Start closer, with "
            "length_scale, or learn less.",
            ConvergenceWarning,
        )
    inexactness = fitted.inexactness
    if inexactness > INEXACT:
        advise(
            f"Rounding in the statistics amounts to {inexactness:.1e} of the prior precision: standard deviations "
            "may be wrong where data are few. Raise noise_variance or its lower bound"
            + (", or use backend='dense'." if fitted.statistics.backend in TRANSFORMS else "."),
        )


def _left_over_message(torus: Torus, learned: Learned) -> str:
    period = learned.parameters.period
    lengths = np.diagonal(period) if period.ndim == 2 else period
    assert learned.left_over is not None
    parts = [
        f"{axis.name!r} with period {length / abs(k):.4g}"
        for axis, k, length in zip(torus.axes, learned.left_over.tolist(), lengths, strict=True)
        if k
    ]
    return (
        f"The residuals still vary with {' and '.join(parts)}, which the model does not "
        "explain. Try index_set='learned', more n_components, or a further term with a shorter "
        "length_scale."
    )


def _needs_more_components(fitted: FittedTorusGP, settings: Settings) -> bool:
    """Whether a given number of components was too small; what a grid cannot show needs no more of them."""
    n_components = settings.n_components
    if "learned" in (settings.index_set, fitted.index_set.name):  # what the prior leaves out was left out by the data
        return False
    if not fitted.statistics.n_samples:  # nothing is known of the noise of values
        return False
    small = fitted.prior.is_below_noise(fitted.parameters, fitted.index_set, 0.1)
    if n_components == "auto" or small:
        return False
    return not fitted.prior.limited or fitted.n_fourier >= int(n_components) - 1


def _gain_over_constant(fitted: FittedTorusGP, settings: Settings) -> float:
    """Log evidence over that of the intercept and noise alone; infinite where that is not to be compared with."""
    learns_both = {"signal_variance", "noise_variance"} <= settings.learn
    linear = fitted.linear
    n, squares = fitted.statistics.n_samples, linear.squares
    is_constant = squares <= 1e-12 * n * fitted.offset**2  # but for rounding
    if linear.derivatives:
        return np.inf
    if not (learns_both and settings.intercept and n >= _ENOUGH_TO_TELL) or is_constant.any():
        return np.inf
    broad = fitted.prior.intercept_variance
    if fitted.moments is not None:
        alone = replace(linear, gram=linear.gram[:1, :1], moments=linear.moments[:1])
        return fitted.log_evidence - evidence(alone, broad, float(fitted.noise_variance[0])).log_evidence
    noise, total = squares / (n - 1), linear.gram[0, 0]
    constant = -0.5 * (
        n * np.log(2 * np.pi * noise) - linear.log_precision + np.log1p(broad * total / noise) + squares / noise
    )
    return float(fitted.log_evidence - constant.sum())
