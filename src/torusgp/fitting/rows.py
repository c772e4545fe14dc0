"""Rows of a regression problem, the statistics that can be had from them, and what they cannot tell."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torusgp.engine.backends import (
    MANY_ROWS,
    TRANSFORMS,
    InputSpace,
    choose_backend,
    count_threads,
    make_predictor,
)
from torusgp.engine.basis import columns as basis_columns
from torusgp.engine.derivatives import Partials
from torusgp.engine.dual import RowStatistics, are_few_rows
from torusgp.engine.inference import Evidence, evidence
from torusgp.engine.marginals import Marginals
from torusgp.engine.statistics import SufficientStatistics
from torusgp.fitting.advice import advise
from torusgp.fitting.parameters import Parameters
from torusgp.fitting.prior import NOISE, Prior, scale_name
from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.product import to_phases
from torusgp.kernels.torus import Torus

INEXACT = 1e-3  # error of the posterior precision, relative to the prior's, that is worth a warning
_FINEST_TOLERANCE = 1e-14  # what the transforms reach in double precision
_CHEAP_FLOPS = 2e10  # a second of dense work
_SHORTER = 1.2  # factor of the length scales whose columns are gathered too, where each of them costs


@dataclass(frozen=True)
class Compute:
    """How sums and predictions are computed: parameters of the estimators that change their speed only."""

    backend: str = "auto"
    n_threads: int | None = None
    device: str | None = None
    precision: str = "float64"

    def choose(
        self,
        frequencies: NDArray[np.int64],
        n_samples: int,
        space: InputSpace | None = None,
        extent: NDArray[np.float64] | None = None,
    ) -> str:
        """Name of the implementation for so many rows, of these extents in a space of inputs."""
        return choose_backend(self.backend, frequencies, n_samples, self.device, space, extent)

    def make_predictor(
        self,
        frequencies: NDArray[np.int64],
        posterior: Any,
        n_samples: int,
        space: InputSpace | None = None,
        extent: NDArray[np.float64] | None = None,
    ) -> Any:
        """Predictor for so many points."""
        threads = count_threads(self.n_threads, n_samples)
        name = self.choose(frequencies, n_samples, space, extent)
        return make_predictor(name, frequencies, posterior, threads, self.device, space)


@dataclass(frozen=True)
class DerivativeRows:
    """Checked points with observed partial derivatives.

    Attributes
    ----------
    X : ndarray of shape (n_points, dimension)
        Coordinates on the axes of the torus.
    gradient : ndarray of shape (n_points, n_partials, n_outputs)
        Derivatives along the inputs of :class:`~torusgp.engine.derivatives.Partials`; not a number where none was
        observed.
    noise_scale : ndarray of shape (n_points,) or None
        Known standard deviations of their noise, up to a factor.
    """

    X: NDArray[np.float64]
    gradient: NDArray[np.float64]
    noise_scale: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.X)

    def take(self, chosen: Any) -> DerivativeRows:
        """Some of the points."""
        scale = None if self.noise_scale is None else self.noise_scale[chosen]
        return DerivativeRows(self.X[chosen], self.gradient[chosen], scale)

    def variances(self) -> NDArray[np.float64]:
        """Mean squares of the derivatives in units of their scales, (n_partials, n_outputs), NaN if none was seen."""
        scale = 1.0 if self.noise_scale is None else self.noise_scale[:, None, None]
        seen = ~np.isnan(self.gradient)
        total = np.where(seen, (self.gradient / scale) ** 2, 0.0).sum(axis=0)
        return np.divide(total, seen.sum(axis=0), out=np.full(total.shape, np.nan), where=seen.any(axis=0))


@dataclass(frozen=True)
class Rows:
    """Checked rows: coordinates on the axes of the torus, two-dimensional targets, and plain columns.

    Partial derivatives may have been observed too, at points of their own.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    sample_weight: NDArray[np.float64] | None = None
    noise_scale: NDArray[np.float64] | None = None
    plain: NDArray[np.float64] | None = None
    derivatives: DerivativeRows | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_points(self) -> int:
        """Number of rows, or of points with derivatives if these are more."""
        return max(len(self.X), 0 if self.derivatives is None else len(self.derivatives))

    @property
    def n_observations(self) -> int:
        """Number of rows and of observed derivatives together."""
        return len(self.X) + (0 if self.derivatives is None else int((~np.isnan(self.derivatives.gradient)).sum()))

    def sample(self, size: int) -> Rows:
        """At most so many of the rows, and of the points with derivatives, always the same."""
        result = self.take(choose_rows(len(self), size)) if len(self) > size else self
        if self.derivatives is not None and len(self.derivatives) > size:
            result = replace(result, derivatives=self.derivatives.take(choose_rows(len(self.derivatives), size)))
        return result

    def merged(self) -> Rows:
        """Equal rows merged, in a fixed order: then neither the order of few rows nor how they repeat can matter.

        Learning amplifies rounding, and with more hyperparameters than rows by a lot.
        """
        weight = np.ones(len(self)) if self.sample_weight is None else self.sample_weight
        extra = [] if self.noise_scale is None else [self.noise_scale[:, None]]
        plain = [] if self.plain is None else [self.plain]
        counted = weight > 0
        table, where = np.unique(np.hstack([self.X, self.y, *plain, *extra])[counted], axis=0, return_inverse=True)
        edges = np.cumsum([self.X.shape[1], self.y.shape[1], 0 if self.plain is None else self.plain.shape[1]])
        return Rows(
            np.ascontiguousarray(table[:, : edges[0]]),
            np.ascontiguousarray(table[:, edges[0] : edges[1]]),
            np.bincount(where, weight[counted]).astype(float),
            table[:, -1].copy() if extra else None,
            np.ascontiguousarray(table[:, edges[1] : edges[2]]) if plain else None,
            self.derivatives,
        )

    def take(self, chosen: Any) -> Rows:
        """Some of the rows."""
        taken = Rows(*(None if one is None else one[chosen] for one in self._arrays()))  # type: ignore[arg-type]
        return replace(taken, derivatives=self.derivatives)

    def _arrays(self) -> tuple[NDArray[np.float64] | None, ...]:
        return self.X, self.y, self.sample_weight, self.noise_scale, self.plain

    @property
    def precision(self) -> NDArray[np.float64]:
        """Weights of the rows over the squares of their noise scales."""
        weight = np.ones(len(self)) if self.sample_weight is None else self.sample_weight
        return weight if self.noise_scale is None else weight / self.noise_scale**2


