"""What each input does, and what pairs of them do together."""

import numpy as np
from scipy.special import ndtri

from torusgp.views.analysis import effect
from torusgp.views.plotting import EffectDisplay
from torusgp.views.report._charts import Axis, Line, Sayings, legend, line_chart
from torusgp.views.report._figures import figure, figure_images, figures, literal, set_ticks
from torusgp.views.report._labels import shorten
from torusgp.views.report._markup import element, join
from torusgp.views.report._numbers import digits_for, listed, number, percent, signed, with_unit

MOST_LINES, MOST_MAPS = 8, 3
_FEWEST_SHARE = 0.001  # of the variance, from which a pair gets pictures
_HALF = ndtri(0.975)  # of a 95 % interval, in standard deviations
_PROFILE_POINTS, _MAP_POINTS = 97, 97


def main_effects(subject):
    """Section of the main effects."""
    return join(
        [
            element(
                "p",
                f"What each input does on its own, averaged over all values of the others{weighted(subject)}: how far "
                "the target lies above or below its average. The band holds the true effect with 95 % probability, by "
                "the model's account; where there are many rows it is as thin as the line.",
            ),
            subject.for_each_output(lambda output: _lines(subject, output)),
        ]
    )


def interactions(subject):
    """Section of pairs that act together."""
    if len(subject.dimensions) == 1:
        return element("p", "There is one input: nothing to interact with.")
    content = subject.for_each_output(lambda output: _pairs(subject, output))
    legend = (
        " Lines show the average target along one input, for four values of the other: if they were the same line, "
        "only shifted, the inputs would not interact. The maps show what a pair does together beyond the sum of what "
        "each does alone, and how uncertain that is."
    )
    shown = legend if "<figure" in content else ""
    return join([element("p", f"Where the effect of one input depends on another.{shown}"), content])


def weighted(subject):
    """How values are averaged over that do not repeat, as an insertion."""
    names = [one.name for one in subject.dimensions if not one.is_periodic]
    return f" (those of {listed(names)} as often as the rows have them)" if names else ""


def extremes(subject, dimension, output):
    """Where the main effect of a dimension is lowest and highest, in words."""
    x, mean = subject.effect_at_levels(dimension, output) or subject.main_effect(dimension, output)[:2]
    of, unit = subject.dimensions[dimension], subject.functions[output].unit
    low, high = (
        f"{with_unit(signed(mean[i]), unit)} ({of.describe(x[i])})" for i in (int(mean.argmin()), int(mean.argmax()))
    )
    return f"from {low} to {high}"


def _lines(subject, output):
    order = list(range(len(subject.dimensions)))
    if subject.why_no_shares(output) is None:
        share = subject.share(output)
        order = sorted(order, key=lambda d: -share[d])
    drawn, left = order[:MOST_LINES], order[MOST_LINES:]
    note = None
    if left:
        names = listed(subject.dimensions[d].name for d in left)
        note = element("p", f"Without a picture, since they do least: {names}.", class_="note")
    return join([subject.caution(output), figures(*(_line(subject, d, output) for d in drawn)), note])


def _line(subject, dimension, output):
    of, target = subject.dimensions[dimension], subject.functions[output]
    x, mean, std = subject.main_effect(dimension, output)
    half = _HALF * std
    lines = [
        (of.describe(place), with_unit(f"{signed(value, 4)} ± {number(margin, 2)}", target.unit))
        for place, value, margin in zip(x, mean, half, strict=True)
    ]
    marks = subject.effect_at_levels(dimension, output) or ((), ())
    chart = line_chart(
        x,
        [Line(of.name, mean, half, marks)],
        Axis.along(of),
        Axis.covering(f"effect on {target.axis_label}", [mean - half, mean + half], include=0.0),
        f"Effect of {of.name} on {target.name}, {extremes(subject, dimension, output)}",
        Sayings((f"{of.name}: ", "effect "), lines),
        zero=True,
        joined=of.kind != "category",
    )
    shared = ""
    if len(subject.dimensions) > 1 and subject.why_no_shares(output) is None:
        shared = f" {_percent_of(subject, dimension, output)} of the variance."
    return figure(
        chart,
        join([element("strong", of.name), f": {extremes(subject, dimension, output)}.{shared}"]),
        chart=True,
    )


def _percent_of(subject, component, output):
    return percent(subject.share(output)[component])


def _pairs(subject, output):
    missing = subject.why_no_shares(output)
    if missing is not None:
        return element("p", missing, class_="note")
    share = subject.share(output)
    pairs = [i for i, component in enumerate(subject.indices.components) if len(component) == 2]
    pairs.sort(key=lambda i: -share[i])
    if not any(share[i] > 0 for i in pairs):
        return element("p", "The model lets no inputs interact.")
    drawn = [i for i in pairs[:MOST_MAPS] if share[i] >= _FEWEST_SHARE]
    left = [i for i in pairs if i not in drawn]
    parts = [_pair(subject, i, output) for i in drawn]
    if left:
        names = (f"{subject.component_name(subject.indices.components[i])} ({percent(share[i])})" for i in left)
        parts.append(element("p", f"Pairs without a picture, with their share of the variance: {listed(names)}."))
    higher = sum(value for value, c in zip(share, subject.indices.components, strict=True) if len(c) > 2)
    if higher:
        parts.append(element("p", f"Three or more inputs together: {percent(higher)} of the variance."))
    return join(parts)


