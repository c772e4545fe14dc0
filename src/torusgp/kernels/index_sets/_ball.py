"""Enumeration of the non-negative integer vectors of bounded weight, by radius or by number of components."""

from abc import ABC, abstractmethod

import numpy as np

from torusgp.checks import check_count

RELATIVE_TOLERANCE = 1e-10  # rounding must neither drop a member on the boundary nor split a tie
MAX_ENTRIES = 4 * 10**8  # entries of an index array: 3 GiB


class Ball(ABC):
    """Non-negative vectors of bounded weight, grown one non-zero entry at a time.

    A vector is reached from the one that lacks its last non-zero entry. That one need not be a member itself; it is
    kept only as long as its best completion is a member, so the work is proportional to what is found.
    """

    smallest_radius = 0.0
    free_axes: np.ndarray  # axes on which an entry may differ from zero

    def __init__(self, dimension, max_interaction):
        self.dimension = check_count(dimension, "dimension")
        self.max_interaction = check_count(max_interaction, "max_interaction", optional=True)

    @property
    def _depth(self):
        return self.dimension if self.max_interaction is None else min(self.max_interaction, self.dimension)

    @abstractmethod
    def weights(self, indices):
        """Weight of each row."""

    @abstractmethod
    def _start(self):
        """State of the zero vector: a tuple of floats."""

    @abstractmethod
    def _choices(self, state, axis, remaining, radius):
        """Number of values of this axis that keep a completion within the radius, for each row of the state."""

    @abstractmethod
    def _extend(self, state, axis, choice):
        """Values for the choices (0, 1, ...) on this axis, and the state after them."""

    def members(self, radius, max_columns=None):
        """Rows of weight at most ``radius``, or None if they have more than ``max_columns`` components."""
        loose = radius * (1 + 2 * RELATIVE_TOLERANCE)
        most = np.inf if max_columns is None else max_columns
        level = np.zeros((1, self.dimension), dtype=np.int64)
        last = np.full(1, -1)
        state = tuple(np.full(1, value) for value in self._start())
        found = [level]
        columns = 1.0
        for order in range(1, self._depth + 1):
            rows, axes, values, states = [], [], [], []
            size = 0
            for axis in self.free_axes:
                parents = np.flatnonzero(last < axis)
                here = tuple(s[parents] for s in state)
                counts = self._choices(here, axis, self._depth - order, loose)
                total = int(counts.sum())
                size += total
                if size * self.dimension > MAX_ENTRIES:
                    return None
                if not total:
                    continue
                choice = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
                parent = np.repeat(np.arange(len(parents)), counts)
                value, following = self._extend(tuple(s[parent] for s in here), axis, choice)
                rows.append(parents[parent])
                axes.append(np.full(total, axis))
                values.append(value)
                states.append(following)
            if not size:
                break
            last = np.concatenate(axes)
            level = level[np.concatenate(rows)]
            level[np.arange(size), last] = np.concatenate(values)
            state = tuple(np.concatenate(parts) for parts in zip(*states, strict=True))
            inside = level[self.weights(level) <= radius + RELATIVE_TOLERANCE * max(1.0, abs(radius))]
            columns += 2.0**order * len(inside)
            if columns > most:
                return None
            found.append(inside)
        return np.concatenate(found)


def largest_fitting(ball, budget):
    """Members of the largest ball with at most ``budget`` components."""
    lower = ball.smallest_radius
    inner = ball.members(lower, budget)
    if inner is None:
        needed = ball.members(lower)
        raise ValueError(
            f"n_components={budget} is too small: the smallest such set has "
            f"{'too many' if needed is None else n_columns(needed)} components. Raise it, lower the weights, or limit "
            "max_interaction."
        )
    if not ball.free_axes.size:
        return inner
    outer, upper = superset(ball.members, lower, budget)
    if outer is None:  # the next shell alone is many times the budget
        return ball.members(upper, budget)
    weights = ball.weights(outer)
    order = np.argsort(weights, kind="stable")
    ends = np.append(np.flatnonzero(new_groups(weights[order])[1:]), len(order) - 1)  # last of each group of ties
    columns = np.cumsum(2 ** np.count_nonzero(outer[order], axis=1))[ends]
    return outer[order[: ends[columns <= budget][-1] + 1]]


def superset(members, lower, budget):
    """Members of a ball with slightly more than ``budget`` components, and its radius.

    None and the largest fitting radius, if between a set that fits and one that is far too large lies one tie.
    """
    allowed = 4 * budget + 4096
    upper = max(2 * lower, 1.0)
    while (outer := members(upper, allowed)) is not None:
        if n_columns(outer) > budget:
            return outer, upper
        lower, upper = upper, 2 * upper
    while upper - lower > RELATIVE_TOLERANCE * upper:
        middle = (lower + upper) / 2
        outer = members(middle, allowed)
        if outer is None:
            upper = middle
        elif n_columns(outer) > budget:
            return outer, middle
        else:
            lower = middle
    return None, lower


def n_columns(indices):
    return int((2.0 ** np.count_nonzero(indices, axis=1)).sum())


def new_groups(sorted_values):
    """True where a sorted sequence starts a new group of ties."""
    gap = np.diff(sorted_values, prepend=-np.inf)
    return gap > RELATIVE_TOLERANCE * np.maximum(1.0, np.abs(sorted_values))
