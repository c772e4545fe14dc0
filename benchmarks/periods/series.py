"""Two periods in one irregular series, against a prewhitened Lomb-Scargle search.

500 times, uniform over 40 of the longer periods. The longer period is 10^u, u uniform in [-1, 2]; the shorter is the
longer times a uniform number in [0.2, 0.9], and no ratio is avoided. Both have three harmonics of amplitude 1, 0.5 and
0.25 with random phases; the standard deviation of the noise is half the signal's. All searches know the same range of
periods, from two mean spacings to half the span. Success: the two best periods are the true ones, each to 0.5 %.

A second kind shuffles the amplitudes of each period, so that the fundamental need not be the largest.
"""

import time

import numpy as np

from benchmarks.periods.bounds import Signal, frequency_covariance
from benchmarks.periods.lomb_scargle import two_periods
from benchmarks.periods.runner import failure_lines, group_by, markdown_table, median, root_mean_square

KINDS = ("two-periods", "shuffled-amplitudes")
N_SAMPLES = 500
N_REPEATS = 40  # of the longer period
RATIO = (0.2, 0.9)
AMPLITUDES = (1.0, 0.5, 0.25)
NOISE = 0.5  # in standard deviations of the signal
TOLERANCE = 0.005
N_TERMS = (1, 3)  # of the Lomb-Scargle arms


def missing():
    try:
        import astropy.timeseries  # noqa: F401  only whether it is there
    except ImportError:
        return "astropy is not installed (pip install 'torusgp[dev]')"
    return ""


def cases(kinds, seeds):
    return [(kind, seed) for seed in seeds for kind in kinds]


def make_series(kind, seed):
    """Times, values, signal, standard deviation of the noise and both periods, the longer first."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    longer = 10 ** rng.uniform(-1, 2)
    periods = np.array([longer, longer * rng.uniform(*RATIO)])
    times = np.sort(rng.uniform(0, N_REPEATS * longer, N_SAMPLES))
    wave_vectors = np.vstack([harmonic * np.eye(2, dtype=int) for harmonic in range(1, len(AMPLITUDES) + 1)])
    phases = rng.uniform(0, 2 * np.pi, len(wave_vectors))
    amplitudes = np.column_stack([AMPLITUDES, AMPLITUDES])
    if kind == "shuffled-amplitudes":
        amplitudes = rng.permuted(amplitudes, axis=0)
    weights = amplitudes.reshape(-1, 1) * np.column_stack([np.cos(phases), np.sin(phases)])
    signal = Signal(1 / periods[None, :], wave_vectors, weights)
    clean = signal(times[:, None])
    noise_std = NOISE * clean.std()
    return times, clean + noise_std * rng.normal(size=N_SAMPLES), signal, noise_std, periods


def search_range(times):
    """Shortest and longest period that all arms examine."""
    return 2 * np.ptp(times) / len(times), np.ptp(times) / 2


def relative_errors(found, true):
    """Of both true periods, matched with the first two found in the better order."""
    found = np.array([*found, np.inf, np.inf][:2])
    orders = [np.abs(found - true) / true, np.abs(found[::-1] - true) / true]
    return min(orders, key=np.max)


def measure(kind, seed, lomb_scargle=True):
    """Search one series in all ways, or only in ours."""
    from torusgp import find_period

    times, values, signal, noise_std, true = make_series(kind, seed)
    shortest, longest = search_range(times)
    std = np.sqrt(np.diag(frequency_covariance(signal, times[:, None], noise_std))) * true**2
    row = {"kind": kind, "seed": seed, "longer": float(true[0]), "ratio": float(true[1] / true[0])}
    arms = N_TERMS if lomb_scargle else ()
    for n_terms in arms:
        start = time.perf_counter()
        found = two_periods(times, values, shortest, longest, n_terms)
        row[f"lomb_scargle_{n_terms}_seconds"] = time.perf_counter() - start
        row[f"lomb_scargle_{n_terms}"] = bool((relative_errors(found, true) <= TOLERANCE).all())
        row[f"lomb_scargle_{n_terms}_found"] = " ".join(f"{period / true[0]:.4f}" for period in found)
    start = time.perf_counter()
    search = find_period(times[:, None], values, min_period=shortest, max_period=longest)
    row["seconds"] = time.perf_counter() - start
    found = [float(np.squeeze(one.period)) for one in search]
    errors = relative_errors(found, true)
    row["success"] = bool((errors <= TOLERANCE).all())
    row["among_reported"] = all(min(np.abs(np.array([*found, np.inf]) / p - 1)) <= TOLERANCE for p in true)
    row["n_reported"] = len(found)
    row["found"] = " ".join(f"{period / true[0]:.4f}" for period in found)
    row["relative_error"] = float(errors.max())
    if row["success"]:
        row["error_over_bound"] = float(np.sqrt(np.mean((errors * true / std) ** 2)))
    others = "".join(f"; LS{n_terms} {'right' if row[f'lomb_scargle_{n_terms}'] else 'wrong'}" for n_terms in arms)
    row["failure"] = f"true 1 {row['ratio']:.4f}, found {row['found'] or 'nothing'} (of the longer){others}"
    return row


def summary(rows):
    return "\n\n".join(f"## {kind}\n\n{_summary(group)}" for (kind,), group in group_by(rows, "kind").items())


def _summary(rows):
    arms = {"torusgp": "success"} | {f"Lomb-Scargle, nterms={n}": f"lomb_scargle_{n}" for n in N_TERMS}
    lines = []
    for name, key in arms.items():
        others = [other for other in arms.values() if other != key]
        right = [row for row in rows if row.get(key)]
        lines.append(
            {
                "search": name,
                "cases": len(rows),
                "successes": len(right),
                "it alone": sum(not any(row[other] for other in others) for row in right),
                "seconds (median)": median(rows, "seconds" if key == "success" else f"{key}_seconds"),
            }
        )
    bar = max(line["successes"] for line in lines[1:])
    text = (
        f"The bar, the better Lomb-Scargle: {bar}. Error over Cramer-Rao bound where ours succeeds, root mean square: "
        f"{root_mean_square(rows, 'error_over_bound'):.3g}. Both among all reported: "
        f"{sum(bool(row.get('among_reported')) for row in rows)}. More than two reported: "
        f"{sum(row.get('n_reported', 0) > 2 for row in rows)}."
    )
    return f"{markdown_table(lines)}\n\n{text}\n\n{failure_lines(rows)}"
