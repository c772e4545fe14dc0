"""Fourier spectra of periodic kernels: coefficients, their derivatives, and the kernels themselves."""

from torusgp.kernels.spectra._base import Spectrum
from torusgp.kernels.spectra._brownian import Brownian
from torusgp.kernels.spectra._callable import Warped
from torusgp.kernels.spectra._folded import Folded
from torusgp.kernels.spectra._intrinsic import Heat, IntrinsicSpectrum, TorusMatern
from torusgp.kernels.spectra._levels import Levels
from torusgp.kernels.spectra._warped import Matern, RationalQuadratic, SquaredExponential

__all__ = [
    "Brownian",
    "Folded",
    "Heat",
    "IntrinsicSpectrum",
    "Levels",
    "Matern",
    "RationalQuadratic",
    "Spectrum",
    "SquaredExponential",
    "TorusMatern",
    "Warped",
]
