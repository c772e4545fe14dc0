"""Index sets learned from the data beside those of the prior: what they find, how well they predict, what they cost.

Parts: recovery (frequencies of made functions of eight angles), arm (the end of a robot arm of eight joints),
electricity (demand from axes alone, needs TORUSGP_DATA), auto (evidence of "auto" beside larger numbers of
components), load (the same for an hourly load, needs TORUSGP_DATA), coverage (of the function, by intervals), default
(adaptive and learned sets, and budgets, in one to ten dimensions), exact (an exact process on the same rows of the
arm), device (20,001 components, needs a GPU).

    python -m benchmarks learned                       # all, hours
    python -m benchmarks learned recovery --seeds 5
    python -m benchmarks learned auto --seeds 60 --processes 16
"""

import argparse
import time
import warnings
from contextlib import contextmanager
from functools import partial
from multiprocessing import Pool

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.engine import figure, format_table
from benchmarks.forecasts.load import FILE as LOAD
from benchmarks.open.common import locate, log_losses, r2, timed_fit
from torusgp import Category, Circle, Line, Torch, TorusGPRegressor, TorusKernel
from torusgp.engine.basis import columns
from torusgp.estimators.families import FAMILIES
from torusgp.fitting.fitter import Fitter
from torusgp.fitting.schedule import Schedule
from torusgp.kernels.index_sets import adaptive

TURN = 2 * np.pi
LINKS, TWISTS = (0.3, 0.4, 0.3, 0.25, 0.25, 0.2, 0.2, 0.15), (1, -1) * 4


def made_frequencies(rng, dimension=8, number=40):
    """Frequencies of at most five axes and entries up to two, each of order three or a step from another."""
    found = set()
    while len(found) < number:
        if found and rng.uniform() < 0.5:
            one = np.array(sorted(found)[rng.integers(len(found))])
            one[rng.integers(dimension)] += rng.choice([-1, 1])
        else:
            order = rng.integers(1, 4)
            one = np.zeros(dimension, dtype=int)
            one[rng.choice(dimension, order, replace=False)] = rng.integers(1, 3, order) * rng.choice([-1, 1], order)
        if one.any() and np.abs(one).max() <= 2 and np.count_nonzero(one) <= 5:
            found.add(tuple((one if one[one != 0][0] > 0 else -one).tolist()))
    return found


def recover(seed):
    """Shares of the frequencies of one function that are found, and of those chosen that are false."""
    rng = np.random.default_rng(seed)
    truth = made_frequencies(rng)
    X = rng.uniform(0, TURN, (20_000, 8))
    angles = X @ np.array(sorted(truth)).T + rng.uniform(0, TURN, len(truth))
    y = np.cos(angles).sum(axis=1) * np.sqrt(2 / len(truth)) + rng.normal(size=len(X))
    model = regressor(601).fit(X, y)
    chosen = {tuple(row) for row in model.index_set_.frequencies[1:].tolist()}
    found, false = len(chosen & truth) / len(truth), len(chosen - truth) / max(1, len(chosen))
    return {"seed": seed, "found": found, "false": false}


def recovery(data_sets):
    """Shares of the frequencies that are found and that are false."""
    results = data_sets(recover)
    return [
        figure("data sets", len(results)),
        figure("found, the worst of them", min(one["found"] for one in results), at_least=0.95),
        figure("false, the worst of them", max(one["false"] for one in results), at_most=0.05),
    ]


def end_of_arm(angles):
    """Distance of the end of an arm of eight revolute joints from a point; neighbouring axes are at right angles."""
    position, frame = np.zeros((len(angles), 3)), np.broadcast_to(np.eye(3), (len(angles), 3, 3)).copy()
    for angle, length, twist in zip(angles.T, LINKS, TWISTS, strict=True):
        c, s, o, one = np.cos(angle), np.sin(angle), np.zeros_like(angle), np.ones_like(angle)
        frame = frame @ np.moveaxis(np.array([[c, -s, o], [s, c, o], [o, o, one]]), 2, 0)
        position = position + length * frame[:, :, 0]
        frame = frame @ np.array([[1, 0, 0], [0, 0, -twist], [0, twist, 0]], float)
    return np.linalg.norm(position - 0.1, axis=1)


