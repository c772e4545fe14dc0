"""Run benchmarks: all of them, or those named. Each is a module with a function ``main``.

python -m benchmarks [enumeration] [feature_map] [engine]
"""

import sys

from benchmarks import engine, enumeration, feature_map

BENCHMARKS = {"enumeration": enumeration, "feature_map": feature_map, "engine": engine}

names = sys.argv[1:] or list(BENCHMARKS)
unknown = [name for name in names if name not in BENCHMARKS]
if unknown:
    sys.exit(f"Unknown benchmark {', '.join(unknown)}; known are {', '.join(BENCHMARKS)}.")
for name in names:
    print(f"\n{name}: {(BENCHMARKS[name].__doc__ or '').splitlines()[0]}")
    BENCHMARKS[name].main([])
