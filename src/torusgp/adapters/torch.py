"""The feature map as a module of PyTorch, differentiable in inputs, length scales and period."""

from dataclasses import replace
from typing import Any

import numpy as np

from torusgp.adapters._expansion import LENGTH_SCALE_BOUNDS, Expansion, check_kernel, with_parameters
from torusgp.adapters._libraries import ArrayLibrary
from torusgp.kernels.index_sets import IndexSet, adaptive, from_frequencies, named_set
from torusgp.kernels.index_sets._names import check_index_set
from torusgp.kernels.kernel import TorusKernel
from torusgp.libraries import require

torch = require("torch", "torch", "torusgp.adapters.torch needs")
_Module: Any = torch.nn.Module

_LEARNABLE = ("length_scale", "period", "variance")
ROOM = 1.25  # factor by which a length scale may change before frequencies and circles are chosen again
_LEFT_OUT = 1e-6  # share of the variance that enough columns may leave out
_FEWEST_COLUMNS, _MOST_COLUMNS = 101, 1001  # where enough would be less or more


class TorusFeatures(_Module):
    r"""Features whose products approximate a kernel on circles and lines, as a layer of PyTorch.

    .. math:: \phi(x) = [\sqrt{c_0}, \sqrt{2 c_k} \cos(k \cdot \theta(x)), \sqrt{2 c_k} \sin(k \cdot \theta(x)), \dots]

    the same columns in the same order as those of :class:`torusgp.IndexSetFourierFeatures`. Phases and coefficients are
    computed in double precision, whatever the type of the inputs, which is that of the result.

    Parameters
    ----------
    kernel : TorusKernel or Expression
        Families, and the values at which length scales and period start or stay. A single length scale is shared by all
        dimensions. An input with several periods is given several times, as ``X[:, [0, 0]]``. Or a sum of products of
        circles, lines and lattices, such as ``Circle(0, 24) * Line(1, range=(0, 10)) + Line(1, range=(0, 10))``: then
        every term has its own length scales and variance, which start or stay where the expression gives them.
    index_set : str or IndexSet, default="adaptive"
        Frequencies: "adaptive" for the largest coefficients at the kernel's length scales, the name of another function
        of :mod:`torusgp.kernels.index_sets`, or a set. It stays until :meth:`choose_index_set` is called.
    n_components : int or "auto", default=200
        Largest number of components of a set given by name. "auto" goes with "adaptive": as many as it takes to leave
        out 1e-6 of the variance, from 101 to 1001.
    learn : collection of str, optional
        What is a parameter, of "length_scale", "period" and, of an expression, "variance"; the rest is constant. By
        default length scales, and variances. The parameters are ``log_length_scale``, ``log_variance``, and
        ``period_change``: logarithms of factors of the given periods, or for a cell a matrix :math:`A` in
        :math:`(I + A) \, \text{cell}`. It starts at zero, so that single precision resolves it. Of an expression
        the periods are those of its circles. What it declares "fixed" is constant.
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
        learn=None,
        length_scale_bounds=LENGTH_SCALE_BOUNDS,
    ):
        super().__init__()
        kernel = check_kernel(kernel)
        if learn is None:
            learn = ("length_scale",) if kernel.sum is None else ("length_scale", "variance")
        unknown = [learn] if isinstance(learn, str) else [name for name in learn if name not in _LEARNABLE]
        if unknown:
            raise ValueError(f"learn must be a collection of some of {', '.join(_LEARNABLE)}, got {learn!r}.")
        dimension = getattr(index_set, "dimension", None) or _dimension(kernel)
        check_index_set(index_set)
        if isinstance(index_set, IndexSet):
            chosen = index_set
        elif index_set == "adaptive":
            chosen = _largest_coefficients(kernel, n_components, dimension)
        else:
            chosen = named_set(index_set, dimension, n_components, max_interaction=kernel.max_interaction)
        self._expansion = Expansion(kernel, chosen, length_scale_bounds)
        self._check_start()
        if "period" in learn:
            self.check_period_is_free()
            shape = np.shape(self.kernel.period) if self.is_product else (self._expansion.n_circles,)
            self.period_change = torch.nn.Parameter(torch.zeros(shape))
        if "length_scale" in learn:
            self.log_length_scale = _log_parameter(self.start_length_scale)
        if "variance" in learn:
            if self.is_product:
                raise ValueError("One product has variance one: multiply its features, or learn a variance outside.")
            self.log_variance = _log_parameter(self.kernel.sum.variances)

    def _check_start(self):
        limits = np.broadcast_to(self.length_scale_limits, (np.size(self.start_length_scale), 2))
        starts = np.atleast_1d(self.start_length_scale)
        wrong = (starts <= limits[:, 0]) | (starts >= limits[:, 1])
        if wrong.any():
            low, high = limits[wrong][0]
            raise ValueError(
                f"length_scale must lie between {low:.3g} and {high:.3g}, got {starts[wrong][0]!r}: give other "
                "length_scale_bounds."
            )

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
    def is_product(self):
        """True if the kernel is one product in the short form, of variance one."""
        return self.kernel.sum is None

    @property
    def start_length_scale(self):
        """Length scales as they were given, those of all terms of an expression one after the other."""
        return self.kernel.length_scale if self.is_product else np.concatenate(self.kernel.sum.scales)

    @property
    def length_scale(self):
        """Present length scales, in double precision; of an expression those of all terms, one after the other."""
        given = torch.tensor(self.start_length_scale, dtype=torch.float64)
        if not hasattr(self, "log_length_scale"):
            return given
        learned = self.log_length_scale.double().exp()
        return learned if self.is_product else torch.where(self._learned(given), learned, given.to(learned.device))

    def _learned(self, like):
        learned = np.concatenate([term.learned for term in self.kernel.sum.terms])
        return torch.as_tensor(learned, device=getattr(self, "log_length_scale", like).device)

    @property
    def variance(self):
        """Present variances of the terms of an expression, in double precision."""
        if self.is_product:
            return torch.ones((), dtype=torch.float64)
        given = torch.tensor(self.kernel.sum.variances, dtype=torch.float64)
        if not hasattr(self, "log_variance"):
            return given
        learned = self.log_variance.double().exp()
        fixed = [isinstance(term.variance_bounds, str) for term in self.kernel.sum.terms]
        return torch.where(torch.tensor(fixed, device=learned.device), given.to(learned.device), learned)

    @property
    def period(self):
        """Present period or cell, in double precision; those of lines are the lengths of their circles."""
        given = torch.tensor(self._expansion.period, dtype=torch.float64)
        if not hasattr(self, "period_change"):
            return given
        change = self.period_change.double()
        given = given.to(change.device)
        if not self.is_product:
            circles = torch.as_tensor(self.kernel.sum.torus.kinds("circle"), device=change.device)
            return given.index_put((circles,), given[circles] * change.exp())
        return given + change @ given if given.ndim == 2 else given * change.exp()

    def with_circles(self, period):
        """Periods of all axes of an expression, from those of its circles, of shape (..., n_circles)."""
        return self._expansion.with_circles(_library(period.device), period.double())

    def split(self, length_scale):
        """Length scales of each term of an expression, from those of all terms, one after the other."""
        return length_scale.split([len(term.length_scale) for term in self.kernel.sum.terms], dim=-1)

    def forward(self, X, length_scale=None, period=None, variance=None):
        """Features of shape (..., n_samples, n_components).

        Parameters
        ----------
        X : tensor of shape (..., n_samples, n_inputs)
            Inputs. Beyond the range of a line they are clamped where its kernel has fallen to nothing.
        length_scale : tensor of shape (), (..., 1) or (..., dimension), optional
            Instead of the module's own; (..., 1, dimension) if X has batches. Of an expression (..., n_length_scales),
            those of all terms one after the other.
        period : tensor of shape (), (dimension,) or (..., 1, dimension), optional
            Instead of the module's own; of shape (..., dimension, dimension) if the kernel's period is a cell.
        variance : tensor of shape (..., n_terms), optional
            Instead of the module's own, of an expression.

        Returns
        -------
        tensor of the type of X
        """
        xp = _library(X.device)
        length_scale = self.length_scale if length_scale is None else length_scale
        period = self.period if period is None else period
        is_cell = np.ndim(self.kernel.period) == 2
        columns = self._expansion.columns(xp, X.double(), period.to(X.device).double(), is_cell)
        length_scale = length_scale.to(X.device).double()
        if self.is_product:
            std = self._expansion.standard_deviations(xp, length_scale)
        else:
            variance = (self.variance if variance is None else variance).to(X.device).double()
            std = self._expansion.standard_deviations(xp, self.split(length_scale), variance)
        return columns.to(X.dtype) * std.to(X.dtype)

    def check_range(self, X):
        """Raise if rows to learn from lie beyond the range of a line."""
        if not self.is_product and X.device.type != "meta":
            rows = X.detach().double().reshape(-1, X.shape[-1]).cpu().numpy()
            outside = self._expansion.outside(rows)
            if outside.any():
                raise ValueError(
                    f"Row {int(np.argmax(outside))} to learn from lies beyond the range of a line: give a range that "
                    "holds all of them, as in Line(0, range=(low, high))."
                )

    def choose_index_set(self, n_components=None, length_scale=None, variance=None, longest=None):
        """Take the frequencies with the largest coefficients at the present length scales; returns the new set.

        The number of components changes with it: whatever weights belong to the old ones have to be made anew. Lines
        are laid on circles that suit the present length scales, with room for a quarter more.

        Parameters
        ----------
        n_components : int or "auto", optional
            Largest number of components; by default as many as there are.
        length_scale : tensor of shape (), (1,) or (dimension,), optional
            Instead of the module's own.
        variance : tensor of shape (n_terms,), optional
            Instead of the module's own, of an expression.
        longest : tensor of the shape of length_scale, optional
            Length scales for which lines are laid on circles, if these are not the same.

        Returns
        -------
        IndexSet
        """
        kernel, dimension = self.kernel, self.index_set.dimension
        length_scale = self.length_scale if length_scale is None else length_scale
        if not self.is_product:
            return self._choose_for_sum(n_components, length_scale, variance, longest)
        length_scale = length_scale.detach().cpu().numpy()
        length_scale = length_scale.item() if length_scale.size == 1 else length_scale
        # A period that is learned does not matter: only those of Cartesian kernels do, and they stay
        present = TorusKernel(kernel.family, length_scale, kernel.period, max_interaction=kernel.max_interaction)
        n_components = self.index_set.n_components if n_components is None else n_components
        self._use(_largest_coefficients(present, n_components, dimension))
        return self.index_set

    def _choose_for_sum(self, n_components, length_scale, variance, longest):
        present, longest = (
            [one.detach().cpu().numpy() for one in self.split(scales)]
            for scales in (length_scale, length_scale if longest is None else longest)
        )
        variance = (self.variance if variance is None else variance).detach().cpu().numpy()
        laid = with_parameters(self.kernel, longest, variance, room=ROOM)
        n_components = self.index_set.n_components if n_components is None else n_components
        chosen = _largest_coefficients(with_parameters(laid, present), n_components, self.index_set.dimension)
        self._use(chosen, laid.sum.period)
        return chosen

    def check_period_is_free(self):
        """Raise if the coefficients depend on the period, which is then constant."""
        if not self.is_product and (np.ndim(self.kernel.period) == 2 or not self._expansion.n_circles):
            raise ValueError(
                "Only periods of circles can be learned here, in an expression without lattices: fit TorusGPRegressor, "
                "which learns cells."
            )
        if self.kernel.metric == "cartesian":
            raise ValueError(
                "The period of a Cartesian kernel cannot be learned here: the normalisation of its coefficients "
                "depends on the cell. Use a product kernel (metric='phase')."
            )

    def _use(self, index_set, period=None):
        kernel = self.kernel
        if period is not None and not self.is_product:
            kernel = TorusKernel.from_sum(replace(kernel.sum, period=period))
        self._expansion = Expansion(kernel, index_set, self._expansion.bounds)

    def get_extra_state(self):
        """Frequencies and circles in use, which a saved state needs beside the parameters."""
        state = {"frequencies": torch.tensor(self.index_set.frequencies)}
        return state if self.is_product else {**state, "period": torch.tensor(self.kernel.period)}

    def set_extra_state(self, state):
        """Take frequencies and circles over from a saved state."""
        period = state["period"].cpu().numpy() if "period" in state else None
        self._use(from_frequencies(state["frequencies"].cpu().numpy()), period)

    def extra_repr(self):
        """Text between the brackets of the module's representation."""
        return f"{self.kernel!r}, {self.index_set!r}"


def _dimension(kernel):
    if kernel.dimension is None:
        raise ValueError(
            "The number of inputs is not known: give the kernel a period for each of them, as in "
            "TorusKernel(period=[24.0, 7.0]), or give an index set."
        )
    return kernel.dimension


def _largest_coefficients(kernel, n_components, dimension):
    """Frequencies of n components, or for "auto" of enough."""
    if n_components != "auto":
        return adaptive(kernel, n_components, dimension=dimension)
    most = adaptive(kernel, _MOST_COLUMNS, dimension=dimension)
    coefficients = kernel.coefficients(most.frequencies) / kernel.variance
    left_out = 1 - (2 * np.cumsum(coefficients) - coefficients[0])
    enough = 2 * np.count_nonzero(left_out > _LEFT_OUT) + 1
    return adaptive(kernel, min(max(enough, _FEWEST_COLUMNS), _MOST_COLUMNS), dimension=dimension)


def _log_parameter(value):
    start = torch.tensor(value, dtype=torch.float64)
    return torch.nn.Parameter(start.log().to(torch.get_default_dtype()))


def _library(device):
    return ArrayLibrary(torch, lambda array: torch.as_tensor(array, device=device))
