"""What was learned: periods, length scales, terms, variances, the cell."""

from dataclasses import dataclass

import numpy as np

from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, SquaredExponential, TorusMatern, Warped
from torusgp.kernels.terms import KernelTerm, TermFactor
from torusgp.views.plotting import PeriodogramDisplay
from torusgp.views.report._facts import half_distance
from torusgp.views.report._figures import figure, figure_image, figures, literal
from torusgp.views.report._labels import Dimension, shorten, with_parenthesis
from torusgp.views.report._markup import element, join, table
from torusgp.views.report._numbers import TIMES, number, quantity, with_error, with_unit

_AT_BOUND = 1.02  # how near a length scale is to its bound if it has run into it
_FAMILIES: dict[type, str] = {
    SquaredExponential: "squared exponential",
    Matern: "Matérn",
    RationalQuadratic: "rational quadratic",
    Heat: "heat kernel",
    TorusMatern: "Matérn on the torus",
    Warped: "a function of the user",
}


def parameters(subject):
    """Section of what was learned."""
    parts = [
        subject.caution(0) if len(subject.targets) == 1 else None,
        element(
            "p",
            "Along each input that repeats the function is a sum of waves with this period. What varies is alike, "
            "correlated by one half or more, up to the distance in the last column: a short one means a shape with "
            "much detail.",
        ),
        _axis_table(subject),
        _terms(subject),
        _cell(subject),
        element("h3", "Signal and noise"),
        _variance_table(subject),
        element("h3", "Search for the period") if _search(subject) else None,
        _periodogram(subject),
    ]
    return join(parts)


def kernel_name(fitted):
    """Terms of a model in words: families of one product, or names of several terms."""
    prior = fitted.prior
    if len(prior.terms) > 1 or prior.columns:
        return " + ".join(one.name for one in (*prior.terms, *prior.columns))
    term = prior.terms[0]
    names = [_family_name(factor.family) for factor in term.factors for _ in factor.axes]
    text = names[0] if len(set(names)) == 1 else f" {TIMES} ".join(names)
    if any(factor.is_cartesian for factor in term.factors):
        text += ", on the lattice"
    if term.max_interaction is not None:
        text += f", at most {term.max_interaction} input(s) together"
    return text


def how_known(subject):
    """Where the periods come from, in a word."""
    model = subject.model.fit_.model
    periodic = [axis for one in subject.dimensions if one.is_periodic for axis in one.axes]
    if model.moving[periodic].any():
        return "learned"
    known = np.diagonal(model.period) if model.period.ndim == 2 else model.period
    return "found" if np.isnan(known[periodic]).any() else "given"


def period_errors(subject):
    """Standard error of the period of each dimension; not a number where it has none, or a cell has them."""
    std = subject.model.fit_.period_std
    errors = np.full(len(subject.dimensions), np.nan)
    if std is not None:
        own = np.diagonal(std) if std.ndim == 2 else std
        for d, one in enumerate(subject.dimensions):
            if one.kind == "circle":
                errors[d] = own[one.axes[0]] or np.nan
    return errors


def at_bounds(subject):
    """Circles whose learned length scale has run into a bound: positions of their dimensions below, and above."""
    low, high = set(), set()
    for row in _factors(subject):
        if row.dimension.is_periodic and row.factor.learned and "length_scale" in subject.model.learn:
            position = subject.dimensions.index(row.dimension)
            bounds = row.factor.bounds
            low |= {position} if row.scale < bounds[0] * _AT_BOUND else set()
            high |= {position} if row.scale > bounds[1] / _AT_BOUND else set()
    return sorted(low), sorted(high)


@dataclass(frozen=True)
class _Row:
    """A factor of a term along one dimension, with its length scale."""

    term: KernelTerm
    factor: TermFactor
    axis: int
    dimension: Dimension
    scale: float


def _factors(subject):
    """Factors of all terms, along each of their axes."""
    fitted = subject.model.fitted_
    by_axis = {axis: one for one in subject.dimensions for axis in one.axes}
    rows = []
    for term, scales in zip(fitted.prior.terms, fitted.prior.scales(fitted.parameters), strict=True):
        place = 0
        for factor in term.factors:
            count = len(factor.length_scale)
            for i, axis in enumerate(factor.axes):
                rows.append(_Row(term, factor, axis, by_axis[axis], float(scales[place + min(i, count - 1)])))
            place += count
    return rows


