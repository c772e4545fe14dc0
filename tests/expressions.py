"""Models as expressions, in the words of the tests: circles of given periods and one lattice."""

import numpy as np

from torusgp import Circle, Lattice
from torusgp.fitting.prior import NOISE, Prior, Spread, scale_name, variance_name
from torusgp.fitting.problem import LEARNABLE
from torusgp.kernels.axes import Product
from torusgp.kernels.resolve import resolve


def circles(period, *, inputs=None, length_scale=1.0, family="squared_exponential", variance=None, bounds=(1e-2, 1e2)):
    """A product of circles, one for each period, with one length scale and family for all or one for each."""
    period = np.atleast_1d(period)
    inputs = range(len(period)) if inputs is None else inputs
    families = family if isinstance(family, list | tuple) else [family] * len(period)
    scales = np.broadcast_to(length_scale, len(period))
    factors = [
        Circle(one, float(length), kind, float(scale), bounds)
        for one, length, kind, scale in zip(inputs, period, families, scales, strict=True)
    ]
    return Product(tuple(factors), variance)


def lattice(cell, *, length_scale=1.0, family="squared_exponential", variance=None):
    """A lattice of as many inputs as its cell has vectors."""
    return Product((Lattice(tuple(range(len(cell))), np.array(cell), family, length_scale),), variance)


def column_variances(kernel, frequencies):
    """Prior variances of the unweighted columns of a kernel of variance one, the constant first."""
    coefficients = kernel.coefficients(frequencies)
    return np.append(coefficients[0], np.repeat(2 * coefficients[1:], 2))


def prior_of(expression, *, length_scale=None, variance=1.0, noise=0.1, learn=LEARNABLE[:3], intercept=False):
    """Prior of an expression that gives all ranges, and parameters with other values of its only term.

    Variances may be one number for each output.
    """
    model = resolve(expression, None)
    spread = Spread(*(np.ones(np.size(noise)) for _ in range(2)))
    prior = Prior.of(model, intercept, spread)
    start = prior.start(model.period, spread, frozenset(learn), np.ones(1), None).with_value(
        NOISE, np.atleast_1d(noise)
    )
    if length_scale is not None:
        start = start.with_value(scale_name(model.terms[0]), np.atleast_1d(length_scale))
    for term in model.terms:
        start = start.with_value(variance_name(term), np.broadcast_to(variance, np.size(noise)))
    return prior, start