def choose_rows(n_rows: int, size: int) -> NDArray[np.int64]:
    """Some of the rows, always the same."""
    return np.random.default_rng(0).choice(n_rows, size, replace=False)


class RowSource:
    """Linear statistics of any index set: from sums at hand where they cover it, else from another pass over rows.

    Parameters
    ----------
    rows : Rows or None
        The rows; None if only the surroundings of sets are asked for.
    prior : Prior
        The model.
    compute : Compute
        How sums are computed.
    center : bool
        Whether the mean of the targets is subtracted, where an intercept has it.
    index_set : str or IndexSet
        What the user asked for: only an adaptive set moves.
    margin : float, default=1.25
        How far the sums reach beyond a set; 1 for sums of the set alone.
    tolerance : float, optional
        Of the transforms.
    """

    def __init__(
        self,
        rows: Rows | None,
        prior: Prior,
        compute: Compute,
        center: bool,
        index_set: str | IndexSet,
        margin: float = 1.25,
        tolerance: float | None = None,
    ):
        self._rows, self._prior, self._compute, self._center = rows, prior, compute, center
        self._index_set, self._margin, self._tolerance = index_set, margin, tolerance
        self.statistics: SufficientStatistics | None = None

    def __call__(self, index_set: IndexSet, parameters: Parameters) -> Any:
        """Linear statistics of a set that was chosen for these parameters; of few rows the rows themselves."""
        rows, compute = self._rows, self._compute
        on_cpu = compute.backend in ("auto", "dense") and compute.device is None
        values = rows is not None and rows.derivatives is None
        if values and rows is not None and on_cpu and are_few_rows(len(rows), index_set.n_components):
            return self._row_statistics(rows, index_set, parameters)
        return self.covering(index_set, parameters).linear(index_set, self._center)[0]

    def _row_statistics(self, rows: Rows, index_set: IndexSet, parameters: Parameters) -> RowStatistics:
        columns = basis_columns(to_phases(rows.X, parameters.period), index_set.frequencies)
        if rows.plain is not None:
            columns = np.hstack([columns, self._plain(rows)])
        weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
        return RowStatistics(columns, self._centred(rows), weight, rows.precision)

    def transforms(self, index_set: IndexSet, parameters: Parameters) -> bool:
        """Whether sums on the box of a set are computed by transforms: then they cover the whole of it."""
        assert self._rows is not None
        space = InputSpace(self._prior.torus.sharing(parameters.period), parameters.period)
        extent = space.extent(self._rows.X)
        return self._compute.choose(index_set.frequencies, len(self._rows), space, extent) == "finufft"

    def dense_predictor(self, frequencies: NDArray[np.int64]) -> Any:
        """What evaluates columns of any frequencies, on the device that was asked for."""
        compute = self._compute
        name = "torch" if compute.backend == "torch" or compute.device is not None else "dense"
        return make_predictor(name, frequencies, None, 1, compute.device)

    def posterior(self, index_set: IndexSet, parameters: Parameters) -> list[Evidence]:
        """Posterior of the weights of each output, from sums that cover the set."""
        linear = self.covering(index_set, parameters).linear(index_set, self._center)[0]
        variances = self._prior.variances(parameters, index_set.frequencies)
        noise = parameters[NOISE]
        return [evidence(linear, variances[:, q], noise[q], q) for q in range(len(noise))]

    def covering(self, index_set: IndexSet, parameters: Parameters) -> SufficientStatistics:
        """Sums that cover a set: those at hand, or others."""
        before = self.statistics
        moving = before is not None and not np.array_equal(np.asarray(before.period), parameters.period)
        if before is None or moving or not before.holds(index_set):
            rows = self._rows
            assert rows is not None
            # while a period is learned no sums serve twice, so that they need no margin
            whole = index_set if moving else self.surroundings(index_set, parameters, rows.n_points)
            columns = tuple(column.input for column in self._prior.columns)
            space = InputSpace(self._prior.torus.sharing(parameters.period), parameters.period)
            compute = self._compute
            if compute.device is None:  # with one, "auto" says what runs there
                name = compute.choose(whole.frequencies, rows.n_points, space, space.extent(rows.X))
                compute = replace(compute, backend=name)
            self.statistics = SufficientStatistics.from_data(
                rows.X,
                rows.y,
                whole,
                period=parameters.period,
                sample_weight=rows.sample_weight,
                noise_scale=rows.noise_scale,
                plain=rows.plain,
                tolerance=self._tolerance,
                marginals=Marginals.of(self._prior.torus),
                sharing=self._prior.torus.sharing(parameters.period),
                partials=Partials.of(self._prior.torus, columns),
                **asdict(compute),
            )
            if rows.derivatives is not None:
                seen = rows.derivatives
                self.statistics.update_gradient(seen.X, seen.gradient, seen.noise_scale)
        assert self.statistics is not None
        return self.statistics

    def refined(self, index_set: IndexSet, parameters: Parameters) -> SufficientStatistics:
        """Statistics that cover a set, gathered anew if their rounding would matter."""
        statistics = self.covering(index_set, parameters)
        ratio = inexactness_ratio(self._prior, parameters, index_set) * statistics.n_samples
        if statistics.backend not in TRANSFORMS or statistics.tolerance * ratio <= INEXACT:
            return statistics
        cheap = (0 if self._rows is None else self._rows.n_points) * index_set.n_components**2 < _CHEAP_FLOPS
        if self._compute.backend == "auto" and cheap and _FINEST_TOLERANCE * ratio > INEXACT:
            self._compute = replace(self._compute, backend="dense", device=None)  # its sums are exact to rounding
        elif statistics.tolerance <= _FINEST_TOLERANCE:
            return statistics
        self._tolerance, self.statistics = _FINEST_TOLERANCE, None
        return self.covering(index_set, parameters)

    def inverse_cell_gradient(
        self, index_set: IndexSet, parameters: Parameters, results: list[Any]
    ) -> NDArray[np.float64]:
        r"""Derivatives of the log evidence in the entries of the inverse cell, through the phases of the rows.

        Plain columns are further targets, with the weights :math:`-A_{FZ}` of the quadratic form
        :math:`A = \sum_q (\Sigma_q + w_q w_q') / s_q^2`.

        Parameters
        ----------
        index_set : IndexSet
            Frequencies of the columns.
        parameters : Parameters
            Their period is where the derivatives are taken.
        results : list of Evidence
            Posteriors of the outputs.

        Returns
        -------
        ndarray of shape (dimension, dimension)
        """
        rows = self._rows
        assert rows is not None
        n_fourier = index_set.n_components
        quadratic = sum(
            (result.covariance() + np.outer(result.weights, result.weights)) / result.noise_variance
            for result in results
        )
        weights = np.stack([result.weights[:n_fourier] / result.noise_variance for result in results], axis=1)
        targets = self._centred(rows)
        if rows.plain is not None:
            targets = np.hstack([targets, self._plain(rows)])
            weights = np.hstack([weights, -quadratic[:n_fourier, n_fourier:]])
            quadratic = quadratic[:n_fourier, :n_fourier]
        space = InputSpace(self._prior.torus.sharing(parameters.period), parameters.period)
        predictor = self._compute.make_predictor(index_set.frequencies, None, len(rows), space, space.extent(rows.X))
        return predictor.cell_gradient(rows.X, parameters.period, rows.precision, targets, quadratic, weights)

    @staticmethod
    def _plain(rows: Rows) -> NDArray[np.float64]:
        """Plain columns in the units of the model: centred, of variance one."""
        assert rows.plain is not None
        centred = rows.plain - np.average(rows.plain, axis=0, weights=rows.precision)
        spread = np.sqrt(np.average(centred**2, axis=0, weights=rows.precision))
        return centred / np.where(spread > 0, spread, 1.0)

    def _centred(self, rows: Rows) -> NDArray[np.float64]:
        return rows.y - np.average(rows.y, axis=0, weights=rows.precision) if self._center else rows.y

    def surroundings(self, index_set: IndexSet, parameters: Parameters, n_samples: int) -> IndexSet:
        """A set and what lies around it, so that length scales may move without another pass over so many rows."""
        if isinstance(self._index_set, IndexSet):
            return index_set
        space = InputSpace(self._prior.torus.sharing(parameters.period), parameters.period)
        extent = None if self._rows is None else space.extent(self._rows.X)
        if self._compute.choose(index_set.frequencies, n_samples, space, extent) == "finufft":
            # sums cover the box around the frequencies
            corner = np.ceil(self._margin * np.abs(index_set.frequencies).max(axis=0)).astype(np.int64)
            if self.statistics is not None:  # sets that take turns are then covered together
                corner = np.maximum(corner, np.abs(self.statistics.covered()).max(axis=0))
            return from_frequencies(np.vstack([index_set.frequencies, corner]))
        if self._index_set != "adaptive" or self._margin == 1.0:
            return index_set
        shorter = parameters
        for term in self._prior.terms:
            name = scale_name(term)
            learned = parameters.entry(name).learned
            shorter = shorter.with_value(name, parameters[name] / np.where(learned, _SHORTER, 1.0))
        wider = self._prior.select(shorter, int(self._margin * index_set.n_components))
        return from_frequencies(np.vstack([index_set.frequencies, wider.frequencies]))