def _family_name(family):
    name = _FAMILIES.get(type(family), type(family).__name__)
    shape = [(key, getattr(family, key, None)) for key in ("nu", "alpha")]
    shown = ", ".join(f"{key} {number(value)}" for key, value in shape if isinstance(value, int | float))
    return with_parenthesis(name, shown)


def _axis_table(subject):
    fitted = subject.model.fitted_
    errors, harmonics = period_errors(subject), np.abs(fitted.index_set.frequencies).max(axis=0)
    rows = _factors(subject)
    several = len(fitted.prior.terms) > 1
    learned = "learned" if "length_scale" in subject.model.learn else "given"
    lines, has_distance = [], any(not row.factor.is_cartesian for row in rows)
    for row in rows:
        one = row.dimension
        error = errors[subject.dimensions.index(one)]
        lines.append(
            [
                *([row.term.name] if several else []),
                one.name,
                _extent(row, error),
                _scale(row),
                number(int(harmonics[row.axis])),
                *([_distance(row, fitted)] if has_distance else []),
            ]
        )
    header = [
        *(["term"] if several else []),
        "input",
        f"period ({how_known(subject)})" if any(one.is_periodic for one in subject.dimensions) else "range",
        f"length scale ({learned})",
        "harmonics",
        *(["alike up to"] if has_distance else []),
    ]
    return table(header, lines)


def _extent(row, error):
    """Period of a circle, range of a line, or number of levels."""
    one = row.dimension
    if one.is_periodic:
        return element("td", with_unit(with_error(one.period, error), one.unit), data_value=repr(float(one.period)))
    if one.kind == "category" and not row.factor.is_line:
        return f"{len(one.levels)} levels"
    low, high = one.ends if one.kind == "line" else (float(one.levels[0]), float(one.levels[-1]))
    return f"none, {number(low)} to {with_unit(number(high), one.unit)}"


def _scale(row):
    """Length scale, or what levels of a category share."""
    one = row.dimension
    if one.kind == "category" and not row.factor.is_line:
        shared = row.scale / (1 + row.scale) if row.factor.family.shared else 0.0
        return f"correlation {number(shared, 3)}"
    in_units = row.factor.is_line or row.factor.is_cartesian
    text = with_unit(number(row.scale), one.unit) if in_units else number(row.scale)
    return element("td", text, data_value=repr(row.scale))


def _distance(row, fitted):
    if row.factor.is_cartesian or (row.dimension.kind == "category" and not row.factor.is_line):
        return ""
    period, scale = row.dimension.period, row.scale
    if row.factor.is_line:
        whole = fitted.parameters.period
        period = float(whole[row.axis, row.axis] if whole.ndim == 2 else whole[row.axis])
        scale = 2 * np.pi * scale / period
    distance = half_distance(row.factor.family, scale, period, row.factor.is_line)
    return quantity(distance, row.dimension.unit, 2)


def _terms(subject):
    """How much each term contributes, where there are several."""
    fitted = subject.model.fitted_
    names = fitted.part_names
    if len(names) == 1:
        return None
    spread = part_spreads(fitted)
    rows = [
        [
            name,
            *(
                element("td", quantity(value, of.unit), data_value=repr(float(value)))
                for value, of in zip(spread[j], subject.functions, strict=True)
            ),
        ]
        for j, name in enumerate(names)
    ]
    one = len(subject.targets) == 1
    return join(
        [
            element("h3", "Terms"),
            element(
                "p",
                "The function is a sum of these terms. Each contributes so much to predictions of the rows it learned "
                "from, as a standard deviation; terms that go together may cancel.",
            ),
            table(["term", *(["contributes"] if one else [target.name for target in subject.targets])], rows),
        ]
    )


