"""Whether observed derivatives and values can belong to one function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from torusgp.engine.inference import evidence
from torusgp.fitting.advice import advise
from torusgp.fitting.fitted import FittedTorusGP
from torusgp.fitting.prior import NOISE, Spread, derivative_noise_name

_ALL = 0.9  # the same, from which all is noise
_AGREES = 1.25  # factor between the two up to which they may belong together
_UNEXPLAINED = 0.3  # noise over the mean square of what was observed, from which it is as good as unexplained


def warn_of_units(fitted: FittedTorusGP, spread: Spread) -> None:
    """Warn if noise is most of the derivatives and little of the values, or the other way round.

    Then they contradict each other: units differ, or forces were given for derivatives. The factor between them comes
    from a regression of what was observed on the derivatives that the values alone predict.
    """
    if not spread.has_values or not spread.derivatives or not spread.is_known:
        return
    of_values = fitted.parameters[NOISE] / spread.typical_noise
    shares = [fitted.parameters[derivative_noise_name(name)] / square for name, square in spread.derivatives.items()]
    of_slopes = np.max(shares, axis=0)
    larger, smaller = np.maximum(of_values, of_slopes), np.minimum(of_values, of_slopes)
    doubtful = (larger > _UNEXPLAINED) & ((smaller < _UNEXPLAINED) | (smaller > _ALL))
    if not doubtful.any():
        return
    output = int(np.argmax(doubtful))
    factor = _factor(fitted, spread, output)
    if abs(np.log(abs(factor))) < np.log(_AGREES) and factor > 0:  # noisy, but of one function
        return
    advise(
        f"Noise is {of_values[output]:.0%} of the variance of y and {of_slopes[output]:.0%} of the mean square of "
        f"gradient, which is {factor:.3g} times the derivative that y predicts: they do not belong to one function, or "
        "are mostly noise. Is gradient in the units of y per unit of X, and a derivative, not a force, which has the "
        "other sign?"
    )


def _factor(fitted: FittedTorusGP, spread: Spread, output: int) -> float:
    """What gradient would have to be divided by; not a number if the values do not tell."""
    linear = fitted.linear
    # as learned, the noise may deny the values
    noise = min(float(fitted.noise_variance[output]), 0.01 * float(spread.typical_noise[output]))
    alone = replace(linear, derivatives=())
    weights = evidence(alone, fitted.prior_variances[:, output], noise, output).weights
    predicted = observed = 0.0
    for group in linear.derivatives:
        observed += float(((group.factors * group.moments[..., output]) @ weights).sum())
        predicted += float(np.einsum("di,ij,dj->", group.factors * weights, group.gram, group.factors * weights))
    return observed / predicted if predicted > 0 and observed else np.nan
