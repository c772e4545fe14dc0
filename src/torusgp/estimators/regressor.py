"""Gaussian-process regression on a torus as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from torusgp.data.blocks import is_dask
from torusgp.data.sources import is_streamed
from torusgp.estimators.anova import check_no_anova, fit_anova
from torusgp.estimators.attributes import lock_of
from torusgp.estimators.correlated import check_alone, fit_correlated
from torusgp.estimators.families import FAMILIES, best_fit, check_comparable, is_automatic
from torusgp.estimators.forecasts import Forecasts
from torusgp.estimators.noise import fit_blocks_with_noise, fit_changing_noise, fit_source_with_noise
from torusgp.estimators.passes import fit_blocks, fit_stream
from torusgp.estimators.regressor_files import check_unchanged, load_regressor, save_regressor
from torusgp.estimators.settings import make_fitter, make_settings
from torusgp.estimators.short_form import MOST_LINES, is_searched, resolve_kernel
from torusgp.estimators.validation import (
    ObservedGradient,
    check_fit_rows,
    check_gradient_rows,
    check_used,
    lay_gradient_rows,
    row_scale,
)
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.likelihoods import check_likelihood
from torusgp.fitting.noise_models import Noise, WhiteNoise, check_noise
from torusgp.fitting.rows import Rows
from torusgp.kernels.axes import Expression
from torusgp.kernels.index_sets import IndexSet
from torusgp.kernels.interactions import Anova
from torusgp.kernels.resolve import Model


class TorusGPRegressor(Forecasts, MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Gaussian-process regression on circles, lines and categories, by Fourier features.

    The kernel is represented by the columns of an index set; one pass over the data gathers statistics from which
    posterior, evidence and learning of the hyperparameters follow without looking at the data again.

    Parameters
    ----------
    kernel : Expression, str, Spectrum or sequence of these, optional
        What the function depends on, and how: a sum of products such as ``Circle("hour", 24) * Line("temperature") +
        Category("holiday")``. A family name, or one for each input, is the short form of one product over all inputs:
        of circles with ``period``, of lines without; by default "squared_exponential"; "auto" takes the one of the
        most evidence of that, "matern52" and "matern32". So without kernel and period every input is a
        :class:`~torusgp.Line`; of more than three of them only pairs interact, since columns multiply.
    period : "auto", float, array-like of shape (n_features,) or (n_features, n_features), optional
        Of the short form: period of each input, or a cell whose rows are lattice vectors. "auto" finds the periods, or
        with "lattice" in ``learn`` a cell, see :func:`find_period`, beside slow change, which joins the model; so does
        an entry "auto" in a sequence for its input.
    length_scale : float or array-like of shape (n_features,), default=1.0
        Of the short form: where length scales start, or what they are if they are not learned. Dimensionless on
        circles. On lines in the units of the input, and by default a quarter of its range.
    noise_variance : float, default=0.1
        Variance of the noise, of targets and of observed derivatives, if it is not learned.
    index_set : str or IndexSet, default="auto"
        "adaptive" for the largest coefficients, chosen anew as length scales move; "learned" for frequencies that the
        data choose, at most ``n_components``; "auto" for "learned" where more than three axes interact and no gradient
        is given, else "adaptive"; the name of another function of
        :mod:`torusgp.kernels.index_sets`; or a set, which is used as it is.
    n_components : int or "auto", default="auto"
        Largest number of components of a set given by name. "auto" grows the set until what it leaves out is small
        against the noise or the evidence stops changing, up to 2000 columns or four times the number of rows; a
        warning says if that was not enough.
    learn : collection of str, default=("length_scale", "signal_variance", "noise_variance")
        What is learned by maximising the evidence; an axis or term of an expression can be exempt, with bounds
        "fixed". It may also hold "spectrum", the variance of every frequency, after the others; and of the short form
        "period", to learn the period along each input from where it was given or found, or "lattice", the same for a
        whole cell, of which a product kernel takes the best basis. An empty collection keeps everything as given.
    integrate : bool or "auto", default="auto"
        Integrate predictions over what is uncertain of the learned hyperparameters, instead of taking the most likely
        ones as certain. Attributes such as ``noise_variance_`` stay the most likely ones. "auto" does so up to 300
        rows, above which it changes little; with correlated noise rows count by how long it lasts, and it does so up to
        401 components. Periods and the autocovariance of the noise are taken as found in any case.
    intercept : bool, default=True
        Have a constant with a broad prior, whose error is part of every interval; without, the prior mean is zero.
    likelihood : str or Likelihood, default="normal"
        Distribution of the targets around the function: "normal", "log_normal" for positive targets with relative
        errors, "student_t" for outliers, "poisson" and "negative_binomial" for counts, "gamma" for positive targets,
        "bernoulli" for 0 and 1; or an object of :mod:`torusgp.fitting.likelihoods`, whose parameters are then given,
        such as ``StudentT(dof=4)``. But for "normal" and "student_t" the function is on the scale of a logarithm (of
        odds for "bernoulli"), and so are parts and gradients. All but the first two read the rows several times.
    noise : {"white", "correlated", "ar"}, WhiteNoise, CorrelatedNoise or ARNoise, default="white"
        Whether rows are independent, or their noise is correlated in time: its covariance then follows from blocks of
        rows left out, and every frequency counts as much as the noise at it allows; "ar" is generalised least squares
        for circles of the time alone. The input named "time" tells the time, or the only one, or the one that
        :class:`~torusgp.CorrelatedNoise` names. See :meth:`forecast`.
    noise_kernel : Expression, optional
        What the variance of the noise depends on, such as ``Circle("hour", 24) + Line("temperature")``: its logarithm
        is a second, small model, and the rows are read several times. For "normal", "log_normal" and "student_t"; with
        correlated noise, its size changes.
    backend : {"auto", "dense", "finufft", "type3", "blocks", "torch"} or Torch, default="auto"
        How sums over rows are computed; "auto" takes the cheapest one. :class:`~torusgp.Torch` says on which device,
        and how precisely.
    n_threads : int, optional
        Threads of the transforms, -1 for all cores; by default one for few rows and all for many.
    verbose : int or callable, default=0
        Print progress if positive; a callable takes each line of it.

    Attributes
    ----------
    fitted_ : FittedTorusGP
        The fitted model, with its posterior.
    noise_process_ : NoiseProcess or None
        With correlated noise, its covariance and how it goes on from the last rows; None if rows are independent.
    noise_ : ChangingNoise
        With ``noise_kernel``, the fitted model of the variance of the noise, relative to ``noise_variance_``.
    kernel_ : TorusKernel
        Kernel of variance one with the learned length scales.
    signal_variance_, noise_variance_ : float, or ndarray of shape (n_outputs,)
        Variance of all terms together, and of the noise; every output has its own.
    gradient_noise_variance_ : dict of str to float or ndarray of shape (n_outputs,)
        Variance of the noise of observed derivatives, by the name of the input.
    index_set_ : IndexSet
        Frequencies in use.
    coef_ : ndarray of shape (n_components,) or (n_components, n_outputs)
        Posterior mean of the weights of the unweighted columns, plain columns last.
    prior_variance_ : ndarray of shape (n_components,) or (n_components, n_outputs)
        Prior variances of these weights; that of the first, the constant, includes the intercept's.
    intercept_variance_ : float, or ndarray of shape (n_outputs,)
        Prior variance of the intercept, zero without one. It is no part of the kernel.
    likelihood_ : Likelihood
        With the learned values of its parameters.
    log_marginal_likelihood_ : float
        Log evidence, summed over outputs; Laplace's approximation of it where the likelihood is not normal.
    truncation_error_ : float
        Largest error of the kernel of variance one, by the frequencies left out and by lines lying on circles.
    period_ : float or ndarray of shape (n_circles,) or of the cell
        Periods of the circles, or cell of the lattice, given, found or learned.
    period_std_ : the same
        Standard errors of periods that were found or learned.
    period_search_ : PeriodSearch
        Outcome of the search, if there was one.
    term_names_ : tuple of str
        Names of the terms, in the order of :meth:`predict_parts`.
    statistics_ : SufficientStatistics
        Sums over the rows seen so far.
    backend_ : str
        Implementation that gathered them.
    n_samples_seen_ : float
        Number of rows; the sum of their sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from torusgp import Circle, Line
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 100, (400, 2))
    >>> y = np.sin(2 * np.pi * X[:, 0] / 24) * np.cos(2 * np.pi * X[:, 1] / 7) + 0.1 * rng.normal(size=400)
    >>> model = TorusGPRegressor(period=[24, 7]).fit(X, y)
    >>> mean, std = model.predict(X + [24, 14], return_std=True)
    >>> bool(model.score(X, y) > 0.9 and np.allclose(mean, model.predict(X)))
    True
    >>> model = TorusGPRegressor(Circle(0, 24) * Circle(1, 7) + Line(1)).fit(X, y)
    >>> model.term_names_
    ('x0 * x1', 'x1 (2)')
    """

    def __init__(
        self,
        kernel: Expression | Any = None,
        *,
        period: Any = None,
        length_scale: ArrayLike = 1.0,
        noise_variance: ArrayLike = 0.1,
        index_set: str | IndexSet = "auto",
        n_components: int | str = "auto",
        learn: Any = ("length_scale", "signal_variance", "noise_variance"),
        integrate: bool | str = "auto",
        intercept: bool = True,
        likelihood: Any = "normal",
        noise: str | Noise = "white",
        noise_kernel: Expression | None = None,
        backend: Any = "auto",
        n_threads: int | None = None,
        verbose: Any = 0,
    ):
        self.kernel = kernel
        self.period = period
        self.length_scale = length_scale
        self.noise_variance = noise_variance
        self.index_set = index_set
        self.n_components = n_components
        self.learn = learn
        self.integrate = integrate
        self.intercept = intercept
        self.likelihood = likelihood
        self.noise = noise
        self.noise_kernel = noise_kernel
        self.backend = backend
        self.n_threads = n_threads
        self.verbose = verbose

    # Fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        noise_scale: Any = None,
        exposure: Any = None,
        checkpoint: Any = None,
        X_gradient: Any = None,
        gradient: Any = None,
        gradient_noise_scale: Any = None,
        time: Any = None,
    ) -> Self:
        """Gather the statistics of the data and learn the hyperparameters.

        Data of any size are read in one pass, in memory that their number does not fix: chunks, files, memory maps
        and Dask collections. Where the period is learned and with how many components is then decided on a sample, of
        up to 100,000 rows; the rest is learned from the statistics of all rows. Lines then need a ``range`` that holds
        all rows, and categories all ``levels``, unless the sample shows them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a source of rows
            Inputs; strings are for categories. Or an iterable of chunks ``(X, y)``; a Parquet or CSV file, its columns
            named by ``y`` and the kernel; a Zarr array; a large memory map: see :func:`torusgp.data.sources.as_source`.
            Or a Dask array or data frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), str or sequence of str
            Targets, or the names of their columns in a table; None if X is an iterable of chunks.
        sample_weight : array-like of shape (n_samples,) or str, optional
            How often each row counts.
        noise_scale : array-like of shape (n_samples,) or str, optional
            Known standard deviation of the noise of each row, up to a common factor that ``noise_variance`` learns.
        exposure : array-like of shape (n_samples,) or str, optional
            Of counts: for how long, or of how many, each row counts; rates are for each unit of it.
        checkpoint : path, optional
            File that holds how far a pass over a source has come: after a crash the same call goes on from there,
            and counts every row once. It stays when all is done; delete it to start anew.
        X_gradient : array-like of shape (n_points, n_features), optional
            Points where derivatives of the function were observed; X and y may then be None, which leaves the function
            unknown up to a constant. Or a source of rows or a Dask collection, whose targets are derivatives along all
            inputs.
        gradient : array-like of shape (n_points, n_features) or (n_points, n_features, n_outputs), optional
            Observed derivatives along the inputs, in units of y per unit of the input: minus a force. Not a number
            where one was not observed. Those along each input have a noise variance of their own.
        gradient_noise_scale : array-like of shape (n_points,), optional
            Known standard deviation of their noise, up to a factor for each input that is learned, or else the root of
            ``noise_variance``.
        time : array-like of shape (n_samples,), optional
            With correlated noise: times of the rows, if no input tells them.

        Returns
        -------
        self
        """
        likelihood, noise = check_likelihood(self.likelihood), check_noise(self.noise)
        in_time = None if isinstance(noise, WhiteNoise) else noise
        scale = row_scale(likelihood, noise_scale, exposure)
        observed = ObservedGradient(X_gradient, gradient, gradient_noise_scale)
        if isinstance(self.kernel, Anova):
            return fit_anova(self, X, y, sample_weight, scale, checkpoint, observed, time)
        streamed = checkpoint is not None or is_streamed(X, y) or is_streamed(X_gradient, gradient)
        simple = in_time is None and self.noise_kernel is None and not likelihood.needs_passes
        check_comparable(self.kernel, simple and not (is_dask(X) or streamed))
        if self.noise_kernel is not None and likelihood.name == "log_normal" and (is_dask(X) or streamed):
            raise ValueError("likelihood='log_normal' needs rows in memory: give a source of logarithms, or arrays.")
        if in_time is not None:
            check_alone(
                self.noise,
                {
                    "sample_weight: give noise_scale where rows differ": sample_weight is not None,
                    "sources, Dask collections and checkpoints: give arrays": is_dask(X) or streamed,
                    "gradient": observed.is_given,
                    f"likelihood={likelihood.name!r}": likelihood.needs_passes,
                },
            )
            self.forget()
            if self.noise_kernel is not None:
                return fit_changing_noise(self, X, y, None, scale, in_time, time)
            return fit_correlated(self, in_time, X, y, scale, time)
        if time is not None:
            raise ValueError(f"time is for rows whose noise is correlated, but noise is {self.noise!r}.")
        if observed.is_given and (self.noise_kernel is not None or likelihood.needs_passes):
            raise ValueError("gradient needs likelihood='normal' and no noise_kernel: leave one of them out.")
        if is_dask(X_gradient) and not is_dask(X):
            raise ValueError(
                "X_gradient is a Dask collection, but X is not: make both of them collections, or X_gradient an array, "
                "as its compute() gives it."
            )
        if is_dask(X):
            if self.noise_kernel is not None:
                return fit_blocks_with_noise(self, X, y, sample_weight, scale)
            return fit_blocks(self, X, y, sample_weight, scale, checkpoint, observed)
        if streamed and self.noise_kernel is not None:
            return fit_source_with_noise(self, X, y, sample_weight, scale, checkpoint)
        if streamed:
            return fit_stream(self, X, y, sample_weight, scale, checkpoint, observed)
        self.forget()
        if self.noise_kernel is not None:
            return fit_changing_noise(self, X, y, sample_weight, scale, None)
        if is_automatic(self.kernel):
            given = X, y, sample_weight, scale, observed
            self.set_fit(best_fit(self._first_rows(*given, family) for family in FAMILIES))
            return self
        rows, fitter = self._first_rows(X, y, sample_weight, scale, observed)
        self.set_fit(fitter.fit_rows(rows))
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        noise_scale: Any = None,
        X_gradient: Any = None,
        gradient: Any = None,
        gradient_noise_scale: Any = None,
    ) -> Self:
        """Add rows to the statistics; what is learned is learned anew when it is next needed.

        The first call fixes the period, the ranges of lines, the levels of categories and the frequencies from which
        later ones choose. Calls from several threads follow one another.

        Parameters
        ----------
        X, y, sample_weight, noise_scale, X_gradient, gradient, gradient_noise_scale
            See :meth:`fit`.

        Returns
        -------
        self
        """
        check_no_anova(self, "partial_fit")
        observed = ObservedGradient(X_gradient, gradient, gradient_noise_scale)
        likelihood = check_likelihood(self.likelihood)
        if likelihood.needs_passes:
            raise ValueError(
                f"partial_fit sees rows once, but likelihood={likelihood.name!r} has to read them again: use fit, with "
                "a source that can be read again."
            )
        noise_scale = row_scale(likelihood, noise_scale, None)
        if self.noise_kernel is not None:
            raise ValueError("partial_fit sees rows once, but noise_kernel has to read them again: use fit.")
        if not isinstance(check_noise(self.noise), WhiteNoise):
            raise ValueError(f"partial_fit sees rows once, but noise={self.noise!r} has to read them again: use fit.")
        check_comparable(self.kernel, False)
        if is_searched(self.period) or {"period", "lattice"} & make_settings(self).learn:
            raise ValueError(
                "partial_fit cannot learn a period, which needs all rows at once: find it with find_period or fit on "
                f"some of them, and give it, instead of period={self.period!r} and learn={self.learn!r}."
            )
        with lock_of(self):
            self._add_rows(X, y, sample_weight, noise_scale, observed)
        return self

    def _add_rows(self, X: Any, y: Any, sample_weight: Any, noise_scale: Any, observed: ObservedGradient) -> None:
        """Add rows to the statistics, as the only thread."""
        if not hasattr(self, "statistics_"):
            self.forget()
            rows, fitter = self._first_rows(X, y, sample_weight, noise_scale, observed)
            if fitter.model.moving.any() or np.isnan(fitter.model.period).any():
                raise ValueError("partial_fit cannot learn the period of a Circle or Lattice: fit on some rows first.")
            self._outcome, self.statistics_ = fitter.first_statistics(rows)
        else:
            check_unchanged(self, "the first rows were seen with others")
            model = self._outcome.model
            seen = None
            if observed.is_given:
                seen = lay_gradient_rows(check_gradient_rows(self, observed, reset=False), model)
            if seen is None or X is not None or y is not None:
                rows = check_fit_rows(self, X, y, sample_weight, noise_scale, model, reset=False)
                self.statistics_.update(rows.X, rows.y, rows.sample_weight, rows.noise_scale, rows.plain)
            if seen is not None:
                self.statistics_.update_gradient(seen.X, seen.gradient, seen.noise_scale)
        self._fit = None

    def _first_rows(
        self, X: Any, y: Any, sample_weight: Any, scale: Any, observed: ObservedGradient, family: str | None = None
    ) -> tuple[Rows, Fitter]:
        """Check parameters and rows, and lay the inputs on the axes of the model."""
        alone = observed.is_given and X is None and y is None
        seen = check_gradient_rows(self, observed, reset=True) if alone else None
        if seen is None:
            checked = check_fit_rows(self, X, y, sample_weight, scale, None, reset=True)
            seen = check_gradient_rows(self, observed, reset=False) if observed.is_given else None
        else:
            checked = Rows(seen.X[:0], np.empty((0, seen.gradient.shape[2])))
        everywhere = checked.X if seen is None else np.concatenate([checked.X, seen.X])
        resolved = self.resolve(everywhere, family=family)
        resolved = resolved.without_grids() if observed.is_given else resolved
        fitter = make_fitter(self, resolved, not observed.is_given)
        check_used(checked.X, fitter.model)
        coordinates, plain = fitter.layout(checked.X)
        laid = None if seen is None else lay_gradient_rows(seen, fitter.model)
        return Rows(coordinates, checked.y, checked.sample_weight, checked.noise_scale, plain, laid), fitter

    def resolve(self, X: NDArray[Any], margin: float = 0.0, family: str | None = None) -> Model:
        """Axes and terms of the kernel for checked inputs, with a margin around ranges that more rows may widen.

        A family replaces the kernel of the short form.
        """
        names = list(getattr(self, "feature_names_in_", [])) or None
        settings = make_settings(self)
        limit = None
        if isinstance(self.index_set, IndexSet):
            limit = self.index_set.max_interaction
        elif self.period is None and X.shape[1] > MOST_LINES:
            limit = 2
        limit = None if isinstance(self.kernel, Expression) else limit
        kernel = self.kernel if family is None else family
        return resolve_kernel(kernel, self.period, self.length_scale, X, names, settings.learn, limit, margin)

    # Storage -----------------------------------------------------------------------------------------------------

    def save(self, path: Any, notes: Any = None) -> None:
        """Write the fitted model to a file of arrays and JSON, without pickle; see :mod:`torusgp.storage.archives`.

        Parameters
        ----------
        path : str or path
            File to write. It appears as a whole or not at all.
        notes : optional
            Anything that JSON can hold, such as where the data came from. A loaded model has it as ``notes_``.
        """
        save_regressor(self, path, notes)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model written by :meth:`save`.

        Parameters
        ----------
        path : str or path
            File to read.

        Returns
        -------
        TorusGPRegressor
        """
        return load_regressor(cls, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = isinstance(self.kernel, Expression)
        return tags