def part_spreads(fitted):
    """Standard deviations of the terms over the rows of the fit, shape (n_terms, n_outputs).

    Parameters
    ----------
    fitted : FittedTorusGP
        Fitted model.

    Returns
    -------
    ndarray
        In the order of ``fitted.part_names``.
    """
    n, n_plain = fitted.n_fourier, len(fitted.prior.columns)
    ratios = fitted.prior.at(fitted.parameters, fitted.index_set.frequencies).ratios()
    shares = np.zeros((len(ratios) + n_plain, n + n_plain, fitted.n_outputs))
    shares[: len(ratios), :n] = np.repeat(ratios, 2, axis=1)[:, 1:]
    shares[len(ratios) + np.arange(n_plain), n + np.arange(n_plain)] = 1.0
    weights = shares * fitted.posterior.weights
    gram = fitted.gram / fitted.gram[0, 0]
    covariance = gram - np.outer(gram[0], gram[0])
    return np.sqrt(np.maximum(np.einsum("jkq,kl,jlq->jq", weights, covariance, weights, optimize=True), 0.0))


def _cell(subject):
    directions = [one for one in subject.dimensions if one.kind == "lattice"]
    if not directions:
        return None
    fitted, fit = subject.model.fitted_, subject.model.fit_
    axes = [one.axes[0] for one in directions]
    block = np.ix_(axes, axes)
    cell = fitted.parameters.period[block]
    std = np.full(cell.shape, np.nan) if fit.period_std is None else fit.period_std[block]
    inputs = [subject.inputs[one.input].axis_label for one in directions]
    rows = []
    for i, vector in enumerate(cell):
        cells = [
            element("td", with_error(value, error), data_value=repr(float(value)))
            for value, error in zip(vector, std[i], strict=True)
        ]
        rows.append([f"vector {i + 1}", *cells, number(np.linalg.norm(vector), 5)])
    lengths = np.linalg.norm(cell, axis=1)
    angles = [
        f"{number(np.degrees(np.arccos(np.clip(cell[i] @ cell[j] / (lengths[i] * lengths[j]), -1, 1))), 5)}° between "
        f"vectors {i + 1} and {j + 1}"
        for j in range(len(cell))
        for i in range(j)
    ]
    measure = {2: "area", 3: "volume"}.get(len(cell), "volume")
    sentence = f"Its {measure} is {number(abs(np.linalg.det(cell)), 5)}; angles are {', '.join(angles)}."
    return join(
        [
            element("h3", f"Cell ({how_known(subject)})"),
            element(
                "p",
                "The function repeats along each of these vectors, whose entries are steps along the inputs. "
                + sentence,
            ),
            table(["", *inputs, "length"], rows),
        ]
    )


def _variance_table(subject):
    model = subject.model
    rows = []
    for q, target in enumerate(subject.targets):
        cells = []
        for std in (subject.function_std[q], subject.noise_std[q], subject.signal_std[q]):
            cells.append(element("td", quantity(std, subject.functions[q].unit, 4), data_value=repr(float(std**2))))
        rows.append([target.name, *cells])
    learned = ("learned" if name in model.learn else "given" for name in ("noise_variance", "signal_variance"))
    header = ["function", *(f"{name} ({how})" for name, how in zip(("noise", "prior"), learned, strict=True))]
    return join(
        [
            element(
                "p",
                "Standard deviations: how far the predicted function lies from its mean, how far single rows scatter "
                "around it by the model's account, and how far from the mean the model let the function be before it "
                "saw the rows. The last may be much larger than the first: it allows for an unknown level, too.",
            ),
            table(["target", *header], rows),
        ]
    )


def _search(subject):
    return getattr(subject.model, "period_search_", None)


def _periodogram(subject):
    search = _search(subject)
    if search is None:
        return None
    if len(search.periodogram.frequencies) > 2:
        return element("p", "Periods were searched along three inputs or more, which no picture shows.", class_="note")
    inputs = dict.fromkeys(one.input for one in subject.dimensions if one.is_periodic)
    names = [literal(shorten(subject.inputs[j].name)) for j in inputs]
    display = PeriodogramDisplay.from_estimator(subject.model, names=names[: len(search.periodogram.frequencies)])
    is_line = len(display.frequencies) == 1
    image = figure_image(
        lambda drawing: display.plot(drawing.subplots()),
        (5.6, 3.6) if is_line else (5.6, 4.8),
        "Periodogram of the rows, with the frequencies of the period that was found",
    )
    caption = (
        "How much of the variance a single wave of each frequency explains, and the frequencies that the period allows."
    )
    return figures(figure(image, caption, wide=True))
