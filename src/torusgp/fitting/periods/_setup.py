"""What a regressor needs to know of its period before it can learn: found, given, or partly each."""

import warnings
from dataclasses import dataclass

import numpy as np

from torusgp.fitting.learning import PeriodMoves, inverse_cell
from torusgp.fitting.periods._checks import is_unknown
from torusgp.fitting.periods._results import PeriodSearch, describe
from torusgp.fitting.periods._sampling import Sampling
from torusgp.fitting.periods._search import find_period
from torusgp.fitting.periods._trend import Trend
from torusgp.kernels.index_sets import adaptive, from_frequencies
from torusgp.kernels.lattices import short_bases

_MOST_TRIED = 1_000_000  # frequencies below Nyquist's that are looked at one by one
_FARTHER = 16  # times the columns wanted, among which they are looked for if there are more
PERIOD_NAMES = ("period", "lattice")


@dataclass(frozen=True)
class PeriodSetup:
    """Where learning of the period starts, and how it may move.

    Attributes
    ----------
    periods : list
        Periods or cells to start from; several bases of one lattice where the kernel tells them apart.
    moves : PeriodMoves or None
        How the period is learned, if it is.
    nyquist : ndarray of shape (dimension,) or None
        Highest frequency along the input of each dimension, in cycles per unit, if the period is not given.
    search : PeriodSearch or None
        Outcome of the search, if there was one.
    period_std : float, ndarray or None
        Standard errors of what the search found.
    """

    periods: list
    moves: PeriodMoves | None = None
    nyquist: np.ndarray | None = None
    search: PeriodSearch | None = None
    period_std: float | np.ndarray | None = None

    @property
    def trend(self) -> Trend | None:
        """Slow change that the search found beside the period."""
        return None if self.search is None else self.search.trend


def is_searched(period):
    """Whether some of a period is to be found."""
    if isinstance(period, str):
        if period != "auto":
            raise ValueError(f"period must be numbers or 'auto', got {period!r}.")
        return True
    return np.ndim(period) == 1 and any(is_unknown(entry) for entry in period)


def check_period_names(learn):
    """Return the name among those learned that concerns the period, or None."""
    chosen = [name for name in PERIOD_NAMES if name in learn]
    if len(chosen) == 2:
        raise ValueError("learn holds both 'period' and 'lattice': a lattice has its periods, so name one of them.")
    return chosen[0] if chosen else None


def set_up_period(period, learned, X, y, sample_weight, noise_scale, columns, cartesian, report):
    """Find what is unknown of a period, and say how it may move.

    Parameters
    ----------
    period : "auto", float or array-like
        What the user gave.
    learned : {"period", "lattice", None}
        What is learned of it.
    X : ndarray of shape (n_samples, dimension)
        Inputs of the dimensions of the torus.
    y : ndarray of shape (n_samples, n_outputs)
        Targets.
    sample_weight : ndarray of shape (n_samples,) or None
        How often each row counts.
    noise_scale : ndarray of shape (n_samples,) or None
        Known standard deviation of the noise of each row, up to a common factor.
    columns : ndarray of int, shape (dimension,)
        Inputs that feed the dimensions: equal numbers are the same input.
    cartesian : bool
        Whether the kernel is the same for every basis of a lattice.
    report : callable
        Takes lines of progress.

    Returns
    -------
    PeriodSetup
    """
    dimension = X.shape[1]
    searched = is_searched(period)
    if not searched and learned is None:
        return PeriodSetup([period])
    whole = learned == "lattice"
    sampling = Sampling.from_inputs(X)
    if not searched:
        return PeriodSetup([period], _given_moves(period, whole, sampling.extent), sampling.nyquist)
    search, found = _search(period, whole, X, y, sample_weight, noise_scale, columns, report)
    if whole:
        bases = short_bases(found[0].period / sampling.unit)
        periods = [found[0].period] if cartesian else [basis * sampling.unit for basis in bases]
        free = np.ones((dimension, dimension), dtype=bool)
        std = found[0].period_std
    else:
        unknown = _unknown(period, dimension)
        periods = [_merge(period, [one.period for one in found], unknown)]
        std = _merge(np.where(unknown, np.nan, 0.0), [one.period_std for one in found], unknown)
        free = np.diag(unknown)
    moves = None if learned is None else PeriodMoves(free, sampling.extent)
    return PeriodSetup(periods, moves, sampling.nyquist, search, std)


