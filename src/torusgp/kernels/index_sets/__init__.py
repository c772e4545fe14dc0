r"""Sets of integer frequencies that carry a multi-dimensional Fourier series.

Every set is closed under :math:`k \to -k`, because kernels are even; an :class:`IndexSet` stores one of each pair.
The families of the literature are balls :math:`\{k : \omega(k) \le R\}` of a weight function on the non-negative
orthant; the adaptive set holds the largest coefficients of a given kernel. All are enumerated in time and memory
proportional to what they hold, never through a full grid.
"""

from torusgp.kernels.index_sets._adaptive import adaptive
from torusgp.kernels.index_sets._families import (
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    lp_ball,
    tensor,
    total_order,
)
from torusgp.kernels.index_sets._index_set import IndexSet, from_frequencies
from torusgp.kernels.index_sets._names import NAMES, named_set

__all__ = [
    "NAMES",
    "IndexSet",
    "adaptive",
    "energy_norm_hyperbolic_cross",
    "euclidean",
    "from_frequencies",
    "hyperbolic_cross",
    "lp_ball",
    "named_set",
    "tensor",
    "total_order",
]
