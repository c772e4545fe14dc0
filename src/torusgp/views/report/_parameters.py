"""What was learned: periods, length scales, variances, the cell, slow change."""

import numpy as np
from scipy.special import ndtri

from torusgp.fitting.periods import is_searched
from torusgp.kernels.spectra import Heat, Matern, RationalQuadratic, Spectrum, SquaredExponential, TorusMatern, Warped
from torusgp.views.plotting import PeriodogramDisplay
from torusgp.views.report._charts import Axis, Line, Sayings, line_chart
from torusgp.views.report._facts import half_distances
from torusgp.views.report._figures import figure, figure_image, figures, literal
from torusgp.views.report._labels import shorten, with_parenthesis
from torusgp.views.report._markup import element, join, table
from torusgp.views.report._numbers import TIMES, number, quantity, signed, with_error, with_unit

_HALF = ndtri(0.975)
_AT_BOUND = 1.02  # how near a length scale is to its bound if it has run into it
_TREND_POINTS = 161
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
    model = subject.model
    parts = [
        subject.caution(0) if len(subject.targets) == 1 else None,
        element(
            "p",
            "Along each input the function is a sum of waves with this period. What varies is alike, correlated by one "
            "half or more, up to the distance in the last column: a short one means a shape with much detail.",
        ),
        _dimension_table(subject),
        _cell(subject),
        element("h3", "Signal and noise"),
        _variance_table(subject),
        element("h3", "Search for the period") if _search(subject) else None,
        _periodogram(subject),
        element("h3", "Slow change beside the period") if model.trend_ is not None else None,
        _trend(subject),
    ]
    return join(parts)


def kernel_name(kernel):
    """Families of a kernel in words."""
    families = [kernel.family] if isinstance(kernel.family, Spectrum) else list(kernel.family)
    names = [_family_name(family) for family in families]
    text = names[0] if len(set(names)) == 1 else f" {TIMES} ".join(names)
    if kernel.metric == "cartesian":
        text += ", on the lattice"
    if kernel.max_interaction is not None:
        text += f", at most {kernel.max_interaction} input(s) together"
    return text


def how_known(subject):
    """Where the period comes from, in a word."""
    learn = subject.model.learn
    if "period" in learn or "lattice" in learn:
        return "learned"
    return "found" if is_searched(subject.model.period) else "given"


def period_errors(subject):
    """Period of each dimension, or None for a cell, with their standard errors."""
    kernel = subject.model.kernel_
    if np.ndim(kernel.period) == 2:
        return None
    size = len(subject.dimensions)
    std = getattr(subject.model, "period_std_", np.nan)
    return list(
        zip(
            np.broadcast_to(kernel.period, size).tolist(),
            np.broadcast_to(np.asarray(std, dtype=float), size).tolist(),
            strict=True,
        )
    )


def at_bounds(subject):
    """Dimensions whose learned length scale has run into a bound: their positions below, and above."""
    if "length_scale" not in subject.model.learn or subject.model.kernel_.metric == "cartesian":
        return [], []
    low, high = subject.model.length_scale_bounds
    scales = np.broadcast_to(subject.model.kernel_.length_scale, len(subject.dimensions))
    return np.flatnonzero(scales < low * _AT_BOUND).tolist(), np.flatnonzero(scales > high / _AT_BOUND).tolist()


def _family_name(family):
    name = _FAMILIES.get(type(family), type(family).__name__)
    shape = [(key, getattr(family, key, None)) for key in ("nu", "alpha")]
    shown = ", ".join(f"{key} {number(value)}" for key, value in shape if isinstance(value, int | float))
    return with_parenthesis(name, shown)


def _dimension_table(subject):
    model = subject.model
    kernel = model.kernel_
    periods = period_errors(subject)
    known = how_known(subject)
    harmonics = np.abs(model.index_set_.frequencies).max(axis=0)
    scales = np.broadcast_to(kernel.length_scale, len(subject.dimensions)).tolist()
    distances = half_distances(kernel, [one.period for one in subject.dimensions])
    learned = "learned" if "length_scale" in model.learn else "given"
    rows = []
    for d, one in enumerate(subject.dimensions):
        period, std = (one.period, np.nan) if periods is None else periods[d]
        text = with_unit(with_error(period, std), one.unit)
        scale = with_unit(number(scales[d]), one.unit) if kernel.metric == "cartesian" else number(scales[d])
        row = [
            one.name,
            element("td", text, data_value=repr(float(period))),
            element("td", scale, data_value=repr(float(scales[d]))),
            number(int(harmonics[d])),
        ]
        if distances[d] is not None:
            row.append(quantity(distances[d], one.unit, 2))
        rows.append(row)
    header = ["input", f"period ({known})", f"length scale ({learned})", "harmonics"]
    return table(header + (["alike up to"] if distances[0] is not None else []), rows)


def _cell(subject):
    kernel = subject.model.kernel_
    if np.ndim(kernel.period) < 2:
        return None
    cell = np.asarray(kernel.period)
    std = np.broadcast_to(np.asarray(getattr(subject.model, "period_std_", np.nan), dtype=float), cell.shape)
    inputs = [subject.inputs[j].axis_label for j in subject.columns]
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
            cells.append(element("td", quantity(std, target.unit, 4), data_value=repr(float(std**2))))
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
    names = [literal(shorten(subject.inputs[j].name)) for j in subject.columns]
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


def _trend(subject):
    """Slow change along each input, the others in the middle."""
    if subject.model.trend_ is None:
        return None
    return join(
        [
            element(
                "p",
                "Change that no period explains, over the range of the rows. It is part of predictions, and goes on "
                "beyond that range as a line and slow waves: do not rely on it far away.",
            ),
            subject.for_each_output(lambda output: _trend_lines(subject, output)),
        ]
    )


def _trend_lines(subject, output):
    trend, target = subject.model.trend_, subject.targets[output]
    positions = list(dict.fromkeys(subject.columns))
    drawn = []
    for i, position in enumerate(positions):
        of = subject.inputs[position]
        x = np.linspace(-0.5, 0.5, _TREND_POINTS) * trend.extent[i] + trend.middle[i]
        points = np.tile(trend.middle, (len(x), 1))
        points[:, i] = x
        mean = trend.mean(points)[:, output]
        half = _HALF * np.sqrt(np.maximum(trend.variance(points, output), 0.0))
        lines = [
            (
                quantity(place, of.unit, 5),
                with_unit(f"{signed(value, 4)} ± {number(margin, 2)}", target.unit),
            )
            for place, value, margin in zip(x, mean, half, strict=True)
        ]
        title = f"Slow change of {target.name} along {of.name}"
        chart = line_chart(
            x,
            [Line(title, mean, half)],
            Axis.between(of.axis_label, x[0], x[-1]),
            Axis.covering(f"slow change of {target.axis_label}", [mean - half, mean + half]),
            title,
            Sayings((f"{of.name}: ", "slow change "), lines),
            zero=True,
        )
        caption = f"{title}, with its 95 % interval" + ("" if len(positions) == 1 else "; other inputs in the middle")
        drawn.append(figure(chart, f"{caption}.", chart=True))
    return figures(*drawn)