def inexactness_ratio(prior: Prior, parameters: Parameters, index_set: IndexSet) -> float:
    """Largest prior variance of a column over the noise: how much rounding of the sums is amplified, for each row.

    The constant and plain columns do not count: their broad variances say that they are determined by the data alone,
    and centred sums determine them well.
    """
    variances = prior.variances(parameters, index_set.frequencies)[1 : index_set.n_components]
    constant = prior.at(parameters, index_set.frequencies[:1]).variances[0] - prior.intercept_variance
    return float((np.vstack([variances, constant]) / prior.typical_noise(parameters)).max())


def transform_tolerance(prior: Prior, parameters: Parameters, n_samples: int) -> float:
    """Tolerance of the transforms that leaves the posterior trustworthy: errors of the sums stay below the prior."""
    if n_samples < MANY_ROWS:
        return _FINEST_TOLERANCE
    ratio = (prior.typical_noise(parameters) / prior.signal_variances(parameters).sum(axis=0)).min()
    return float(np.clip(0.1 * INEXACT * ratio / n_samples, _FINEST_TOLERANCE, 1e-12))


def warn_of_phases(X: NDArray[np.float64], torus: Torus, period: NDArray[np.float64]) -> None:
    """Warn if the rows can tell nothing of a circle, because of its period."""
    if len(X) < 3:
        return
    some = X[np.random.default_rng(0).choice(len(X), min(len(X), 2000), replace=False)]  # a stride might resonate
    phases = to_phases(some, period)
    cell = np.asarray(period) if np.ndim(period) == 2 else np.diag(period)
    turns = some @ np.linalg.inv(cell)
    for d, axis in enumerate(torus.axes):
        if axis.kind not in ("circle", "lattice"):
            continue
        n_inputs, n_phases = len(np.unique(turns[:, d])), len(np.unique(np.round(np.exp(1j * phases[:, d]), 9)))
        if n_inputs >= 10 and n_phases <= 2:
            advise(
                f"{n_inputs} distinct values of {axis.name!r} fall onto {n_phases} phase(s) of its period: is period "
                f"{cell[d, d]:.6g} in the units of X?",
            )
        elif np.ptp(turns[:, d]) < 0.05:
            advise(
                f"{axis.name!r} spans {np.ptp(turns[:, d]):.2g} of its period: data cannot show that it repeats. Is "
                f"period {cell[d, d]:.6g} in the units of X?",
            )
