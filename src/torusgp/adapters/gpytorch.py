"""A kernel of GPyTorch of low rank, from the features of an index set."""

from typing import Any

import numpy as np

from torusgp.adapters._expansion import LENGTH_SCALE_BOUNDS, check_kernel
from torusgp.libraries import require

gpytorch = require("gpytorch", "gpytorch", "torusgp.adapters.gpytorch needs")
from torusgp.adapters.torch import ROOM, TorusFeatures, torch  # noqa: E402  # GPyTorch needs PyTorch: name what is asked for

operators = require("linear_operator.operators", "gpytorch", "torusgp.adapters.gpytorch needs")
_Kernel: Any = gpytorch.kernels.Kernel

_STALE_VARIANCE = 4.0  # factor by which the variance of a term has to change before frequencies are chosen again


class TorusFeatureKernel(_Kernel):
    r"""Kernel on circles and lines as a product of features with themselves.

    Its matrices are roots of low rank, so GPyTorch's exact models cost :math:`n M^2` for n rows and M columns, not
    :math:`n^3`. ``lengthscale`` is learned under GPyTorch's constraints and priors, the period too on request. One
    product of circles has variance one, and a ``ScaleKernel`` around it learns another; the terms of an expression have
    variances of their own, ``variance``. An exact model with nothing else in it is that of
    :class:`torusgp.TorusGPRegressor`, which looks at the data only once.

    Parameters
    ----------
    kernel : TorusKernel or Expression
        Families, and the values at which length scales and period start or stay. A single length scale is shared by all
        dimensions, unless ``ard_num_dims`` says their number. Note that GPyTorch's own ``PeriodicKernel`` calls
        lengthscale what is the square of this one. Or a sum of products of circles, lines and lattices, such as
        ``Circle(0, 24) * Line(1, range=(0, 10)) + Line(1, range=(0, 10))``: then ``lengthscale`` holds the length
        scales of all terms one after the other, those of lines in the units of their input; it and ``variance`` start
        where the expression says, and what that declares "fixed" stays. ``model.kernel_`` of a fitted
        :class:`torusgp.TorusGPRegressor` starts where that has ended, with variances that sum to one.
    index_set : str or IndexSet, default="adaptive"
        Frequencies. "adaptive" takes those with the largest coefficients, and in training mode takes them anew whenever
        a length scale has changed by a quarter, so that length scales may start far off; lines are then laid on
        circles that suit. The name of another function of :mod:`torusgp.kernels.index_sets`, or a set, stays until
        :meth:`choose_index_set` is called, and so do the circles, which are for the length scales at the start.
    n_components : int or "auto", default="auto"
        Largest number of components of a set given by name. "auto" goes with "adaptive": as many as it takes to leave
        out 1e-6 of the variance, from 101 to 1001.
    learn_period : bool, default=False
        Make the period a parameter: ``raw_period_length`` under a constraint, or for a cell ``cell``. Evidence has many
        local maxima in a period: start near a good one, see :func:`torusgp.find_period`, and in double precision.
    ard_num_dims : int, optional
        Number of length scales; by default as many as the kernel has.
    lengthscale_constraint : gpytorch.constraints.Interval, optional
        By default greater than the lower one of ``length_scale_bounds``.
    period_length_constraint : gpytorch.constraints.Interval, optional
        By default positive.
    period_length_prior : gpytorch.priors.Prior, optional
        Prior of a learned period.
    variance_constraint : gpytorch.constraints.Interval, optional
        Of the terms of an expression; by default positive.
    variance_prior : gpytorch.priors.Prior, optional
        Prior of the variances of the terms.
    length_scale_bounds : pair of float, default=(1e-2, 1e2)
        Between these, coefficients are accurate to about 1e-12; see :class:`~torusgp.adapters.torch.TorusFeatures`.
    **kwargs
        Further arguments of ``gpytorch.kernels.Kernel``: ``batch_shape``, ``lengthscale_prior``, and ``active_dims``,
        the inputs of this kernel, in which one with several periods may be named several times.

    Attributes
    ----------
    features : TorusFeatures
        The feature map, with the index set.

    Examples
    --------
    >>> import torch, gpytorch
    >>> from torusgp import TorusKernel
    >>> base = TorusFeatureKernel(TorusKernel(length_scale=[0.8, 1.2], period=[24.0, 7.0]), n_components=101)
    >>> kernel = gpytorch.kernels.ScaleKernel(base)
    >>> X = 24 * torch.rand(300, 2)
    >>> type(kernel(X).evaluate_kernel()).__name__
    'LowRankRootLinearOperator'
    """

    has_lengthscale = True

    def __init__(
        self,
        kernel,
        *,
        index_set="adaptive",
        n_components="auto",
        learn_period=False,
        ard_num_dims=None,
        lengthscale_constraint=None,
        period_length_constraint=None,
        period_length_prior=None,
        variance_constraint=None,
        variance_prior=None,
        length_scale_bounds=LENGTH_SCALE_BOUNDS,
        **kwargs,
    ):
        kernel = check_kernel(kernel)
        features = TorusFeatures(
            kernel, index_set=index_set, n_components=n_components, learn=(), length_scale_bounds=length_scale_bounds
        )
        start = features.start_length_scale
        if not features.is_product and ard_num_dims not in (None, len(start)):
            raise ValueError(f"ard_num_dims must be left out: the terms have {len(start)} length scales.")
        if ard_num_dims is None and np.ndim(start):
            ard_num_dims = len(start)
        if lengthscale_constraint is None:
            lowest = features.length_scale_limits[0] if features.is_product else features.length_scale_limits[:, 0]
            lengthscale_constraint = gpytorch.constraints.GreaterThan(torch.as_tensor(lowest))
        super().__init__(ard_num_dims=ard_num_dims, lengthscale_constraint=lengthscale_constraint, **kwargs)
        if not features.is_product:
            self.ard_num_dims = None  # GPyTorch would take it for the number of inputs
        self.features = features
        self.lengthscale = self._start(start, 1, ard_num_dims or 1)
        self._follows, self._n_components = isinstance(index_set, str) and index_set == "adaptive", n_components
        # Length scales that the frequencies were chosen for; of the same shape, since GPyTorch cuts batches out of both
        self.register_buffer("chosen_at", self.lengthscale.detach().clone())
        if not features.is_product:
            self._add_variance(variance_constraint, variance_prior)
        if learn_period:
            features.check_period_is_free()
            self._add_period(period_length_constraint, period_length_prior)

    def _start(self, value, *shape):
        return torch.tensor(value, dtype=self.raw_lengthscale.dtype).expand(*self.batch_shape, *shape)

    def _add_variance(self, constraint, prior):
        start = self.features.kernel.sum.variances
        self.register_parameter("raw_variance", torch.nn.Parameter(self._start(0.0, 1, len(start)).clone()))
        self.register_constraint("raw_variance", constraint or gpytorch.constraints.Positive())
        if prior is not None:
            self.register_prior(
                "variance_prior",
                prior,
                lambda module: module.variance,
                lambda module, value: module._set_variance(value),
            )
        self._set_variance(self._start(start, 1, len(start)))
        self.register_buffer("variance_chosen_at", self.variance.detach().clone())

    @property
    def term_names(self):
        """Names of the terms of an expression."""
        return self.features.kernel.terms

    @property
    def variance(self):
        """Variances of the terms of an expression, of shape (..., 1, n_terms)."""
        self._check_terms()
        return self.raw_variance_constraint.transform(self.raw_variance)

    @variance.setter
    def variance(self, value):
        self._set_variance(value)

    def _set_variance(self, value):
        self._check_terms()
        value = torch.as_tensor(value).to(self.raw_variance).expand_as(self.raw_variance)
        self.initialize(raw_variance=self.raw_variance_constraint.inverse_transform(value))

    def _check_terms(self):
        if self.features.is_product:
            raise ValueError("One product has variance one: put a ScaleKernel around it.")

    @property
    def term_lengthscales(self):
        """Length scales of the terms of an expression by their names, each of shape (..., 1, n_length_scales)."""
        self._check_terms()
        return dict(zip(self.term_names, self.features.split(self.lengthscale), strict=True))

    def _add_period(self, constraint, prior):
        period, dimension = self.features.kernel.period, self.features.index_set.dimension
        if not self.features.is_product:
            period = period[self.features.kernel.sum.torus.kinds("circle")]
            dimension = len(period)
        if np.ndim(period) == 2:
            self.register_parameter("cell", torch.nn.Parameter(self._start(period, dimension, dimension).clone()))
            return
        self.register_parameter("raw_period_length", torch.nn.Parameter(self._start(0.0, 1, dimension).clone()))
        self.register_constraint("raw_period_length", constraint or gpytorch.constraints.Positive())
        if prior is not None:
            self.register_prior(
                "period_length_prior",
                prior,
                lambda module: module.period_length,
                lambda module, value: module._set_period_length(value),
            )
        self._set_period_length(self._start(period, 1, dimension))

    @property
    def period_length(self):
        """Present periods, of shape (..., 1, dimension), or the cell; of an expression learned ones of its circles."""
        if hasattr(self, "raw_period_length"):
            return self.raw_period_length_constraint.transform(self.raw_period_length)
        return self.cell if hasattr(self, "cell") else self.features.period

    @period_length.setter
    def period_length(self, value):
        self._set_period_length(value)

    def _set_period_length(self, value):
        if not hasattr(self, "raw_period_length"):
            raise ValueError("The periods are not parameters of this kernel: make it with learn_period=True.")
        value = torch.as_tensor(value).to(self.raw_period_length).expand_as(self.raw_period_length)
        self.initialize(raw_period_length=self.raw_period_length_constraint.inverse_transform(value))

    def forward(self, x1, x2, diag=False, last_dim_is_batch=False, **params):
        """Covariances between two sets of inputs, as GPyTorch asks for them."""
        if self.training:
            self.features.check_range(x1)
            if self._follows and self._is_stale():
                self.choose_index_set(self._n_components)
        if not self.features.is_product:
            if last_dim_is_batch:
                raise ValueError("The inputs of an expression cannot be taken one by one: it says what each is for.")
            return self._covariance(x1, x2, diag, *self._sum_arguments())
        length_scale, period = self.lengthscale, self.period_length
        if last_dim_is_batch:  # each input alone, of a kernel of one dimension
            x1, x2 = x1.mT.unsqueeze(-1), x2.mT.unsqueeze(-1)
            length_scale = length_scale.mT.unsqueeze(-1)
            period = period.mT.unsqueeze(-1) if period.ndim >= 2 else period
        return self._covariance(x1, x2, diag, length_scale, period)

    def _is_stale(self):
        change = (self.lengthscale.detach() / self.chosen_at).log().abs().max()
        if self.features.is_product or change > np.log(ROOM):
            return bool(change > np.log(ROOM))
        return bool((self.variance.detach() / self.variance_chosen_at).log().abs().max() > np.log(_STALE_VARIANCE))

    def _sum_arguments(self):
        """Length scales, periods and variances of an expression; what it fixes is constant."""
        terms, features = self.features.kernel.sum.terms, self.features
        learned = torch.as_tensor(np.concatenate([term.learned for term in terms]), device=self.lengthscale.device)
        given = torch.as_tensor(features.start_length_scale).to(self.lengthscale)
        length_scale = torch.where(learned, self.lengthscale, given)
        fixed = [isinstance(term.variance_bounds, str) for term in terms]
        given = torch.as_tensor(features.kernel.sum.variances).to(self.variance)
        variance = torch.where(torch.tensor(fixed, device=given.device), given, self.variance)
        is_learned = hasattr(self, "raw_period_length")
        period = features.with_circles(self.period_length) if is_learned else features.period
        return length_scale, period, variance

    def _covariance(self, x1, x2, diag, *arguments):
        first = self.features(x1, *arguments)
        same = torch.equal(x1, x2)
        second = first if same else self.features(x2, *arguments)
        if diag:
            return (first * second).sum(-1)
        if not same:
            return operators.MatmulLinearOperator(first, second.mT)
        n_samples, n_components = first.shape[-2:]
        # With more columns than rows a factor of the rows is cheaper; but GPyTorch does not factor many of them exactly
        if n_components < n_samples or n_samples > gpytorch.settings.max_cholesky_size.value():
            return operators.LowRankRootLinearOperator(first)
        return operators.RootLinearOperator(first)

    def choose_index_set(self, n_components=None):
        """Take the frequencies with the largest coefficients at the present length scales; returns the new set.

        For batches these are the shortest length scales of all of them. Evidences of different sets belong to different
        models, unless the sets leave out next to nothing.

        Parameters
        ----------
        n_components : int or "auto", optional
            Largest number of components; by default as many as there are.

        Returns
        -------
        IndexSet
        """
        self.chosen_at = self.lengthscale.detach().clone()
        scales = self.chosen_at.reshape(-1, self.chosen_at.shape[-1])
        shortest = scales.amin(0)
        if not self.features.is_product:
            self.variance_chosen_at = self.variance.detach().clone()
            variance = self.variance_chosen_at.reshape(-1, self.variance_chosen_at.shape[-1]).mean(0)
            return self.features.choose_index_set(n_components, shortest, variance, scales.amax(0))
        if len(shortest) > self.features.index_set.dimension:  # inputs that are taken one by one
            shortest = shortest.amin()
        return self.features.choose_index_set(n_components, shortest)

    def prediction_strategy(self, train_inputs, train_prior_dist, train_labels, likelihood):
        """GPyTorch's way to predict with few features: it works with their weights, not with the rows."""
        return gpytorch.models.exact_prediction_strategies.LinearPredictionStrategy(
            train_inputs, train_prior_dist, train_labels, likelihood
        )
