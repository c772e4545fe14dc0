"""The families of the literature: balls of the p-norms and hyperbolic crosses."""

import numpy as np

from torusgp.checks import check_count
from torusgp.kernels.index_sets._ball import MAX_ENTRIES, RELATIVE_TOLERANCE, Ball, largest_fitting
from torusgp.kernels.index_sets._checks import check_radius, check_weights
from torusgp.kernels.index_sets._index_set import IndexSet, expand_signs


def tensor(dimension, radius=None, *, n_components=None, weights=1.0, max_interaction=None):
    r"""All frequencies in a box, :math:`\{k \in \mathbb{N}_0^D : k_d \le \gamma_d R\}`.

    The complete set: it grows exponentially with the dimension.

    Parameters
    ----------
    dimension : int
        Number of periodic inputs :math:`D`.
    radius : float, optional
        Largest frequency :math:`R` on an axis.
    n_components : int, optional
        Instead of a radius: the largest set with at most this many components.
    weights : float or array-like of shape (dimension,), default=1.0
        Weights :math:`\gamma_d` in [0, 1]; smaller keeps fewer frequencies on that axis, 0 none.
    max_interaction : int, optional
        Largest number of non-zero entries in a frequency.

    Returns
    -------
    IndexSet

    Examples
    --------
    >>> tensor(2, 1).indices.tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    ball = LpBall(dimension, weights, max_interaction, np.inf)
    return _build(ball, radius, n_components, "tensor")


def lp_ball(dimension, radius=None, *, p=1.0, n_components=None, weights=1.0, max_interaction=None):
    r"""Frequencies in a ball of the p-norm, :math:`\{k \in \mathbb{N}_0^D : \|k / \gamma\|_p \le R\}`.

    Suits functions of isotropic smoothness; p = 1 is the total order, p = 2 the Euclidean ball, p < 1 the paper's
    "hyperbolic" set, infinity the tensor set.

    Parameters
    ----------
    dimension : int
        Number of periodic inputs :math:`D`.
    radius : float, optional
        Radius :math:`R`, also the largest frequency on an axis.
    p : float, default=1.0
        Exponent in (0, inf].
    n_components : int, optional
        Instead of a radius: the largest set with at most this many components.
    weights : float or array-like of shape (dimension,), default=1.0
        Weights :math:`\gamma_d` in [0, 1]; smaller keeps fewer frequencies on that axis, 0 none.
    max_interaction : int, optional
        Largest number of non-zero entries in a frequency.

    Returns
    -------
    IndexSet

    Examples
    --------
    >>> lp_ball(3, 4, p=2).n_components > lp_ball(3, 4, p=1).n_components > lp_ball(3, 4, p=0.5).n_components
    True
    """
    return _build(LpBall(dimension, weights, max_interaction, p), radius, n_components, f"lp_ball(p={p:g})")


def total_order(dimension, radius=None, *, n_components=None, weights=1.0, max_interaction=None):
    r"""Frequencies whose entries sum to at most a radius: :func:`lp_ball` with p = 1.

    Examples
    --------
    >>> total_order(2, 2).indices.tolist()
    [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
    """
    ball = LpBall(dimension, weights, max_interaction, 1.0)
    return _build(ball, radius, n_components, "total_order")


def euclidean(dimension, radius=None, *, n_components=None, weights=1.0, max_interaction=None):
    r"""Frequencies in a ball of the Euclidean norm: :func:`lp_ball` with p = 2.

    Examples
    --------
    >>> euclidean(2, 5).indices.max(), len(euclidean(2, 1.5))
    (np.int64(5), 4)
    """
    ball = LpBall(dimension, weights, max_interaction, 2.0)
    return _build(ball, radius, n_components, "euclidean")


def hyperbolic_cross(dimension, radius=None, *, n_components=None, weights=1.0, max_interaction=None):
    r"""Frequencies whose weighted coordinate product stays within a radius.

    .. math:: \{k \in \mathbb{N}_0^D : \prod_d \max(1, k_d / \gamma_d) \le R\}

    Suits functions of dominating mixed smoothness: interactions are cut first.

    Parameters
    ----------
    dimension : int
        Number of periodic inputs :math:`D`.
    radius : float, optional
        Refinement :math:`R \ge 1`, also the largest frequency on one axis.
    n_components : int, optional
        Instead of a radius: the largest set with at most this many components.
    weights : float or array-like of shape (dimension,), default=1.0
        Weights :math:`\gamma_d` in [0, 1]; smaller keeps fewer frequencies on that axis, 0 none.
    max_interaction : int, optional
        Largest number of non-zero entries in a frequency.

    Returns
    -------
    IndexSet

    Examples
    --------
    >>> cross = hyperbolic_cross(5, 10)
    >>> len(cross), cross.n_components_full, cross.n_components
    (1432, 45824, 16893)
    """
    ball = EnergyNormBall(dimension, weights, max_interaction, 0.0)
    return _build(ball, radius, n_components, "hyperbolic_cross")


def energy_norm_hyperbolic_cross(
    dimension, radius=None, *, sparsity=0.5, n_components=None, weights=1.0, max_interaction=None
):
    r"""Hyperbolic cross of an energy norm: sparser still in its interactions, without a log factor in its growth.

    .. math:: \{k \in \mathbb{N}_0^D : \max(1, \|k\|_1)^{\zeta / (\zeta - 1)}
              \prod_d \max(1, k_d / \gamma_d)^{1 / (1 - \zeta)} \le R\}

    For :math:`\zeta > 0` it is not downward closed, and entries may exceed :math:`R`.

    Parameters
    ----------
    dimension : int
        Number of periodic inputs :math:`D`.
    radius : float, optional
        Refinement :math:`R \ge 1`.
    sparsity : float, default=0.5
        The paper's :math:`\zeta` in [0, 1); 0 gives :func:`hyperbolic_cross`.
    n_components : int, optional
        Instead of a radius: the largest set with at most this many components.
    weights : float or array-like of shape (dimension,), default=1.0
        Weights :math:`\gamma_d` in [0, 1]; smaller keeps fewer frequencies on that axis, 0 none.
    max_interaction : int, optional
        Largest number of non-zero entries in a frequency.

    Returns
    -------
    IndexSet

    Examples
    --------
    >>> energy_norm_hyperbolic_cross(2, 40, sparsity=0).n_components
    793
    """
    ball = EnergyNormBall(dimension, weights, max_interaction, sparsity)
    return _build(ball, radius, n_components, f"energy_norm_hyperbolic_cross(sparsity={sparsity:g})")


def _build(ball, radius, n_components, name):
    if (radius is None) == (n_components is None):
        raise ValueError(
            f"Give exactly one of radius and n_components; got radius={radius!r} and n_components={n_components!r}."
        )
    if radius is not None:
        reach = check_radius(radius, ball.smallest_radius) * ball.gamma.max(initial=0.0)  # largest frequency
        try:
            indices = ball.members(float(radius)) if reach <= MAX_ENTRIES else None
        except OverflowError:  # a power of the radius is no number
            indices = None
        if indices is None:
            raise ValueError(f"radius={radius!r} gives a set too large to hold; lower it, or limit max_interaction.")
    else:
        try:
            indices = largest_fitting(ball, check_count(n_components, "n_components"))
        except OverflowError:
            raise ValueError(
                f"{name} with weights={ball.gamma} needs powers that are no numbers: make the weights larger, or zero "
                "for an axis without frequencies, and p smaller or infinite."
            ) from None
    indices = indices[np.lexsort(indices.T[::-1])]
    return IndexSet(expand_signs(indices), indices, name, ball.max_interaction)


class LpBall(Ball):
    def __init__(self, dimension, weights, max_interaction, p):
        super().__init__(dimension, max_interaction)
        self.gamma = check_weights(weights, self.dimension)
        self.free_axes = np.flatnonzero(self.gamma > 0)
        if not (isinstance(p, int | float | np.number) and p > 0):
            raise ValueError(f"p must be a number in (0, inf], got {p!r}.")
        self.p = float(p)

    def weights(self, indices):
        scaled = indices[:, self.free_axes] / self.gamma[self.free_axes]
        if np.isinf(self.p):
            return scaled.max(axis=1, initial=0.0)
        return (scaled**self.p).sum(axis=1) ** (1 / self.p)

    def _start(self):
        return (0.0,)

    def _choices(self, state, axis, remaining, radius):
        if np.isinf(self.p):
            room = np.full(state[0].shape, radius)
        else:
            # The slack is absolute: at the surface of the ball the difference of the powers is all rounding.
            room = np.maximum(radius**self.p * (1 + 1e-9 * self.p) - state[0], 0.0) ** (1 / self.p)
        return np.floor(room * self.gamma[axis] * (1 + RELATIVE_TOLERANCE)).astype(np.int64)

    def _extend(self, state, axis, choice):
        value = choice + 1
        return value, (state[0] + (value / self.gamma[axis]) ** self.p if np.isfinite(self.p) else state[0],)


class EnergyNormBall(Ball):
    smallest_radius = 1.0

    def __init__(self, dimension, weights, max_interaction, sparsity):
        super().__init__(dimension, max_interaction)
        self.gamma = check_weights(weights, self.dimension)
        self.free_axes = np.flatnonzero(self.gamma > 0)
        if not (isinstance(sparsity, int | float | np.number) and 0 <= sparsity < 1):
            raise ValueError(f"sparsity must be in [0, 1), got {sparsity!r}.")
        self.sparsity = float(sparsity)

    def weights(self, indices):
        scaled = indices[:, self.free_axes] / self.gamma[self.free_axes]
        log_product = np.log(np.maximum(1.0, scaled)).sum(axis=1)
        log_norm = np.log(np.maximum(1.0, indices.sum(axis=1)))
        return np.exp((log_product - self.sparsity * log_norm) / (1 - self.sparsity))

    def _start(self):
        return 0.0, 0.0  # log of the product, sum of the entries

    def _choices(self, state, axis, remaining, radius):
        log_product, total = state
        # Completions only ever add ones, on the axes of largest gamma first: larger entries cost more than they gain.
        later = np.sort(self.gamma[axis + 1 :][self.gamma[axis + 1 :] > 0])[::-1][:remaining]
        penalties = np.append(0.0, np.cumsum(-np.log(later)))
        limit = (1 - self.sparsity) * np.log(radius) + RELATIVE_TOLERANCE

        def fits(value):
            best = np.full(value.shape, np.inf)
            for n_ones, penalty in enumerate(penalties if self.sparsity else penalties[:1]):
                best = np.minimum(best, penalty - self.sparsity * np.log(total + value + n_ones))
            return log_product + np.log(value / self.gamma[axis]) + best <= limit

        inside, outside = np.zeros(total.shape, np.int64), np.ones(total.shape, np.int64)
        growing = fits(outside)
        while growing.any():
            inside = np.where(growing, outside, inside)
            outside = np.where(growing, 2 * outside, outside)
            growing &= fits(outside)
        while (outside - inside > 1).any():
            middle = (inside + outside) // 2
            good = fits(np.maximum(middle, 1)) & (middle > 0)
            inside, outside = (
                np.where(good, middle, inside),
                np.where(good, outside, np.maximum(middle, inside + 1)),
            )
        return inside

    def _extend(self, state, axis, choice):
        value = choice + 1
        return value, (state[0] + np.log(value / self.gamma[axis]), state[1] + value)
