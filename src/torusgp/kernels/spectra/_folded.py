"""The spectrum of a family on evenly spaced positions of the circle, where high frequencies look like low ones."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from torusgp.checks import check_count
from torusgp.kernels.spectra._base import Spectrum, check_frequency, check_positive

_ORDERS = 512  # up to which aliases are summed one by one; beyond, coefficients hardly differ between positions
_ROUNDING = 1e-15  # of the variance that is summed


@dataclass(frozen=True)
class Folded(Spectrum):
    r"""The kernel of a family at the phases :math:`2 \pi j / m`, with the lowest frequencies that show it there.

    .. math:: \tilde c_k = \sum_{j \in \mathbb{Z}} c_{k + j m} \text{ for } 2 |k| < m,

    half of that for :math:`2 |k| = m`, where k and -k are aliases of one another, and no others.

    Parameters
    ----------
    family : Spectrum
        The family.
    positions : int
        The number m of positions.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp.kernels.spectra import TorusMatern
    >>> phases = 2 * np.pi * np.arange(7) / 7
    >>> family = TorusMatern(0.5)
    >>> bool(np.allclose(Folded(family, 7).kernel(phases, 0.3), family.kernel(phases, 0.3), atol=1e-5))
    True
    """

    family: Spectrum
    positions: int
    has_both_at_once = True

    def __post_init__(self):
        if not isinstance(self.family, Spectrum) or self.family.metric == "cartesian":
            raise ValueError(f"family must be a Spectrum with metric='phase', got {self.family!r}.")
        check_count(self.positions, "positions")
        object.__setattr__(self, "monotone", self.family.monotone)

    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients; minus infinity beyond half the positions."""
        return self.log_coefficients_and_gradient(frequency, length_scale)[0]

    def log_coefficients_gradient(self, frequency, length_scale):
        """Derivatives of the log coefficients with respect to the logarithm of the length scale."""
        return self.log_coefficients_and_gradient(frequency, length_scale)[1]

    def log_coefficients_and_gradient(self, frequency, length_scale):
        """Both at once."""
        frequency = check_frequency(frequency)
        half = self.positions // 2
        log_c, slope = _folded(self.family, self.positions, check_positive(length_scale, "length_scale"))
        known, place = frequency <= half, np.minimum(frequency, half).astype(np.int64)
        return np.where(known, log_c[place], -np.inf), np.where(known, slope[place], 0.0)

    def kernel(self, phase, length_scale):
        """Evaluate the kernel at phase differences, in particular of whole positions."""
        c = self.coefficients(np.arange(self.positions // 2 + 1), length_scale)
        c[1:] *= 2
        return np.polynomial.chebyshev.chebval(np.cos(phase), c)

    def _tail_beyond(self, frequency, length_scale, power=1):
        beyond = np.arange(frequency + 1, self.positions // 2 + 1)
        return float((self.coefficients(beyond, length_scale) ** power).sum())


@lru_cache(maxsize=256)
def _folded(family, positions, length_scale):
    """Log coefficients of the frequencies up to half the positions, and their derivatives."""
    half = positions // 2
    k, turns = np.arange(half + 1)[:, None], np.arange(-1 - _ORDERS // positions, 2 + _ORDERS // positions)
    aliases = np.abs(k + turns * positions)
    log_c = family.log_coefficients(np.arange(aliases.max() + 1), length_scale)
    slope = family.log_coefficients_gradient(np.arange(aliases.max() + 1), length_scale)
    twice = np.where(np.arange(half + 1), 2.0, 1.0)
    twice[half] = 1 + (2 * half < positions)  # k and -k are one residue of an even number
    known = logsumexp(log_c[aliases], axis=1)
    shares = np.exp(log_c[aliases] - known[:, None])
    moved = (shares * np.nan_to_num(slope[aliases], posinf=0.0, neginf=0.0)).sum(axis=1)
    mass = np.exp(known)
    rest = (1 - twice @ mass) / positions
    if rest > _ROUNDING:  # what lies beyond falls on all residues alike
        moved = (mass * moved - twice @ (mass * moved) / positions) / (mass + rest)
        known = np.logaddexp(known, np.log(rest))
    known[half] -= np.log(1 + (2 * half == positions))
    known.flags.writeable = moved.flags.writeable = False
    return known, moved
