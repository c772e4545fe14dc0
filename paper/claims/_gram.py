"""Claims about the error of Gram matrices."""

from itertools import pairwise

import numpy as np

from paper import gram
from paper.claims._base import NEARLY, OURS, Claim, verdict
from paper.common import select

SETS = tuple(gram.FAMILIES)
TIE = 0.005  # relative: measured errors scatter around the expected ones


def gram_table(record, dimension):
    """Errors of all methods at common numbers of columns: (length scale, columns, {method: error})."""
    found = []
    for scale in record["settings"]["length_scales"][str(dimension)]:
        rows = select(record["rows"], dimension=dimension, length_scale=scale)
        for size in gram.compared_columns(record, dimension):
            errors = {method: gram.at_columns(rows, method, size) for method in gram.METHODS}
            found.append((scale, size, {method: error for method, error in errors.items() if error is not None}))
    return found


def ratio(table, method, other):
    """Geometric mean of the ratio of two methods' errors, and the share of the cases in which it is below one."""
    ratios = [errors[method] / errors[other] for _, _, errors in table if method in errors and other in errors]
    return float(np.exp(np.mean(np.log(ratios)))), float(np.mean(np.array(ratios) < 1))


def judge_balls_best(record):
    table = gram_table(record, 3)
    best = [min((name for name in SETS), key=errors.get) for _, _, errors in table]
    good = [name in ("EUC", "TOT") for name in best]
    counts = ", ".join(f"{name} {best.count(name)}" for name in SETS if name in best)
    return verdict(
        np.mean(good),
        f"best of the paper's sets in {len(best)} comparisons (three length scales, 101 to 1001 components): {counts}",
        "at long length scales and few components the cross is as good",
    )


def judge_crosses_worst(record):
    table = gram_table(record, 3)
    small = [set(sorted(SETS, key=errors.get)[-2:]) == {"HYP", "ENHC"} for scale, _, errors in table if scale == 0.5]
    every = [set(sorted(SETS, key=errors.get)[-2:]) == {"HYP", "ENHC"} for _, _, errors in table]
    gaps = {
        scale: np.exp(
            np.mean([np.log(min(e["HYP"], e["ENHC"]) / max(e["TOT"], e["EUC"])) for s, _, e in table if s == scale])
        )
        for scale in dict.fromkeys(scale for scale, _, _ in table)
    }
    text = ", ".join(f"{gap:.2g} (l = {scale:g})" for scale, gap in gaps.items())
    return verdict(
        np.mean(small),
        f"the two worst in {sum(small)} of {len(small)} comparisons at l = 0.5, {sum(every)} of {len(every)} at all; "
        f"error of the better of the two over that of the worse ball: {text}",
        "at few components the total order has coarse steps",
    )


def judge_sets_beat_warped(record):
    ratios = {
        dimension: [
            row["error"] / min(warped.values())
            for row, _, warped in gram.own_sizes(record, dimension)
            if None not in warped.values()
        ]
        for dimension in (3, 9)
    }
    text = ", ".join(
        f"{np.exp(np.mean(np.log(values))):.2g} in D = {dimension} (below one in {sum(v < 1 for v in values)} of "
        f"{len(values)})"
        for dimension, values in ratios.items()
    )
    return verdict(
        np.mean([value < 1 for values in ratios.values() for value in values]),
        f"error of a set over the best warped feature's with as many components, geometric mean over all sets: {text}",
    )


def judge_order(record, dimension, order):
    table = gram_table(record, dimension)
    pairs = list(pairwise(order))
    ratios = [ratio(table, first, second) for first, second in pairs]
    text = ", ".join(
        f"{first} / {second} {mean:.2f} (below one in {100 * share:.0f} %)"
        for (first, second), (mean, share) in zip(pairs, ratios, strict=True)
    )
    return verdict(
        np.mean([mean < 1 for mean, _ in ratios]),
        f"ratio of errors, geometric mean over {len(table)} comparisons: {text}",
        "differences between these sequences are small",
    )


def judge_low_order(record):
    return judge_order(record, 3, ("HAL", "GHAL", "RFF"))


def judge_high_order(record):
    return judge_order(record, 9, ("GHAL", "RFF", "HAL"))


