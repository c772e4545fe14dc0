"""Checks of the parameters of kernels: families, positive numbers, periods, inputs."""

import numpy as np

from torusgp.checks import LARGEST, to_floats
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, Spectrum, SquaredExponential, TorusMatern

FAMILIES: dict[str, Spectrum] = {
    "squared_exponential": SquaredExponential(),
    "matern12": Matern(0.5),
    "matern32": Matern(1.5),
    "matern52": Matern(2.5),
    "rational_quadratic": RationalQuadratic(),
    "heat": Heat(),
    "torus_matern": TorusMatern(),
}


def check_family(family):
    """Return a spectrum or a tuple of these, one for each dimension, or raise."""
    if isinstance(family, Spectrum):
        return family
    if isinstance(family, str):
        if family not in FAMILIES:
            raise ValueError(f"Unknown family {family!r}; known are {', '.join(map(repr, FAMILIES))}.")
        return FAMILIES[family]
    if isinstance(family, list | tuple) and family:
        families = tuple(check_family(one) for one in family)
        if any(not isinstance(one, Spectrum) or one.metric == "cartesian" for one in families):
            raise ValueError(f"family must hold one family with metric='phase' for each dimension, got {family!r}.")
        return families
    raise ValueError(f"family must be a name, a Spectrum or a sequence of these, got {family!r}.")


def line_family(family: str | Spectrum) -> Spectrum:
    """The family on a circle whose coefficients are those of a kernel of the line, summed over all images."""
    spectrum = check_family(family)
    if isinstance(spectrum, SquaredExponential | Heat) and spectrum.metric == "phase":
        return Heat()
    if isinstance(spectrum, Matern | TorusMatern) and spectrum.metric == "phase":
        return TorusMatern(spectrum.nu)
    raise ValueError(
        f"family={family!r} cannot be used on a Line: its kernel falls too slowly, or is defined on the circle alone. "
        "Use 'squared_exponential', 'matern12', 'matern32', 'matern52' or TorusMatern(nu); sums of lines with "
        "different length scales serve where 'rational_quadratic' would."
    )


def check_positive_array(value, name, max_ndim):
    """Return a float or a read-only array, or raise if it is not positive and finite."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a positive number or an array of these, got {value!r}.") from None
    if array.ndim > max_ndim or array.size == 0:
        shapes = "a number or a vector" if max_ndim else "a number"
        raise ValueError(f"{name} must be {shapes}, got {value!r}.")
    if not (np.isfinite(array) & (array > 0)).all():
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")
    if name == "length_scale" and not ((array > 1 / LARGEST) & (array < LARGEST)).all():
        raise ValueError(f"{name} must lie between {1 / LARGEST:g} and {LARGEST:g}, got {value!r}.")
    array.flags.writeable = False
    return float(array) if array.ndim == 0 else array


def check_period(period):
    """Return a float, a read-only vector or a matrix, or raise if it is no period and no cell."""
    try:
        array = np.array(period, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"period must be numbers, or in estimators that search it 'auto', got {period!r}.") from None
    if array.ndim < 2:
        return check_positive_array(period, "period", max_ndim=1)
    if array.ndim > 2 or array.shape[0] != array.shape[1] or not np.isfinite(array).all():
        raise ValueError(
            f"period must be a number, a vector, or a square matrix of finite lattice vectors, got {period!r}."
        )
    lengths = np.linalg.norm(array, axis=1)
    if not lengths.all() or abs(np.linalg.det(array / np.where(lengths, lengths, 1)[:, None])) < 1e-12:
        raise ValueError(f"period must be a cell of linearly independent lattice vectors, got the singular {period!r}.")
    array.flags.writeable = False
    return array


def check_inputs(X, name, dimension):
    """Return inputs as an array of floats, or raise if they are not finite or have another shape."""
    X = to_floats(X, name)
    if X.ndim != 2 or X.shape[1] == 0 or (dimension is not None and X.shape[1] != dimension):
        wanted = "dimension" if dimension is None else dimension
        raise ValueError(f"{name} must have shape (n_samples, {wanted}), got {X.shape}.")
    if not np.isfinite(X).all():
        raise ValueError(f"{name} must be finite, it holds NaN or infinity.")
    return X
