"""Feature maps as scikit-learn transformers."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from torusgp.data.checks import check_no_times
from torusgp.engine.basis import columns as basis_columns
from torusgp.kernels.index_sets import (
    IndexSet,
    adaptive,
    energy_norm_hyperbolic_cross,
    euclidean,
    hyperbolic_cross,
    tensor,
    total_order,
)
from torusgp.kernels.index_sets._checks import check_budget
from torusgp.kernels.kernel import TorusKernel

INDEX_SETS = {
    "tensor": tensor,
    "total_order": total_order,
    "euclidean": euclidean,
    "hyperbolic_cross": hyperbolic_cross,
    "energy_norm_hyperbolic_cross": energy_norm_hyperbolic_cross,
}


class IndexSetFourierFeatures(TransformerMixin, BaseEstimator):
    r"""Explicit features whose products approximate a periodic kernel in several dimensions.

    .. math:: \phi(x) = [\sqrt{c_0}, \sqrt{2 c_k} \cos(k \cdot \theta(x)), \sqrt{2 c_k} \sin(k \cdot \theta(x)), \dots],
              \quad \phi(x) \cdot \phi(y) \approx k(x, y)

    for the frequencies k of an index set: the sparse construction of Index Set Fourier Series Features. The features
    depend on no data; the error is at most ``truncation_error_`` everywhere.

    Parameters
    ----------
    kernel : str, Spectrum or sequence of these, default="squared_exponential"
        Family of the kernel, or one for each dimension; see :class:`TorusKernel`.
    period : float, array-like of shape (dimension,) or (dimension, dimension), default=1.0
        Period of each input, or a cell whose rows are lattice vectors.
    columns : sequence of int or str, optional
        Input that feeds each dimension of the torus, by position or name; by default one each. An input may
        appear twice: ``columns=[0, 0], period=[24, 168]`` gives one time column a daily and a weekly period.
    length_scale : float or array-like of shape (dimension,), default=1.0
        Length scale of each dimension, dimensionless; in the units of X for Cartesian families.
    index_set : str or IndexSet, default="adaptive"
        Frequencies to use: "adaptive" for the largest coefficients, the name of another function of
        :mod:`torusgp.kernels.index_sets`, or a set, which is used as it is.
    n_components : int, default=200
        Largest number of columns of a set given by name.
    weights : "auto", float or array-like of shape (dimension,), default=1.0
        Weights of a set given by name; "auto" cuts every axis at the same error
        (:meth:`TorusKernel.refinement_weights`), which suits balls; in a cross small weights also thin out all
        interactions. The adaptive set needs none.
    max_interaction : int, optional
        Largest number of dimensions that interact: the kernel is then the ANOVA kernel of that order. An index set
        that was built with such a limit implies it.

    Attributes
    ----------
    kernel_ : TorusKernel
        The kernel that is approximated.
    index_set_ : IndexSet
        The frequencies in use.
    truncation_error_ : float
        Largest error of a product of features; the kernel has variance one.
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
        kernel="squared_exponential",
        *,
        period=1.0,
        columns=None,
        length_scale=1.0,
        index_set="adaptive",
        n_components=200,
        weights=1.0,
        max_interaction=None,
    ):
        self.kernel = kernel
        self.period = period
        self.columns = columns
        self.length_scale = length_scale
        self.index_set = index_set
        self.n_components = n_components
        self.weights = weights
        self.max_interaction = max_interaction

    def fit(self, X, y=None):
        """Choose the frequencies; of the data only the number of columns and their names matter.

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
        check_no_times(X)
        X = validate_data(self, X, dtype=(np.float64, np.float32))
        self._columns = resolve_columns(self, self.columns)
        limit = interaction_limit(self.max_interaction, self.index_set)
        self.kernel_ = TorusKernel(self.kernel, self.length_scale, self.period, max_interaction=limit)
        self.kernel_.resolve_dimension(len(self._columns))
        self.index_set_ = make_index_set(
            self.index_set, self.kernel_, len(self._columns), self.n_components, self.weights
        )
        self.truncation_error_ = self.kernel_.truncation_error(self.index_set_)
        pairs = np.where(np.arange(len(self.index_set_.frequencies)) == 0, 1.0, 2.0)
        self._scale = np.sqrt(pairs * self.kernel_.coefficients(self.index_set_.frequencies))
        return self

    def transform(self, X):
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
        check_no_times(X)
        X = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        phases = self.kernel_.phases(X[:, self._columns])
        return basis_columns(phases, self.index_set_.frequencies, self._scale, X.dtype)

    def get_feature_names_out(self, input_features=None):
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
        phases = _phase_names([str(inputs[c]) for c in self._columns])
        names = ["constant"]
        for frequency in self.index_set_.frequencies[1:]:
            angle = _linear_form(frequency, phases)
            names += [f"cos({angle})", f"sin({angle})"]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def resolve_columns(estimator, columns):
    """Positions of the inputs that feed the dimensions of the torus, from positions or names."""
    n_features = estimator.n_features_in_
    if columns is None:
        return np.arange(n_features)
    if isinstance(columns, str) or not np.iterable(columns) or not len(list(columns)):
        raise ValueError(f"columns must be a non-empty sequence of positions or names, got {columns!r}.")
    names = list(getattr(estimator, "feature_names_in_", []))
    positions = []
    for column in columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"columns names {column!r}, but the inputs are {names or 'without names'}.")
            positions.append(names.index(column))
        elif isinstance(column, int | np.integer) and -n_features <= column < n_features:
            positions.append(int(column) % n_features)
        else:
            raise ValueError(f"columns holds {column!r}, but X has {n_features} features.")
    return np.array(positions)


def interaction_limit(max_interaction, index_set):
    """The limit that is given, or else the one under which a given set was built."""
    if max_interaction is None and isinstance(index_set, IndexSet):
        return index_set.max_interaction
    return max_interaction


def make_index_set(index_set, kernel, dimension, n_components, weights):
    """The set itself, or the one of that name with at most so many columns."""
    if isinstance(index_set, IndexSet):
        if index_set.dimension != dimension:
            raise ValueError(f"index_set has dimension {index_set.dimension}, but the torus has {dimension}.")
        return index_set
    if not isinstance(index_set, str) or index_set not in {"adaptive", *INDEX_SETS}:
        known = ", ".join(map(repr, ["adaptive", *INDEX_SETS]))
        raise ValueError(f"index_set must be an IndexSet or one of {known}, got {index_set!r}.")
    budget = check_budget(n_components)
    if index_set == "adaptive":
        return adaptive(kernel, budget, dimension=dimension)
    if isinstance(weights, str):
        if weights != "auto":
            raise ValueError(f"weights must be 'auto' or numbers in [0, 1], got {weights!r}.")
        weights = kernel.refinement_weights(dimension=dimension)
    return INDEX_SETS[index_set](
        dimension, n_components=budget, weights=weights, max_interaction=kernel.max_interaction
    )


def _phase_names(names):
    """Tell the phases of one input that is used several times apart."""
    repeated = {name for name in names if names.count(name) > 1}
    return [f"{name}[{d}]" if name in repeated else name for d, name in enumerate(names)]


def _linear_form(frequency, names):
    text = ""
    for k, name in zip(frequency, names, strict=True):
        if k:
            factor = name if abs(k) == 1 else f"{abs(k)} {name}"
            text += (" - " if k < 0 else " + ") + factor if text else factor  # the first entry is positive
    return text
