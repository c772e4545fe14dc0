"""The spectrum of levels that have no distance, laid on a circle of odd modulus."""

from dataclasses import dataclass

import numpy as np

from torusgp.checks import check_flag
from torusgp.kernels.spectra._base import Spectrum, check_frequency, check_positive


@dataclass(frozen=True)
class Levels(Spectrum):
    r"""The kernel :math:`\rho + (1 - \rho) [a = b]` of levels at the phases :math:`2 \pi a / m`.

    .. math:: c_0 = \rho + (1 - \rho) / m, \quad c_k = (1 - \rho) / m \text{ for } 0 < |k| \le (m - 1) / 2

    and no others. In place of a length scale it has the odds :math:`\rho / (1 - \rho)`.

    Parameters
    ----------
    modulus : int
        The odd number m of positions.
    shared : bool, default=True
        Without, :math:`\rho = 0` whatever the odds.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.arange(-2, 3)
    >>> kernel = [Levels(5).coefficients(k, 1 / 3) @ np.cos(2 * np.pi * k * step / 5) for step in range(5)]
    >>> bool(np.allclose(kernel, [1, 0.25, 0.25, 0.25, 0.25]))
    True
    """

    modulus: int
    shared: bool = True

    def __post_init__(self):
        if not isinstance(self.modulus, int | np.integer) or self.modulus < 3 or self.modulus % 2 == 0:
            raise ValueError(f"modulus must be an odd number from 3 on, got {self.modulus!r}.")
        check_flag(self.shared, "shared")

    def _correlation(self, odds):
        return check_positive(odds, "odds") / (1 + odds) if self.shared else 0.0

    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients; minus infinity beyond half the modulus."""
        frequency = check_frequency(frequency)
        rho = self._correlation(length_scale)
        alone = (1 - rho) / self.modulus
        log_c = np.where(frequency == 0, np.log(rho + alone), np.log(alone))
        return np.where(frequency <= (self.modulus - 1) // 2, log_c, -np.inf)

    def log_coefficients_gradient(self, frequency, length_scale):
        """Derivatives of the log coefficients with respect to the logarithm of the odds."""
        frequency = check_frequency(frequency)
        rho = self._correlation(length_scale)
        at_zero = rho * (1 - rho) * (1 - 1 / self.modulus) / (rho + (1 - rho) / self.modulus)
        return np.where(frequency == 0, at_zero, -rho)

    def kernel(self, phase, length_scale):
        """Evaluate the kernel at phase differences, in particular of whole levels."""
        rho = self._correlation(length_scale)
        half = np.asarray(phase, dtype=float) / 2
        turns = np.rint(half / np.pi)
        half = half - np.pi * turns  # the quotient of sines is even, and has period 2 pi in the phase for odd m
        with np.errstate(invalid="ignore", divide="ignore"):
            same = np.where(half == 0, 1.0, np.sin(self.modulus * half) / (self.modulus * np.sin(half)))
        return rho + (1 - rho) * same

    def _tail_beyond(self, frequency, length_scale, power=1):
        alone = (1 - self._correlation(length_scale)) / self.modulus
        return max(0, (self.modulus - 1) // 2 - frequency) * alone**power
