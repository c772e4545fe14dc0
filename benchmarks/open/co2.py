r"""Carbon dioxide at Mauna Loa: the sum of scikit-learn's example, exactly and by columns; rows after 2003 held out.

The example's four terms and noise, with a squared exponential in place of its rational quadratic, start at the same
values in both. ``ExpSineSquared`` of length scale l is :math:`\exp(-2 \sin^2(\pi d / p) / l^2)`; a circle of length
scale :math:`\ell` has :math:`\exp((\cos(2 \pi d / p) - 1) / \ell^2) = \exp(-2 \sin^2(\pi d / p) / \ell^2)`, so
:math:`\ell = l`. Targets are centred by hand, and neither has an intercept.
"""

import pandas as pd
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, WhiteKernel

from benchmarks.engine import Turns, figure
from benchmarks.open.common import log_losses, r2
from torusgp import Circle, Line, TorusGPRegressor

FILE = "mauna_loa/co2_monthly.csv.gz"
TITLE = "carbon dioxide at Mauna Loa, monthly, rows after 2003 held out"
N_TURNS = 3
BOUNDS = (0.01, 1e4)  # years: defaults are narrower, and scikit-learn's wider still


def read(path):
    """Years and concentrations to learn from, and to predict."""
    table = pd.read_csv(path).dropna()
    X, y = table[["decimal_year"]].to_numpy(), table.co2_ppm.to_numpy()
    later = table.year.to_numpy() > 2003
    return X[~later], y[~later], X[later], y[later]


def exact_process():
    season = 2.0**2 * RBF(100.0) * ExpSineSquared(1.0, 1.0, periodicity_bounds="fixed")
    kernel = 50.0**2 * RBF(50.0) + season + 0.5**2 * RBF(1.0) + 0.1**2 * RBF(0.1) + WhiteKernel(0.1**2)
    return GaussianProcessRegressor(kernel)


def fourier_process():
    trend, change, year, month = (
        Line(0, length_scale=one, length_scale_bounds=BOUNDS) for one in (50.0, 100.0, 1.0, 0.1)
    )
    kernel = 50.0**2 * trend + 2.0**2 * change * Circle(0, 1.0) + 0.5**2 * year + 0.1**2 * month
    return TorusGPRegressor(kernel, intercept=False, n_threads=1)


def run(path, n_turns=N_TURNS):
    """Figures of both."""
    X, y, new_X, new_y = read(path)
    center = y.mean()
    fitted = {}

    def fit(name, make):
        fitted[name] = make().fit(X, y - center)

    arms = {"exact": lambda: fit("exact", exact_process), "ours": lambda: fit("ours", fourier_process)}
    turns = Turns(arms, n_turns)
    evidence = {
        "exact": fitted["exact"].log_marginal_likelihood_value_,
        "ours": fitted["ours"].log_marginal_likelihood_,
    }
    figures = []
    losses = {}
    for name, label in (("exact", "exact process of scikit-learn"), ("ours", "Fourier columns")):
        mean, std = fitted[name].predict(new_X, return_std=True)
        losses[name] = log_losses(new_y, mean + center, std).mean()
        figures += [
            figure(f"fit of {len(y)} rows, {label} (s)", turns.median(name)),
            figure(f"log evidence, {label}", evidence[name]),
            figure(f"log loss of {len(new_y)} rows, {label}", losses[name]),
            figure(f"R2, {label}", r2(new_y, mean + center)),
        ]
    return [
        *figures,
        figure("columns", fitted["ours"].index_set_.n_components),
        figure("log evidence over that of the exact process", evidence["ours"] - evidence["exact"], at_least=-0.1),
        figure("log loss over that of the exact process", losses["ours"] - losses["exact"], at_most=0.01),
        figure("exact / Fourier columns (s)", turns.ratio("exact", "ours"), at_least=20),
    ]
