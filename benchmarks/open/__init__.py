"""What sums of circles, lines and categories do on published data, beside what was there before; on one thread.

Parts: co2 (the trend and the seasons of carbon dioxide, against the exact process of scikit-learn), star (the rotation
of a spotted star), births (a weekday whose strength drifts), electricity (demand from calendar and temperature). Data
are read from the folder that TORUSGP_DATA names; a part without its file is left out.

    python -m benchmarks open              # all, about five minutes
    python -m benchmarks open co2 births   # two of them
"""

import argparse
import json
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.engine import describe_machine, format_table
from benchmarks.open import births, co2, electricity, star
from benchmarks.open.common import locate

RESULTS = Path(__file__).parents[1] / "results" / "open.json"
PARTS = {"co2": co2, "star": star, "births": births, "electricity": electricity}


def main(arguments=None):
    parser = argparse.ArgumentParser("open", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; by default all")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file for the figures")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"unknown part {', '.join(unknown)}; known are {', '.join(PARTS)}")
    groups = {}
    for name in options.parts or PARTS:
        part = PARTS[name]
        path, reason = locate(part.FILE)
        if path is None:
            print(f"{name}: left out, {reason}")
            continue
        with threadpool_limits(1):
            groups[part.TITLE] = part.run(path)
        print(format_table({part.TITLE: groups[part.TITLE]}), flush=True)
    if groups:
        before = json.loads(options.results.read_text())["groups"] if options.results.exists() else {}
        options.results.parent.mkdir(parents=True, exist_ok=True)
        record = {"versions": describe_machine(), "groups": before | groups}
        options.results.write_text(json.dumps(record, indent=2) + "\n")
        print(f"Written to {options.results}")