def judge_balls_intractable(record):
    rows = [row for row in record["next_sizes"] if row["dimension"] == 9]
    text = "; ".join(
        f"{row['method']} has {row['columns']:,} components at radius {row['radius']:.3g} and {row['next_columns']:,} "
        f"at "
        f"{row['next_radius']:.3g}, or {row['next_columns_full']:,} by the full map"
        for row in rows
    )
    return verdict(np.mean([row["next_columns_full"] > 10**5 for row in rows]), f"D = 9: {text}")


def judge_cross_resembles(record):
    ratios = []
    for scale in record["settings"]["length_scales"]["9"]:
        rows = select(record["rows"], dimension=9, length_scale=scale)
        for row in select(rows, method="TOT"):
            cross = gram.at_columns(rows, "ENHC", row["columns"])
            ratios += [cross / row["error"]] if cross and row["columns"] >= gram.LEAST_COMPARED else []
    return verdict(
        np.mean([value < NEARLY for value in ratios]),
        f"D = 9: error of the ENHC, between its sizes, over that of TOT at TOT's sizes: {min(ratios):.2f} to "
        f"{max(ratios):.2f}",
        "between its own sizes the cross is a line that no set lies on",
    )


def judge_flexibility(record):
    largest = record["settings"]["most_columns"]["9"]
    weighted = min(row["columns"] for row in select(record["rows"], dimension=9, method="ENHC"))
    return verdict(
        largest < 3**9,
        f"D = 9: the smallest cross has {3**9:,} components with gamma = 1, {weighted} with gamma = 2/3",
    )


def judge_adaptive(record):
    found = [
        best / min([row["error"], *(error for error in warped.values() if error)])
        for dimension in (2, 3, 5, 9, 12)
        for row, best, warped in gram.own_sizes(record, dimension)
        if row["expected"] > gram.FLOOR
    ]
    worst = max(one["adaptive_over_best_set"] for one in record["ties"])
    return verdict(
        np.mean([value <= 1 + TIE for value in found]),
        f"at exactly the components of each of {len(found)} sets its measured error is at most {max(found):.3f} times "
        f"the "
        f"least of all methods, its expected error at most {worst:.3f} times that of the set",
    )


def judge_certificate(record):
    gap = gram.certificate_gap(record)
    return verdict(gap < 0.02, f"measured errors are within {100 * gap:.1f} % of `frobenius_error(set, n_samples)`")


CLAIMS = (
    Claim(
        "Gram, D = 3",
        "the best performing features are those with the Euclidean degree or Total order index sets",
        ("gram",),
        judge_balls_best,
    ),
    Claim(
        "Gram, D = 3",
        "the Hyperbolic and Energy Norm Hyperbolic Cross perform the worst in particular for smaller lengthscales",
        ("gram",),
        judge_crosses_worst,
    ),
    Claim(
        "Gram",
        "the index sets all perform significantly better than the warped Fourier Feature methods",
        ("gram",),
        judge_sets_beat_warped,
    ),
    Claim(
        "Gram, D = 3",
        "RFF performs the worst and the standard Halton ... marginally better than the generalised Halton",
        ("gram",),
        judge_low_order,
    ),
    Claim(
        "Gram, D = 9",
        "the standard Halton sequence falls behind even RFFs while the generalised Halton remains consistently ahead",
        ("gram",),
        judge_high_order,
    ),
    Claim("Gram, D = 9", "the Total and Euclidean index sets become intractable", ("gram",), judge_balls_intractable),
    Claim(
        "Gram, D = 9",
        "ENHC in higher dimensions is able to closely resemble that of the Tensor or Total order index sets",
        ("gram",),
        judge_cross_resembles,
    ),
    Claim(
        "Gram, D = 9",
        "the ENHC can be parameterised by a sparsity and weighting factor giving additional flexibility",
        ("gram",),
        judge_flexibility,
    ),
    Claim(
        "ours",
        "the adaptive set is the best or tied in every setting",
        ("gram",),
        judge_adaptive,
        literal=False,
        kind=OURS,
    ),
    Claim(
        "ours",
        "the error of a Gram matrix is known without data",
        ("gram",),
        judge_certificate,
        literal=False,
        kind=OURS,
    ),
)
