"""Claims about predictions: the analytic function and the textures."""

import numpy as np

from paper import textures
from paper.claims._base import NEARLY, Claim, verdict
from paper.common import SEQUENCES, select
from torusgp import mean_negative_log_loss


def judge_loss_formula():
    residuals = np.random.default_rng(0).normal(0, 0.1, 100_000)

    def printed(std):
        return np.mean(0.5 * np.log(2 * np.pi * std) + residuals**2 / (2 * std))

    def corrected(std):
        return mean_negative_log_loss(residuals, np.zeros_like(residuals), np.full_like(residuals, std))

    grid = np.geomspace(0.002, 1, 400)
    best = [grid[np.argmin([loss(std) for std in grid])] for loss in (printed, corrected)]
    return verdict(
        0,
        f"for residuals of standard deviation 0.1 the printed loss is least at a std of {best[0]:.3f}, the log density "
        f"at {best[1]:.3f}",
        "a slip: variances belong there",
    )


def judge_fewer_columns(record):
    texts, good = [], []
    for dimension in record["settings"]["dimensions"]:
        rows = select(record["rows"], sweep="columns", dimension=dimension)
        target = min(select(rows, method="RFF"), key=lambda row: row["rmse"])
        found = {}
        for method in ("ENHC", "adaptive"):
            reach = [row["columns"] for row in select(rows, method=method) if row["rmse"] <= 1.02 * target["rmse"]]
            found[method] = min(reach) if reach else None
        good += [columns is not None and columns < target["columns"] for columns in found.values()]
        reached = ", ".join(f"{method} {columns or 'never'}" for method, columns in found.items())
        texts.append(f"D = {dimension}: {target['columns']} by RFF+W, {reached}")
    return verdict(
        np.mean(good),
        f"components for the best RMSE of RFF+W (within 2 %), {record['settings']['n_train']} points: "
        f"{'; '.join(texts)}",
        "the cross treats all inputs alike, though later ones matter little, and has few sizes in high dimensions: in "
        "D = 9 181 components, interactions of two inputs only, and then 853",
    )


def judge_fewer_points(record):
    texts, good = [], []
    for dimension in record["settings"]["dimensions"]:
        rows = select(record["rows"], sweep="points", dimension=dimension)
        ratios = {
            method: np.exp(
                np.mean(
                    [
                        np.log(a["rmse"] / b["rmse"])
                        for a, b in zip(select(rows, method=method), select(rows, method="RFF"), strict=True)
                    ]
                )
            )
            for method in ("ENHC", "adaptive")
        }
        good += [value < 1 for value in ratios.values()]
        texts.append(f"D = {dimension}: ENHC {ratios['ENHC']:.2f}, adaptive {ratios['adaptive']:.2f}")
    return verdict(
        np.mean(good),
        f"RMSE over that of RFF+W at {record['settings']['n_columns']} components, geometric mean over training sizes: "
        f"{'; '.join(texts)}",
        "in D = 9 the largest cross within these components has 181 and no interaction of three inputs",
    )


def cell(record, kind, method, size, measured):
    return select(record["rows"], kind=kind, method=method, size=size)[0][measured]


def warped_best(record, kind, size, measured):
    return min(cell(record, kind, method, size, measured) for method in SEQUENCES)


def group_wins(record, kind, measured, slack=1.0):
    """Sizes at which the ENHC is at least as good as every warped feature."""
    wins = []
    for size in textures.SIZES:
        ours, other = cell(record, kind, "ENHC", size, measured), warped_best(record, kind, size, measured)
        wins.append(ours <= other * slack if measured == "rmse" else ours <= other)
    return wins


LEARNED = (
    "warped features whose length scales are learned by the evidence are as good here; the paper's are those of a "
    "short length scale that stays as it is"
)


def judge_pores_best(record):
    wins = group_wins(record, "pores", "rmse"), group_wins(record, "pores", "mnll")
    return verdict(
        np.mean(wins),
        f"ENHC ahead of all warped features at {sum(wins[0])} of 5 sizes in RMSE, {sum(wins[1])} in MNLL; with a fixed "
        f"short length scale for all at {fixed_wins(record, 'pores')} of 5",
        LEARNED,
    )


