"""How predictions compare with observations."""

import numpy as np
from scipy.special import ndtr

from torusgp.views.plotting import CalibrationDisplay, ResidualDisplay
from torusgp.views.report._charts import Axis, Line, Sayings, legend, line_chart, scatter_chart
from torusgp.views.report._facts import LEVELS, errors_along
from torusgp.views.report._figures import figure, figure_image, figures, literal
from torusgp.views.report._markup import element, join, table
from torusgp.views.report._numbers import count, digits_for, number, percent, quantity, signed, with_unit

_MOST_POINTS = 1500  # of the scatter; more would hide each other and fill the page
_MOST_LINES = 6  # dimensions along which errors are drawn
_FARTHEST, _RESIDUAL_BINS = 5.0, 50  # ends of the distribution of residuals, and its bins
_OUTSIDE = 1.959964  # standard deviations at which a 95 % interval ends
_ROWS = {
    "new": "These are rows that the model was not fitted to, so this is how well it predicts.",
    "fitted": "These are the rows that the model was fitted to: new rows will be predicted less well.",
    "unknown": "Whether the model was fitted to these rows was not said; if it was, new rows will be predicted less "
    "well.",
}


def predictions(subject):
    """Section of observations against predictions; None without rows."""
    if not subject.judgements:
        return None
    return join(
        [
            element("p", f"{count(len(subject.X), 'row')} to compare with. {_ROWS[subject.rows_are]}"),
            subject.for_each_output(lambda output: _one(subject, output)),
        ]
    )


def _one(subject, output):
    return join(
        [
            _coverage_table(subject, output),
            figures(_scatter(subject, output), _calibration(subject, output), *_residuals(subject, output)),
            element("h4" if len(subject.targets) > 1 else "h3", "Where errors are large"),
            figures(*(_errors(subject, d, output) for d in range(len(subject.dimensions))[:_MOST_LINES])),
        ]
    )


def _coverage_table(subject, output):
    judgement = subject.judgements[output]
    rows = [
        [
            percent(level, 0),
            element("td", percent(judgement.coverage[level]), data_value=repr(judgement.coverage[level])),
        ]
        for level in LEVELS
    ]
    return table(["intervals of", "hold this share of the rows"], rows)


def _scatter(subject, output):
    judgement, target = subject.judgements[output], subject.targets[output]
    n_rows = len(judgement.observed)
    chosen = np.arange(n_rows)
    sampled = ""
    if n_rows > _MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(n_rows, _MOST_POINTS, replace=False))
        sampled = f" {count(_MOST_POINTS, 'row')} of {number(n_rows)}, chosen at random, are drawn."
    observed, mean, std = (values[chosen] for values in (judgement.observed, judgement.mean, judgement.std))
    outside = np.abs(observed - mean) > _OUTSIDE * std
    describe = _row_descriptions(subject)
    digits = digits_for([observed, mean], np.median(std))
    lines = [
        (
            f"{row + 1:,}",
            *(of(place) for of, place in zip(describe, subject.X[row], strict=False)),
            quantity(seen, target.unit, digits),
            with_unit(f"{number(value, digits)} ± {number(margin, 2)}", target.unit),
        )
        for row, seen, value, margin in zip(chosen.tolist(), observed, mean, std, strict=True)
    ]
    names = (f"{one.name}: " for one in subject.inputs[: len(describe)])
    ends = [observed, mean]
    chart = scatter_chart(
        mean,
        observed,
        outside,
        Axis.covering(f"predicted {target.axis_label}", ends),
        Axis.covering(f"observed {target.axis_label}", ends),
        f"Observed against predicted {target.name}",
        Sayings(("row ", *names, "observed ", "predicted "), lines),
    )
    caption = (
        f"Observed against predicted. Crosses are observations outside their 95 % interval: {percent(outside.mean())} "
        f"of those drawn.{sampled}"
    )
    return figure(chart, caption, chart=True)


def _row_descriptions(subject):
    """Functions that put a value of each of the first inputs into words."""
    calendar = {
        one.input: one for one in subject.dimensions if one.calendar and one.name == subject.inputs[one.input].name
    }

    def describe(position, unit):
        if position in calendar:
            return calendar[position].describe
        return lambda value: value if isinstance(value, str) else quantity(value, unit, 6)

    return [describe(position, of.unit) for position, of in enumerate(subject.inputs[:_MOST_LINES])]


