"""Data for examples, tests and benchmarks: made-up images whose lattice is known, and published sets.

The made-up ones need nothing. Published sets are not part of the package: they are read from the folder that the
environment variable ``TORUSGP_DATA`` names, or else downloaded once, where they can be, and kept in a cache.
"""

from torusgp.data.datasets._electricity import ElectricityDemand, load_electricity_demand
from torusgp.data.datasets._lithium import LithiumDensity, load_lithium_density
from torusgp.data.datasets._made import LatticeImage, PerforatedPlate, make_lattice_image, make_perforated_plate
from torusgp.data.datasets._textures import Texture, load_texture

__all__ = [
    "ElectricityDemand",
    "LatticeImage",
    "LithiumDensity",
    "PerforatedPlate",
    "Texture",
    "load_electricity_demand",
    "load_lithium_density",
    "load_texture",
    "make_lattice_image",
    "make_perforated_plate",
]
