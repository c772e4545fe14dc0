"""Plots of index sets, coefficients and errors, and of what a regressor learned and predicts.

As in scikit-learn, a display computes what it shows once (``from_...``), keeps it as attributes, and draws it as often
as asked (``plot``). Matplotlib is imported when something is drawn; install it with ``pip install "torusgp[plot]"``.
"""

from torusgp.views.plotting._attribution import AttributionDisplay
from torusgp.views.plotting._calibration import CalibrationDisplay
from torusgp.views.plotting._coefficients import CoefficientDisplay
from torusgp.views.plotting._effects import EffectDisplay
from torusgp.views.plotting._index_set import IndexSetDisplay
from torusgp.views.plotting._inpainting import InpaintingDisplay
from torusgp.views.plotting._lattice import LatticeDisplay
from torusgp.views.plotting._parts import PartsDisplay
from torusgp.views.plotting._periodogram import PeriodogramDisplay
from torusgp.views.plotting._prediction import PredictionDisplay
from torusgp.views.plotting._record import RecordDisplay
from torusgp.views.plotting._residual import ResidualDisplay
from torusgp.views.plotting._selection import SelectionDisplay
from torusgp.views.plotting._spectrum import SpectrumDisplay
from torusgp.views.plotting._surface import SurfaceDisplay

__all__ = [
    "AttributionDisplay",
    "CalibrationDisplay",
    "CoefficientDisplay",
    "EffectDisplay",
    "IndexSetDisplay",
    "InpaintingDisplay",
    "LatticeDisplay",
    "PartsDisplay",
    "PeriodogramDisplay",
    "PredictionDisplay",
    "RecordDisplay",
    "ResidualDisplay",
    "SelectionDisplay",
    "SpectrumDisplay",
    "SurfaceDisplay",
]