def _pair(subject, position, output):
    pair = subject.indices.components[position]
    interval = [values.reshape(len(values), -1)[position, output] for values in subject.indices.interval()]
    shares = f"{_percent_of(subject, position, output)} of the variance"
    between = f"95 % interval {percent(interval[0])} to {percent(interval[1])}"
    level = "h4" if len(subject.targets) > 1 else "h3"
    heading = element(level, f"{subject.component_name(pair)}: {shares} ({between})")
    totals = subject.indices.total_order.reshape(len(subject.dimensions), -1)[:, output]
    one, other = sorted(pair, key=lambda d: -totals[d])
    profiles = (_profiles(subject, one, other, output), _profiles(subject, other, one, output))
    return join([heading, figures(*profiles, *_maps(subject, pair, output))])


def _profiles(subject, along, other, output):
    """The average target along one input, for some values of another."""
    of, by, target = subject.dimensions[along], subject.dimensions[other], subject.functions[output]
    x, places = of.places(_PROFILE_POINTS), by.quarters()
    if subject.has_days(along, (along, other)):
        x = np.arange(of.period)
    mean, std = _on_grid(subject, (along, other), (x, places), output, joint=True)
    half = _HALF * std
    names = [by.describe(place) for place in places]
    digits = digits_for(mean, np.ptp(mean) / 10)
    lines = [
        (of.describe(place), *(f"{number(value, digits)} ± {number(margin, 2)}" for value, margin in pairs))
        for place, pairs in zip(x, np.stack([mean, half], axis=-1), strict=True)
    ]
    title = f"Average {target.name} along {of.name} for {listed(names)} of {by.name}"
    chart = line_chart(
        x,
        [Line(name, mean[:, i], half[:, i]) for i, name in enumerate(names)],
        Axis.along(of),
        Axis.covering(f"average {target.axis_label}", [mean - half, mean + half]),
        title,
        Sayings((f"{of.name}: ", *(f"{name}: " for name in names)), lines),
        joined=of.kind != "category",
    )
    return figure(chart, f"{title}.", chart=True, more=legend(f"{by.name} {name}" for name in names))


def _on_grid(subject, pair, grid, output, joint=False):
    """Mean and standard deviation of the effect of a pair on a grid, of days and their hours where these are both."""
    points = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    if set(pair) == set(subject.moving_week or ()):
        # the grid has whole days; at 15:00 on Monday the week has gone on to 0.625
        hour, week = map(pair.index, subject.moving_week)
        points[:, week] += points[:, hour] / subject.dimensions[subject.moving_week[0]].period
    values = effect(subject.model, pair, joint=joint, n_points=2)(_to_values(subject, pair, points), return_std=True)
    return (each.reshape(*map(len, grid), -1)[..., output] for each in values)


def _to_values(subject, pair, points):
    """Values of dimensions at places, an object each if one of them is a level."""
    columns = [subject.dimensions[d].points(points[:, i]) for i, d in enumerate(pair)]
    if all(column.dtype == float for column in columns):
        return points
    return np.column_stack([column.astype(object) for column in columns])


def _maps(subject, pair, output):
    first, second = (subject.dimensions[d] for d in pair)
    grid = [
        np.arange(one.period) if subject.has_days(d, pair) else one.places(_MAP_POINTS)
        for d, one in zip(pair, (first, second), strict=True)
    ]
    mean, std = _on_grid(subject, pair, grid, output)
    target = subject.functions[output]
    display = EffectDisplay(
        tuple(one.points(places) for one, places in zip((first, second), grid, strict=True)),
        mean,
        std,
        tuple(literal(dimension.axis_label) for dimension in (first, second)),
        target=literal(target.axis_label),
        period=(first.period, second.period),
        kind=(first.kind, second.kind),
    )

    def draw(drawings):
        # cells of one colour each: shades between them would take ten times the bytes
        display.plot([one.subplots() for one in drawings], shading="nearest")
        for axis, one, values in zip("xy", (first, second), grid, strict=True):
            for ax in display.axes_:
                set_ticks(ax, axis, one.ticks())
            if one.is_periodic and len(values) < _MAP_POINTS:  # whole days, whose cells begin half a day before
                display.ax_.set(**{f"{axis}lim": (-0.5, len(values) - 0.5)})

    name = shorten(subject.component_name(pair))
    reach = with_unit(number(np.abs(mean).max(), 3), target.unit)
    most = with_unit(number(std.max(), 2), target.unit)
    captions = (
        f"What the two do together beyond their sum: up to {reach} either way. White is nothing.",
        f"Standard deviation of that effect: at most {most}.",
    )
    alternatives = (f"Map of the interaction effect of {name}", f"Map of the uncertainty of {name}")
    images = figure_images(draw, [(4.6, 3.3)] * 2, alternatives)
    return [figure(image, caption) for image, caption in zip(images, captions, strict=True)]
