"""Gaussian-process classification on a torus as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_sample_weight
from torusgp.estimators.regressor import TorusGPRegressor
from torusgp.estimators.regressor_files import describe, regressor_from_archive
from torusgp.estimators.validation import check_inputs, check_targets_there
from torusgp.fitting.files import fit_to_archive
from torusgp.kernels.axes import Expression
from torusgp.kernels.index_sets import IndexSet
from torusgp.storage.archives import load_archive, save_archive
from torusgp.storage.serialisation import from_json, to_json

_KIND, _LAYOUT = "TorusGPClassifier", 2
_OWN = ("class_weight",)  # parameters that the models of single classes do not have


class TorusGPClassifier(ClassifierMixin, BaseEstimator):
    """Gaussian-process classification on circles, lines and categories, by Fourier features.

    Of two classes, the log odds of the second are the function, and the posterior is Laplace's approximation. Of
    several, there is one such function for each class against the rest, with length scales of its own; probabilities
    are divided by their sum.

    Parameters
    ----------
    kernel, period, length_scale, index_set, n_components, intercept, backend, n_threads, verbose
        See :class:`TorusGPRegressor`.
    learn : collection of str, default=("length_scale", "signal_variance")
        What is learned by maximising the evidence.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" makes their sums equal. They change probabilities.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, in order.
    estimators_ : list of TorusGPRegressor
        Models with ``likelihood="bernoulli"``: of the second class if there are two, else of each.
    log_marginal_likelihood_ : float
        Laplace's approximation of the log evidence, summed over models.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 24, (300, 1))
    >>> y = np.where(np.cos(2 * np.pi * X[:, 0] / 24) + 0.3 * rng.normal(size=300) > 0, "night", "day")
    >>> model = TorusGPClassifier(period=24).fit(X, y)
    >>> model.predict([[0.0], [12.0]]).tolist()
    ['night', 'day']
    """

    def __init__(
        self,
        kernel: Expression | Any = None,
        *,
        period: Any = None,
        length_scale: ArrayLike = 1.0,
        index_set: str | IndexSet = "auto",
        n_components: int | str = "auto",
        learn: Any = ("length_scale", "signal_variance"),
        intercept: bool = True,
        class_weight: Any = None,
        backend: Any = "auto",
        n_threads: int | None = None,
        verbose: Any = 0,
    ):
        self.kernel = kernel
        self.period = period
        self.length_scale = length_scale
        self.index_set = index_set
        self.n_components = n_components
        self.learn = learn
        self.intercept = intercept
        self.class_weight = class_weight
        self.backend = backend
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs. Of sources that are read in chunks use ``TorusGPRegressor(likelihood="bernoulli")`` on 0 and 1.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        check_targets_there(y)
        checked = check_inputs(self, X, reset=True)
        y = _check_labels(y, len(checked))
        weight = compute_sample_weight(self.class_weight, y) * check_sample_weight(sample_weight, len(checked))
        self.classes_ = np.unique(y)
        seen = np.unique(y[weight > 0])
        if len(seen) < 2:
            raise ValueError(f"y has one class only, {seen.tolist()} (of rows that count): two or more are needed.")
        plain = sample_weight is None and self.class_weight is None
        targets = self.classes_[1:] if len(self.classes_) == 2 else self.classes_
        self.estimators_ = [
            self._model().fit(X, (y == one).astype(float), None if plain else weight) for one in targets
        ]
        return self

    def _model(self) -> TorusGPRegressor:
        """Model of one class against the rest."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in _OWN}
        return TorusGPRegressor(likelihood="bernoulli", **parameters)

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        """Probability of each class against the rest, shape (n_samples, n_models)."""
        check_is_fitted(self, "estimators_")
        check_inputs(self, X, reset=False)
        return np.stack([model.predict(X) for model in self.estimators_], axis=1)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, averaged over what the function may be.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        found = self._probabilities(X)
        if len(self.classes_) == 2:
            return np.hstack([1 - found, found])
        return found / found.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log odds of the averaged probabilities: of the second class if there are two, else of each against the rest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        found = logit(self._probabilities(X))
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        found = self.predict_proba(X)
        return self.classes_[np.argmax(found, axis=1)]

    def predict_latent(self, X: Any, return_std: bool = False) -> Any:
        """Log odds before they are averaged, with standard deviations; shaped as in :meth:`decision_function`."""
        check_is_fitted(self, "estimators_")
        found = np.stack([np.stack(model.predict_latent(X, return_std=True)) for model in self.estimators_], axis=-1)
        mean, std = found[..., 0] if len(self.classes_) == 2 else found
        return (mean, std) if return_std else mean

    def predict_parts(self, X: Any, return_std: bool = False) -> Any:
        """Contributions of the terms to the log odds, (n_samples, n_terms) with another axis for several classes."""
        check_is_fitted(self, "estimators_")
        parts = [np.stack(model.predict_parts(X, return_std=True)) for model in self.estimators_]
        mean, std = parts[0] if len(self.classes_) == 2 else np.stack(parts, axis=-1)
        return (mean, std) if return_std else mean

    @property
    def term_names_(self) -> tuple[str, ...]:
        """Names of the terms."""
        check_is_fitted(self, "estimators_")
        return self.estimators_[0].term_names_

    @property
    def log_marginal_likelihood_(self) -> float:
        """Laplace's approximation of the log evidence, summed over models."""
        check_is_fitted(self, "estimators_")
        return sum(model.log_marginal_likelihood_ for model in self.estimators_)

    def save(self, path: Any) -> None:
        """Write the fitted model to a file of arrays and JSON, without pickle."""
        check_is_fitted(self, "estimators_")
        fits: list[dict[str, Any]] = []
        arrays: dict[str, Any] = {}
        for number, model in enumerate(self.estimators_):
            content, own = fit_to_archive(model.fit_)
            fits.append({**content, **describe(model)})
            arrays |= {f"model{number}_{name}": array for name, array in own.items()}
        classes = [to_json(one) for one in self.classes_.tolist()]
        weight = self.class_weight
        content = {"fits": fits, "classes": classes, "class_weight": None if weight is None else to_json(weight)}
        save_archive(path, _KIND, _LAYOUT, content, arrays)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model written by :meth:`save`."""
        content, arrays = load_archive(path, _KIND, _LAYOUT)
        models = []
        for number, part in enumerate(content["fits"]):
            start = f"model{number}_"
            own = {name[len(start) :]: array for name, array in arrays.items() if name.startswith(start)}
            models.append(regressor_from_archive(TorusGPRegressor, part, own))
        shared = {name: value for name, value in models[0].get_params(deep=False).items() if name in cls().get_params()}
        weight = content["class_weight"]
        result = cls(**shared, class_weight=None if weight is None else from_json(weight))
        result.estimators_, result.classes_ = models, np.array([from_json(one) for one in content["classes"]])
        result.n_features_in_ = models[0].n_features_in_
        if hasattr(models[0], "feature_names_in_"):
            result.feature_names_in_ = models[0].feature_names_in_
        return result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = isinstance(self.kernel, Expression)
        return tags


def _check_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """Labels of one kind, or an error that names the first row of another."""
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {len(y)} labels.")
    if y.dtype == object:
        for row, label in enumerate(y):
            if isinstance(label, str) != isinstance(y[0], str):
                raise ValueError(
                    f"Labels must be of one kind, but row 0 has {y[0]!r} and row {row} has {label!r}: make them all "
                    "strings or all numbers."
                )
    check_classification_targets(y)
    return y
