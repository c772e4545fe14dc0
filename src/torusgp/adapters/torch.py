"""The feature map as a module of PyTorch, differentiable in inputs, length scales and period."""

from typing import Any

import numpy as np

from torusgp.adapters._expansion import LENGTH_SCALE_BOUNDS, Expansion
from torusgp.adapters._libraries import ArrayLibrary, require
from torusgp.estimators.features import make_index_set
from torusgp.kernels.index_sets import adaptive, from_frequencies
from torusgp.kernels.kernel import TorusKernel

torch = require("torch", "torch")
_Module: Any = torch.nn.Module

_LEARNABLE = ("length_scale", "period")
_LEFT_OUT = 1e-6  # share of the variance that enough columns may leave out
_FEWEST_COLUMNS, _MOST_COLUMNS = 101, 1001  # where enough would be less or more


class TorusFeatures(_Module):
    r"""Features whose products approximate a periodic kernel of variance one, as a layer of PyTorch.

    .. math:: \phi(x) = [\sqrt{c_0}, \sqrt{2 c_k} \cos(k \cdot \theta(x)), \sqrt{2 c_k} \sin(k \cdot \theta(x)), \dots]

    the same columns in the same order as those of :class:`torusgp.IndexSetFourierFeatures`. Phases and coefficients are
    computed in double precision, whatever the type of the inputs, which is that of the result.

    Parameters
    ----------
    kernel : TorusKernel
        Families, and the values at which length scales and period start or stay. A single length scale is shared by all
        dimensions. An input with several periods is given several times, as ``X[:, [0, 0]]``.
    index_set : str or IndexSet, default="adaptive"
        Frequencies: "adaptive" for the largest coefficients at the kernel's length scales, the name of another function
        of :mod:`torusgp.kernels.index_sets`, or a set. It stays until :meth:`choose_index_set` is called.
    n_components : int or "auto", default=200
        Largest number of columns of a set given by name. "auto" goes with "adaptive": as many as it takes to leave out
        1e-6 of the variance, from 101 to 1001.
    learn : collection of str, default=("length_scale",)
        What is a parameter, of "length_scale" and "period"; the rest is constant. The parameters are
        ``log_length_scale``, and ``period_change``: logarithms of factors of the given periods, or for a cell a matrix
        :math:`A` in :math:`(I + A) \, \text{cell}`. It starts at zero, so that single precision resolves it.
    length_scale_bounds : pair of float, default=(1e-2, 1e2)
        Between these, coefficients are accurate to about 1e-12, relative to themselves; beyond they continue as powers
        of the length scale, which is exact only in the limit of long ones. For Cartesian families the unit is the
        cell's size, the D-th root of its volume, over 2 pi.

    Attributes
    ----------
    index_set : IndexSet
        Frequencies in use.

    Examples
    --------
    >>> import torch
    >>> from torusgp import TorusKernel
    >>> kernel = TorusKernel(length_scale=[0.8, 1.2], period=[24.0, 7.0])
    >>> features = TorusFeatures(kernel, n_components=301)
    >>> X = 24 * torch.rand(50, 2, dtype=torch.float64)
    >>> phi = features(X)
    >>> error = (phi @ phi.T - torch.as_tensor(kernel(X))).abs().max()
    >>> bool(error < 1e-6)
    True
    """

    def __init__(
        self,
        kernel,
        *,
        index_set="adaptive",
        n_components=200,
        learn=("length_scale",),
        length_scale_bounds=LENGTH_SCALE_BOUNDS,
    ):
        super().__init__()
        unknown = [learn] if isinstance(learn, str) else [name for name in learn if name not in _LEARNABLE]
        if unknown:
            raise ValueError(f"learn must be a collection of some of {', '.join(_LEARNABLE)}, got {learn!r}.")
        dimension = getattr(index_set, "dimension", None) or _dimension(kernel)
        if isinstance(index_set, str) and index_set == "adaptive":
            chosen = _largest_coefficients(kernel, n_components, dimension)
        else:
            chosen = make_index_set(index_set, kernel, dimension, n_components, 1.0)
        self._expansion = Expansion(kernel, chosen, length_scale_bounds)
        kernel = self._expansion.kernel
        low, high = self.length_scale_limits
        if not (np.greater(kernel.length_scale, low) & np.less(kernel.length_scale, high)).all():
            raise ValueError(
                f"length_scale must lie between {low:.3g} and {high:.3g}, got {kernel.length_scale!r}: give other "
                "length_scale_bounds."
            )
        if "period" in learn:
            self.check_period_is_free()
            self.period_change = torch.nn.Parameter(torch.zeros(np.shape(kernel.period)))
        if "length_scale" in learn:
            start = torch.tensor(kernel.length_scale, dtype=torch.float64)
            self.log_length_scale = torch.nn.Parameter(start.log().to(torch.get_default_dtype()))

    @property
    def kernel(self):
        """The kernel as it was given, with the limit of interactions of its index set."""
        return self._expansion.kernel

    @property
    def index_set(self):
        """Frequencies in use."""
        return self._expansion.index_set

    @property
    def length_scale_limits(self):
        """Length scales between which coefficients are accurate, in the units of the kernel's length scale."""
        return self._expansion.limits

    @property
    def length_scale(self):
        """Present length scales, in double precision."""
        if hasattr(self, "log_length_scale"):
            return self.log_length_scale.double().exp()
        return torch.tensor(self.kernel.length_scale, dtype=torch.float64)

    @property
    def period(self):
        """Present period or cell, in double precision."""
        given = torch.tensor(self.kernel.period, dtype=torch.float64)
        if not hasattr(self, "period_change"):
            return given
        change = self.period_change.double()
        given = given.to(change.device)
        return given + change @ given if given.ndim == 2 else given * change.exp()

    def forward(self, X, length_scale=None, period=None):
        """Features of shape (..., n_samples, n_components).

        Parameters
        ----------
        X : tensor of shape (..., n_samples, dimension)
            Inputs.
        length_scale : tensor of shape (), (..., 1) or (..., dimension), optional
            Instead of the module's own; (..., 1, dimension) if X has batches.
        period : tensor of shape (), (dimension,) or (..., 1, dimension), optional
            Instead of the module's own; of shape (..., dimension, dimension) if the kernel's period is a cell.

        Returns
        -------
        tensor of the type of X
        """
        xp = _library(X.device)
        length_scale = self.length_scale if length_scale is None else length_scale
        period = self.period if period is None else period
        is_cell = np.ndim(self.kernel.period) == 2
        columns = self._expansion.columns(xp, X.double(), period.to(X.device).double(), is_cell)
        std = self._expansion.standard_deviations(xp, length_scale.to(X.device).double())
        return columns.to(X.dtype) * std.to(X.dtype)

    def choose_index_set(self, n_components=None, length_scale=None):
        """Take the frequencies with the largest coefficients at the present length scales; returns the new set.

        The number of columns changes with it: whatever weights belong to the old columns has to be made anew.

        Parameters
        ----------
        n_components : int or "auto", optional
            Largest number of columns; by default as many as there are.
        length_scale : tensor of shape (), (1,) or (dimension,), optional
            Instead of the module's own.

        Returns
        -------
        IndexSet
        """
        kernel, dimension = self.kernel, self.index_set.dimension
        length_scale = (self.length_scale if length_scale is None else length_scale).detach().cpu().numpy()
        length_scale = length_scale.item() if length_scale.size == 1 else length_scale
        # A period that is learned does not matter: only those of Cartesian kernels do, and they stay
        present = TorusKernel(kernel.family, length_scale, kernel.period, max_interaction=kernel.max_interaction)
        n_components = self.index_set.n_components if n_components is None else n_components
        self._use(_largest_coefficients(present, n_components, dimension))
        return self.index_set

    def check_period_is_free(self):
        """Raise if the coefficients depend on the period, which is then constant."""
        if self.kernel.metric == "cartesian":
            raise ValueError(
                "The period of a Cartesian kernel cannot be learned here: the normalisation of its coefficients "
                "depends on the cell. Use a product kernel (metric='phase')."
            )

    def _use(self, index_set):
        self._expansion = Expansion(self.kernel, index_set, self._expansion.bounds)

    def get_extra_state(self):
        """Frequencies in use, which a saved state needs beside the parameters."""
        return torch.tensor(self.index_set.frequencies)

    def set_extra_state(self, state):
        """Take frequencies over from a saved state."""
        self._use(from_frequencies(state.cpu().numpy()))

    def extra_repr(self):
        """What is shown between the brackets of the module's representation."""
        return f"{self.kernel!r}, {self.index_set!r}"


def _dimension(kernel):
    if not isinstance(kernel, TorusKernel):
        raise ValueError(f"kernel must be a torusgp.TorusKernel, got {kernel!r}.")
    if kernel.dimension is None:
        raise ValueError(
            "The number of inputs is not known: give the kernel a period for each of them, as in "
            "TorusKernel(period=[24.0, 7.0]), or give an index set."
        )
    return kernel.dimension


def _largest_coefficients(kernel, n_components, dimension):
    """Frequencies of so many columns, or for "auto" of enough."""
    if n_components != "auto":
        return adaptive(kernel, n_components, dimension=dimension)
    most = adaptive(kernel, _MOST_COLUMNS, dimension=dimension)
    coefficients = kernel.coefficients(most.frequencies)
    left_out = 1 - (2 * np.cumsum(coefficients) - coefficients[0])
    enough = 2 * np.count_nonzero(left_out > _LEFT_OUT) + 1
    return adaptive(kernel, min(max(enough, _FEWEST_COLUMNS), _MOST_COLUMNS), dimension=dimension)


def _library(device):
    return ArrayLibrary(torch, lambda array: torch.as_tensor(array, device=device))