ARM_NOISE = 0.05  # standard deviation, of distances of standard deviation one


def arm_rows(n_rows, n_test=4000, with_truth=False):
    """Angles of the joints and distances with a little noise; the rows held out do not depend on how many there are."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-np.pi, np.pi, (40_000, 8))
    truth = end_of_arm(X)
    truth = (truth - truth.mean()) / truth.std()
    y = truth + ARM_NOISE * rng.normal(size=len(truth))
    rows = X[:n_rows], y[:n_rows], X[-n_test:], y[-n_test:]
    return (*rows, truth[-n_test:]) if with_truth else rows


def arm(data_sets, n_rows=36_000):
    """Errors on 4,000 rows that are held out."""
    X, y, X_test, y_test = arm_rows(n_rows)
    scores = {}
    for name, size, rows in (
        ("adaptive", 2001, n_rows),
        ("learned", 1201, n_rows),
        ("learned", 2001, n_rows),
        ("learned", 2001, 4000),
    ):
        model, seconds = timed_fit(regressor(size, name), X[:rows], y[:rows])
        mean, std = model.predict(X_test, return_std=True)
        error = y_test - mean
        scores[name, size, rows] = (
            np.sqrt(np.mean(error**2)),
            log_losses(y_test, mean, std).mean(),
            np.mean(np.abs(error) < 1.96 * std),
            seconds,
        )
    before, few, many, small = scores.values()
    return [
        figure("adaptive, 2001: error", before[0]),
        figure("adaptive, 2001: log loss", before[1]),
        figure("learned, 1201: error over that", few[0] / before[0], at_most=1.0),
        figure("learned, 2001: error over that", many[0] / before[0], at_most=0.68),
        figure("learned, 2001: log loss", many[1]),
        figure("learned, 2001: in 95 % intervals", many[2], at_least=0.93),
        figure("learned, 4,000 rows: in 95 % intervals", small[2], at_least=0.93),
        figure("learned over adaptive, 2001: time", many[3] / before[3], at_most=3.0),
    ]


def exact(data_sets, n_rows=4000):
    """The arm from few rows, beside an exact process with the same kernel and rows."""
    from benchmarks.peers.scikit_learn_methods import ExactGaussianProcess

    X, y, X_test, y_test = arm_rows(n_rows)
    start = time.process_time()
    ours = regressor(2001).fit(X, y)
    middle = time.process_time()
    theirs = ExactGaussianProcess(np.full(8, TURN), n_rows).fit(X, y)
    end = time.process_time()
    errors = [np.sqrt(np.mean((y_test - mean) ** 2)) for mean in (ours.predict(X_test), theirs.predict(X_test)[0])]
    return [
        figure("learned: error", errors[0]),
        figure("exact: error", errors[1]),
        figure("learned over exact: error", errors[0] / errors[1], at_most=1.1),
        figure("learned over exact: time", (middle - start) / (end - middle), at_most=1 / 3),
    ]


def device(data_sets, n_components=20_001):
    """The arm with very many components on a GPU."""
    import torch

    if not torch.cuda.is_available():
        return [figure("left out: there is no GPU", np.nan)]
    X, y, X_test, y_test = arm_rows(36_000)
    torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    model = TorusGPRegressor(
        period=TURN, index_set="learned", n_components=n_components, backend=Torch("cuda"), verbose=1
    ).fit(X, y)
    seconds = time.perf_counter() - start
    mean, std = model.predict(X_test, return_std=True)
    return [
        figure("components", model.index_set_.n_components),
        figure("error", np.sqrt(np.mean((y_test - mean) ** 2))),
        figure("log loss", log_losses(y_test, mean, std).mean()),
        figure("in 95 % intervals", np.mean(np.abs(y_test - mean) < 1.96 * std)),
        figure("fit (s)", seconds),
        figure("memory of the GPU (GiB)", torch.cuda.max_memory_allocated() / 2**30),
    ]


def electricity(data_sets):
    """Demand for electricity from axes alone, 2014 held out."""
    if locate("vic_elec/vic_elec.csv.gz")[0] is None:
        return [figure("left out: TORUSGP_DATA has no vic_elec", np.nan)]
    from benchmarks.open.electricity import ROWS_PER_OBSERVATION, read

    X, y, held_out = read()
    X["mean of 3 hours"] = X["temperature"].rolling(6, min_periods=1).mean()
    kernel = Circle("hour", 24.0) * Circle("weekday", 7.0) * Circle("day of year", 365.25) * Category("holiday")
    kernel = kernel * Line("temperature") * Line("mean of 3 hours") * Line("mean of 24 hours")
    model = TorusGPRegressor(
        kernel + Line("years", length_scale_bounds=(1.0, 20.0)),
        index_set="learned",
        n_components=1001,
        likelihood="log_normal",
        n_threads=1,
    )
    weight = np.full(np.count_nonzero(~held_out), 1 / ROWS_PER_OBSERVATION)
    model, seconds = timed_fit(model, X[~held_out], y[~held_out], sample_weight=weight)
    low, middle, high = model.predict_quantiles(X[held_out], [0.025, 0.5, 0.975]).T
    std = np.log(high / low) / (2 * 1.96)
    loss = log_losses(np.log(y[held_out]), np.log(middle), std) + np.log(1000 * y[held_out])
    return [
        figure("components", model.index_set_.n_components),
        figure("R2", r2(y[held_out], middle), at_least=0.92),
        figure("log loss, in MW", loss.mean(), at_most=6.90),
        figure("in 95 % intervals", np.mean((low < y[held_out]) & (y[held_out] < high)), at_least=0.92),
        figure("fit (s)", seconds, at_most=60.0),
    ]


def drawn(rng, dimension, family="squared_exponential"):
    """A function from a prior on circles."""
    kernel = TorusKernel(family, rng.uniform(0.4, 1.5, dimension), TURN)
    index_set = adaptive(kernel, 3001, dimension=dimension)
    coefficients = kernel.coefficients(index_set.frequencies)
    std = np.sqrt(np.repeat(coefficients * np.where(np.arange(len(coefficients)), 2, 1), 2)[1:])
    weights = std * rng.normal(size=len(std))
    return lambda X: columns(X, index_set.frequencies) @ weights


def rough(rng, dimension):
    """A function that no smooth prior has: kinks, a peak, or another family."""
    centre, kind = rng.uniform(0, TURN, dimension), rng.integers(3)
    if kind == 0:
        return lambda X: np.abs(np.sin((X - centre) / 2)).sum(axis=1) + np.cos(X.sum(axis=1))
    if kind == 1:
        return lambda X: np.exp((np.cos(X - centre) - 1).sum(axis=1) / 0.05) + 0.3 * np.cos(X[:, 0])
    return drawn(rng, dimension, "matern32")


def made(rng, dimension):
    """A function of a few interactions of up to three angles: smooth, or with kinks, or drawn from a prior."""
    kind = rng.integers(3)
    if kind == 2:
        return drawn(rng, dimension)
    terms = []
    for _ in range(dimension + 1):
        axes = rng.choice(dimension, min(dimension, rng.integers(1, 4)), replace=False)
        terms.append((axes, rng.integers(1, 3, len(axes)) * rng.choice([-1, 1], len(axes)), rng.uniform(0, TURN)))
    shape = (lambda angle: np.exp(np.cos(angle))) if kind == 0 else (lambda angle: np.abs(np.sin(angle / 2)))
    return lambda X: sum(shape(X[:, axes] @ k + shift) for axes, k, shift in terms)


def compare_sets(seed):
    """Held-out log density, a row, and time of a learned over an adaptive set, and what a larger budget would add."""
    rng = np.random.default_rng(seed)
    dimension, n_rows = 1 + seed % 10, int(10 ** rng.uniform(2.3, 4))
    truth = made(rng, dimension)
    X, T = rng.uniform(0, TURN, (n_rows, dimension)), rng.uniform(0, TURN, (2000, dimension))
    spread = truth(T).std()
    y, y_test = (truth(one) + 0.3 * spread * rng.normal(size=len(one)) for one in (X, T))
    losses, seconds, sizes = [], [], []
    for name, size in (("adaptive", "auto"), ("learned", "auto"), ("learned", 4001)):
        if size == "auto" or sizes[-1] > 1000:
            start = time.process_time()
            model = regressor(size, name).fit(X, y)
            seconds.append(time.process_time() - start)
        losses.append(log_losses(y_test, *model.predict(T, return_std=True)).mean())
        sizes.append(model.index_set_.n_components)
    gains = {"better": losses[0] - losses[1], "times": seconds[1] / seconds[0], "more": losses[1] - losses[2]}
    return {"D": dimension, "n": n_rows, "adaptive": sizes[0], "learned": sizes[1], "of 4001": sizes[2], **gains}


def default(data_sets):
    """Held-out log density, a row, and time of learned over adaptive sets; and what a larger budget would add."""
    results, figures = data_sets(compare_sets), []
    for dimension in sorted({one["D"] for one in results}):
        own = [one for one in results if one["D"] == dimension]
        better, times, more = (np.array([one[name] for one in own]) for name in ("better", "times", "more"))
        figures += [
            figure(f"D = {dimension}: learned better by, a row", better.mean()),
            figure(f"D = {dimension}: worst", better.min()),
            figure(f"D = {dimension}: times the time", np.median(times)),
            figure(f"D = {dimension}: 4001 components better by", more.mean()),
        ]
    return figures


@contextmanager
def stopping_early():
    """The rule of before: enough is what leaves out little, though a small set makes long length scales look right."""
    beyond, leftover = Schedule._looking_beyond, Fitter._with_leftover
    Schedule._looking_beyond = lambda self, found, cap: found
    Fitter._with_leftover = lambda self, problem, rows, source, learned: learned
    try:
        yield
    finally:
        Schedule._looking_beyond, Fitter._with_leftover = beyond, leftover


def compare_budgets(X, y, **options):
    """Shortfalls in log evidence of "auto" now and before against the best budget, and how much of it is allowed."""

    def log_evidence(size):
        model = TorusGPRegressor(
            index_set="adaptive", n_components=size, n_threads=1, backend=_chosen["backend"], **options
        )
        return model.fit(X, y).log_marginal_likelihood_

    best = max(log_evidence(size) for size in (201, 401, 801, 1601))
    now = log_evidence("auto")
    with stopping_early():
        before = log_evidence("auto")
    constant = -0.5 * len(y) * (np.log(2 * np.pi * y.var()) + 1)
    return {"shortfall": best - now, "before": best - before, "allowed": max(5.0, 0.01 * (best - constant))}


def stop(seed):
    """The same for a function from a prior."""
    rng = np.random.default_rng(seed)
    dimension, n_rows = 1 + seed % 6, int(10 ** rng.uniform(2, np.log10(20_000)))
    family = FAMILIES[seed // 6 % 3]
    truth = drawn(rng, dimension, family)
    X = rng.uniform(0, TURN, (n_rows, dimension))
    y = truth(X) + 0.3 * rng.normal(size=n_rows)
    return {"D": dimension, "n": n_rows, "family": family, **compare_budgets(X, y, kernel=family, period=TURN)}


def auto(data_sets):
    """Shortfall of the log evidence of "auto" against the best of larger numbers of components."""
    results = data_sets(stop)
    ratios = {when: np.array([one[when] / one["allowed"] for one in results]) for when in ("shortfall", "before")}
    return [
        figure("problems", len(results)),
        figure("largest shortfall over what is allowed", ratios["shortfall"].max(), at_most=1.0),
        figure("problems beyond that", np.count_nonzero(ratios["shortfall"] > 1)),
        figure("largest shortfall of the rule before", ratios["before"].max()),
        figure("problems beyond what is allowed, before", np.count_nonzero(ratios["before"] > 1)),
    ]


def load(data_sets):
    """The same for the hourly load of a region, from hour, weekday and day of the year."""
    path, reason = locate(LOAD)
    if path is None:
        return [figure(f"left out: {reason}", np.nan)]
    table = pd.read_csv(path, parse_dates=["time_local"])
    hours = (table["time_local"] - table["time_local"].iloc[0]).dt.total_seconds().to_numpy() / 3600
    X, y = np.column_stack([hours] * 3), np.log(table["load_MW"].to_numpy())
    one = compare_budgets(X, y, period=[24.0, 168.0, 8766.0])
    return [
        figure("rows", len(y)),
        figure("shortfall over what is allowed", one["shortfall"] / one["allowed"], at_most=1.0),
        figure("shortfall of the rule before (nats)", one["before"]),
    ]


COVERED_ROWS = 500, 4000, 20_000
COVERED_KINDS = {"drawn from the prior": (drawn, 0.92), "not from the prior": (rough, 0.88)}


def cover(seed, name, n_rows, family):
    """Share of the function that 95 % intervals hold after selection, for one data set."""
    rng, dimension = np.random.default_rng(seed), 1 + seed % 5
    truth, X = COVERED_KINDS[name][0](rng, dimension), rng.uniform(0, TURN, (n_rows, dimension))
    values = truth(X)
    y = values + 0.3 * values.std() * rng.normal(size=n_rows)
    T = rng.uniform(0, TURN, (400, dimension))
    model = regressor("auto", family=family).fit(X, y)
    mean, std = model.predict(T, return_std=True, include_noise=False)
    held = np.mean(np.abs(mean - truth(T)) < 1.96 * std)
    return {"seed": seed, "n": n_rows, "components": model.index_set_.n_components, "held": held}


def coverage(data_sets):
    """How often 95 % intervals of the function hold it, with the family that the evidence prefers and a smooth one."""
    result = []
    for family in ("auto", "squared_exponential"):
        for n_rows in data_sets.rows:
            for name, (_, least) in COVERED_KINDS.items():
                shares = [one["held"] for one in data_sets(partial(cover, name=name, n_rows=n_rows, family=family))]
                label = f"{name}, {n_rows} rows, {family}"
                limits = {"at_least": least, "at_most": 0.97} if family == "auto" else {}
                result.append(figure(label, np.mean(shares), **limits))
                print(f"  {label}: {np.mean(shares):.3f}, lowest {min(shares):.3f}", flush=True)
    return result


def regressor(size, index_set="learned", family="squared_exponential"):
    return TorusGPRegressor(
        family, period=TURN, index_set=index_set, n_components=size, n_threads=1, backend=_chosen["backend"]
    )


_chosen = {"backend": "auto"}  # of all fits of a process


def _use(device):
    if device is not None:
        _chosen["backend"] = Torch(device, transforms=False)


PARTS = {one.__name__: one for one in (recovery, arm, exact, device, electricity, auto, load, default, coverage)}


class DataSets:
    """Runs a function of a seed for some seeds, in several processes, and prints what it returns."""

    def __init__(self, options):
        self._seeds = range(options.first, options.first + options.seeds)
        self._n_processes, self._device, self.rows = options.processes, options.device, options.rows

    def __call__(self, work):
        quiet, results = partial(_quietly, work), []
        with Pool(self._n_processes, _use, (self._device,)) as pool:
            for one in pool.imap_unordered(quiet, self._seeds):
                print("  " + ", ".join(f"{key} {_short(value)}" for key, value in one.items()), flush=True)
                results.append(one)
        return results


def _short(value):
    return f"{value:.3f}" if isinstance(value, float) else value


def _quietly(work, argument):
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**work(argument), "seconds": time.process_time() - start}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "learned", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--seeds", type=int, default=20, help="data sets of parts that make them")
    parser.add_argument("--first", type=int, default=0, help="number of the first of these data sets")
    parser.add_argument("--processes", type=int, default=1, help="data sets at a time, each on one thread")
    parser.add_argument("--device", help="of PyTorch, for parts that make data sets; by default the CPU without it")
    parser.add_argument("--rows", type=int, nargs="+", default=COVERED_ROWS, help="numbers of rows of coverage")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; known are {', '.join(PARTS)}")
    data_sets = DataSets(options)
    for name in options.parts or PARTS:
        start = time.perf_counter()
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figures = PARTS[name](data_sets)
        print(format_table({f"{name}, {time.perf_counter() - start:.0f} s": figures}), flush=True)
