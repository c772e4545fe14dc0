"""Rows of a regression problem, the statistics that can be had from them, and what they cannot tell."""

import warnings
from dataclasses import asdict, dataclass, replace

import numpy as np

from torusgp.engine.backends import MANY_ROWS, choose_backend, count_threads, make_predictor
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.learning import column_variances
from torusgp.kernels.index_sets import IndexSet, adaptive, from_frequencies
from torusgp.kernels.kernel import TorusKernel

INEXACT = 1e-3  # error of the posterior precision, relative to the prior's, that is worth a warning
_FINEST_TOLERANCE = 1e-14  # what the transforms reach in double precision
_CHEAP_FLOPS = 2e10  # a second of dense work


@dataclass(frozen=True)
class Compute:
    """How sums and predictions are computed: parameters of the regressor that change its speed only."""

    backend: str = "auto"
    n_threads: int | None = None
    device: str | None = None
    precision: str = "float64"

    def choose(self, frequencies, n_samples):
        """Name of the implementation for so many rows."""
        return choose_backend(self.backend, frequencies, n_samples, self.device)

    def make_predictor(self, frequencies, posterior, n_samples):
        """Predictor for so many points."""
        threads = count_threads(self.n_threads, n_samples)
        return make_predictor(self.choose(frequencies, n_samples), frequencies, posterior, threads, self.device)


