r"""Number of indices of a hyperbolic cross by recursion, without listing them.

.. math:: N_D(R) = N_{D-1}(R) + \sum_{j=1}^{R} N_{D-1}(\lfloor R / j \rfloor), \quad N_0 = 1,

by the first entry, 0 or j. Quotients of R have at most 2 sqrt(R) values, among which those of each value are again, and
equal quotients are counted together: R = 2^30 takes seconds, where the set itself has up to 10^12 members.
"""

import numpy as np


def cross_indices(dimension, power):
    """Numbers of non-negative vectors with a product of max(1, k_d) up to R, for R = 1, 2, 4, ... 2^power."""
    values = quotients(2**power)  # powers of two are among them
    counts = values + 1  # in one dimension: from zero to the value
    wanted = 2 ** np.arange(power + 1)
    for level in range(2, dimension + 1):
        counts = one_more(values, counts, wanted if level == dimension else values)
    return counts if dimension > 1 else counts[np.searchsorted(values, wanted)]


def quotients(radius):
    """Distinct values of floor(radius / j) for j from 1 to the radius, rising."""
    root = int(np.sqrt(radius))
    small = np.arange(1, root + 1)
    large = radius // small[::-1]
    return np.concatenate([small, large[1:] if large[0] == root else large])


def one_more(values, counts, wanted):
    """Counts of one dimension more, at some of the values."""
    found = np.empty(len(wanted), dtype=np.int64)
    root = int(np.sqrt(values[-1]))
    for i, value in enumerate(wanted.tolist()):
        own = quotients(value)
        upto = value // own  # how many j have at least this quotient
        # small values stand at their own place, large ones at that of their multiplicity, from the end
        place = np.where(own <= root, own - 1, len(values) - values[-1] // np.maximum(own, 1))
        multiplicity = upto - np.append(upto[1:], 0)
        found[i] = counts[place[-1]] + multiplicity @ counts[place]
    return found
