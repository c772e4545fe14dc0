"""Random and quasi-random Fourier features of periodic kernels: the usual way, to compare with."""

from copy import copy

import numpy as np
from scipy.special import gammaincinv, ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from torusgp.checks import check_count
from torusgp.estimators.sequences import halton
from torusgp.estimators.validation import check_number_inputs
from torusgp.kernels.axes import Expression
from torusgp.kernels.kernel import TorusKernel
from torusgp.kernels.spectra import Matern, SquaredExponential

SEQUENCES = ("random", "halton", "generalized_halton")


class WarpedFourierFeatures(TransformerMixin, BaseEstimator):
    r"""Fourier features of a stationary kernel on inputs that are warped onto circles.

    .. math:: u(x) = [\cos\theta_1, \sin\theta_1, \dots, \cos\theta_D, \sin\theta_D], \quad
              \phi(x) = \frac{1}{\sqrt{C}} [\cos(\omega_c \cdot u(x)), \sin(\omega_c \cdot u(x))]_{c = 1 \dots C}

    with frequencies :math:`\omega_c` from the spectral density of the kernel in the plane of each circle, by
    pseudo-random numbers (Rahimi and Recht, 2007) or a low-discrepancy sequence (Yang and others, 2014). Products of
    the features approximate the same :class:`TorusKernel` that :class:`IndexSetFourierFeatures` does.

    Parameters
    ----------
    kernel : str or Spectrum, default="squared_exponential"
        Squared exponential or a Matern family.
    sequence : {"random", "halton", "generalized_halton"}, default="random"
        Where frequencies come from.
    period : float or array-like of shape (dimension,), or a cell, default=1.0
        Period of each input, or a cell whose rows are lattice vectors.
    length_scale : float or array-like of shape (dimension,), default=1.0
        Length scale of each dimension, dimensionless.
    n_components : int, default=200
        Number of components, which come in pairs; of an odd number the last sine is missing.
    random_state : int, RandomState or None, default=None
        Of random frequencies.

    Attributes
    ----------
    kernel_ : TorusKernel
        The kernel that is approximated.
    frequencies_ : ndarray of shape (n_frequencies, 2 * dimension)
        Frequencies for unit length scales.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 24, (50, 2))
    >>> features = WarpedFourierFeatures(period=24.0, sequence="halton", n_components=2000).fit(X)
    >>> phi = features.transform(X)
    >>> bool(np.abs(phi @ phi.T - features.kernel_(X)).max() < 0.1)
    True
    """

    def __init__(
        self,
        kernel="squared_exponential",
        *,
        sequence="random",
        period=1.0,
        length_scale=1.0,
        n_components=200,
        random_state=None,
    ):
        self.kernel = kernel
        self.sequence = sequence
        self.period = period
        self.length_scale = length_scale
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X, y=None):
        """Draw the frequencies; of the data only the number of inputs matters.

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
        dimension = check_number_inputs(self, X, True, dtype=(np.float64, np.float32)).shape[1]
        if isinstance(self.kernel, Expression):
            raise ValueError(
                f"kernel must be a squared exponential or a Matern family, got the expression {self.kernel!r}: these "
                "features take period= and length_scale=, IndexSetFourierFeatures takes expressions."
            )
        self.kernel_ = TorusKernel(self.kernel, self.length_scale, self.period)
        self.kernel_.resolve_dimension(dimension)
        family = self.kernel_.family
        if not isinstance(family, SquaredExponential | Matern):
            raise ValueError(f"kernel must be a squared exponential or a Matern family, got {self.kernel!r}.")
        check_count(self.n_components, "n_components")
        per_dimension = 2 if isinstance(family, SquaredExponential) else 3
        uniform = self._uniform((self.n_components + 1) // 2, per_dimension * dimension)
        normal = ndtri(uniform[:, : 2 * dimension])
        if isinstance(family, Matern):  # a plane of Student's distribution for each dimension
            nu = family.nu
            mixing = gammaincinv(nu, uniform[:, 2 * dimension :]) / nu
            normal /= np.repeat(np.sqrt(mixing), 2, axis=1)
        self.frequencies_ = normal
        return self

    def _uniform(self, n_points, dimension):
        if isinstance(self.sequence, str) and self.sequence == "random":
            return check_random_state(self.random_state).uniform(np.finfo(float).tiny, 1.0, (n_points, dimension))
        if not isinstance(self.sequence, str) or self.sequence not in SEQUENCES:
            raise ValueError(f"sequence must be one of {', '.join(map(repr, SEQUENCES))}, got {self.sequence!r}.")
        return halton(n_points, dimension, generalized=self.sequence == "generalized_halton")

    def transform(self, X):
        """Features of inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = check_number_inputs(self, X, False, dtype=(np.float64, np.float32))
        angles = self._angles(X)[0]
        features = np.hstack([np.cos(angles), np.sin(angles)])[:, : self.n_components]
        return (features / np.sqrt(len(self.frequencies_))).astype(X.dtype, copy=False)

    def _angles(self, X):
        """Angles of the features, and the inputs warped onto circles over the length scales, shape (n, D, 2)."""
        phases = self.kernel_.phases(X.astype(float, copy=False))
        scales = np.broadcast_to(self.kernel_.length_scale, phases.shape[1:])[:, None]
        circles = np.stack([np.cos(phases), np.sin(phases)], axis=2) / scales
        return circles.reshape(len(X), -1) @ self.frequencies_.T, circles

    def with_parameters(self, length_scale, period):
        """A fitted copy with the same frequencies and other length scales and periods.

        Parameters
        ----------
        length_scale : ndarray of shape (dimension,)
            Length scales.
        period : float or ndarray
            Periods or cell.

        Returns
        -------
        WarpedFourierFeatures
        """
        other = copy(self).set_params(length_scale=length_scale, period=period)
        other.kernel_ = TorusKernel(self.kernel, length_scale, period)
        return other

    def parameter_gradient(self, X, slope):
        """Derivatives of the sum of ``slope * transform(X)`` in the logarithms of length scales and periods.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Inputs.
        slope : ndarray of shape (n_samples, n_components)
            Factors of the features.

        Returns
        -------
        dict of ndarray of shape (dimension,)
            "length_scale" and "period", the latter unless the period is a cell.
        """
        angles, circles = self._angles(X)
        half = len(self.frequencies_)
        slope = np.pad(slope, ((0, 0), (0, 2 * half - slope.shape[1])))  # an odd number has no last sine
        by_angle = (np.cos(angles) * slope[:, half:] - np.sin(angles) * slope[:, :half]) / np.sqrt(half)
        by_circle = (by_angle @ self.frequencies_).reshape(circles.shape)
        gradient = {"length_scale": -(by_circle * circles).sum(axis=(0, 2))}
        if np.ndim(self.kernel_.period) < 2:
            by_phase = by_circle[..., 1] * circles[..., 0] - by_circle[..., 0] * circles[..., 1]
            turns = 2 * np.pi * X / self.kernel_.period  # not reduced: the period moves all of it
            gradient["period"] = -(by_phase * turns).sum(axis=0)
        return gradient

    def get_feature_names_out(self, input_features=None):
        """Names of the features: cosines, then sines, numbered by frequency.

        Parameters
        ----------
        input_features : ignored
            Present for the interface.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        numbers = range(len(self.frequencies_))
        names = [f"{name}{i}" for name in ("cos", "sin") for i in numbers]
        return np.array(names[: self.n_components], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
