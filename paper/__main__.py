"""Run experiments: those named, or all of the paper; then write the page that sets their numbers beside the paper's.

python -m paper                        # the paper's figures, table and claims
python -m paper --rivals               # rivals on the same holes, and a robot arm: what is beyond the paper
python -m paper gram claims            # two of them, and the page with what is in the folder
python -m paper --quick --results DIR  # everything of the paper in small, within a minute
python -m paper --publish              # all, and put the page and its figures into docs
python -m paper --draw --publish       # the same from what is saved
"""

import argparse
import sys
import time
import traceback
from pathlib import Path

from paper import (
    analytic,
    cardinality,
    claims,
    coefficients,
    gram,
    index_sets,
    page,
    pictures,
    rivals,
    robot,
    stability,
    textures,
    truncation,
)
from paper.common import RESULTS, Pool, commit, read_record, versions, write_record

DOCS = Path(__file__).parents[1] / "docs"
PAPER = {
    "index_sets": index_sets,
    "truncation": truncation,
    "coefficients": coefficients,
    "stability": stability,
    "cardinality": cardinality,
    "gram": gram,
    "analytic": analytic,
    "textures": textures,
    "pictures": pictures,
}
RIVALS = {"rivals": rivals, "robot": robot}  # beyond the paper, with a command of their own
EXPERIMENTS = PAPER | RIVALS | {"claims": claims}  # claims last: they rest on the others


def run_experiment(name, folder, pool, quick):
    """Measure, save, draw, and say how long measuring took."""
    record = measure_experiment(name, folder, pool, quick)
    draw_experiment(name, folder)
    print(
        f"{name}: {record['seconds']:.1f} s ({record['cpu_seconds']:.1f} s of processor time), at most "
        f"{record['peak_mebibytes']:.0f} MiB",
        flush=True,
    )


def measure_experiment(name, folder, pool, quick):
    """Measure and save the record, which is returned."""
    experiment = EXPERIMENTS[name]
    pool.reset()
    start = time.perf_counter()
    record = {"experiment": name, "title": experiment.TITLE, "quick": quick, "commit": commit(), "versions": versions()}
    record |= experiment.run(pool, quick, folder)
    record["seconds"] = time.perf_counter() - start
    record["cpu_seconds"] = pool.cpu_seconds
    record["peak_mebibytes"] = pool.peak_mebibytes
    write_record(folder, name, record)
    return record


def draw_experiment(name, folder):
    """Draw the figures of a saved record."""
    for figure_name, figure in EXPERIMENTS[name].draw(read_record(folder, name)).items():
        figure.savefig(folder / f"{figure_name}.png", dpi=110)


def main(arguments=None):
    """Run what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(
        "python -m paper", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ", ".join(EXPERIMENTS)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {known}; by default those of the paper")
    parser.add_argument("--rivals", action="store_true", help=f"by default {', '.join(RIVALS)}, and the claims")
    parser.add_argument("--quick", action="store_true", help="everything in small, to see that it works")
    parser.add_argument("--draw", action="store_true", help="only draw again what is saved, and write the page")
    parser.add_argument("--publish", action="store_true", help="also write docs/paper.md and its figures")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for figures, numbers and the page")
    parser.add_argument("--processes", type=int, default=2, help="worker processes; 1 runs in this one")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"unknown experiment {', '.join(unknown)}; known are {known}")
    if options.processes < 1:
        parser.error(f"--processes must be positive, got {options.processes}")
    group = EXPERIMENTS if options.draw else {**(RIVALS if options.rivals else PAPER), "claims": claims}
    names = [name for name in EXPERIMENTS if name in (options.names or group)]
    options.results.mkdir(parents=True, exist_ok=True)
    pool = Pool(options.processes)
    start = time.perf_counter()
    failed = []
    for name in names:
        saved = (options.results / f"{name}.json").exists()
        reason = EXPERIMENTS[name].missing(options.results)
        if options.draw:
            reason = "" if saved else "nothing is saved of it"
        if reason:
            print(f"{name}: left out, {reason}", flush=True)
            continue
        print(f"{name}: {EXPERIMENTS[name].TITLE}", flush=True)
        try:
            if options.draw:
                draw_experiment(name, options.results)
            else:
                run_experiment(name, options.results, pool, options.quick)
        except Exception:  # the others go on; the exit code tells
            traceback.print_exc()
            failed.append(name)
    path = page.write(options.results, EXPERIMENTS)
    print(f"{len(names)} experiments in {(time.perf_counter() - start) / 60:.1f} minutes; page: {path}", flush=True)
    if options.publish and not failed:
        print(f"Published: {page.publish(options.results, EXPERIMENTS, DOCS)}", flush=True)
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":  # spawned workers import this file
    sys.exit(main())
