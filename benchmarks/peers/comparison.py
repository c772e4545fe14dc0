"""Run the comparison with other methods, all on one thread.

Every method gets the same rows, the periods, and its own search for hyperparameters, which counts as fitting. Fast
methods take turns; times are medians, and ratios those of the same turn. Results and a page with tables and figures go
to benchmarks/results. It needs what requirements.txt names, in an environment that `make bench-peers` makes.

    python -m benchmarks.peers                       # about a quarter of an hour
    python -m benchmarks.peers --quick               # under a minute; only to see that it works
    python -m benchmarks.peers --problems toy ring   # some of the problems
"""

import argparse
import json
import platform
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks import page
from benchmarks.peers import arms, ours, problems, runner

RESULTS = Path(__file__).parents[1] / "results" / "peers.json"
PACKAGES = ("torusgp", "numpy", "scipy", "scikit-learn", "finufft", "torch", "gpytorch")
FEATURES = (arms.TORUS, arms.RANDOM, arms.NYSTROEM)
ON_ALL_ROWS = (*FEATURES, arms.BOOSTING, arms.GPYTORCH_SVGP)
ALL = (*ON_ALL_ROWS, arms.TORUS_FEW_ROWS, arms.EXACT, arms.GPYTORCH_EXACT)


@dataclass(frozen=True)
class Case:
    """A problem with so many training rows, the methods that take part, and numbers of columns for those that have."""

    problem: str
    n_samples: int | None
    names: tuple
    sizes: tuple = (None,)
    n_test: int | None = problems.N_TEST
    settings: dict = field(default_factory=dict)  # that differ from those of the other cases


CASES = (
    Case("toy", 2_000, ALL),
    Case("toy", 20_000, ALL),
    Case("toy", 200_000, ON_ALL_ROWS),
    Case("electricity", None, (*ALL, arms.TORUS_IN_ORDER), n_test=None),
    Case("ring", 20_000, ALL, (None, 801)),
    Case("ring", 100_000, FEATURES, (801,)),
    Case("arm", 36_000, ON_ALL_ROWS, (None,), 4_000, {"n_inducing": 1_000, "variational_seconds": 240.0}),
)
QUICK_CASES = (
    Case("toy", 500, ALL, n_test=500),
    Case("electricity", 1_000, (*ALL, arms.TORUS_IN_ORDER), n_test=500),
    Case("ring", 500, ALL, (None, 101), n_test=500),
    Case("arm", 500, ON_ALL_ROWS, n_test=500),
)


def run(cases, settings, n_turns, save, report=print):
    """Run cases on one thread; ``save`` is called with the record after each."""
    record = {
        "versions": versions(),
        "settings": arms.describe(settings),
        "exact rows": settings.exact_rows,
        "cases": [],
        "left out": [],
    }
    without = () if find_spec("gpytorch") else (arms.GPYTORCH_EXACT, arms.GPYTORCH_SVGP)
    for name in without:
        record["left out"].append({"what": name, "why": "GPyTorch is not installed: run make bench-peers"})
    for case in cases:
        start = time.perf_counter()
        try:
            problem = problems.PROBLEMS[case.problem](case.n_samples, case.n_test)
        except problems.MissingDataError as error:
            record["left out"].append({"what": case.problem, "why": str(error)})
            report(f"{case.problem}: left out. {error}")
            continue
        report(f"{case.problem}, {len(problem.X)} rows", flush=True)
        names = [name for name in case.names if name not in without]
        if len(problem.X) <= settings.exact_rows:  # the exact ones have all rows
            names = [name for name in names if name != arms.TORUS_FEW_ROWS]
        with threadpool_limits(1):
            rows, failures = runner.compare(
                problem,
                arms.make_arms(problem.period, replace(settings, **case.settings), names, case.sizes),
                n_turns,
                report,
            )
            made = problem.truth_test is not None  # and its rows are independent
            correlation = 0.0 if made else runner.residual_correlation(problem, ours.Torus(problem.period))
        record["left out"] += [
            {"what": f"{label} on {case.problem}, {len(problem.X)} rows", "why": why} for label, why in failures.items()
        ]
        record["cases"].append(
            {
                "problem": case.problem,
                "title": problems.TITLES[case.problem],
                "rows": len(problem.X),
                "held-out rows": len(problem.X_test),
                "dimension": problem.X.shape[1],
                "noise std": problem.noise_std,
                "residual correlation": correlation,
                "seconds": time.perf_counter() - start,
                "results": rows,
            }
        )
        save(record)
    return record


def versions():
    """Versions of Python and of the packages, where they are installed."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def main(arguments=None):
    parser = argparse.ArgumentParser("peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rows, columns and steps")
    parser.add_argument("--problems", nargs="+", choices=list(problems.PROBLEMS), help="only these")
    parser.add_argument("--exact-rows", type=int, help="rows of the exact Gaussian processes")
    parser.add_argument("--turns", type=int, help="of the fast methods")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the results; the page goes beside it")
    options = parser.parse_args(arguments)
    settings = arms.QUICK if options.quick else arms.Settings()
    if options.exact_rows:
        settings = replace(settings, exact_rows=options.exact_rows)
    cases = [
        case
        for case in (QUICK_CASES if options.quick else CASES)
        if options.problems is None or case.problem in options.problems
    ]
    options.results.parent.mkdir(parents=True, exist_ok=True)

    def save(record):
        options.results.write_text(json.dumps({"quick": options.quick, **record}, indent=1) + "\n")

    n_turns = options.turns or (1 if options.quick else 3)
    save(run(cases, settings, n_turns, save))
    print(f"Written: {page.write(options.results.parent)}")
