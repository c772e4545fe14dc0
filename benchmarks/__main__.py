"""Run benchmarks: those named, each followed by its own arguments, or all but the long ones.

python -m benchmarks [enumeration] [feature_map] [engine [--quick]] [periods [part ...] [--seeds N] ...]
"""

import sys

from benchmarks import engine, enumeration, feature_map, periods

BENCHMARKS = {"enumeration": enumeration, "feature_map": feature_map, "engine": engine, "periods": periods}
TAKE_ARGUMENTS = ("engine", "periods")
LONG = ("periods",)  # an hour: run only by name


def main(words):
    chosen = [] if words else [(name, []) for name in BENCHMARKS if name not in LONG]
    for word in words:
        if word in BENCHMARKS:
            chosen.append((word, []))
        elif chosen and chosen[-1][0] in TAKE_ARGUMENTS:
            chosen[-1][1].append(word)
        else:
            sys.exit(f"Unknown benchmark {word}; known are {', '.join(BENCHMARKS)}.")
    for name, arguments in chosen:
        print(f"\n{name}: {(BENCHMARKS[name].__doc__ or '').splitlines()[0]}", flush=True)
        BENCHMARKS[name].main(arguments)


if __name__ == "__main__":  # spawned workers import this file
    main(sys.argv[1:])
