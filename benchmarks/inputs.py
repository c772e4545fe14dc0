"""Transforms in the space of the inputs, small fits and start-up, against plain alternatives; on one thread.

Arms of a comparison take turns, as in ``benchmarks.engine``. Times are of the processor, since what is compared differs
by factors and a busy machine should not matter.

    python -m benchmarks inputs                  # about five minutes
    python -m benchmarks inputs clock start_up   # two of the parts
    python -m benchmarks inputs stream --rows 1e8
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import warnings
from pathlib import Path

import finufft
import numpy as np
from scipy.linalg.blas import dsyrk
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from benchmarks.engine import Turns, _memory, describe_machine, figure, format_table
from benchmarks.peers.problems import toy
from benchmarks.peers.scikit_learn_methods import RandomFeatures
from torusgp import Circle, Line, SufficientStatistics, TorusGPRegressor, index_sets
from torusgp.data.sources import as_source
from torusgp.engine.backends import DensePredictor, InputSpace, Type3Predictor, _dense, make_predictor
from torusgp.engine.backends._type3 import _WaveNumbers, pair_modes
from torusgp.engine.inference import Posterior
from torusgp.kernels.product import to_phases
from torusgp.kernels.resolve import Layout
from torusgp.kernels.torus import Axis, Torus

RESULTS = Path(__file__).parent / "results" / "inputs.json"
N_SAMPLES = 10**6
N_DENSE = 20_000  # rows on which dense arms are timed; their times are scaled
N_STREAM = 10**7  # rows of a stream; as many as one likes
TOLERANCE = 1e-12
EXTENT = 3 * 365.25  # days
SKLEARN = "import sklearn.base, sklearn.utils.validation, sklearn.exceptions"


REGRESSOR = "from torusgp import TorusGPRegressor"


def make_clock(n_samples):
    """Coordinates on day, week, year and slow time of one clock, targets, the torus and its periods."""
    rng = np.random.default_rng(0)
    times = rng.uniform(0, EXTENT, n_samples)
    y = np.sin(2 * np.pi * times) * (1 + np.cos(2 * np.pi * times / 365.25)) + 0.3 * rng.normal(size=n_samples)
    circles = [Axis(name, "circle", 0) for name in ("day", "week", "year")]
    torus = Torus((*circles, Axis("time", "line", 0, 0.0, EXTENT)), ("time",))
    period = np.array([1.0, 7.0, 365.25, 1.6 * EXTENT])
    return torus.coordinates(times[:, None], period), y, torus, period


def clock():
    """Sums, means and standard deviations of four axes of one input."""
    X, y, torus, period = make_clock(N_SAMPLES)
    index_set = index_sets.hyperbolic_cross(4, n_components=1001)
    sharing = torus.sharing(period)
    space = InputSpace(sharing, period)
    targets = _WaveNumbers(space, pair_modes(index_set.frequencies).modes).distinct[0]
    times, strengths = X[:, 0] - EXTENT / 2, 1 + 1j * (y - y.mean()) / y.std()

    def gather(rows, backend):
        options = {"tolerance": TOLERANCE, "n_threads": 1, "sharing": sharing, "period": period}
        return SufficientStatistics.from_data(X[:rows], y[:rows], index_set, backend=backend, **options).linear()[0]

    def bare():
        finufft.nufft1d3(times, strengths, targets, eps=TOLERANCE, isign=1, nthreads=1)

    arms = {"type3": lambda: gather(N_SAMPLES, "type3"), "bare": bare, "dense": lambda: gather(N_DENSE, "dense")}
    turns, scale = Turns(arms, 3), N_SAMPLES / N_DENSE
    fast, exact = gather(N_DENSE, "type3"), gather(N_DENSE, "dense")
    variances = np.repeat(1 / (1 + np.abs(index_set.frequencies).sum(axis=1)) ** 2.0, 2)[1:, None]
    posterior = Posterior(exact, variances, np.array([0.1]))

    def predict(rows):
        return Type3Predictor(index_set.frequencies, posterior, space).mean_and_variance(X[:rows], 0)

    def predict_dense():
        return DensePredictor(index_set.frequencies, posterior).mean_and_variance(to_phases(X[:N_DENSE], period), 0)

    points = Turns({"type3": lambda: predict(N_SAMPLES), "dense": predict_dense}, 3)
    differences = [np.abs(a - b).max() for a, b in zip(predict(N_DENSE), predict_dense(), strict=True)]
    return [
        figure("components", index_set.n_components),
        figure("distinct real frequencies", len(targets)),
        figure("statistics of 10^6 rows, type 3 (s)", turns.median("type3")),
        figure("one bare transform (s)", turns.median("bare")),
        figure("dense / type 3", scale * turns.ratio("dense", "type3"), at_least=30),
        figure("type 3 / bare transform", turns.ratio("type3", "bare"), at_most=3),
        figure("largest difference of F'F over n", np.abs(fast.gram - exact.gram).max() / N_DENSE, at_most=1e-9),
        figure("mean and std at 10^6 points, type 3 (s)", points.median("type3")),
        figure("mean and std, dense / type 3", scale * points.ratio("dense", "type3"), at_least=30),
        figure("largest difference of means", differences[0], at_most=1e-8),
        figure("largest difference of variances", differences[1], at_most=1e-8),
    ]


def stream(n_samples=None):
    """Rows of the same clock, made chunk by chunk: their sums against the bare transforms, and memory."""
    n_samples = N_STREAM if n_samples is None else n_samples
    chunk_rows = 2**20
    index_set = index_sets.hyperbolic_cross(4, n_components=1001)
    _, _, torus, period = make_clock(1)
    space = InputSpace(torus.sharing(period), period)
    targets = _WaveNumbers(space, pair_modes(index_set.frequencies).modes).distinct[0]
    rng = np.random.default_rng(0)
    X, y = rng.uniform(0, EXTENT, (chunk_rows, 1)), rng.normal(size=chunk_rows)

    def chunks():
        for start in range(0, n_samples, chunk_rows):
            yield X[: n_samples - start], y[: n_samples - start]

    def gather():
        options = {"backend": "type3", "sharing": space.sharing, "n_threads": 1, "tolerance": TOLERANCE}
        empty = SufficientStatistics(index_set, period, **options)
        assert empty.add_source(as_source(chunks), Layout(torus, ())).n_samples == n_samples

    def bare():
        for times, values in chunks():
            strengths = 1 + 1j * values
            finufft.nufft1d3(times[:, 0] - EXTENT / 2, strengths, targets, eps=TOLERANCE, isign=1, nthreads=1)

    bare_turns = Turns({"bare": bare}, 1)
    before = _memory("VmHWM:")
    turns = Turns({"type3": gather}, 1)
    return [
        figure("rows", n_samples),
        figure("statistics (s)", turns.median("type3")),
        figure("statistics / bare transforms", turns.median("type3") / bare_turns.median("bare"), at_most=3),
        figure("memory over that of one bare transform (GiB)", (_memory("VmHWM:") - before) / 2**30, at_most=1.0),
    ]


def additive():
    """Ten terms of one input each: the sums and predictions that "auto" takes, and dense ones against bare products."""
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(N_SAMPLES, 10)), rng.normal(size=N_SAMPLES)
    frequencies = np.vstack([np.outer(np.arange(1, 21), unit) for unit in np.eye(10, dtype=int)])
    index_set = index_sets.from_frequencies(frequencies)
    n_columns = index_set.n_components
    block = rng.normal(size=(next(_dense.row_chunks(N_DENSE, n_columns)).stop, n_columns))
    gram = np.zeros((n_columns, n_columns), order="F")

    def products():
        for start in range(0, N_DENSE, len(block)):
            dsyrk(1.0, block[: N_DENSE - start].T, beta=1.0, c=gram, overwrite_c=True)

    def gather(rows, backend):
        options = {"period": 1.0, "n_threads": 1, "backend": backend}
        return SufficientStatistics.from_data(X[:rows], y[:rows], index_set, **options)

    name = gather(N_SAMPLES, "auto").backend
    arms = {
        "auto": lambda: gather(N_SAMPLES, "auto").linear(),
        "dense": lambda: gather(N_DENSE, "dense").linear(),
        "dsyrk": products,
    }
    turns, scale = Turns(arms, 5), N_SAMPLES / N_DENSE
    exact = gather(N_DENSE, "dense").linear()[0]
    some = [gather(200_000, one).linear()[0].gram for one in (name, "dense")]  # with the tolerance of many rows
    difference = np.abs(some[0] - some[1]).max() / 200_000
    posterior = Posterior(exact, np.full((n_columns, 1), 0.1), np.array([0.1]))
    phases = to_phases(X, np.ones(10))

    def predict(rows, backend):
        return make_predictor(backend, index_set.frequencies, posterior, 1).mean_and_variance(phases[:rows], 0)

    points = Turns({"auto": lambda: predict(N_SAMPLES, name), "dense": lambda: predict(N_DENSE, "dense")}, 3)
    differences = [np.abs(a - b).max() for a, b in zip(predict(N_DENSE, name), predict(N_DENSE, "dense"), strict=True)]
    return [
        figure("dense, scaled to 10^6 rows (s)", scale * turns.median("dense")),
        figure(f"statistics of 10^6 rows, {name} (s)", turns.median("auto")),
        figure(f"dense / {name}", scale * turns.ratio("dense", "auto"), at_least=5),
        figure("largest difference of F'F over n", difference, at_most=1e-9),
        figure(f"mean and std at 10^6 points, {name} (s)", points.median("auto")),
        figure(f"mean and std, dense / {name}", scale * points.ratio("dense", "auto")),
        figure("largest difference of means and variances", max(differences), at_most=1e-8),
        figure("rate of dense / bare dsyrk", turns.ratio("dsyrk", "dense"), at_least=0.85),
    ]


def superposed():
    """Two superposed periods of one input and a slow line, learned on 10^5 rows."""
    rng = np.random.default_rng(0)
    times = np.sort(rng.uniform(0, 2000, 100_000))
    signal = (
        np.sin(2 * np.pi * times / 3.7) + 0.5 * np.cos(4 * np.pi * times / 3.7) + 0.7 * np.cos(2 * np.pi * times / 11.3)
    )
    y = signal + 0.3 * np.sin(2 * np.pi * times / 1500) + 0.5 * rng.normal(size=len(times))
    fitted = {}

    def fit(backend):
        kernel = Circle(0, 3.7003, period_bounds=(3.6, 3.8)) + Circle(0, 11.302, period_bounds=(11, 11.6)) + Line(0)
        fitted[backend] = TorusGPRegressor(kernel, n_threads=1, backend=backend).fit(times[:, None], y)

    turns = Turns({"auto": lambda: fit("auto"), "dense": lambda: fit("dense")}, 1)
    difference = np.abs(np.array(fitted["auto"].period_) - fitted["dense"].period_).max()
    return [
        figure(f"fit by {fitted['auto'].backend_} (s)", turns.median("auto")),
        figure("dense / auto", turns.ratio("dense", "auto"), at_least=5),
        figure("largest difference of the periods", difference, at_most=1e-6),
    ]


def few_rows():
    """Fits of a few hundred rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 2))
    y = np.sin(2 * np.pi * X[:, 0]) * np.cos(4 * np.pi * X[:, 1]) + 0.1 * rng.normal(size=400)
    X8 = rng.uniform(size=(300, 8))
    y8 = np.sin(2 * np.pi * X8[:, 0]) * np.cos(2 * np.pi * X8[:, 1]) + np.cos(2 * np.pi * X8[:, 2])
    y8 = y8 + 0.1 * rng.normal(size=300)
    exact = ConstantKernel() * RBF(np.ones(8)) + WhiteKernel()
    turns = Turns(
        {
            "smooth": lambda: TorusGPRegressor("squared_exponential", period=1.0).fit(X, y),
            "matern": lambda: TorusGPRegressor("matern52", period=1.0).fit(X, y),
            "eight": lambda: TorusGPRegressor(period=1.0).fit(X8, y8),
            "exact": lambda: GaussianProcessRegressor(exact, normalize_y=True).fit(X8, y8),
        },
        5,
    )
    return [
        figure("Matern-5/2, 400 rows, two inputs (s)", turns.median("matern")),
        figure("Matern-5/2 / squared exponential", turns.ratio("matern", "smooth"), at_most=3),
        figure("8 inputs, 300 rows (s)", turns.median("eight"), at_most=3),
        figure("scikit-learn's exact process on the same rows (s)", turns.median("exact")),
    ]


