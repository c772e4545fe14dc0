"""The regression engine on a million rows, against plain alternatives; on one thread.

Arms of a comparison take turns, so that a busy machine slows all of them alike; times are medians of processor
seconds over the turns, and ratios are medians of the ratios of each turn. What would take too long is timed on some
of the rows and scaled, and its label says so.

    python -m benchmarks.engine          # about three minutes
    python -m benchmarks.engine --quick  # about half a minute; figures are rough
"""

import argparse
import copy
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import finufft
import numpy as np
import scipy
import sklearn
from scipy.linalg.blas import dsyrk
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Hyperparameter, Kernel, WhiteKernel
from threadpoolctl import threadpool_limits

from torusgp import SufficientStatistics, TorusGPRegressor, TorusKernel
from torusgp.engine.backends import _dense
from torusgp.kernels.index_sets import hyperbolic_cross

RESULTS = Path(__file__).parent / "results" / "engine.json"
N_SAMPLES = 10**6
N_SAMPLES_DENSE = 40_000  # rows on which the dense arms are timed
N_SAMPLES_EXACT = 2_000  # rows of the exact Gaussian process
TOLERANCE = 1e-12
PERIOD = (24.0, 7.0)


class PeriodicProduct(Kernel):
    """Product over the columns of ExpSineSquared kernels of fixed periods: scikit-learn's own is wrong for two."""

    def __init__(self, length_scale, period, length_scale_bounds=(1e-2, 1e2)):
        self.length_scale = length_scale
        self.period = period
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self):
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds, len(self.length_scale))

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        exponents = [
            2 * np.sin(np.pi * (X[:, [d]] - Y[:, d]) / period) ** 2 / scale**2
            for d, (period, scale) in enumerate(zip(self.period, self.length_scale, strict=True))
        ]
        K = np.exp(-sum(exponents))
        if eval_gradient:
            return K, np.stack([2 * exponent * K for exponent in exponents], axis=-1)  # in log(length_scale)
        return K

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return True


def make_data(n_samples, random_state=0):
    """A smooth function of two phases with noise of standard deviation 0.3."""
    rng = np.random.default_rng(random_state)
    X = rng.uniform(0, PERIOD, (n_samples, 2))
    day, week = 2 * np.pi * X.T / np.array(PERIOD)[:, None]
    y = np.exp(np.cos(day - np.cos(week))) * (1.5 + np.cos(week)) + np.sin(3 * week + 2 * day)
    return X, y + 0.3 * rng.normal(size=n_samples)


class Turns:
    """Seconds of arms that take turns; those named in ``seldom`` take part only in the first two.

    They are processor seconds, to which other work on the machine adds little; of several threads ask another clock.
    """

    def __init__(self, arms, n_turns, seldom=(), clock=time.process_time):
        self._seconds = {name: [] for name in arms}
        for turn in range(n_turns):
            for name, arm in arms.items():
                if turn < 2 or name not in seldom:
                    start = clock()
                    arm()
                    self._seconds[name].append(clock() - start)

    def median(self, name):
        return statistics.median(self._seconds[name])

    def ratio(self, name, other):
        """Median over the turns of the seconds of one arm divided by those of another in the same turn."""
        return statistics.median(a / b for a, b in zip(self._seconds[name], self._seconds[other], strict=False))


