"""Attack the library for some minutes: ``python -m tests.fuzz [--minutes 5] [--seed 0] [--only KIND] [--cases N]``.

Every case has a generator of its own, made of the seed, its kind and its number: a finding is printed with the line
that repeats it. The exit code is 1 if there was one. Cases by kind are counted.
"""

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

from tests.fuzz import archives, calls, commands, functions, inputs, models, permutations, processes, public, tables
from tests.fuzz.verdicts import FindingError

# Share of the time of each kind.
KINDS = {
    "models": 3,
    "rows counted": 1,
    "parameters": 2,
    "periods": 1,
    "mutated files": 2,
    "crafted files": 3,
    "commands": 2,
    "kills": 1,
    "pairs": 1,
    "full disk": 1,
    "functions": 1,
    "calls": 4,
    "public": 3,
    "repeats": 1,
    "marks": 1,
    "permutations": 1,
}


def make_attacks(folder):
    """Functions of a generator, by kind."""
    for name in ("files", "calls", "commands", "processes", "tables"):
        (folder / name).mkdir()
    files, actions = cache(lambda: archives.Files(folder / "files")), cache(lambda: public.actions(folder / "calls"))
    return {
        "models": models.case,
        "rows counted": models.counted,
        "parameters": inputs.case,
        "periods": inputs.search,
        "mutated files": lambda rng: archives.mutated(files(), rng),
        "crafted files": lambda rng: archives.crafted(files(), rng),
        "commands": lambda rng: commands.case(folder / "commands", rng),
        "kills": lambda rng: processes.killed(folder / "processes", rng),
        "pairs": lambda rng: processes.paired(folder / "processes", rng),
        "full disk": lambda rng: processes.full_disk(folder / "processes", rng),
        "functions": functions.case,
        "calls": lambda rng: calls.case(folder / "calls", rng),
        "public": lambda rng: public.case(actions(), rng),
        "repeats": tables.repeats,
        "permutations": permutations.case,
        "marks": lambda rng: tables.marks(folder / "tables", rng),
    }


def attack(seconds, seed, kinds=tuple(KINDS), number=None, most=None):
    """Cases by kind and outcome, at most so many of a kind, and findings with the lines that repeat them."""
    counts, findings = Counter(), []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attacks = make_attacks(Path(folder))
        total = sum(KINDS[kind] for kind in kinds)
        for kind in kinds:
            end = time.monotonic() + seconds * KINDS[kind] / total
            case = 0 if number is None else number
            while time.monotonic() < end or counts[kind] == 0:
                rng = np.random.default_rng([seed, list(KINDS).index(kind), case])
                counts[kind] += 1
                try:
                    counts[f"{kind}: {attacks[kind](rng)}"] += 1
                except FindingError as finding:
                    repeat = f"python -m tests.fuzz --seed {seed} --only '{kind}' --case {case}"
                    findings.append(f"{kind}: {finding}\n    {repeat}")
                except Exception:
                    findings.append(f"{kind}, case {case} of seed {seed}:\n{traceback.format_exc()}")
                if number is not None or counts[kind] == most:
                    break
                case += 1
    return counts, findings


def main(words):
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS), action="append")
    parser.add_argument("--cases", type=int, help="at most so many of a kind")
    parser.add_argument("--case", type=int, help="this one alone")
    chosen = parser.parse_args(words)
    kinds = tuple(chosen.only or KINDS)
    counts, findings = attack(60 * chosen.minutes, chosen.seed, kinds, chosen.case, chosen.cases)
    for kind in sorted(counts):
        print(f"{counts[kind]:8,} {kind}")
    for finding in findings:
        print(finding)
    print(f"seed {chosen.seed}: {sum(counts[kind] for kind in KINDS):,} cases, {len(findings)} finding(s)")
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
