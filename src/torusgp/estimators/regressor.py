"""Gaussian-process regression on a torus as a scikit-learn estimator."""

import warnings
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from torusgp.data.blocks import is_dask
from torusgp.data.checks import check_no_times
from torusgp.data.sources import is_streamed
from torusgp.engine.backends import check_n_threads, check_resources, count_threads
from torusgp.engine.inference import Posterior
from torusgp.estimators.features import interaction_limit, make_index_set, resolve_columns
from torusgp.estimators.regressor_blocks import fit_blocks, predict_blocks
from torusgp.estimators.regressor_files import load_model, save_model
from torusgp.estimators.regressor_streams import fit_stream
from torusgp.fitting import learning
from torusgp.fitting.learning import (
    BROAD,
    LEARNABLE,
    Hyperparameters,
    KernelTemplate,
    column_variances,
    first_columns,
    learn,
    learn_spectrum,
    period_standard_errors,
    prior_variances,
    small_against_noise,
)
from torusgp.fitting.periods import (
    MIN_GAIN,
    PERIOD_NAMES,
    below_nyquist,
    check_period_names,
    is_searched,
    set_up_period,
)
from torusgp.fitting.rows import INEXACT, Compute, Rows, RowSource, transform_tolerance, warn_of_phases
from torusgp.kernels.index_sets import IndexSet, from_frequencies
from torusgp.kernels.index_sets._checks import check_budget
from torusgp.kernels.kernel import TorusKernel, check_positive_array
from torusgp.kernels.lattices import by_length
from torusgp.kernels.spectra import Spectrum

_SUBSAMPLE = 5000  # rows on which length scales are first looked for
_SCOUT_COLUMNS = 1001  # columns of that search, at most: it is about length scales, not about the last digits
_FINALISTS = 3  # bases of a lattice that are compared with all columns
_ENOUGH_TO_TELL = 20  # rows from which a fit should show something
PERIOD_ROWS = 100_000  # rows on which a period is learned: each step of it passes over them


@dataclass
class _Model:
    """What prediction needs: recomputed from the statistics whenever they change."""

    kernel: TorusKernel
    hyperparameters: Hyperparameters
    index_set: IndexSet
    prior_variances: np.ndarray
    posterior: Posterior
    center: np.ndarray
    truncation_error: float
    predictors: dict = field(default_factory=dict)  # by implementation and number of threads


class TorusGPRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Gaussian-process regression for inputs that are periodic in several dimensions.

    The kernel is represented by the columns of an index set; one pass over the data gathers statistics from which
    posterior, evidence and learning of the hyperparameters follow without looking at the data again.

    Parameters
    ----------
    kernel : str, Spectrum or sequence of these, default="squared_exponential"
        Family of the kernel, or one for each dimension; see :class:`TorusKernel`.
    period : "auto", float, array-like of shape (dimension,) or (dimension, dimension), default=1.0
        Period of each input, or a cell whose rows are lattice vectors. "auto" finds the periods, or with "lattice" in
        ``learn`` a cell, see :func:`find_period`; so does an entry "auto" in a sequence for its input.
    columns : sequence of int or str, optional
        Input that feeds each dimension of the torus, by position or name; by default one each. An input may appear
        several times, with different periods.
    length_scale : float or array-like of shape (dimension,), default=1.0
        Dimensionless length scales, or where their learning starts. A number starts all dimensions alike; each
        learns its own. Cartesian families have a single one, in the units of X.
    signal_variance : float, default=1.0
        Variance of the function, if it is not learned.
    noise_variance : float, default=0.1
        Variance of the noise, if it is not learned.
    index_set : str or IndexSet, default="adaptive"
        "adaptive" for the largest coefficients, chosen anew as length scales move; the name of another function of
        :mod:`torusgp.kernels.index_sets`; or a set, which is used as it is.
    n_components : int or "auto", default="auto"
        Largest number of columns of a set given by name. "auto" grows the set until what it leaves out is small
        against the noise or the evidence stops changing, up to 2000 columns or four times the number of rows; a
        warning says if that was not enough.
    weights : "auto", float or array-like of shape (dimension,), default=1.0
        Weights of a set given by name, see :class:`IndexSetFourierFeatures`.
    max_interaction : int, optional
        Largest number of dimensions that interact.
    learn : collection of str, default=("length_scale", "signal_variance", "noise_variance")
        What is learned by maximising the evidence. It may also hold "period", to learn the period along each input
        with the rest, from where it was given or found; "lattice", the same for a whole cell, of which a product kernel
        takes the best basis; "spectrum", the variance of every frequency, after the others. An empty collection keeps
        everything as given. One row cannot show a variance: it keeps everything as given, with a warning.
    intercept : bool, default=True
        Whether the function has a level of its own: a constant with a broad prior, of 100 times the variance of the
        targets, around their mean. It is estimated with the rest, and its error is part of every interval. Without it
        the prior mean is zero.
    trend : {"auto", "smooth", None}, default="auto"
        Slow change that is found beside the period, taken off first and added to predictions: a line and waves with
        fewer than two turns over the data. Outside the data's range the line goes on and the waves return after twice
        that range: give None to predict far away. "auto" has it if a period is searched, else not.
    length_scale_bounds : pair of float, default=(1e-2, 1e2)
        Bounds of learned length scales.
    signal_variance_bounds, noise_variance_bounds : pair of float, optional
        Bounds of learned variances; by default wide multiples of the variance of the targets.
    backend : {"auto", "dense", "finufft", "torch"}, default="auto"
        How sums over rows are computed; "auto" takes the cheapest one.
    n_threads : int, optional
        Threads of the transforms, at most 1024; -1 for all cores. By default one for few rows and all for many. In a
        process that was forked it is always one.
    device : str, optional
        Device of PyTorch that takes over what is dense, such as "cuda": sums and predictions in more than three
        dimensions, and large matrices.
    precision : {"float64", "float32", "tf32"}, default="float64"
        Of the columns and their products with ``backend="torch"``; the sums are in float64. Less is faster, and a
        warning says if the data are too many or the noise too small for it.
    verbose : int or callable, default=0
        Print progress if positive; a callable takes each line of it.

    Attributes
    ----------
    kernel_ : TorusKernel
        Kernel with the learned length scales.
    signal_variance_, noise_variance_ : float, or ndarray of shape (n_outputs,)
        Variances; every output has its own.
    index_set_ : IndexSet
        Frequencies in use.
    coef_ : ndarray of shape (n_components,) or (n_components, n_outputs)
        Posterior mean of the weights of the unweighted columns.
    prior_variance_ : ndarray of shape (n_components,) or (n_components, n_outputs)
        Prior variances of these weights; that of the first, the constant, includes the intercept's.
    intercept_variance_ : float, or ndarray of shape (n_outputs,)
        Prior variance of the intercept, zero without one. It is no part of the kernel.
    log_marginal_likelihood_ : float
        Log evidence, summed over outputs.
    truncation_error_ : float
        Largest error of the kernel of variance one on the index set.
    period_std_ : float or ndarray of the shape of the period or cell
        Standard errors of a period that was found or learned, which is ``kernel_.period``.
    period_search_ : PeriodSearch
        Outcome of the search, if there was one.
    trend_ : Trend or None
        Slow change beside the period.
    statistics_ : SufficientStatistics
        Sums over the rows seen so far.
    backend_ : str
        Implementation that gathered them.
    n_samples_seen_ : float
        Number of rows; the sum of their sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 100, (400, 2))
    >>> y = np.sin(2 * np.pi * X[:, 0] / 24) * np.cos(2 * np.pi * X[:, 1] / 7) + 0.1 * rng.normal(size=400)
    >>> model = TorusGPRegressor(period=[24, 7]).fit(X, y)
    >>> mean, std = model.predict(X + [24, 14], return_std=True)
    >>> bool(model.score(X, y) > 0.9 and np.allclose(mean, model.predict(X)))
    True
    """

    def __init__(
        self,
        kernel="squared_exponential",
        *,
        period=1.0,
        columns=None,
        length_scale=1.0,
        signal_variance=1.0,
        noise_variance=0.1,
        index_set="adaptive",
        n_components="auto",
        weights=1.0,
        max_interaction=None,
        learn=("length_scale", "signal_variance", "noise_variance"),
        intercept=True,
        trend="auto",
        length_scale_bounds=(1e-2, 1e2),
        signal_variance_bounds=None,
        noise_variance_bounds=None,
        backend="auto",
        n_threads=None,
        device=None,
        precision="float64",
        verbose=0,
    ):
        self.kernel = kernel
        self.period = period
        self.columns = columns
        self.length_scale = length_scale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.index_set = index_set
        self.n_components = n_components
        self.weights = weights
        self.max_interaction = max_interaction
        self.learn = learn
        self.intercept = intercept
        self.trend = trend
        self.length_scale_bounds = length_scale_bounds
        self.signal_variance_bounds = signal_variance_bounds
        self.noise_variance_bounds = noise_variance_bounds
        self.backend = backend
        self.n_threads = n_threads
        self.device = device
        self.precision = precision
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on inputs that do not repeat with the default period, as in the checks
        return tags

    # Fitting -----------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None, noise_scale=None, checkpoint=None):
        """Gather the statistics of the data and learn what is to be learned.

        Data of any size are read in one pass, in memory that their number does not fix: chunks, files, memory maps
        and Dask collections. Where the period is learned and with how many columns is then decided on a sample, of
        up to 100,000 rows; the rest is learned from the statistics of all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a source of rows
            Inputs. Or an iterable of chunks ``(X, y)``; a Parquet or CSV file, its columns named by ``y`` and
            ``columns``; a Zarr array; a large memory map: see :func:`torusgp.data.sources.as_source`. Or a Dask array
            or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), str or sequence of str
            Targets, or the names of their columns in a table; None if X is an iterable of chunks.
        sample_weight : array-like of shape (n_samples,) or str, optional
            How often each row counts.
        noise_scale : array-like of shape (n_samples,) or str, optional
            Known standard deviation of the noise of each row, up to a common factor that ``noise_variance`` learns.
        checkpoint : path, optional
            File that holds how far a pass over a source has come: after a crash the same call goes on from there,
            and counts every row once. It stays when all is done; delete it to start anew.

        Returns
        -------
        self
        """
        if is_dask(X):
            return fit_blocks(self, X, y, sample_weight, noise_scale, checkpoint)
        if checkpoint is not None or is_streamed(X, y):
            return fit_stream(self, X, y, sample_weight, noise_scale, checkpoint)
        rows = self._start(X, y, sample_weight, noise_scale)
        learned, source = self._learn_from_rows(rows)
        self._first_guess = learned
        self.statistics_ = source.exact_enough(learned, self._template)
        self._finish(learned)
        return self

    def _learn_from_rows(self, rows, preliminary=False):
        """Learn everything from rows in memory: the outcome, and the source of their statistics.

        If it is preliminary, a given number of columns is not reached for yet: more rows are to come.
        """
        self._check_size(*rows.y.shape)
        setup = self._set_up_period(rows)
        if self.trend_ is not None:
            rows = replace(rows, y=self._without_trend(rows.X, rows.y))
        if len(rows.X) <= 2 * _SUBSAMPLE:
            rows = rows.merged()
        self._set_cap(len(rows.X))
        start, names = self._starting_point(rows, setup.periods[0]), self._names()
        search, first = True, None
        many = len(rows.X) > 2 * _SUBSAMPLE
        some = self._source(rows.take(_choose(len(rows.X), _SUBSAMPLE)), 1) if many else self._source(rows)
        if len(setup.periods) > 1:  # the bases of a lattice
            start = self._best_basis(some, start, names, setup.periods)
        if many and "length_scale" in names:  # the landscape is searched on some of the rows
            self._report(f"searching length scales on {_SUBSAMPLE} of {len(rows.X)} rows")
            scouted = self._learn(some, start, names, n_components=self._scout_size())
            start, search, first = scouted.hyperparameters, False, scouted.index_set.n_components + 2
        if setup.moves is not None:
            enough = rows.take(_choose(len(rows.X), PERIOD_ROWS)) if len(rows.X) > PERIOD_ROWS else rows
            learned = self._learn_period(self._source(enough), start, names, setup.moves, search, first)
            start, search, first = learned.hyperparameters, False, learned.index_set.n_components + 2
        elif len(rows.X) > 2 * PERIOD_ROWS and not preliminary and self._passes_are_dear(start, len(rows.X)):
            enough = self._source(rows.take(_choose(len(rows.X), PERIOD_ROWS)))
            learned = self._learn(enough, start, names, search=search, first=first)
            start, search, first = learned.hyperparameters, False, learned.index_set.n_components
        source = self._source(rows, tolerance=transform_tolerance(start, len(rows.X)))
        if setup.moves is None or len(rows.X) > PERIOD_ROWS:
            size = self._scout_size() if preliminary else None
            learned = self._learn(source, start, names, search=search, first=first, n_components=size)
        return learned, source

    def _passes_are_dear(self, start, n_samples):
        """Whether sums over all rows cost so much that few sets of columns should be tried on them."""
        index_set = self._select(self._template.kernel(start), self._scout_size() or self._few())
        return self._compute().choose(index_set.frequencies, n_samples) != "finufft"

    def _check_size(self, n_samples, n_outputs):
        """Raise if so many columns as were asked for do not fit into memory."""
        given = self.index_set.n_components if isinstance(self.index_set, IndexSet) else self.n_components
        if given != "auto":
            dimension = len(self._columns)
            name = self._compute().choose(np.zeros((given // 2 + 1, dimension), int), n_samples)
            n_evaluations = 100 if self._names() else 1
            check_resources(
                given,
                n_samples,
                name,
                self.device,
                n_outputs=n_outputs,
                dimension=dimension,
                n_evaluations=n_evaluations,
            )

    def _scout_size(self):
        """Number of columns while the length scales are still being looked for; None for the final one."""
        automatic = self.n_components == "auto" or isinstance(self.index_set, IndexSet)
        return None if automatic else min(self.n_components, _SCOUT_COLUMNS)

    def _without_trend(self, X, y):
        """Targets less the slow change beside the period, for inputs of the dimensions of the torus."""
        return y if self.trend_ is None else y - self.trend_.mean(X[:, self._trend_inputs()])

    def _compute(self):
        return Compute(self.backend, self.n_threads, self.device, self.precision)

    def _source(self, rows, n_threads=None, tolerance=None):
        compute = self._compute() if n_threads is None else replace(self._compute(), n_threads=n_threads)
        return RowSource(rows, compute, self.intercept, self.index_set, tolerance=tolerance)

    def _set_up_period(self, rows):
        """Find what is unknown of the period, and the slow change beside it."""
        has_trend = self._has_trend()
        setup = set_up_period(
            self.period,
            check_period_names(self.learn),
            rows.X,
            rows.y,
            rows.sample_weight,
            rows.noise_scale,
            self._columns,
            TorusKernel(self.kernel).metric == "cartesian",
            self._report,
        )
        self._nyquist = setup.nyquist
        self.trend_ = setup.trend if has_trend else None
        if setup.search is not None:
            self.period_search_, self.period_std_ = setup.search, setup.period_std
        warn_of_phases(rows.X, TorusKernel(period=setup.periods[0]))
        return setup

    def _has_trend(self):
        if self.trend not in ("auto", "smooth", None):
            raise ValueError(f"trend must be 'auto', 'smooth' or None, got {self.trend!r}.")
        if self.trend == "smooth" and not is_searched(self.period):
            raise ValueError("trend='smooth' is found beside a period: it needs period='auto'.")
        return self.trend is not None and is_searched(self.period)

    def _trend_inputs(self):
        """Dimensions of the torus whose inputs the trend depends on: each input once."""
        return np.sort(np.unique(self._columns, return_index=True)[1])

    def _best_basis(self, source, start, names, periods):
        """Starting point in the basis of the lattice that has the most evidence with few columns."""
        attempts = [
            self._learn(source, replace(start, period=period), names, n_components=self._few()) for period in periods
        ]
        attempts.sort(key=lambda attempt: -attempt.log_evidence)
        finalists = [  # more columns may prefer another
            self._learn(source, attempt.hyperparameters, names, search=False) for attempt in attempts[:_FINALISTS]
        ]
        best = max(finalists, key=lambda attempt: attempt.log_evidence)
        self._report(f"basis {np.array2string(best.hyperparameters.period, precision=4)} of {len(periods)}")
        return best.hyperparameters

    def _few(self):
        few = first_columns(self._template.dimension)
        return few if self.n_components == "auto" else min(few, self.n_components)

    def _learn_period(self, source, start, names, moves, search, first):
        """Learn the period together with everything else, and its standard errors."""
        learned = self._learn(source, start, names, search=search, first=first, moves=moves)
        learned = _in_canonical_form(learned, self._template)
        self.period_std_ = period_standard_errors(source, self._template, learned, moves)
        period = learned.hyperparameters.period
        self._report(f"period {np.array2string(np.asarray(period), precision=5)} +- {self.period_std_}")
        return learned

    def partial_fit(self, X, y, sample_weight=None, noise_scale=None):
        """Add rows to the statistics; what is learned is learned anew when it is next needed.

        The first call fixes the period and the frequencies from which later ones choose.

        Parameters
        ----------
        X, y, sample_weight, noise_scale
            See :meth:`fit`.

        Returns
        -------
        self
        """
        if is_searched(self.period) or check_period_names(self.learn):
            raise ValueError(
                "partial_fit cannot learn a period, which needs all rows at once: find it with find_period or fit on "
                f"some of them, and give it, instead of period={self.period!r} and learn={self.learn!r}."
            )
        if not hasattr(self, "statistics_"):
            rows = self._start(X, y, sample_weight, noise_scale)
            self._set_up_period(rows)
            self._set_cap(len(rows.X))
            source = RowSource(rows, self._compute(), self.intercept, self.index_set, margin=2.0)
            self._first_guess = self._learn(source, self._starting_point(rows, self.period), self._names())
            self.statistics_ = source.covering(self._first_guess, self._template)
        else:
            rows = self._validate_rows(X, y, sample_weight, noise_scale, reset=False)
            self.statistics_.update(rows.X, rows.y, rows.sample_weight, rows.noise_scale)
        self._model = None
        return self

    def _start(self, X, y, sample_weight, noise_scale):
        """Check parameters and the first rows, and warn of what cannot work."""
        self._forget()
        rows = self._validate_rows(X, y, sample_weight, noise_scale, reset=True)
        self._check_parameters()
        return rows

    def _forget(self):
        """Drop what an earlier fit has left."""
        for leftover in ("statistics_", "_first_guess", "_model", "period_search_", "period_std_"):
            if hasattr(self, leftover):
                delattr(self, leftover)
        self._has_one_row = False

    def _check_parameters(self):
        if isinstance(self.learn, str):
            raise ValueError(f"learn must be a collection of names, as in learn=({self.learn!r},), got a string.")
        known = [*LEARNABLE, "spectrum", *PERIOD_NAMES]
        unknown = set(self.learn) - set(known)
        if unknown:
            raise ValueError(f"learn holds {sorted(unknown)}; it may hold {known}.")
        if self.n_components != "auto":
            check_budget(self.n_components)
        check_n_threads(self.n_threads)
        self._compute().choose(np.zeros((1, len(self._columns)), int), 1)

    def _validate_rows(self, X, y, sample_weight, noise_scale, reset):
        check_no_times(X)
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, reset=reset)
        if reset:
            self._set_shapes(y.ndim)
        y = y.astype(float, copy=False).reshape(len(y), -1)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
            if not sample_weight.any():
                raise ValueError("sample_weight is zero for every row: nothing is left to learn from.")
        if noise_scale is not None:
            noise_scale = column_or_1d(check_array(noise_scale, ensure_2d=False, dtype=np.float64))
            check_consistent_length(X, noise_scale)
            if not (noise_scale > 0).all():
                raise ValueError(f"noise_scale must be positive, its smallest value is {noise_scale.min()!r}.")
        return Rows(X[:, self._columns], y, sample_weight, noise_scale)

    def _set_shapes(self, y_ndim):
        """Fix what follows from the parameters and the shapes of the data."""
        self._y_ndim = y_ndim
        self._columns = resolve_columns(self, self.columns)
        limit = interaction_limit(self.max_interaction, self.index_set)
        period = 1.0 if is_searched(self.period) else self.period
        kernel = TorusKernel(self.kernel, self.length_scale, period, max_interaction=limit)
        dimension = kernel.resolve_dimension(len(self._columns))
        self._template = KernelTemplate(kernel.family, dimension, limit)

    def _set_cap(self, n_samples):
        """Largest number of columns of "auto": few rows cannot tell many frequencies apart, and it would take long."""
        self._cap = min(learning.MAX_COMPONENTS, max(2 * first_columns(self._template.dimension), 4 * int(n_samples)))

    def _names(self):
        """What is learned besides periods and the spectrum; of one row nothing is."""
        return tuple(name for name in LEARNABLE if name in self.learn and not self._has_one_row)

    def _starting_point(self, rows, period):
        """Starting values: of the variances from the data, of the length scales as given."""
        n_outputs = rows.y.shape[1]
        kernel = TorusKernel(self.kernel, self.length_scale, period)
        size = 1 if kernel.metric == "cartesian" else self._template.dimension
        weight = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
        scale = np.ones(len(rows.y)) if rows.noise_scale is None else rows.noise_scale
        center = np.average(rows.y, axis=0, weights=weight / scale**2)
        variance = np.average((rows.y - center) ** 2, axis=0, weights=weight / scale**2)
        self._set_variance(variance, center, np.average(2 * np.log(scale), weights=weight), weight.sum())
        names, given = self._names(), self._given_variances(n_outputs)
        return Hyperparameters(
            np.broadcast_to(kernel.length_scale, (size,)).copy(),
            self._variance.copy() if "signal_variance" in names else given["signal_variance"],
            0.1 * self._typical_noise if "noise_variance" in names else given["noise_variance"],
            kernel.period,
            self._intercept_variance(),
        )

    def _given_variances(self, n_outputs):
        return {
            name: np.broadcast_to(check_positive_array(getattr(self, name), name, max_ndim=1), (n_outputs,)).copy()
            for name in ("signal_variance", "noise_variance")
        }

    def _set_variance(self, variance, center, log_scale, n_samples):
        """Variance of the targets, to which variances are compared; of constant ones what rounding leaves of it.

        That of the noise multiplies the squares of known scales, whose logarithms are ``log_scale`` on average. One row
        has no variance: that of its target is then what was given of signal and noise.
        """
        varies = variance > 1e-24 * np.abs(center) ** 2
        self._has_one_row = bool(n_samples <= 1 and not varies.any())
        if self._has_one_row:
            given = self._given_variances(len(center))
            self._variance = given["signal_variance"] + np.exp(log_scale) * given["noise_variance"]
        else:
            self._variance = np.where(varies, variance, np.maximum(1e-12 * np.abs(center) ** 2, 1e-12))
        self._typical_noise = self._variance / np.exp(log_scale)

    def _intercept_variance(self):
        """Prior variance of the intercept of each output; it depends on the targets alone, so evidences compare."""
        return BROAD * self._variance if self.intercept else np.zeros(len(self._variance))

    def _bounds(self):
        def variance_bounds(given, lower, upper, unit, name):
            return (lower * unit, upper * unit) if given is None else _check_bounds(given, name)

        signal, noise = self._variance, self._typical_noise
        return {
            "length_scale": _check_bounds(self.length_scale_bounds, "length_scale_bounds"),
            "signal_variance": variance_bounds(
                self.signal_variance_bounds, 1e-4, 1e4, signal, "signal_variance_bounds"
            ),
            "noise_variance": variance_bounds(self.noise_variance_bounds, 1e-8, 1e1, noise, "noise_variance_bounds"),
        }

    def _select(self, kernel, size):
        index_set = make_index_set(self.index_set, kernel, self._template.dimension, size, self.weights)
        if self._nyquist is None or isinstance(self.index_set, IndexSet):
            return index_set
        return below_nyquist(index_set, kernel, size, self._nyquist)

    def _learn(self, source, start, names, search=True, select=None, first=None, moves=None, n_components=None):
        automatic = self.n_components == "auto" and not isinstance(self.index_set, IndexSet)
        if n_components is None:
            n_components = "auto" if automatic else self._budget()
        return learn(
            source,
            self._select if select is None else select,
            self._template,
            start,
            names,
            self._bounds(),
            n_components,
            self._report,
            search=search,
            first=first,
            cap=self._cap,
            moves=moves,
        )

    def _budget(self):
        return self._cap if self.n_components == "auto" else self.n_components

    def _report(self, line):
        if callable(self.verbose):
            self.verbose(line)
        elif self.verbose:
            print(f"[torusgp] {line}")

    def _finish(self, learned):
        """Compute the posterior for what was learned, and say what may be wrong with it."""
        hyperparameters, index_set = learned.hyperparameters, learned.index_set
        linear, center = self.statistics_.linear(index_set, self.intercept)
        kernel = self._template.kernel(hyperparameters)
        prior = prior_variances(column_variances(kernel, index_set.frequencies), hyperparameters)
        noise = hyperparameters.noise_variance
        if "spectrum" in self.learn and not self._has_one_row:
            pairs = (np.arange(len(prior)) + 1) // 2
            prior, noise, _ = learn_spectrum(
                linear,
                prior,
                noise,
                pairs,
                "noise_variance" in self.learn,
                self._report,
                keep_constant=self.intercept,
            )
            hyperparameters = replace(hyperparameters, noise_variance=noise)
        self._set_model(hyperparameters, index_set, prior, linear, center)
        if self._has_one_row and self.learn:
            warnings.warn(
                "One row cannot show how much y varies: signal_variance, noise_variance and all else are kept as they "
                "were given, and nothing is learned.",
                stacklevel=3,
            )
        gain = self._gain_over_constant(linear, center, self._fitted().posterior.log_evidence)
        if gain < MIN_GAIN:
            warnings.warn(
                f"There is little evidence that y repeats with period {kernel.period!r}: its logarithm is {gain:.2g} "
                "above that of a constant and noise. Is the period in the units of X?",
                stacklevel=3,
            )
        elif learned.capped:
            warnings.warn(
                f"n_components='auto' stopped at its cap of {self._cap} columns, and more would still help: give "
                "n_components yourself, or expect longer length scales by raising length_scale_bounds.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif self._more_would_help(learned):
            warnings.warn(
                f"The {index_set.n_components} columns leave out {self.truncation_error_:.2g} of the signal variance, "
                "which is not small against the noise: standard deviations are too small where data are few. Raise "
                "n_components.",
                stacklevel=3,
            )
        if not learned.converged:
            warnings.warn(
                "Learning stopped at its largest number of iterations; the evidence may still rise. Start closer, with "
                "length_scale, or learn less.",
                ConvergenceWarning,
                stacklevel=3,
            )
        inexactness = self._fitted().posterior.inexactness
        if inexactness > INEXACT:
            warnings.warn(
                f"Rounding in the statistics amounts to {inexactness:.1e} of the prior precision: standard deviations "
                "may be wrong where data are few. Raise noise_variance or its lower bound"
                + (", or use backend='dense'." if self.backend_ == "finufft" else "."),
                stacklevel=3,
            )

    def _gain_over_constant(self, linear, center, log_evidence):
        """Log evidence over that of an intercept and noise; infinite where that is not to be compared with."""
        learns_both = {"signal_variance", "noise_variance"} <= set(self.learn)
        n, squares = linear.n_samples, linear.squares
        is_constant = squares <= 1e-12 * center**2 * max(n, 1.0)  # but for rounding
        if not (learns_both and self.intercept and n >= _ENOUGH_TO_TELL) or is_constant.any():
            return np.inf
        # the evidence of the intercept alone is greatest where n noise^2 + slope noise - squares information = 0
        information = self._intercept_variance() * linear.gram[0, 0]
        slope = (n - 1) * information - squares
        noise = 2 * squares * information / (slope + np.sqrt(slope**2 + 4 * n * squares * information))
        constant = (
            n * np.log(2 * np.pi * noise) - linear.log_precision + np.log1p(information / noise) + squares / noise
        )
        return float(log_evidence + 0.5 * constant.sum())

    def _more_would_help(self, learned):
        """Whether a given number of columns was too small; what a grid cannot show needs no more of them."""
        if self.n_components == "auto" or small_against_noise(self._template, learned, 0.1):
            return False
        return self._nyquist is None or learned.index_set.n_components >= self.n_components - 1

    def _set_model(self, hyperparameters, index_set, prior_variances, linear, center):
        kernel = self._template.kernel(hyperparameters)
        posterior = Posterior(linear, prior_variances, hyperparameters.noise_variance)
        error = kernel.truncation_error(index_set)
        self._model = _Model(kernel, hyperparameters, index_set, prior_variances, posterior, center, error)

    def _fitted(self):
        """The model of the rows seen so far."""
        check_is_fitted(self, "statistics_")
        if self._model is None:
            self._learn_from_statistics()
        return self._model

    def _learn_from_statistics(self, search=True):
        """Learn again what does not need the rows, from all rows seen so far."""
        constant = from_frequencies(np.zeros((1, self._template.dimension), dtype=np.int64))
        linear, center = self.statistics_.linear(constant)
        n = linear.n_samples
        # with known noise, squares are weighted by precision
        self._set_variance(linear.squares / linear.gram[0, 0], center, -linear.log_precision / n, n)
        self._set_cap(n)
        start = replace(self._first_guess.hyperparameters, intercept_variance=self._intercept_variance())
        if "signal_variance" in self._names() and search:
            start = replace(start, signal_variance=self._variance.copy())
        if "noise_variance" in self._names() and search:
            start = replace(start, noise_variance=0.1 * self._typical_noise)
        learned = self._learn(
            lambda index_set, kernel: self.statistics_.linear(index_set, self.intercept)[0],
            start,
            self._names(),
            search=search,
            select=self._select_from_statistics,
            first=None if search else self._first_guess.index_set.n_components,
        )
        self._finish(learned)

    def set_noise_variance(self, noise_variance):
        """Replace the noise variance that was learned, and compute the posterior again, from the statistics alone.

        For when something else tells it better, such as rows that were held out.

        Parameters
        ----------
        noise_variance : float or array-like of shape (n_outputs,)
            Variance of the noise.

        Returns
        -------
        self
        """
        model = self._fitted()
        noise = np.broadcast_to(check_positive_array(noise_variance, "noise_variance", max_ndim=1), len(model.center))
        linear, center = self.statistics_.linear(model.index_set, self.intercept)
        hyperparameters = replace(model.hyperparameters, noise_variance=noise.copy())
        self._set_model(hyperparameters, model.index_set, model.prior_variances, linear, center)
        return self

    def _select_from_statistics(self, kernel, size):
        """The best set among the frequencies that the statistics cover."""
        wanted = self._select(kernel, size)
        if self.statistics_.holds(wanted):
            return wanted
        pool = self.statistics_.covered()
        order = np.argsort(-kernel.log_coefficients(pool[1:]), kind="stable")[: (size - 1) // 2]
        return from_frequencies(pool[1:][order])

    # What was learned --------------------------------------------------------------------------------------------

    @property
    def kernel_(self):
        """Kernel with the learned length scales."""
        return self._fitted().kernel

    @property
    def index_set_(self):
        """Frequencies in use."""
        return self._fitted().index_set

    @property
    def truncation_error_(self):
        """Largest error of the kernel of variance one on the index set."""
        return self._fitted().truncation_error

    @property
    def log_marginal_likelihood_(self):
        """Log evidence, summed over outputs."""
        return self._fitted().posterior.log_evidence

    @property
    def signal_variance_(self):
        """Variance of the function, of each output."""
        return self._squeeze(self._fitted().hyperparameters.signal_variance)

    @property
    def noise_variance_(self):
        """Variance of the noise, of each output."""
        return self._squeeze(self._fitted().hyperparameters.noise_variance)

    @property
    def intercept_variance_(self):
        """Prior variance of the intercept, of each output."""
        return self._squeeze(self._fitted().hyperparameters.intercept_variance)

    @property
    def coef_(self):
        """Posterior mean of the weights of the unweighted columns."""
        return self._squeeze(self._fitted().posterior.weights)

    @property
    def prior_variance_(self):
        """Prior variances of the weights of the unweighted columns."""
        return self._squeeze(self._fitted().prior_variances)

    @property
    def backend_(self):
        """Implementation that gathered the statistics."""
        check_is_fitted(self, "statistics_")
        return self.statistics_.backend

    @property
    def n_samples_seen_(self):
        """Number of rows; the sum of their sample weights."""
        check_is_fitted(self, "statistics_")
        return self.statistics_.n_samples

    def _squeeze(self, values):
        """Drop the axis of outputs, the last one, if the targets had none."""
        if self._y_ndim == 2:
            return values
        return float(values[0]) if values.ndim == 1 else values[..., 0]

    # Prediction --------------------------------------------------------------------------------------------------

    def _points(self, X):
        check_is_fitted(self, "statistics_")
        check_no_times(X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        model = self._fitted()
        compute, frequencies = self._compute(), model.index_set.frequencies
        key = (compute.choose(frequencies, len(X)), count_threads(self.n_threads, len(X)))
        if key not in model.predictors:
            model.predictors[key] = compute.make_predictor(frequencies, model.posterior, len(X))
        X = X[:, self._columns]
        return model, model.predictors[key], model.kernel.phases(X), X[:, self._trend_inputs()]

    def predict(self, X, return_std=False, return_cov=False, include_noise=True):
        """Predict targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. A Dask array or data frame gives lazy Dask arrays.
        return_std : bool, default=False
            Also return standard deviations.
        return_cov : bool, default=False
            Also return the covariance between all points.
        include_noise : bool, default=True
            Whether these are of new observations, or of the function itself.

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        cov : ndarray of shape (n_samples, n_samples) or (n_samples, n_samples, n_outputs)
            With ``return_cov``.
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be true: ask for one of them.")
        if is_dask(X):
            return predict_blocks(self, X, return_std, return_cov, include_noise)
        model, predictor, phases, slow = self._points(X)
        noise = model.hyperparameters.noise_variance if include_noise else np.zeros(len(model.center))
        outputs = range(len(model.center))
        if return_std:
            pairs = [predictor.mean_and_variance(phases, output) for output in outputs]
            mean = np.stack([pair[0] for pair in pairs], axis=-1) + model.center
            variance = np.stack([pair[1] for pair in pairs], axis=-1) + noise
            if self.trend_ is not None:
                mean += self.trend_.mean(slow)
                variance += np.stack([self.trend_.variance(slow, output) for output in outputs], axis=-1)
            return self._squeeze_points(mean), self._squeeze_points(np.sqrt(np.maximum(variance, 0.0)))
        mean = predictor.mean(phases, model.posterior.weights) + model.center
        if self.trend_ is not None:
            mean += self.trend_.mean(slow)
        if not return_cov:
            return self._squeeze_points(mean)
        covariance = np.stack([predictor.covariance(phases, output) for output in outputs], axis=-1)
        covariance += np.eye(len(phases))[..., None] * noise
        if self.trend_ is not None:
            covariance += np.stack([self.trend_.covariance(slow, output) for output in outputs], axis=-1)
        return self._squeeze_points(mean), self._squeeze_points(covariance)

    def _squeeze_points(self, values):
        return values if self._y_ndim == 2 else values[..., 0]

    def sample_y(self, X, n_samples=1, random_state=None):
        """Draw functions from the posterior: the same state gives the same functions at any points.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Inputs.
        n_samples : int, default=1
            Number of functions.
        random_state : int, RandomState or None
            Determines the functions.

        Returns
        -------
        ndarray of shape (n_points, n_samples) or (n_points, n_outputs, n_samples)
        """
        model, predictor, phases, slow = self._points(X)
        random_state = check_random_state(random_state)
        draws = model.posterior.sample_weights(n_samples, random_state)
        values = predictor.mean(phases, draws.reshape(len(draws), -1)).reshape(len(phases), -1, n_samples)
        values += model.center[:, None]
        if self.trend_ is not None:
            values += self.trend_.sample(slow, n_samples, random_state)
        return values if self._y_ndim == 2 else values[:, 0]

    def predict_gradient(self, X, return_std=False):
        """Derivatives of the predicted function with respect to the inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Also return the standard deviations of the derivatives.

        Returns
        -------
        gradient : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        std : ndarray of the same shape
            With ``return_std``.
        """
        model, predictor, phases, slow = self._points(X)
        along_torus = 2 * np.pi * np.linalg.inv(model.kernel.cell(phases.shape[1])) @ model.index_set.frequencies.T
        waves = np.zeros((self.n_features_in_, len(model.index_set.frequencies)))
        np.add.at(waves, self._columns, along_torus)  # an input may feed several dimensions
        gradient = predictor.gradient(phases, model.posterior.weights, waves)
        inputs, outputs = self._columns[self._trend_inputs()], range(len(model.center))
        if self.trend_ is not None:
            gradient[:, inputs] += self.trend_.gradient(slow)
        if not return_std:
            return self._squeeze_points(gradient)
        variance = np.stack([predictor.gradient_variance(phases, waves, output) for output in outputs], axis=-1)
        if self.trend_ is not None:
            variance[:, inputs] += np.stack([self.trend_.gradient_variance(slow, q) for q in outputs], axis=-1)
        return self._squeeze_points(gradient), self._squeeze_points(np.sqrt(np.maximum(variance, 0.0)))

    # Storage -----------------------------------------------------------------------------------------------------

    def save(self, path, notes=None):
        """Write the fitted model to a file of arrays and JSON, without pickle; see :mod:`torusgp.storage.archives`.

        Parameters
        ----------
        path : str or path
            File to write. It appears as a whole or not at all.
        notes : optional
            Anything that JSON can hold, such as where the data came from. A loaded model has it as ``notes_``.
        """
        save_model(self, path, notes)

    @classmethod
    def load(cls, path):
        """Read a model written by :meth:`save`.

        Parameters
        ----------
        path : str or path
            File to read.

        Returns
        -------
        TorusGPRegressor
        """
        return load_model(cls, path)


def _choose(n_rows, size):
    """Some of the rows, always the same."""
    return np.random.default_rng(0).choice(n_rows, size, replace=False)


def _in_canonical_form(learned, template):
    """The same model with its lattice vectors right-handed and shortest first."""
    here = learned.hyperparameters
    if np.ndim(here.period) < 2 or not isinstance(template.family, Spectrum):
        return learned
    change = np.rint(by_length(here.period) @ np.linalg.inv(here.period)).astype(np.int64)  # signs and order
    order = np.abs(change).argmax(axis=1)
    scales = here.length_scale[order] if len(here.length_scale) > 1 else here.length_scale
    return replace(
        learned,
        hyperparameters=replace(here, period=change @ here.period, length_scale=scales),
        index_set=from_frequencies(learned.index_set.frequencies @ change.T),
    )


def _check_bounds(bounds, name):
    """Return a lower and an upper bound, or raise unless they are two positive numbers in order."""
    pair = check_positive_array(bounds, name, max_ndim=1)
    if np.shape(pair) != (2,) or pair[0] > pair[1]:
        raise ValueError(f"{name} must be two positive numbers, the lower one first, got {bounds!r}.")
    return float(pair[0]), float(pair[1])
