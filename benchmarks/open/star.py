"""The rotation of the star KIC 1430163: a circle whose shape changes, beside faster change that does not repeat.

The two quarters lie farther apart than anything the star remembers, so that most of the empty time between them is cut
out. The paper of celerite has 3.80 +- 0.15 days, with another kernel. The period is that of ``Circle("time", "auto")``
beside a line of the same input: a mean over all that is not known of a shape that lasts a turn at least.
"""

import numpy as np
import pandas as pd

from benchmarks.engine import figure
from benchmarks.open.common import timed_fit
from torusgp import Circle, Line, TorusGPRegressor

FILE = "kepler/kic_1430163.csv.gz"
TITLE = "rotation of the star KIC 1430163"
PUBLISHED, ERROR = 3.80, 0.15  # days
EMPTY = 60.0  # days between the quarters that are kept
N_COMPONENTS = 801


def read(path):
    """Times in days without most of the gap, and flux in parts per thousand."""
    table = pd.read_csv(path)
    times, flux = table.iloc[:, 0].to_numpy() - table.iloc[0, 0], table.flux_ppt.to_numpy()
    second = int(np.argmax(np.diff(times))) + 1
    times[second:] -= times[second] - times[second - 1] - EMPTY
    return pd.DataFrame({"time": times}), flux


def run(path):
    """Period with its standard error, and seconds."""
    X, y = read(path)
    kernel = Circle("time", "auto") * Line("time", length_scale=10.0) + Line("time", length_scale=1.0)
    model, seconds = timed_fit(TorusGPRegressor(kernel, n_components=N_COMPONENTS, n_threads=1), X, y)
    found = model.kernel_.period[0]
    return [
        figure("observations", len(y)),
        figure("period (days)", found),
        figure("its distance to the published one (days)", abs(found - PUBLISHED), at_most=ERROR),
        figure("its standard error (days)", model.period_std_),
        figure("log evidence", model.log_marginal_likelihood_),
        figure("fit, with the search for the period (s)", seconds),
    ]
