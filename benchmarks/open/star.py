"""The rotation of the star KIC 1430163: a circle whose shape changes, beside faster change that does not repeat.

The two quarters lie farther apart than anything the star remembers, so that most of the empty time between them is cut
out, and half-day means are taken. The paper of celerite has 3.80 +- 0.15 days, with another kernel. Evidence in the
period of a shape that changes is nearly flat, with several maxima: where between 3.5 and 4.2 days the highest is
depends on the family, on the shortest lifetime that is allowed and on the width of the bins. So the average over
periods, weighted by their evidence, is shown beside the best one; what is required is required of the best one.
"""

import time

import numpy as np
import pandas as pd

from benchmarks.engine import figure
from benchmarks.open.common import timed_fit
from torusgp import Circle, Line, TorusGPRegressor

FILE = "kepler/kic_1430163.csv.gz"
TITLE = "rotation of the star KIC 1430163"
PUBLISHED, ERROR = 3.80, 0.15  # days
BIN = 0.5  # days
EMPTY = 60.0  # days between the quarters that are kept
RANGE = (0.5, 30.0)  # days, of the periods looked at first
N_COMPONENTS = 801
N_PERIODS = 13


def read(path):
    """Times in days and flux in parts per thousand of all observations, and where the second quarter begins."""
    table = pd.read_csv(path)
    times, flux = table.iloc[:, 0].to_numpy(), table.flux_ppt.to_numpy()
    return times, flux, int(np.argmax(np.diff(times))) + 1


def highest_peak(times, flux, second):
    """Period of the highest peak of the periodograms of the quarters, averaged."""
    longest = max(np.ptp(times[:second]), np.ptp(times[second:]))
    frequencies = np.arange(1 / RANGE[1], 1 / RANGE[0], 1 / (8 * longest))
    power = np.zeros(len(frequencies))
    for quarter in (slice(0, second), slice(second, None)):
        waves = np.exp(-2j * np.pi * np.outer(frequencies, times[quarter]))
        power += np.abs(waves @ (flux[quarter] - flux[quarter].mean())) ** 2
    return 1 / frequencies[np.argmax(power)]


def half_days(times, flux, second):
    """Half-day means, the second quarter moved towards the first."""
    times = times - times[0]
    times[second:] -= times[second] - times[second - 1] - EMPTY
    means = pd.DataFrame({"time": times, "flux": flux}).groupby(np.floor(times / BIN)).mean()
    return means[["time"]], means.flux.to_numpy()


def make_model(circle, period):
    """Rotation that is seen for a few turns at least, and change that is faster than it."""
    rotation = circle * Line("time", length_scale=3 * period)
    faster = Line("time", length_scale=2 * BIN, length_scale_bounds=(BIN / 2, 10 * period))
    return TorusGPRegressor(rotation + faster, n_components=N_COMPONENTS, n_threads=1)


def run(path):
    """Period with its standard error, and seconds."""
    start = time.perf_counter()
    times, flux, second = read(path)
    peak = highest_peak(times, flux, second)
    X, y = half_days(times, flux, second)
    periods = np.geomspace(peak / np.sqrt(2), peak * np.sqrt(2), N_PERIODS)
    evidence = np.array(
        [timed_fit(make_model(Circle("time", one), peak), X, y)[0].log_marginal_likelihood_ for one in periods]
    )
    weights = np.exp(evidence - evidence.max()) * periods  # evenly spaced in their logarithm
    weights /= weights.sum()
    average = weights @ periods
    spread = np.sqrt(weights @ (periods - average) ** 2)
    best = periods[np.argmax(evidence)]
    circle = Circle("time", best, period_bounds=(best / np.sqrt(2), best * np.sqrt(2)))
    model, seconds = timed_fit(make_model(circle, peak), X, y)
    found = model.kernel_.period[0]
    return [
        figure("half days", len(y)),
        figure("highest peak of the periodograms (days)", peak),
        figure("period of the highest evidence (days)", found),
        figure("its distance to the published one (days)", abs(found - PUBLISHED), at_most=ERROR),
        figure("its standard error (days)", model.period_std_),
        figure("log evidence there", model.log_marginal_likelihood_),
        figure("lowest log evidence of the periods tried", evidence.min()),
        figure("period on average over these (days)", average),
        figure("its standard deviation (days)", spread),
        figure("last fit, with the period (s)", seconds),
        figure("all together (s)", time.perf_counter() - start),
    ]
