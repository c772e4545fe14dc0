"""Priors of functions on a torus for NumPyro, and any other model written in JAX."""

from torusgp.adapters import _expansion
from torusgp.adapters._expansion import index_set_at
from torusgp.adapters._libraries import ArrayLibrary
from torusgp.libraries import require

require("numpyro", "numpyro", "torusgp.adapters.numpyro needs")
jax = require("jax", "numpyro", "torusgp.adapters.numpyro needs")

_LIBRARY = ArrayLibrary(jax.numpy, jax.numpy.asarray)


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
    terms of an expression have variances instead.

    Parameters
    ----------
    X : array of shape (n_samples, dimension)
        Inputs. An input with several periods is given several times, as ``X[:, [0, 0]]``.
    kernel : TorusKernel or Expression
        Families and period of one product; its length scales play no part here, but an adaptive index set is best near
        them. Or a sum of products of circles, lines and lattices, such as ``Circle(0, 24) * Line(1, range=(0, 10)) +
        Line(1, range=(0, 10))``: the circle of a line is as long as the length scale that the expression gives needs,
        so give the longest that the prior allows for.
    index_set : IndexSet
        Frequencies, as from ``torusgp.index_sets.adaptive(kernel, 201)``. Choose it for the shortest length scales that
        the prior allows for; of a sum by :func:`torusgp.adapters.numpyro.index_set_at`.
    length_scale : array of shape (), (1,) or (dimension,); of a sum a sequence of these, or a mapping
        Length scales; the standard deviations are differentiable in them. Of a sum one entry for each term, in their
        order or by their names (``TorusKernel(expression).terms``); those of lines are in the units of their input.
    variance : array of shape (n_terms,), sequence or mapping, optional
        Variances of the terms of a sum; by default those that the expression gives, or one.
    period : array of shape (), (dimension,) or (dimension, dimension), optional
        Instead of that of the kernel, and like it in kind; the columns are differentiable in it. Of a sum the periods
        of its circles.
    length_scale_bounds : pair of float, default=(1e-2, 1e2)
        Between these, coefficients are accurate to about 1e-12, relative to themselves, and to 1e-4 in JAX's single
        precision; beyond they continue as powers of the length scale, which is exact only in the limit of long ones.
        For Cartesian families the unit is the cell's size, the D-th root of its volume, over 2 pi.

    Returns
    -------
    columns : array of shape (n_samples, n_components)
        A constant, then a cosine and a sine for each frequency. Computed in double precision if X and period are known
        numbers, and in the precision of JAX if they are traced.
    std : array of shape (n_components,)
        Standard deviations of their weights.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from torusgp import TorusKernel
    >>> from torusgp.kernels.index_sets import adaptive
    >>> kernel = TorusKernel(length_scale=[0.8, 1.2], period=[24.0, 7.0])
    >>> X = np.random.default_rng(0).uniform(0, 24, (50, 2))
    >>> columns, std = prior_linearized(X, kernel, adaptive(kernel, 301), kernel.length_scale)
    >>> bool(np.allclose((columns * std) @ (columns * std).T, kernel(X), atol=1e-4))
    True
    """
    return _expansion.prior_linearized(
        _LIBRARY, _is_traced, X, kernel, index_set, length_scale, variance, period, length_scale_bounds
    )


def _is_traced(array):
    return isinstance(array, jax.core.Tracer)


__all__ = ["index_set_at", "prior_linearized"]
