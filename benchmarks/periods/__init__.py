"""Recovery of periods and lattices from made data, false alarms, and the textures of the paper; on one thread each.

Parts: lattices (cells of images with a third of the pixels missing, against the Cramer-Rao bound), series (two periods
in one irregular series, against Lomb-Scargle), nulls (data without a period), stars (shapes that change), textures
(the paper's images, with period and cell found from the data). Each writes a row per case and a summary to
benchmarks/results/periods.

    python -m benchmarks periods                                             # all, 100 seeds; an hour on two cores
    python -m benchmarks periods lattices nulls --seeds 10                   # two parts, fewer seeds
    python -m benchmarks periods lattices --kinds oblique --first-seed 17 --seeds 1 --results /tmp/one   # one case
"""

import argparse
from pathlib import Path

from benchmarks.periods import lattices, nulls, series, stars, textures
from benchmarks.periods.runner import run_cases, write_rows

RESULTS = Path(__file__).parents[1] / "results" / "periods"
PARTS = {"lattices": lattices, "series": series, "nulls": nulls, "stars": stars, "textures": textures}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        "periods", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds of each kind (textures have none)")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", help="only these kinds of each part")
    parser.add_argument("--processes", type=int, default=2, help="worker processes; 1 runs in this one")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for the tables")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; known are {', '.join(PARTS)}")
    names = options.parts or list(PARTS)
    known_kinds = [kind for name in names for kind in PARTS[name].KINDS]
    unknown = [kind for kind in options.kinds or () if kind not in known_kinds]
    if unknown:
        parser.error(f"unknown kind {', '.join(unknown)}; known are {', '.join(known_kinds)}")
    options.results.mkdir(parents=True, exist_ok=True)
    for name in names:
        part = PARTS[name]
        kinds = [kind for kind in part.KINDS if options.kinds is None or kind in options.kinds]
        reason = part.missing()
        if reason or not kinds:
            print(f"{name}: left out, {reason or 'none of the kinds asked for'}")
            continue
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        table = options.results / f"{name}.csv"
        rows = run_cases(name, part.measure, part.cases(kinds, seeds), table, options.processes)
        write_rows(table, rows)
        summary = f"# {name}: {(part.__doc__ or '').splitlines()[0]}\n\n{part.summary(rows)}\n"
        (options.results / f"{name}.md").write_text(summary)
        print(f"\n{summary}\nWritten to {table} and {table.with_suffix('.md').name}", flush=True)
