"""Feature maps as scikit-learn transformers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from torusgp.engine.basis import columns as basis_columns
from torusgp.estimators.short_form import is_searched, resolve_kernel
from torusgp.estimators.validation import check_inputs, check_points
from torusgp.fitting.parameters import Parameter, Parameters
from torusgp.fitting.prior import Prior, scale_name, variance_name
from torusgp.kernels.axes import Expression
from torusgp.kernels.index_sets import IndexSet, adaptive, named_set
from torusgp.kernels.index_sets._names import check_index_set
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.product import to_phases
from torusgp.kernels.resolve import Model
from torusgp.kernels.sums import SumKernel


class IndexSetFourierFeatures(TransformerMixin, BaseEstimator):
    r"""Explicit features whose products approximate a kernel on circles, lines and categories.

    .. math:: \phi(x) = [\sqrt{c_0}, \sqrt{2 c_k} \cos(k \cdot \theta(x)), \sqrt{2 c_k} \sin(k \cdot \theta(x)), \dots],
              \quad \phi(x) \cdot \phi(y) \approx k(x, y)

    for the frequencies k of an index set: the sparse construction of Index Set Fourier Series Features. Of the data the
    features depend on ranges of lines and levels of categories alone; the error is at most ``truncation_error_``
    everywhere.

    Parameters
    ----------
    kernel : Expression, TorusKernel, str, Spectrum or sequence of these, optional
        A kernel as it is, or a sum of products such as ``Circle("hour", 24) * Line("temperature")``. A family name, or
        one for each input, is the short form of one product over all inputs: of circles with ``period``, of lines
        without; by default "squared_exponential".
    period : float, array-like of shape (n_features,) or (n_features, n_features), optional
        Of the short form: period of each input, or a cell whose rows are lattice vectors.
    length_scale : float or array-like of shape (n_features,), default=1.0
        Of the short form: length scale of each input, dimensionless on circles; in the units of X for Cartesian
        families and on lines, and there by default a quarter of the range.
    index_set : str or IndexSet, default="adaptive"
        Frequencies to use: "adaptive" for the largest coefficients, the name of another function of
        :mod:`torusgp.kernels.index_sets`, or a set, which is used as it is.
    n_components : int, default=200
        Largest number of components of a set given by name.
    weights : "auto", float or array-like of shape (dimension,), default=1.0
        Weights of a set given by name; "auto" takes those of the smallest error, never worse than one
        (:meth:`TorusKernel.refinement_weights`). The adaptive set needs none.
    max_interaction : int, optional
        Of the short form: largest number of inputs that interact; the kernel is then the ANOVA kernel of that order. An
        index set that was built with such a limit implies it.

    Attributes
    ----------
    kernel_ : TorusKernel
        The kernel that is approximated.
    index_set_ : IndexSet
        The frequencies in use.
    truncation_error_ : float
        Largest error of a product of features, with at least one of the two points in the range of every line.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the inputs, if they have any.

    See Also
    --------
    TorusKernel : The kernel itself, and its error certificates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 24, (50, 2))
    >>> features = IndexSetFourierFeatures(period=24.0, length_scale=[0.8, 1.2], n_components=301).fit(X)
    >>> phi = features.transform(X)
    >>> bool(np.abs(phi @ phi.T - features.kernel_(X)).max() <= features.truncation_error_ + 1e-12)
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        period: Any = None,
        length_scale: ArrayLike = 1.0,
        index_set: str | IndexSet = "adaptive",
        n_components: int = 200,
        weights: Any = 1.0,
        max_interaction: int | None = None,
    ):
        self.kernel = kernel
        self.period = period
        self.length_scale = length_scale
        self.index_set = index_set
        self.n_components = n_components
        self.weights = weights
        self.max_interaction = max_interaction

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the frequencies; of the data only names, ranges of lines and levels of categories matter.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : ignored
            Present for the interface.

        Returns
        -------
        self
        """
        X = check_inputs(self, X, reset=True)
        names = list(getattr(self, "feature_names_in_", [])) or None
        limit = self.max_interaction
        if limit is None and isinstance(self.index_set, IndexSet) and not isinstance(self.kernel, Expression):
            limit = self.index_set.max_interaction
        if is_searched(self.period):
            raise ValueError("A feature map has no targets to find a period in: use find_period, and give it.")
        if isinstance(self.kernel, TorusKernel):
            model = self._model_of_kernel(self.kernel, X, names)
        else:
            model = resolve_kernel(self.kernel, self.period, self.length_scale, X, names, max_interaction=limit)
        if model.columns:
            raise ValueError(
                f"{model.columns[0].name!r} is a plain column, not a kernel: use TorusGPRegressor with it."
            )
        self._model = model
        self.kernel_ = self.kernel if isinstance(self.kernel, TorusKernel) else _kernel_of(model)
        self.index_set_ = _make_set(self, self.kernel_, model)
        self.truncation_error_ = self.kernel_.truncation_error(self.index_set_) + self.kernel_.aliasing_error()
        pairs = np.where(np.arange(len(self.index_set_.frequencies)) == 0, 1.0, 2.0)
        self._scale = np.sqrt(pairs * self.kernel_.coefficients(self.index_set_.frequencies))
        return self

    def _model_of_kernel(self, kernel: TorusKernel, X: NDArray[Any], names: list[str] | None) -> Model:
        """Axes and terms of a kernel that is given as it is, for checked inputs."""
        if self.period is not None or np.ndim(self.length_scale) or self.length_scale != 1.0 or self.max_interaction:
            raise ValueError(
                f"period, length_scale and max_interaction belong to the short form; {kernel!r} has its own: leave "
                "them out."
            )
        if kernel.sum is None:
            if kernel.period is None:
                raise ValueError(f"{kernel!r} has no period, so it has no inputs: give it TorusKernel(period=...).")
            limit = kernel.max_interaction
            return resolve_kernel(kernel.family, kernel.period, kernel.length_scale, X, names, max_interaction=limit)
        own = kernel.sum
        if X.shape[1] != len(own.torus.names):
            raise ValueError(
                f"{kernel!r} has the inputs {', '.join(own.torus.names)}, but X has {X.shape[1]} columns: give those."
            )
        still = np.zeros(own.torus.dimension, dtype=bool)
        return Model(own.torus, own.terms, (), own.period, still, np.full((len(still), 2), np.nan))

    def transform(self, X: Any) -> NDArray[Any]:
        """Evaluate the features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. Their phases are reduced in float64, whatever their type.

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32 for float32 inputs, else float64
            A constant, then a cosine and a sine for each frequency.
        """
        check_is_fitted(self)
        given = getattr(X, "dtype", None)
        points = check_points(self, X, self._model)
        single = given == np.float32 or getattr(points, "dtype", None) == np.float32
        phases = to_phases(self._model.torus.coordinates(points, self._model.period), self._model.period)
        dtype = np.float32 if single else np.float64
        return basis_columns(phases, self.index_set_.frequencies, self._scale, dtype)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns, such as ``cos(2 hour - weekday)``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the inputs, where they were not given with the data.

        Returns
        -------
        ndarray of str objects
        """
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features)
        phases = _phase_names([str(inputs[axis.input]) for axis in self._model.torus.axes])
        names = ["constant"]
        for frequency in self.index_set_.frequencies[1:]:
            angle = _linear_form(frequency, phases)
            names += [f"cos({angle})", f"sin({angle})"]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _kernel_of(model: Model) -> TorusKernel:
    """The kernel of a model with the variances and length scales that its expression gives."""
    variances = np.array([1.0 if term.variance is None else term.variance for term in model.terms])
    scales = tuple(term.length_scale for term in model.terms)
    if len(model.terms) == 1 and variances[0] == 1.0:
        prior = Prior(model.torus, model.terms, (), np.zeros(1))
        entries = {
            scale_name(model.terms[0]): Parameter.make(scales[0]),
            variance_name(model.terms[0]): Parameter.make([1.0]),
        }
        return prior.kernel(Parameters(entries, model.period))
    return TorusKernel.from_sum(SumKernel(model.torus, model.terms, scales, variances, model.period))


