"""Published data for examples, tests and benchmarks.

They are not part of the package: they are read from the folder that the environment variable ``TORUSGP_DATA`` names, or
else downloaded once, where they can be, and kept in a cache.
"""

from torusgp.data.datasets._electricity import ElectricityDemand, load_electricity_demand
from torusgp.data.datasets._lithium import LithiumDensity, load_lithium_density
from torusgp.data.datasets._textures import Texture, load_texture

__all__ = [
    "ElectricityDemand",
    "LithiumDensity",
    "Texture",
    "load_electricity_demand",
    "load_lithium_density",
    "load_texture",
]
