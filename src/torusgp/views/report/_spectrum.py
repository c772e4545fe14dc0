"""What was expected of each frequency, and what was found."""

import numpy as np

from torusgp.views.plotting import SpectrumDisplay
from torusgp.views.report._figures import figure, figure_image, figures
from torusgp.views.report._markup import element, join, table
from torusgp.views.report._numbers import TIMES, count, number, quantity, with_unit

_MOST_WAVES = 8  # in the table
_FLOOR = 1e-12  # of the largest prior variance, below which frequencies are not drawn
_WEAKEST = 1e-3  # of the largest amplitude that is in the table


def spectrum(subject):
    """Section of the spectrum."""
    n_columns = subject.model.index_set_.n_components
    text = (
        f"The function is a sum of a constant and of waves of {number(n_columns // 2)} frequencies. The line is the "
        "variance that the model expects of each frequency before it sees data, the dots what it found. Filled dots "
        "are determined by the rows; hollow ones are mostly what was expected. Dots far above the line at its right "
        "end would call for more waves."
    )
    if not all(one.is_periodic for one in subject.dimensions):
        text += (
            " Inputs that do not repeat lie on a circle that is longer than their range: their waves mean something "
            "together only."
        )
    if len(subject.dimensions) > 1:
        text += (
            " Of inputs that act together there are two waves of the same cycles, in which one of them runs forwards "
            "or backwards."
        )
    if n_columns == 1:
        return element("p", "The model has a constant alone, and no waves.")
    return join([element("p", text), subject.for_each_output(lambda output: _one(subject, output))])


def _one(subject, output):
    display = SpectrumDisplay.from_estimator(subject.model, output=output)
    is_wave = display.frequencies.any(axis=1)  # the constant has the broad prior of the intercept
    expected = display.prior_variance >= _FLOOR * display.prior_variance[is_wave].max(initial=0.0)
    expected |= ~is_wave
    shown = is_wave & expected
    drawn = SpectrumDisplay(
        display.frequencies[shown], display.prior_variance[shown], display.power[shown], display.determined[shown]
    )
    few = len(drawn.power) <= 2000  # dots; more are smaller as pixels
    image = figure_image(
        lambda drawing: drawn.plot(drawing.subplots(), rasterized=not few),
        (5.6, 3.9),
        "Prior variance and posterior power of each frequency",
    )
    n_determined = int((display.determined[is_wave] > 0.5).sum())
    caption = (
        f"Of {count(is_wave.sum(), 'frequency', 'frequencies')}, {number(n_determined)} are determined by the rows."
    )
    if not expected.all():
        caption += f" {number(np.sum(~expected))} of which the model expects next to nothing are not drawn."
    return join([figures(figure(image, caption, wide=True)), _strongest(subject, output)])


def _strongest(subject, output):
    """Table of the waves with the largest amplitudes."""
    fitted = subject.model.fitted_
    weights = fitted.posterior.weights[: fitted.n_fourier, output]
    amplitude = np.hypot(weights[1::2], weights[2::2])
    frequencies = fitted.index_set.frequencies[1:]
    others = [axis for one in subject.dimensions if not one.is_periodic for axis in one.axes]
    # waves along lines and levels mean nothing on their own
    amplitude = np.where(frequencies[:, others].any(axis=1), 0.0, amplitude)
    order = np.argsort(-amplitude, kind="stable")[:_MOST_WAVES]
    order = order[amplitude[order] > _WEAKEST * amplitude.max(initial=0.0)]
    if not len(order):  # a constant prediction, or nothing that repeats
        return None
    target = subject.functions[output]
    rows = [
        [
            _wave(subject, frequencies[i].tolist()),
            element("td", quantity(amplitude[i], target.unit), data_value=repr(float(amplitude[i]))),
        ]
        for i in order.tolist()
    ]
    return table(["strongest waves", "amplitude"], rows)


def _wave(subject, frequency):
    """A frequency in words: the cycle of one input, or the cycles of several that go on together."""
    used = [(frequency[one.axes[0]], one) for one in subject.dimensions if one.is_periodic and frequency[one.axes[0]]]
    cycles = (
        f"{one.name}, every {with_unit(number(one.period / abs(k), 5), one.unit)}{'' if k > 0 else ', backwards'}"
        for k, one in used
    )
    return f" {TIMES} ".join(cycles)
