"""Priors of functions on a torus for PyMC."""

from torusgp.adapters import _expansion
from torusgp.adapters._expansion import index_set_at
from torusgp.adapters._libraries import ArrayLibrary
from torusgp.libraries import require

require("pymc", "pymc", "torusgp.adapters.pymc needs")
pytensor = require("pytensor", "pymc", "torusgp.adapters.pymc needs")

_LIBRARY = ArrayLibrary(pytensor.tensor, pytensor.tensor.as_tensor_variable)


def prior_linearized(
    X,
    kernel,
    index_set,
    length_scale,
    *,
    variance=None,
    period=None,
    length_scale_bounds=_expansion.LENGTH_SCALE_BOUNDS,
):
    r"""Columns, and the prior standard deviations of their weights, of a function on a torus.

    With standard normal weights z, ``columns @ (std * z)`` is a Gaussian process of variance one whose covariance is
    the kernel, up to ``kernel.truncation_error(index_set)``. Multiply it with a standard deviation of its own; the
    terms of an expression have variances instead. It is used like ``pymc.gp.HSGP.prior_linearized``.

    Parameters
    ----------
    X : array or variable of shape (n_samples, dimension)
        Inputs, as numbers or as ``pymc.Data``, which can be replaced for predictions; columns of data are computed anew
        at every step of a sampler, those of numbers once. An input with several periods is given several times, as
        ``X[:, [0, 0]]``.
    kernel : TorusKernel or Expression
        Families and period of one product; its length scales play no part here, but an adaptive index set is best near
        them. Or a sum of products of circles, lines and lattices, such as ``Circle(0, 24) * Line(1, range=(0, 10)) +
        Line(1, range=(0, 10))``: the circle of a line is as long as the length scale that the expression gives needs,
        so give the longest that the prior allows for.
    index_set : IndexSet
        Frequencies, as from ``torusgp.index_sets.adaptive(kernel, 201)``. Choose it for the shortest length scales that
        the prior allows for; of a sum by ``index_set_at`` of this module.
    length_scale : variable of shape (), (1,) or (dimension,); of a sum a sequence of these, or a mapping
        Length scales; the standard deviations are differentiable in them. Of a sum one entry for each term, in their
        order or by their names (``TorusKernel(expression).terms``); those of lines are in the units of their input.
    variance : variable of shape (n_terms,), sequence or mapping, optional
        Variances of the terms of a sum; by default those that the expression gives, or one.
    period : variable of shape (), (dimension,) or (dimension, dimension), optional
        Instead of that of the kernel, and like it in kind; the columns are differentiable in it. Of a sum the periods
        of its circles.
    length_scale_bounds : pair of float, default=(1e-2, 1e2)
        Between these, coefficients are accurate to about 1e-12, relative to themselves; beyond they continue as powers
        of the length scale, which is exact only in the limit of long ones. For Cartesian families the unit is the
        cell's size, the D-th root of its volume, over 2 pi.

    Returns
    -------
    columns : variable of shape (n_samples, n_components)
        A constant, then a cosine and a sine for each frequency.
    std : variable of shape (n_components,)
        Standard deviations of their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import TorusKernel
    >>> from torusgp.kernels.index_sets import adaptive
    >>> kernel = TorusKernel(length_scale=[0.8, 1.2], period=[24.0, 7.0])
    >>> X = np.random.default_rng(0).uniform(0, 24, (50, 2))
    >>> columns, std = prior_linearized(X, kernel, adaptive(kernel, 301), kernel.length_scale)
    >>> phi = (columns * std).eval()
    >>> bool(np.allclose(phi @ phi.T, kernel(X), atol=1e-6))
    True
    """
    return _expansion.prior_linearized(
        _LIBRARY, _is_symbolic, X, kernel, index_set, length_scale, variance, period, length_scale_bounds
    )


def _is_symbolic(array):
    return isinstance(array, pytensor.graph.basic.Variable)


__all__ = ["index_set_at", "prior_linearized"]
