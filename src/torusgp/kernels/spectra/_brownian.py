"""Brownian motion about its average, as a series of cosines."""

from dataclasses import dataclass

import numpy as np

from torusgp.kernels.spectra._base import Spectrum, check_frequency


@dataclass(frozen=True)
class Brownian(Spectrum):
    r"""Coefficients :math:`c_k = 3 / (\pi k)^2` of Brownian motion on half a circle, about its average.

    It has no length scale. The cosines alone, as :class:`torusgp.Walk` has them, are Brownian motion; with
    sines beside them this is its stationary relative :math:`1 - 3 \theta / \pi + 3 \theta^2 / (2 \pi^2)`.

    Examples
    --------
    >>> import numpy as np
    >>> k = np.arange(-4000, 4001)
    >>> bool(np.isclose(Brownian().coefficients(k, 1.0) @ np.cos(k * 2.0), Brownian().kernel(2.0, 1.0), atol=1e-6))
    True
    """

    def log_coefficients(self, frequency, length_scale):
        """Logarithms of the coefficients; minus infinity at zero."""
        frequency = check_frequency(frequency)
        with np.errstate(divide="ignore"):
            return np.where(frequency > 0, np.log(3 / np.pi**2) - 2 * np.log(frequency), -np.inf)

    def log_coefficients_gradient(self, frequency, length_scale):
        """Zeros: there is no length scale."""
        return np.zeros(np.shape(check_frequency(frequency)))

    def kernel(self, phase, length_scale):
        """Evaluate the kernel at phase differences in radians."""
        around = np.mod(np.asarray(phase, dtype=float), 2 * np.pi)
        return 1 - 3 * around / np.pi + 1.5 * (around / np.pi) ** 2