def _calibration(subject, output):
    judgement = subject.judgements[output]
    display = CalibrationDisplay.from_predictions(judgement.observed, judgement.mean, judgement.std)
    image = figure_image(
        lambda drawing: display.plot(drawing.subplots()),
        (4.6, 4.6),
        "Share of observations inside intervals against the probability of the intervals",
    )
    caption = (
        "Calibration: intervals of each probability, and the share of observations that they hold. Below the dashed "
        "line intervals are too narrow, above it too wide. The grey band is what chance allows for independent rows."
    )
    return figure(image, caption)


def _residuals(subject, output):
    judgement, target = subject.judgements[output], subject.targets[output]
    display = ResidualDisplay.from_predictions(judgement.observed, judgement.mean, judgement.std)

    def draw(drawing):
        ax = drawing.subplots()
        display.plot(ax, rasterized=True)
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
        ax.set_xlabel(literal(f"predicted {target.axis_label}"))

    image = figure_image(draw, (4.6, 3.4), "Residuals against predictions")
    caption = (
        "Errors in units of the predicted standard deviation, against the prediction. They should scatter evenly "
        "around zero, two thirds of them between the dashed lines."
    )
    return figure(image, caption), _distribution(display.residuals)


def _distribution(residuals):
    """Density of the residuals beside the normal one."""
    edges = np.linspace(-_FARTHEST, _FARTHEST, _RESIDUAL_BINS + 1)
    middle, width = (edges[1:] + edges[:-1]) / 2, edges[1] - edges[0]
    found = np.histogram(residuals, edges)[0] / len(residuals)
    expected = np.diff(ndtr(edges))
    beyond = float(np.mean(np.abs(residuals) > _FARTHEST))
    lines = [Line("errors", found / width), Line("as the model expects", expected / width)]
    said = [
        (f"{number(low, 3)} to {number(high, 3)}", percent(share), percent(wanted))
        for low, high, share, wanted in zip(edges[:-1], edges[1:], found, expected, strict=True)
    ]
    title = (
        "Distribution of the errors in units of the predicted standard deviation, beside the one that the model expects"
    )
    chart = line_chart(
        middle,
        lines,
        Axis.between("error / predicted standard deviation", -_FARTHEST, _FARTHEST),
        Axis.covering("density", [found / width, expected / width], include=0.0),
        title,
        Sayings(("between ", "rows: ", "expected: "), said),
    )
    caption = f"{title}. {percent(beyond)} of the rows lie beyond {_FARTHEST:g}, where it expects next to none."
    return figure(chart, caption, chart=True, more=legend(line.name for line in lines))


def _errors(subject, dimension, output):
    judgement, target = subject.judgements[output], subject.targets[output]
    of = subject.dimensions[dimension]
    places = subject.places[dimension]
    known = np.isfinite(places)
    found = errors_along(places[known], (judgement.observed - judgement.mean)[known], of)
    if len(found.place) < 2:
        return element("p", f"Too few rows lie in different places along {of.name}.", class_="note")
    said = [
        (
            f"{of.describe(place)}, {count(n_rows, 'row')}",
            quantity(rms, target.unit),
            with_unit(signed(mean), target.unit),
        )
        for place, mean, rms, n_rows in zip(found.place, found.mean, found.rms, found.n_rows.tolist(), strict=True)
    ]
    worst, best = int(found.rms.argmax()), int(found.rms.argmin())
    lines = [
        Line("typical error (root mean square)", found.rms),
        Line("mean error: observed minus predicted", found.mean),
    ]
    caption = (
        f"Along {of.name}: typical errors from {quantity(found.rms[best], target.unit)} around "
        f"{of.describe(found.place[best])} to {quantity(found.rms[worst], target.unit)} around "
        f"{of.describe(found.place[worst])}."
    )
    chart = line_chart(
        found.place,
        lines,
        Axis.along(of),
        Axis.covering(f"error of {target.axis_label}", [found.rms, found.mean], include=0.0),
        caption,
        Sayings((f"{of.name}: ", "typical error ", "mean error "), said),
        zero=True,
        joined=of.kind != "category",
    )
    return figure(chart, caption, chart=True, more=legend(line.name for line in lines))
