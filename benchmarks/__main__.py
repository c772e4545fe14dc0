"""Run benchmarks: those named, each followed by its own arguments, or all but the long ones.

python -m benchmarks [enumeration] [feature_map] [engine [--quick]] [inputs [part ...] [--rows N]]
                     [streaming [--rows N]] [scaling [--quick]]
                     [derivatives]
                     [periods [part ...] [--seeds N] ...] [open [part ...]]
                     [learned [part ...] [--seeds N]] [likelihoods [part ...] [--simulations N]]
                     [tables [part ...]] [products [--simulations N] [--rows N ...]]
                     [forecasts [part ...] [--simulations N]] [noise [part ...] [--simulations N] [--rows N]]
                     [gpu [--device D] [--quick]] [page]
                     [calibration [--sets N] [--rows N ...] [--dimensions D ...] [--quick]]
"""

import sys
from importlib import import_module

# long, need data or a machine of their own, or read others
BY_NAME = (
    "periods",
    "open",
    "learned",
    "likelihoods",
    "tables",
    "products",
    "forecasts",
    "noise",
    "calibration",
    "gpu",
    "page",
)
BENCHMARKS = ("enumeration", "feature_map", "engine", "inputs", "streaming", "scaling", "derivatives", *BY_NAME)
TAKE_ARGUMENTS = (
    "engine",
    "inputs",
    "streaming",
    "scaling",
    "periods",
    "open",
    "learned",
    "likelihoods",
    "tables",
    "products",
    "forecasts",
    "noise",
    "calibration",
    "gpu",
)


def main(words):
    chosen = [] if words else [(name, []) for name in BENCHMARKS if name not in BY_NAME]
    for word in words:
        if word in BENCHMARKS:
            chosen.append((word, []))
        elif chosen and chosen[-1][0] in TAKE_ARGUMENTS:
            chosen[-1][1].append(word)
        else:
            sys.exit(f"Unknown benchmark {word}; known are {', '.join(BENCHMARKS)}.")
    for name, arguments in chosen:
        benchmark = import_module(f"benchmarks.{name}")
        print(f"\n{name}: {(benchmark.__doc__ or '').splitlines()[0]}", flush=True)
        benchmark.main(arguments)


if __name__ == "__main__":  # spawned workers import this file
    main(sys.argv[1:])
