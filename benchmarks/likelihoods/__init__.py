"""Counts, classes, outliers and noise that changes: cost, coverage and scores; on one thread.

Parts: counts (a million rows, beside one bare transform and GPyTorch's variational process), coverage (of the function,
in simulations), outliers (rows far off), noise (that changes by hour), bicycles (hourly counts, beside Poisson
boosting; read from the folder that TORUSGP_DATA names).

    python -m benchmarks likelihoods                          # all, about half an hour
    python -m benchmarks likelihoods counts                   # one of them
    python -m benchmarks likelihoods coverage --simulations 30 --processes 2
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.engine import describe_machine, format_table
from benchmarks.likelihoods import bicycles, counts, coverage, noise, outliers

RESULTS = Path(__file__).parents[1] / "results" / "likelihoods.json"
PARTS = {"counts": counts, "coverage": coverage, "outliers": outliers, "noise": noise, "bicycles": bicycles}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "likelihoods", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--simulations", type=int, default=300, help="of each likelihood and number of rows")
    parser.add_argument("--processes", type=int, default=1, help="that share the simulations")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the figures")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; known are {', '.join(PARTS)}")
    groups = {}
    for name in options.parts or PARTS:
        with threadpool_limits(1):
            more = {"processes": options.processes} if name == "coverage" else {}
            found = PARTS[name].run(options.simulations, **more)
        print(format_table(found), flush=True)
        groups |= found
    before = json.loads(options.results.read_text())["groups"] if options.results.exists() else {}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps({"versions": describe_machine(), "groups": before | groups}, indent=2) + "\n")
    print(f"Written to {options.results}")