def benchmark_statistics(n_turns):
    """Sums over a million rows, for 793 columns."""
    X, y = make_data(N_SAMPLES)
    index_set = hyperbolic_cross(2, 40)
    n_columns = index_set.n_components
    phases = TorusKernel(period=PERIOD).phases(X)
    points = [np.ascontiguousarray(column) for column in phases.T]
    strengths = 1 + 1j * (y - y.mean()) / y.std()
    modes = tuple(int(4 * k + 1) for k in index_set.frequencies.max(axis=0))

    def gather(rows, backend):
        sums = SufficientStatistics.from_data(
            X[:rows], y[:rows], index_set, period=PERIOD, backend=backend, tolerance=TOLERANCE, n_threads=1
        )
        return sums.linear()[0]

    chunk = next(_dense.row_chunks(N_SAMPLES_DENSE, n_columns)).stop
    block = np.random.default_rng(1).normal(size=(chunk, n_columns))
    gram = np.zeros((n_columns, n_columns), order="F")
    n_chunks = -(-N_SAMPLES_DENSE // chunk)

    def bare_products():
        for _ in range(n_chunks):
            dsyrk(1.0, block.T, beta=1.0, c=gram, overwrite_c=True)

    turns = Turns(
        {
            "finufft": lambda: gather(N_SAMPLES, "finufft"),
            "bare": lambda: finufft.nufft2d1(*points, strengths, modes, eps=TOLERANCE, isign=1, nthreads=1),
            "dense": lambda: gather(N_SAMPLES_DENSE, "dense"),
            "syrk": bare_products,
        },
        n_turns,
    )
    fast, reference = gather(N_SAMPLES_DENSE, "finufft"), gather(N_SAMPLES_DENSE, "dense")
    scale = N_SAMPLES / N_SAMPLES_DENSE
    products = n_chunks * chunk * n_columns**2  # of the bare arm
    return [
        figure("statistics, finufft (s)", turns.median("finufft")),
        figure(f"statistics, dense, scaled from {N_SAMPLES_DENSE} rows (s)", scale * turns.median("dense")),
        figure("one bare transform (s)", turns.median("bare")),
        figure("dense / finufft", scale * turns.ratio("dense", "finufft"), at_least=50),
        figure("finufft / bare transform", turns.ratio("finufft", "bare"), at_most=1.5),
        figure("dense products (Gflop/s)", N_SAMPLES_DENSE * n_columns**2 / turns.median("dense") / 1e9),
        figure("bare dsyrk (Gflop/s)", products / turns.median("syrk") / 1e9),
        figure(
            "rate of dense / bare dsyrk",
            N_SAMPLES_DENSE / (n_chunks * chunk) * turns.ratio("syrk", "dense"),
            at_least=0.85,
        ),
        figure("largest difference of F'F, relative to n", np.abs(fast.gram - reference.gram).max() / N_SAMPLES_DENSE),
    ]


def benchmark_prediction(n_turns):
    """Mean and standard deviation at a million points, for 793 columns."""
    X, y = make_data(N_SAMPLES)
    options = {"period": PERIOD, "index_set": hyperbolic_cross(2, 40), "learn": (), "length_scale": 0.3, "n_threads": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the given hyperparameters are not the best ones
        models = {
            backend: TorusGPRegressor(backend=backend, **options).fit(X[:N_SAMPLES_DENSE], y[:N_SAMPLES_DENSE])
            for backend in ("finufft", "dense")
        }

    def predict(backend, rows):
        # a copy has nothing computed yet; without the noise, which would hide differences
        return copy.deepcopy(models[backend]).predict(X[:rows], return_std=True, include_noise=False)

    n_few = N_SAMPLES_DENSE // 2
    turns = Turns({"finufft": lambda: predict("finufft", N_SAMPLES), "dense": lambda: predict("dense", n_few)}, n_turns)
    fast, reference = predict("finufft", n_few), predict("dense", n_few)
    scale = N_SAMPLES / n_few
    return [
        figure("mean and std, finufft (s)", turns.median("finufft")),
        figure(f"mean and std, dense, scaled from {n_few} rows (s)", scale * turns.median("dense")),
        figure("dense / finufft", scale * turns.ratio("dense", "finufft"), at_least=50),
        figure("largest relative difference of the std of the function", np.abs(fast[1] / reference[1] - 1).max()),
    ]


def make_model(n_components):
    return TorusGPRegressor(period=PERIOD, n_components=n_components, n_threads=1)


def benchmark_fit(n_turns):
    """A fit that learns length scales and variances, against the exact Gaussian process on few rows."""
    X, y = make_data(N_SAMPLES)
    few = slice(0, N_SAMPLES_EXACT)
    fitted = {}

    def fit_exact():
        kernel = ConstantKernel() * PeriodicProduct((1.0, 1.0), PERIOD) + WhiteKernel(0.1)
        fitted["exact"] = GaussianProcessRegressor(kernel, normalize_y=True).fit(X[few], y[few])

    def fit_ours(n_components):
        fitted[n_components] = make_model(n_components).fit(X, y)

    turns = Turns(
        {441: lambda: fit_ours(441), "auto": lambda: fit_ours("auto"), "exact": fit_exact}, n_turns, seldom=("exact",)
    )
    new_X, new_y = make_data(20_000, random_state=1)
    scores = {name: model.score(new_X, new_y) for name, model in fitted.items()}
    peaks = {n_components: peak_memory(n_components) for n_components in (441, "auto")}
    found = [figure(f"exact GP of scikit-learn, {N_SAMPLES_EXACT} rows (s)", turns.median("exact"))]
    for name in (441, "auto"):
        label = f"{fitted[name].index_set_.n_components} columns" + (" (auto)" if name == "auto" else "")
        found += [
            figure(f"fit of 10^6 rows, {label} (s)", turns.median(name)),
            figure(f"exact GP / fit, {label}", turns.ratio("exact", name), at_least=10),
            figure(f"memory of the fit, {label} (GiB)", peaks[name] / 2**30, at_most=1.0),
            figure(f"R2 on new data, {label}", scores[name]),
            figure(f"share of the variance left out, {label}", fitted[name].truncation_error_),
        ]
    return [*found, figure("R2 on new data, exact GP", scores["exact"])]


def peak_memory(n_components):
    """Bytes by which a fit raises the memory of a process of its own, over what data and imports take."""
    command = [sys.executable, "-m", "benchmarks.engine", "--memory", str(n_components)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    return int(result.stdout.split()[-1])


def measure_memory(n_components):
    X, y = make_data(N_SAMPLES)
    before = _memory("VmRSS:")
    make_model(n_components).fit(X, y)
    return _memory("VmHWM:") - before


def _memory(field):
    """Bytes in use now (VmRSS) or at most so far (VmHWM)."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a child starts at its parent's on Linux
        return 1024 * int(status.read_text().split(field)[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def figure(label, value, *, at_least=None, at_most=None):
    """One measured number, with what is required of it."""
    value, met = float(value), None
    if at_least is not None or at_most is not None:
        met = bool((at_least is None or value >= at_least) and (at_most is None or value <= at_most))  # not NumPy's
    return {"label": label, "value": value, "at_least": at_least, "at_most": at_most, "met": met}


def format_table(groups):
    lines = []
    for title, figures in groups.items():
        lines.append(title)
        for one in figures:
            limit = ""
            if one["met"] is not None:
                bound = f">= {one['at_least']:g}" if one["at_least"] is not None else f"<= {one['at_most']:g}"
                limit = f"   {bound:8} {'yes' if one['met'] else 'NO'}"
            lines.append(f"  {one['label']:58} {one['value']:10.4g}{limit}")
    return "\n".join(lines)


def run(n_turns=5):
    """Run all comparisons on one thread; a dictionary of groups of figures."""
    with threadpool_limits(1):
        return {
            "10^6 rows, 2 dimensions, 793 columns: statistics": benchmark_statistics(n_turns),
            "10^6 points, 793 columns: prediction": benchmark_prediction(n_turns),
            "fit with learning": benchmark_fit(max(2, n_turns // 2)),
        }


def describe_machine():
    return {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "finufft": finufft.__version__,
    }


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--memory", metavar="COLUMNS", help="only print by how many bytes one fit raises the memory")
    options = parser.parse_args(arguments)
    if options.memory:
        with threadpool_limits(1):
            print(measure_memory("auto" if options.memory == "auto" else int(options.memory)))
        return
    groups = run(2 if options.quick else 5)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"versions": describe_machine(), "groups": groups}, indent=2) + "\n")
    print(format_table(groups))
    print(f"Written to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


if __name__ == "__main__":
    main()