def fixed_wins(record, kind):
    """Sizes at which the ENHC is ahead of all warped features with the paper-like fixed length scale."""
    scale = select(record["closest"], kind=kind)[0]["length_scale"]
    rows = select(record["fixed"], kind=kind, fixed_length_scale=scale)
    return sum(
        select(rows, method="ENHC", size=size)[0]["rmse"]
        <= min(select(rows, method=method, size=size)[0]["rmse"] for method in SEQUENCES)
        for size in textures.SIZES
    )


def judge_few_against_many(record, kind, reason):
    few, many = cell(record, kind, "ENHC", 49, "rmse"), warped_best(record, kind, 793, "rmse")
    paper_few = textures.paper_value(kind, "ENHC", 49, "rmse")
    paper_many = min(textures.paper_value(kind, method, 793, "rmse") for method in SEQUENCES)
    return verdict(
        few <= NEARLY * many,
        f"RMSE {few:.4f} with 49 components, {many:.4f} by the best warped features with 794: "
        f"{100 * (few / many - 1):+.0f} %; in the paper's table {paper_few:.4f} and {paper_many:.4f}: "
        f"{100 * (paper_few / paper_many - 1):+.0f} %",
        reason,
    )


def judge_pores_few(record):
    return judge_few_against_many(
        record, "pores", "nor is it so in the paper's own table: 49 components are too few for the shape"
    )


def judge_rubber_few(record):
    return judge_few_against_many(
        record, "rubber", "just beyond the 10 % that we allow: warped features are better here than in the paper"
    )


def judge_pores_201(record):
    ours = [cell(record, "pores", "ENHC", 201, measured) for measured in ("rmse", "mnll")]
    theirs = [warped_best(record, "pores", 793, measured) for measured in ("rmse", "mnll")]
    return verdict(
        np.mean([a <= b for a, b in zip(ours, theirs, strict=True)]),
        f"RMSE {ours[0]:.4f} against {theirs[0]:.4f}, MNLL {ours[1]:.3f} against {theirs[1]:.3f}",
        f"{LEARNED}; both methods have converged to the same kernel",
    )


def judge_rubber_groups(record):
    wins = group_wins(record, "rubber", "rmse")
    return verdict(
        np.mean(wins),
        f"ENHC ahead in RMSE at {sum(wins)} of 5 sizes; with a fixed short length scale for all at "
        f"{fixed_wins(record, 'rubber')}",
        LEARNED,
    )


def judge_rubber_exceptions(record):
    many = {method: cell(record, "rubber", method, 793, "mnll") for method in textures.TABLE_METHODS}
    few = {method: cell(record, "rubber", method, 93, "mnll") for method in textures.TABLE_METHODS}
    good = [min(many, key=many.get) == "GHAL", min(few, key=few.get) == "HAL"]
    return verdict(
        np.mean(good),
        f"best MNLL at 794: {min(many, key=many.get)} ({min(many.values()):.3f}, range "
        f"{np.ptp(list(many.values())):.3f}); at 94: {min(few, key=few.get)} ({min(few.values()):.3f}, range "
        f"{np.ptp(list(few.values())):.3f})",
        "differences between the methods are small; in the paper's table HAL's MNLL of 94 and 202 components look "
        "exchanged",
    )


def judge_tread_flat(record):
    rmse = [cell(record, "tread", method, size, "rmse") for method in textures.TABLE_METHODS for size in textures.SIZES]
    return verdict(
        max(rmse) / min(rmse) < NEARLY, f"RMSE from {min(rmse):.4f} to {max(rmse):.4f}, over all methods and sizes"
    )


def judge_tread_mnll(record):
    wins = group_wins(record, "tread", "mnll")
    falling = np.diff([cell(record, "tread", "ENHC", size, "mnll") for size in textures.SIZES])
    return verdict(
        np.mean([*wins, *(falling <= 0)]),
        f"ENHC has the best MNLL at {sum(wins)} of 5 sizes; its MNLL falls at {int(np.sum(falling <= 0))} of 4 steps, "
        f"by {-falling.sum():.3f} in all",
        "with the noise learned, MNLL follows the RMSE, which is flat; in the paper's own table GHAL is ahead at 94 "
        "components",
    )


