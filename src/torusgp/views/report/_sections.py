"""Sections of the page, as data: the picture at the top, parts, what matters, errors, and the model for experts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import ndtri

from torusgp.views.findings import describe_naive
from torusgp.views.numbers import TIMES, count, listed, number, percent, signed, with_unit
from torusgp.views.plotting import SpectrumDisplay
from torusgp.views.record import ErrorsAlong
from torusgp.views.report._axes import WEEKDAYS, Axis
from torusgp.views.report._charts import bars, curves, heat_map, line, points, rule
from torusgp.views.report._subject import Horizons, Subject
from torusgp.views.selection import selection_summary

_HALF = ndtri(0.975)  # of a 95 % interval, in standard deviations
_MOST_PARTS, _MOST_MAPS, _MOST_SHARES, _MOST_ERRORS = 8, 4, 6, 6
_LEAST_SHARE = 0.001  # of the variance, from which a pair gets a map
_MOST_POINTS = 2_000  # that are drawn as points: more hide each other
_FOLDED = 1.5  # periods that rows cover, from which they are folded
_MOST_TURNS, _POINTS_A_TURN = 60, 24  # of a function that is drawn along its input
_GAP = 4.0  # usual steps at which a curve breaks
_MOST_POWERS = 2_000  # of a periodogram: the highest of neighbours
_MOST_HARMONICS = 5  # of a period that are marked in it
_DECADES = 6  # below the highest, where powers end
_INK, _PREDICTED, _FUTURE, _OTHER = "ink", "c1", "c0", "c2"


def opening(subject: Subject) -> list[dict[str, Any]]:
    """The pictures at the top: the target over time, folded at its period, or against its predictions."""
    record = subject.record
    if record is None or not len(record.place):
        return _without_rows(subject)
    if record.kind == "time" or (record.along and record.is_ordered and subject.model.n_features_in_ > 1):
        return [_history(subject)]
    if record.along and subject.model.n_features_in_ == 1:
        span = np.ptp(record.place)
        circles = [d for d, one in enumerate(subject.dimensions) if one.kind == "circle" and one.period]
        folded = [d for d in circles if span > _FOLDED * (subject.dimensions[d].period or np.inf)]
        return [*(_folded(subject, d) for d in folded), _history(subject)]
    pictures = [] if not record.is_unseen.any() else [_scatter(subject)]
    return pictures + _without_rows(subject)[: 2 - len(pictures)]


def _without_rows(subject: Subject) -> list[dict[str, Any]]:
    """The function itself: its surface over the two inputs that matter most, or its largest part."""
    if subject.findings.grade == "worthless":
        return []
    single = sorted(range(len(subject.dimensions)), key=lambda d: -subject.share.get((d,), 0.0))
    if len(single) == 2 and not any(one.kind == "slope" for one in subject.dimensions):
        first, second = sorted(single)
        places, mean, _ = subject.pair_effect((first, second))
        total = mean + sum(
            np.expand_dims(np.asarray(_effect_at(subject, d)), 1 - i) for i, d in enumerate((first, second))
        )
        caption = "Predicted function over both inputs, above and below its average over the rows."
        return [heat_map(subject.axis(first), subject.axis(second), places, total, subject.function_axis, caption)]
    return [_part(subject, single[0])] if single else []


def _effect_at(subject: Subject, dimension: int) -> Any:
    """Main effect on the grid of a map."""
    other = next(d for d in range(len(subject.dimensions)) if d != dimension)
    pair = (dimension, other)
    _, joint, _ = subject.pair_effect(pair, joint=True)
    return joint.mean(axis=1) - joint.mean()


def _history(subject: Subject) -> dict[str, Any]:
    """The target along what orders the rows, with predictions of the rows held out and of the future."""
    record = subject.record
    assert record is not None
    unseen = record.is_unseen
    order = np.argsort(record.place, kind="stable")
    steps = np.diff(record.place[order])
    usual = float(np.median(steps)) if len(steps) else 0.0
    is_even = usual > 0 and np.mean(np.abs(steps - usual) < 0.1 * usual) > 0.5 and record.kind == "time"
    gap = _GAP * usual
    draw = line if is_even and record.is_ordered else points
    more = {"style": _INK} | ({"gap": gap} if is_even and record.is_ordered else {})
    layers = [draw("observed", record.place[order], record.observed[order], **more)]
    chosen = order[unseen[order]] if record.is_ordered else order[:0]
    if not record.is_ordered:
        layers += _function(subject)
    if len(chosen):
        columns = (each[chosen] for each in (record.place, record.mean, record.low, record.high))
        layers.append(line("forecast of rows held out", *columns, style=_PREDICTED, gap=gap))
        layers.append(rule("held out", record.place[chosen[0]]))
    if subject.future is not None:
        future = subject.future
        layers.append(line("forecast", future.place, future.mean, future.low, future.high, style=_FUTURE))
        layers.append(rule("last row", record.place.max()))
    kind = "time" if record.kind == "time" else "number"
    thinned = ""
    if record.n_rows > len(record.place):
        thinned = f" Of {number(record.n_rows)} rows the lowest and highest of neighbours are drawn."
    bands = ", with 95 % intervals of single values" if len(layers) > 1 else ""
    held = "; rows held out were forecast before the model saw them" if len(chosen) else ""
    caption = f"{subject.findings.target} along {record.along}{bands}{held}.{thinned}"
    return curves(
        Axis(record.along, "", kind), subject.target_axis(), layers, caption, wide=True, zoom=True, title="history"
    )


def _function(subject: Subject) -> list[dict[str, Any]]:
    """The predicted function of one input over the range of the rows, unless it turns too often to be seen."""
    record = subject.record
    assert record is not None
    low, high = float(record.place.min()), float(record.place.max())
    turns = max([(high - low) / one.period for one in subject.dimensions if one.period] or [4.0])
    if turns > _MOST_TURNS:
        return []
    x = np.linspace(low, high, int(_POINTS_A_TURN * max(turns, 4.0)))
    mean, std = (each.reshape(len(x), -1)[:, subject.output] for each in _predict(subject, x, return_std=True))
    return [line("prediction", x, mean, mean - _HALF * std, mean + _HALF * std, style=_FUTURE)]


def _predict(subject: Subject, x: Any, **options: Any) -> Any:
    """Predictions for values of the only input."""
    with warnings.catch_warnings():
        # names would need the library that the names came from
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return subject.model.predict(x[:, None], **options)


def _folded(subject: Subject, dimension: int) -> dict[str, Any]:
    """Rows folded at a period, without what else the model has, and the shape that repeats."""
    record, one = subject.record, subject.dimensions[dimension]
    assert record is not None
    assert one.period is not None
    places, mean, std = subject.main_effect(dimension)
    chosen, drawn = np.arange(len(record.place)), ""
    if len(chosen) > _MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, _MOST_POINTS, replace=False))
        drawn = f" {number(_MOST_POINTS)} of {number(record.n_rows)} rows are drawn, chosen at random."
    place = record.place[chosen]
    predicted = np.asarray(_predict(subject, place)).reshape(len(place), -1)[:, subject.output]
    phase = place % one.period
    shape = np.interp(phase, places, mean, period=one.period)
    level = float(np.mean(predicted - shape))
    rest = record.observed[chosen] - predicted + shape + level
    turns = np.concatenate([phase, phase + one.period])
    layers = [
        points("observed", turns, np.tile(rest, 2), style=_INK),
        line(
            "shape",
            np.concatenate([places, places[1:] + one.period]),
            level + np.concatenate([mean, mean[1:]]),
            level + np.concatenate([mean, mean[1:]]) - _HALF * np.concatenate([std, std[1:]]),
            level + np.concatenate([mean, mean[1:]]) + _HALF * np.concatenate([std, std[1:]]),
            style=_FUTURE,
        ),
    ]
    others = " What else the model found is subtracted." if len(subject.dimensions) > 1 else ""
    period = with_unit(number(one.period, 7), subject.input_units.get(record.along, ""))
    caption = f"Rows folded at the period {period}, drawn twice, and the shape that repeats.{others}{drawn}"
    axis = Axis(
        f"{record.along} modulo {period}", subject.input_units.get(record.along, ""), "number", 0, 2 * one.period
    )
    return curves(axis, subject.target_axis(), layers, caption, wide=True, title="folded")


def _scatter(subject: Subject) -> dict[str, Any]:
    """Observed against predicted."""
    record = subject.record
    assert record is not None
    chosen = np.flatnonzero(record.is_unseen)
    if len(chosen) > _MOST_POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(chosen, _MOST_POINTS, replace=False))
    mean, observed = record.mean[chosen], record.observed[chosen]
    outside = (observed < record.low[chosen]) | (observed > record.high[chosen])
    ends = np.array([min(mean.min(), observed.min()), max(mean.max(), observed.max())])
    layers = [
        line("as predicted", ends, ends, style="muted"),
        points("inside its 95 % interval", mean[~outside], observed[~outside], style=_FUTURE),
        points("outside", mean[outside], observed[outside], style=_PREDICTED),
    ]
    caption = f"{count(len(chosen), 'row')} that the model had not seen."
    x = Axis(f"predicted {subject.findings.target}", subject.findings.unit)
    y = Axis(f"observed {subject.findings.target}", subject.findings.unit)
    return curves(x, y, layers, caption, title="scatter")


# Parts and what matters ----------------------------------------------------------------------------------------------


def parts(subject: Subject) -> dict[str, Any] | None:
    """Effect of each input."""
    if subject.findings.grade == "worthless" or subject.indices is None:
        return None
    order = sorted(range(len(subject.dimensions)), key=lambda d: -subject.share.get((d,), 0.0))
    without = [d for d in order if subject.share.get((d,)) == 0]
    order = [d for d in order if d not in without]
    drawn, left = order[:_MOST_PARTS], order[_MOST_PARTS:]
    notes = [f"Not drawn, since they do least: {listed(subject.axis(d).name for d in left)}."] if left else []
    notes += [f"Without an effect of its own: {listed(subject.axis(d).name for d in without)}."] if without else []
    return {
        "id": "parts",
        "title": "What each input does",
        "intro": "How far the target lies above or below its average as one input changes, averaged over the others: "
        "over the rows, where values do not repeat. Bands contain the true effect with 95 % probability.",
        "charts": [_part(subject, d) for d in drawn],
        "note": " ".join(notes),
    }


def _part(subject: Subject, dimension: int) -> dict[str, Any]:
    axis, of = subject.axis(dimension), subject.function_axis
    places, mean, std = subject.main_effect(dimension)
    shown = subject.places(dimension, places)
    low, high = (
        f"{with_unit(signed(mean[i]), of.unit)} ({axis.describe(shown[i])})"
        for i in (int(mean.argmin()), int(mean.argmax()))
    )
    share = subject.share.get((dimension,))
    of_share = "" if share is None or len(subject.dimensions) == 1 else f" {percent(share, 0)} of what varies."
    caption = f"From {low} to {high}.{of_share}"
    if axis.kind == "category" or subject.has_days(dimension):
        labels = axis.labels if axis.kind == "category" else WEEKDAYS
        return bars(labels, (mean, mean - _HALF * std, mean + _HALF * std), of, caption, title=axis.name)
    layer = line("effect", shown, mean, mean - _HALF * std, mean + _HALF * std, style=_FUTURE)
    return curves(axis, of, [layer], caption, title=axis.name)


def interactions(subject: Subject) -> dict[str, Any] | None:
    """Maps of pairs that act together."""
    pairs = sorted((one for one in subject.share if len(one) == 2), key=lambda one: -subject.share[one])
    drawn = [one for one in pairs[:_MOST_MAPS] if subject.share[one] >= _LEAST_SHARE]
    if not drawn:
        return None
    left = [f"{_name(subject, one)} ({percent(subject.share[one])})" for one in pairs if one not in drawn]
    higher = sum(share for one, share in subject.share.items() if len(one) > 2)
    notes = [f"Other pairs: {listed(left)}."] if left else []
    notes += [f"Three or more inputs together: {percent(higher)} of what varies."] if higher >= _LEAST_SHARE else []
    return {
        "id": "interactions",
        "title": "What inputs do together",
        "intro": "What two inputs do beyond the sum of what each does alone.",
        "charts": [_map(subject, one) for one in drawn],
        "note": " ".join(notes),
    }


def _map(subject: Subject, pair: tuple[int, ...]) -> dict[str, Any]:
    first, second = pair
    places, mean, std = subject.pair_effect((first, second))
    unit = subject.function_axis.unit
    reach, error = with_unit(number(np.abs(mean).max(), 3), unit), with_unit(number(std.max(), 2), unit)
    caption = (
        f"{percent(subject.share[pair])} of what varies: up to {reach} either way, known to ± {error} or better (one "
        "standard deviation)."
    )
    axes = subject.axis(first), subject.axis(second)
    return heat_map(*axes, places, mean, subject.function_axis, caption, title=_name(subject, pair))


def _name(subject: Subject, component: tuple[int, ...]) -> str:
    return f" {TIMES} ".join(subject.axis(d).name for d in component)


def shares_section(subject: Subject) -> dict[str, Any]:
    """Bars of the shares."""
    shown = subject.findings.shares[:_MOST_SHARES]
    charts = []
    if len(shown) > 1:
        values = [[100 * getattr(one, name) for one in shown] for name in ("share", "lower", "upper")]
        axis = Axis("share of what varies in predictions", "%", zero=True)
        left = len(subject.findings.shares) - len(shown)
        more = f" {count(left, 'smaller one')} not drawn." if left else ""
        charts = [bars([one.component for one in shown], values, axis, f"With 95 % intervals.{more}")]
    return {"id": "drivers", "title": "What drives it", "intro": subject.findings.drivers, "charts": charts, "note": ""}


# Errors --------------------------------------------------------------------------------------------------------------


def errors(subject: Subject) -> dict[str, Any] | None:
    """Section on errors of rows that the model had not seen."""
    record = subject.record
    if record is None or not record.is_unseen.any():
        return None
    charts = []
    if subject.horizons is not None:
        charts.append(_by_horizon(subject, subject.horizons))
    axes = {subject.axis(d).name: subject.axis(d) for d in range(len(subject.dimensions))}
    axes |= {str(name): axes.get(str(name), Axis(str(name))) for name in (one.name for one in record.errors)}
    charts += [_errors(subject, one, axes[one.name], f"By {one.name}") for one in record.errors[:_MOST_ERRORS]]
    if record.kind == "time" or record.is_ordered:
        charts.append(_scatter(subject) | {"title": "Observed against predicted"})
    return {
        "id": "errors",
        "title": "Where errors are large",
        "intro": "Errors of rows that the model had not seen.",
        "charts": charts,
        "note": "",
    }


def _by_horizon(subject: Subject, found: Horizons) -> dict[str, Any]:
    layers = [
        line("model", found.steps, found.rmse, style=_PREDICTED, dots=True),
        line(describe_naive(found.season), found.steps, found.naive_rmse, style="muted", dots=True),
    ]
    first, last = (with_unit(number(one, 3), subject.findings.unit) for one in (found.rmse[0], found.rmse[-1]))
    caption = f"Typical error from {first} at the beginning to {last} at the end, beside a seasonal naive forecast."
    axis = Axis(f"steps ahead, of {found.step}", zero=True)
    of = subject.target_axis(f"typical error of {subject.findings.target}", zero=True)
    return curves(axis, of, layers, caption, title="By how far ahead")


def _errors(subject: Subject, found: ErrorsAlong, axis: Axis, title: str) -> dict[str, Any]:
    unit = subject.findings.unit
    worst, best = int(found.rms.argmax()), int(found.rms.argmin())
    place = found.place if isinstance(found.place, np.ndarray) else np.arange(float(len(found.place)))
    if not isinstance(found.place, np.ndarray):
        axis = Axis(axis.name, "", "category", labels=tuple(found.place))
    elif axis.kind == "category":
        axis = Axis(axis.name)
    elif axis.kind == "time":
        place = subject.clocks[axis.name](place)
    caption = (
        f"Typical error from {with_unit(number(found.rms[best], 3), unit)} ({axis.describe(place[best])}) to "
        f"{with_unit(number(found.rms[worst], 3), unit)} ({axis.describe(place[worst])})."
    )
    of = subject.target_axis(f"error of {subject.findings.target}", zero=True)
    if axis.kind == "category":
        return bars(axis.labels, [found.rms] * 3, of, caption, title=title)
    layers = [
        line("typical error (root mean square)", place, found.rms, style=_PREDICTED, dots=True),
        line("mean error (observed minus predicted)", place, found.mean, style=_OTHER, dots=True),
    ]
    return curves(axis, of, layers, caption, title=title)


# The model -----------------------------------------------------------------------------------------------------------


def experts(subject: Subject) -> dict[str, Any]:
    """Periodogram, spectrum, and how an index set was learned."""
    charts = [*_periodogram(subject), *_selection(subject), *_spectrum(subject)]
    return {"id": "model", "title": "The model", "intro": "", "charts": charts, "note": ""}


def _periodogram(subject: Subject) -> list[dict[str, Any]]:
    search = getattr(subject.model, "period_search_", None)
    if search is None or len(search.periodogram.frequencies) != 1:
        return []
    (frequencies,), power = search.periodogram.frequencies, np.asarray(search.periodogram.power)
    periods = [one.period for one in subject.dimensions if one.kind == "circle" and one.period]
    end = min(float(frequencies.max()), (_MOST_HARMONICS + 1) / min(periods))
    shown = np.flatnonzero((frequencies > 0) & (frequencies <= end) & (power > 0))
    if not len(shown):
        return []
    blocks = np.array_split(shown, min(len(shown), _MOST_POWERS))
    shown = np.array([one[np.argmax(power[one])] for one in blocks])
    floor = power[shown].max() * 10.0**-_DECADES
    layers = [line("power", frequencies[shown], np.log10(np.maximum(power[shown], floor)), style=_FUTURE)]
    for period in periods:
        layers += [
            rule(f"1 / {number(period, 6)}" if k == 1 else "", k / period) for k in range(1, _MOST_HARMONICS + 1)
        ]
    caption = "Share of the variance that a single harmonic of each frequency explains; lines mark the periods found."
    x, y = Axis("frequency", "cycles per unit"), Axis("share of the variance", log=True)
    return [curves(x, y, layers, caption, wide=True, title="Periodogram", zoom=True)]


def _selection(subject: Subject) -> list[dict[str, Any]]:
    """Rounds in which an index set was learned, and how many inputs its frequencies have."""
    if not subject.model.fit_.learned.rounds:
        return []
    found = selection_summary(subject.model, output=subject.output)
    size = np.log10([one.n_components for one in found.rounds])
    x = Axis("components", log=True)
    orders = np.array(sorted(found.orders.items())).reshape(-1, 2)
    names = [count(int(order), "input") for order in orders[:, 0]]
    return [
        bars(
            names,
            [orders[:, 1]] * 3,
            Axis("frequencies", zero=True),
            f"The frequencies that were chosen, by the number of inputs that interact in them. {found}.",
            title="Learned index set: interactions",
        ),
        curves(
            x,
            Axis("mean log density"),
            [line("rows that took no part", size, [one.log_density for one in found.rounds], style=_FUTURE, dots=True)],
            "Mean log predictive density of rows that took no part in choosing frequencies, in each round.",
            title="Learned index set: density",
        ),
        curves(
            x,
            Axis("log evidence"),
            [line("rows that took part", size, [one.log_evidence for one in found.rounds], style=_OTHER, dots=True)],
            "Log evidence of the rows that took part; after choosing it is optimistic.",
            title="Learned index set: evidence",
        ),
    ]


def _spectrum(subject: Subject) -> list[dict[str, Any]]:
    """Variance that was expected of each frequency, and what was found."""
    if subject.model.index_set_.n_components < 2:
        return []
    display = SpectrumDisplay.from_estimator(subject.model, output=subject.output)
    shown = display.frequencies.any(axis=1) & (display.prior_variance > 0)
    prior, power = display.prior_variance[shown], display.power[shown]
    if not len(prior) or not prior.max() > 0:
        return []
    order = np.argsort(-prior, kind="stable")
    floor = max(prior.max(), power.max()) * 10.0**-12
    rank = np.arange(1.0, len(order) + 1)
    layers = [
        points("found", rank, np.log10(np.maximum(power[order], floor)), style=_PREDICTED),
        line("expected (prior)", rank, np.log10(np.maximum(prior[order], floor)), style=_FUTURE),
    ]
    n_determined = int((display.determined[shown] > 0.5).sum())
    caption = (
        f"{number(n_determined)} of {count(len(rank), 'frequency', 'frequencies')} are determined by the rows. Points "
        "far above the line at its right end would call for more components."
    )
    y = Axis("variance", log=True)
    return [curves(Axis("frequencies, by prior variance"), y, layers, caption, title="Spectrum")]