def _given_moves(period, whole, extent):
    dimension = len(extent)
    if not whole and np.ndim(period) == 2:
        raise ValueError("learn holds 'period', but period is a cell: use 'lattice' to learn a whole cell.")
    return PeriodMoves(np.ones((dimension, dimension), bool) if whole else np.eye(dimension, dtype=bool), extent)


def _search(period, whole, X, y, sample_weight, noise_scale, columns, report):
    dimension = X.shape[1]
    inputs = np.unique(columns)
    if len(inputs) < dimension and len(inputs) > 1:
        raise ValueError(
            f"columns={columns.tolist()} uses an input several times beside others: give the periods, which "
            "find_period finds for one input at a time."
        )
    if whole and (len(inputs) < dimension or not isinstance(period, str)):
        raise ValueError("learn holds 'lattice', which needs period='auto' or a whole cell, and each input once.")
    superposed = len(inputs) == 1
    unknown = int(_unknown(period, dimension).sum())
    search = find_period(
        X[:, :1] if superposed else X,
        y,
        period=period,
        lattice=whole,
        max_periods=unknown,
        sample_weight=sample_weight,
        noise_scale=noise_scale,
        report=report,
    )
    wanted = unknown if superposed else 1
    judged = [one for one in search.candidates if one.gain > 0]  # the best, reported or not
    if len(judged) < wanted:
        shortest, longest = (", ".join(f"{limit:.4g}" for limit in limits) for limits in search.searched)
        raise ValueError(
            f"period='auto' found {len(judged)} of {wanted} periods: nothing{' else' if judged else ''} repeats, that "
            f"is, gains log evidence over a model without period. Searched were periods from {shortest} to {longest}; "
            "find_period takes other limits and shows what was tried. More data may show it, too: fewer than about "
            "three turns are seldom told from slow change."
        )
    for one in judged[len(search) : wanted]:
        warnings.warn(
            f"period='auto' takes {describe(one.period)}, but its gain in log evidence of {one.gain:.3g} over a random "
            f"field is below {search.min_gain:g}: the data may not repeat at all. See find_period.",
            stacklevel=6,
        )
    return search, judged[:wanted]


def _unknown(period, dimension):
    if isinstance(period, str):
        return np.ones(dimension, dtype=bool)
    if len(period) != dimension:
        raise ValueError(f"period must have one entry for each of the {dimension} dimensions, got {period!r}.")
    return np.array([is_unknown(entry) for entry in period])


def _merge(given, found, unknown):
    """Values along the inputs: the given ones, and what was found where they are unknown."""
    given = [np.nan] * len(unknown) if isinstance(given, str) else given
    merged = np.array([np.nan if missing else float(one) for one, missing in zip(given, unknown, strict=True)])
    merged[unknown] = found if np.ndim(found[0]) == 0 else found[0][unknown]
    return merged if len(merged) > 1 else float(merged[0])


def below_nyquist(index_set, kernel, size, nyquist):
    """An index set without frequencies that a grid cannot show; an adaptive one has the next best in their place.

    Parameters
    ----------
    index_set : IndexSet
        The set.
    kernel : TorusKernel
        The kernel it was chosen for.
    size : int
        Largest number of columns.
    nyquist : ndarray of shape (dimension,)
        Highest frequency along the input of each dimension, in cycles per unit.

    Returns
    -------
    IndexSet
    """
    waves = inverse_cell(kernel.period, index_set.dimension)

    def kept(frequencies):
        return frequencies[(np.abs(frequencies @ waves.T) <= nyquist * (1 + 1e-9)).all(axis=1)]

    inside = kept(index_set.frequencies)
    if len(inside) == len(index_set.frequencies):
        return index_set
    if index_set.name == "adaptive":
        with np.errstate(invalid="ignore"):  # an input on no grid has no highest frequency
            reach = np.floor(np.abs(np.linalg.inv(waves)) @ nyquist)  # along each axis of the torus
        if np.prod(2 * reach + 1) <= _MOST_TRIED:
            axes = [np.arange(-k, k + 1) for k in reach.astype(np.int64)]
            box = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
            inside = kept(box[len(box) // 2 :])  # lexicographic order: the zero vector is in the middle
        else:
            inside = kept(adaptive(kernel, _FARTHER * size, dimension=index_set.dimension).frequencies)
    order = np.argsort(-kernel.log_coefficients(inside), kind="stable")[: (size + 1) // 2]
    return from_frequencies(inside[np.sort(order)])