@dataclass(frozen=True)
class Rows:
    """Checked rows: the inputs of the dimensions of the torus and two-dimensional targets."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    noise_scale: np.ndarray | None

    def merged(self):
        """Equal rows merged, in a fixed order: then neither the order of few rows nor how they repeat can matter.

        Learning amplifies rounding, and with more hyperparameters than rows by a lot.
        """
        weight = np.ones(len(self.X)) if self.sample_weight is None else self.sample_weight
        extra = () if self.noise_scale is None else (self.noise_scale[:, None],)
        counted = weight > 0
        table, where = np.unique(np.hstack([self.X, self.y, *extra])[counted], axis=0, return_inverse=True)
        dimension, n_outputs = self.X.shape[1], self.y.shape[1]
        return Rows(
            np.ascontiguousarray(table[:, :dimension]),
            np.ascontiguousarray(table[:, dimension : dimension + n_outputs]),
            np.bincount(where, weight[counted]),
            table[:, -1].copy() if extra else None,
        )

    def take(self, chosen):
        """Some of the rows."""
        return Rows(
            self.X[chosen],
            self.y[chosen],
            None if self.sample_weight is None else self.sample_weight[chosen],
            None if self.noise_scale is None else self.noise_scale[chosen],
        )


class RowSource:
    """Linear statistics of any index set: from sums at hand where they cover it, else from another pass over rows."""

    def __init__(self, rows, compute, center, index_set, margin=1.25, tolerance=None):
        self._rows, self._compute, self._center = rows, compute, center
        self._index_set, self._margin, self._tolerance = index_set, margin, tolerance
        self.statistics = None

    def __call__(self, index_set, kernel):
        """Linear statistics of a set that was chosen for this kernel."""
        if self.statistics is not None and not np.array_equal(self.statistics.period, kernel.period):
            self.statistics = None
        if self.statistics is None or not self.statistics.holds(index_set):
            rows = self._rows
            self.statistics = SufficientStatistics.from_data(
                rows.X,
                rows.y,
                self.surroundings(index_set, kernel, len(rows.X)),
                period=kernel.period,
                sample_weight=rows.sample_weight,
                noise_scale=rows.noise_scale,
                tolerance=self._tolerance,
                **asdict(self._compute),
            )
        return self.statistics.linear(index_set, self._center)[0]

    def covering(self, learned, template):
        """Statistics that cover the set that was learned last."""
        self(learned.index_set, template.kernel(learned.hyperparameters))
        return self.statistics

    def exact_enough(self, learned, template):
        """Statistics that cover the set that was learned last, gathered anew if their rounding would matter."""
        statistics = self.covering(learned, template)
        kernel = template.kernel(learned.hyperparameters)
        ratio = (learned.hyperparameters.signal_variance / learned.hyperparameters.noise_variance).max()
        # without the constant, whose rounding is harmless: see torusgp.engine.inference.inexactness
        ratio *= column_variances(kernel, learned.index_set.frequencies)[1:].max(initial=0.0) * statistics.n_samples
        if statistics.backend != "finufft" or statistics.tolerance * ratio <= INEXACT:
            return statistics
        cheap = len(self._rows.X) * learned.index_set.n_components**2 < _CHEAP_FLOPS
        if self._compute.backend == "auto" and cheap and _FINEST_TOLERANCE * ratio > INEXACT:
            self._compute = replace(self._compute, backend="dense", device=None)  # its sums are exact to rounding
        elif statistics.tolerance <= _FINEST_TOLERANCE:
            return statistics
        self._tolerance, self.statistics = _FINEST_TOLERANCE, None
        return self.covering(learned, template)

    def inverse_cell_gradient(self, index_set, kernel, quadratic, weights):
        r"""Derivatives of the log evidence in the entries of the inverse cell, through the phases of the rows.

        Parameters
        ----------
        index_set : IndexSet
            Frequencies of the columns.
        kernel : TorusKernel
            Its period is where the derivatives are taken.
        quadratic : ndarray of shape (n_columns, n_columns)
            :math:`\sum_q (\Sigma_q + w_q w_q') / s_q^2` of the posteriors of the outputs.
        weights : ndarray of shape (n_columns, n_outputs)
            :math:`w_q / s_q^2`.

        Returns
        -------
        ndarray of shape (dimension, dimension)
        """
        rows = self._rows
        predictor = self._compute.make_predictor(index_set.frequencies, None, len(rows.X))
        by_phase = predictor.phase_gradient(kernel.phases(rows.X), self._centred(), quadratic, weights)
        by_phase *= self._precision()[:, None]
        return 2 * np.pi * (rows.X - rows.X.mean(axis=0)).T @ by_phase  # a shift of the origin changes nothing

    def _precision(self):
        weight = np.ones(len(self._rows.X)) if self._rows.sample_weight is None else self._rows.sample_weight
        return weight if self._rows.noise_scale is None else weight / self._rows.noise_scale**2

    def _centred(self):
        y = self._rows.y
        return y - np.average(y, axis=0, weights=self._precision()) if self._center else y

    def surroundings(self, index_set, kernel, n_samples):
        """A set and what lies around it, so that length scales may move without another pass over so many rows."""
        if isinstance(self._index_set, IndexSet):
            return index_set
        if (
            self._compute.choose(index_set.frequencies, n_samples) == "finufft"
        ):  # sums cover the box around the frequencies
            corner = np.ceil(self._margin * np.abs(index_set.frequencies).max(axis=0)).astype(np.int64)
            if self.statistics is not None:  # sets that take turns are then covered together
                corner = np.maximum(corner, np.abs(self.statistics.covered()).max(axis=0))
            return from_frequencies(np.vstack([index_set.frequencies, corner]))
        if self._index_set != "adaptive":
            return index_set
        shorter = TorusKernel(
            kernel.family, np.asarray(kernel.length_scale) / 1.2, kernel.period, max_interaction=kernel.max_interaction
        )
        wider = adaptive(shorter, int(self._margin * index_set.n_components), dimension=index_set.dimension)
        return from_frequencies(np.vstack([index_set.frequencies, wider.frequencies]))


def transform_tolerance(hyperparameters, n_samples):
    """Tolerance of the transforms that leaves the posterior trustworthy: errors of the sums stay below the prior."""
    if n_samples < MANY_ROWS:
        return _FINEST_TOLERANCE
    ratio = (hyperparameters.noise_variance / hyperparameters.signal_variance).min()
    return float(np.clip(0.1 * INEXACT * ratio / n_samples, _FINEST_TOLERANCE, 1e-12))


def warn_of_phases(X, kernel):
    """Warn if the rows can tell nothing of a dimension, because of its period."""
    if len(X) < 3:
        return
    some = X[np.random.default_rng(0).choice(len(X), min(len(X), 2000), replace=False)]  # a stride might resonate
    phases = kernel.phases(some)
    turns = some @ np.linalg.inv(kernel.cell(X.shape[1]))
    for d in range(X.shape[1]):
        n_inputs, n_phases = len(np.unique(turns[:, d])), len(np.unique(np.round(np.exp(1j * phases[:, d]), 9)))
        if n_inputs >= 10 and n_phases <= 2:
            warnings.warn(
                f"{n_inputs} distinct values of dimension {d} fall onto {n_phases} phase(s) of its period: is period "
                f"{kernel.period!r} in the units of X?",
                stacklevel=4,
            )
        elif np.ptp(turns[:, d]) < 0.05:
            warnings.warn(
                f"Dimension {d} spans {np.ptp(turns[:, d]):.2g} of its period: data cannot show that it repeats. Is "
                f"period {kernel.period!r} in the units of X?",
                stacklevel=4,
            )
