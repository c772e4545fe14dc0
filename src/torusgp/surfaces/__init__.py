"""Surfaces, as of energies: stationary points, paths between minima, Boltzmann averages, and where to compute next."""

from torusgp.surfaces._boltzmann import FreeEnergy, boltzmann_average, free_energy
from torusgp.surfaces._paths import MinimumEnergyPath, barrier, minimum_energy_path
from torusgp.surfaces._stationary import StationaryPoint, StationaryPoints, find_stationary_points
from torusgp.surfaces._suggest import suggest

__all__ = [
    "FreeEnergy",
    "MinimumEnergyPath",
    "StationaryPoint",
    "StationaryPoints",
    "barrier",
    "boltzmann_average",
    "find_stationary_points",
    "free_energy",
    "minimum_energy_path",
    "suggest",
]
