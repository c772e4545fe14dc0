"""Noise that is correlated in time: simulations, and the tides of Portland.

python -m benchmarks noise [simulations] [gaps] [white] [tides] [--simulations N] [--rows N] [--jobs N]
"""

import argparse

from benchmarks.noise import simulations, tides

PARTS = {"simulations": simulations.main, "gaps": simulations.gaps, "white": simulations.white, "tides": tides.main}


def main(words=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks noise")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; by default all")
    parser.add_argument("--simulations", type=int, default=100, help="of each kind of noise")
    parser.add_argument("--rows", type=int, default=420, help="of each simulated series")
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    arguments = parser.parse_args(list(words))
    for name in arguments.parts or PARTS:
        PARTS[name](arguments.simulations, arguments.rows, arguments.jobs)
