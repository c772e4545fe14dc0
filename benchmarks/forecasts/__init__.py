"""Forecasts of tables: the next day of a load, and coverage at every horizon of simulated series; on one thread.

Parts: load (PJM's hourly load, the next day from each of the last 28 days, beside seasonal naive forecasts; reads the
folder that TORUSGP_DATA names), coverage (intervals of forecasts of made-up sales whose noise is autocorrelated).

    python -m benchmarks forecasts                                   # both, some minutes
    python -m benchmarks forecasts coverage --simulations 1000       # how often intervals hold
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.engine import describe_machine, format_table
from benchmarks.forecasts import coverage, load

RESULTS = Path(__file__).parents[1] / "results" / "forecasts.json"
PARTS = {"load": load, "coverage": coverage}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "forecasts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--simulations", type=int, default=100, help="of the coverage; by default 100")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the figures")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; known are {', '.join(PARTS)}")
    groups = {}
    for name in options.parts or PARTS:
        with threadpool_limits(1):
            found = PARTS[name].run(options)
        print(format_table(found), flush=True)
        groups |= found
    if groups:
        before = json.loads(options.results.read_text())["groups"] if options.results.exists() else {}
        options.results.parent.mkdir(parents=True, exist_ok=True)
        record = {"versions": describe_machine(), "groups": before | groups}
        options.results.write_text(json.dumps(record, indent=2) + "\n")
        print(f"Written to {options.results}")
