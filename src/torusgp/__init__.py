"""Gaussian-process regression for data that repeats in several directions at once."""

from torusgp import index_sets, spectra
from torusgp.features import IndexSetFourierFeatures
from torusgp.kernel import TorusKernel

__all__ = ["IndexSetFourierFeatures", "TorusKernel", "index_sets", "spectra"]