def random_features():
    """2,000 rows against RBFSampler and BayesianRidge, with as many components as the same error takes."""
    problem = toy(2000, 5000)
    make = {None: lambda: TorusGPRegressor(period=problem.period).fit(problem.X, problem.y)}
    for size in (50, 100, 200, 400, 800, 1600):
        make[size] = lambda size=size: RandomFeatures(problem.period, n_components=size).fit(problem.X, problem.y)

    def error(model):
        predicted = model.predict(problem.X_test)
        mean = predicted[0] if isinstance(predicted, tuple) else predicted
        return float(np.sqrt(np.mean((mean - problem.truth_test) ** 2)))

    ours = error(make[None]())
    size = next((size for size in list(make)[1:] if error(make[size]()) <= 1.05 * ours), 1600)
    turns = Turns({"ours": make[None], "random": make[size]}, 5)
    return [
        figure("error of the function, torusgp", ours),
        figure("components of RBFSampler for that error", size),
        figure("fit of torusgp (s)", turns.median("ours")),
        figure("RBFSampler + BayesianRidge / torusgp", turns.ratio("random", "ours"), at_least=3),
    ]


def start_up():
    """Processor time of an import and of the command's help."""

    def seconds(*arguments):
        before = os.times()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    def median(*arguments):
        return statistics.median(seconds(*arguments) for _ in range(5))

    reference = median("-c", SKLEARN)
    return [
        figure("modules of scikit-learn (s)", reference),
        figure("import torusgp / these", median("-c", "import torusgp") / reference, at_most=1.2),
        figure(
            "torusgp.TorusGPRegressor / these", median("-c", "import torusgp; torusgp.TorusGPRegressor") / reference
        ),
        figure("torusgp --help (s)", median("-m", "torusgp", "--help"), at_most=0.4),
    ]


PARTS = {part.__name__: part for part in (clock, stream, additive, superposed, few_rows, random_features, start_up)}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="which parts; by default all")
    parser.add_argument("--rows", type=float, help="rows of the stream")
    options = parser.parse_args(arguments)
    names, groups = options.parts or list(PARTS), {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is said of made-up data is of no interest here
        for name in names:
            given = {"n_samples": int(options.rows)} if name == "stream" and options.rows else {}
            groups[(PARTS[name].__doc__ or name).splitlines()[0]] = PARTS[name](**given)
            print(format_table(dict([list(groups.items())[-1]])), flush=True)
    if names == list(PARTS):
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"versions": describe_machine(), "groups": groups}, indent=2) + "\n")


if __name__ == "__main__":
    main()