def _make_set(estimator: Any, kernel: TorusKernel, model: Model) -> IndexSet:
    """The set itself, or the one of that name with at most n components."""
    asked, dimension, weights = estimator.index_set, model.torus.dimension, estimator.weights
    check_index_set(asked)
    if isinstance(asked, IndexSet):
        if asked.dimension != dimension:
            raise ValueError(f"index_set has dimension {asked.dimension}, but the torus has {dimension}.")
        return asked
    if asked == "adaptive":
        return adaptive(kernel, estimator.n_components, dimension=dimension)
    if isinstance(weights, str):
        if weights != "auto":
            raise ValueError(f"weights must be 'auto' or numbers in [0, 1], got {weights!r}.")
        weights = kernel.refinement_weights(asked, estimator.n_components, dimension=dimension)
    return named_set(asked, dimension, estimator.n_components, weights=weights, max_interaction=kernel.max_interaction)


def _phase_names(names):
    """Distinct names for the phases of one input that is used several times."""
    repeated = {name for name in names if names.count(name) > 1}
    return [f"{name}[{d}]" if name in repeated else name for d, name in enumerate(names)]


def _linear_form(frequency, names):
    text = ""
    for k, name in zip(frequency, names, strict=True):
        if k:
            factor = name if abs(k) == 1 else f"{abs(k)} {name}"
            text += (" - " if k < 0 else " + ") + factor if text else factor  # the first entry is positive
    return text
