"""Run the methods on the problems, one after the other on one thread, and write a page of the results."""

import argparse
import json
import os
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.peers.tables import __doc__ as description
from benchmarks.peers.tables import next_day, page
from benchmarks.peers.tables.methods import METHODS, NORMAL_NOISE, TIDAL, timed
from benchmarks.peers.tables.predictions import block_losses, scores
from benchmarks.peers.tables.problems import LUNAR_DAY, PROBLEMS, load
from paper.common import commit

RESULTS = Path(__file__).parents[2] / "results" / "tables.json"


def run_problem(name, folder, methods, report):
    """Scores of the methods on one problem, and what failed."""
    problem = load(name, folder)
    case = {
        "title": problem.title,
        "unit": problem.unit,
        "rows": int((~problem.held_out).sum()),
        "held out": int(problem.held_out.sum()),
        "results": {},
        "failed": {},
    }
    for label in methods:
        if (label in TIDAL and LUNAR_DAY not in problem.X) or (label in NORMAL_NOISE and problem.counts):
            continue
        try:
            with threadpool_limits(1):
                prediction, processor, clock = timed(METHODS[label], problem)
        except Exception as error:  # one method must not end a long run; the page says what happened
            case["failed"][label] = repr(error)[:300]
            report(f"  {label}: {error!r}")
            continue
        found = scores(problem.y[problem.held_out], prediction)
        beside = {"clock": clock, "details": prediction.details, "blocks": block_losses(prediction)}
        case["results"][label] = found | {"seconds": processor} | beside
        report(f"  {label}: " + ", ".join(f"{key} {value:.4g}" for key, value in found.items() if value is not None))
    return case


def main(arguments=None):
    parser = argparse.ArgumentParser("peers.tables", description=description)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    problems = [*PROBLEMS, *next_day.N_DAYS]
    parser.add_argument("--problems", nargs="+", choices=problems, default=problems)
    parser.add_argument("--methods", nargs="+", help=f"of {', '.join([*METHODS, *next_day.METHODS])}")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the results; earlier ones are kept")
    parser.add_argument("--page", type=Path, help="also write the page here")
    options = parser.parse_args(arguments)
    folder = os.environ.get("TORUSGP_DATA")
    if not folder:
        parser.error("TORUSGP_DATA has to name the folder of published data")
    record = json.loads(options.results.read_text()) if options.results.exists() else {}
    options.results.parent.mkdir(parents=True, exist_ok=True)

    def report(line):
        print(line, flush=True)

    for name in options.problems:
        report(name)
        known = next_day.METHODS if name in next_day.N_DAYS else METHODS
        methods = [label for label in known if options.methods is None or label in options.methods]
        run = next_day.run if name in next_day.N_DAYS else run_problem
        case = run(name, folder, methods, report)
        for result in case["results"].values():
            result["commit"] = commit()
        for key in ("results", "failed"):  # methods that were not run again stay
            case[key] = {**record.get(name, {}).get(key, {}), **case[key]}
        case["failed"] = {label: why for label, why in case["failed"].items() if label not in case["results"]}
        record[name] = case
        options.results.write_text(json.dumps(record, indent=1) + "\n")
    if options.page:
        options.page.write_text(page.write(record))
        report(f"Written: {options.page}")