def judge_overall(record):
    found = [group_wins(record, kind, measured) for kind in textures.KINDS for measured in ("rmse", "mnll")]
    gaps = [
        np.log(cell(record, kind, "ENHC", size, "rmse") / warped_best(record, kind, size, "rmse"))
        for kind in textures.KINDS
        for size in textures.SIZES
    ]
    wins = sum(fixed_wins(record, kind) for kind in textures.KINDS)
    return verdict(
        np.mean(found),
        f"all methods learned: ENHC ahead in {np.sum(found)} of {np.size(found)} cells, RMSE "
        f"{100 * np.expm1(np.mean(gaps)):+.1f} % of the best warped feature on average; all with one fixed short "
        f"length scale: ahead in RMSE at {wins} of 15",
        LEARNED,
    )


def judge_lattice(record):
    texts, good = [], []
    for kind in textures.KINDS:
        ours = cell(record, kind, "lattice and trend", 793, "rmse")
        others = min(cell(record, kind, method, 793, "rmse") for method in textures.TABLE_METHODS)
        good.append(ours < others)
        texts.append(f"{kind} {ours:.4f} against {others:.4f}")
    below = select(record["below_nyquist"], kind="pores", size=793)[0]["rmse"]
    return verdict(
        np.mean(good),
        f"RMSE of lattice, trend and adaptive set, 793 components, against the best of the table: {'; '.join(texts)}",
        "the lattice of pores lies along rows and columns; its cross of 793 components holds aliases of slow "
        "harmonics, "
        f"beyond the Nyquist frequency, without which its RMSE is {below:.4f}",
    )


CLAIMS = (
    Claim(
        "analytic function",
        "reducing ... the number of features required for equivalently accurate predictions",
        ("analytic",),
        judge_fewer_columns,
    ),
    Claim(
        "analytic function",
        "reducing both the data samples ... required for equivalently accurate predictions",
        ("analytic",),
        judge_fewer_points,
    ),
    Claim(
        "textures",
        "MNLL: 1/2 log(2 pi sigma) + (mu - f)^2 / (2 sigma) with sigma the predictive standard deviation",
        (),
        judge_loss_formula,
        in_small=True,
        literal=False,
    ),
    Claim(
        "textures",
        "for exactly the same kernel ... clear advantages over the alternative Fourier Feature methods",
        ("textures",),
        judge_overall,
    ),
    Claim("pores", "ISFSF based features ... perform the best in all cases", ("textures",), judge_pores_best),
    Claim(
        "pores",
        "only 49 features almost equaling the performance of RFF and QMC methods which require 794",
        ("textures",),
        judge_pores_few,
    ),
    Claim(
        "pores",
        "the ISFSF with 201 features outperforms FF based methods using 794 features",
        ("textures",),
        judge_pores_201,
    ),
    Claim(
        "rubber",
        "in each group of feature counts, ISFSF outperforms all other methods",
        ("textures",),
        judge_rubber_groups,
    ),
    Claim(
        "rubber",
        "nearly equal in performance with 49 features to the FF methods using 794 features",
        ("textures",),
        judge_rubber_few,
    ),
    Claim(
        "rubber",
        "The generalised Halton marginally outperforms all methods in the case of 794 features, and the Halton at 94",
        ("textures",),
        judge_rubber_exceptions,
    ),
    Claim(
        "tread", "the RMSE performance is approximately equal for all feature counts", ("textures",), judge_tread_flat
    ),
    Claim(
        "tread",
        "the MNLL favours the ISFSF in all cases, with further improvements the larger the feature count",
        ("textures",),
        judge_tread_mnll,
    ),
    Claim(
        "ours",
        "a learned lattice fills the holes better than periods along rows and columns",
        ("textures",),
        judge_lattice,
        literal=False,
    ),
)
