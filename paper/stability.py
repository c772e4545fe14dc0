r"""Coefficients of the periodic squared-exponential kernel at short length scales: which formula keeps its digits.

The coefficient :math:`e^{-a} I_k(a)`, :math:`a = 1 / l^2`, is a quotient of two numbers that overflow. The paper's
stable form stands in a supplement that is not at hand; its text names an asymptotic of the quotient. Four ways are
compared with the backward recurrence :math:`I_{k-1} = I_{k+1} + (2 k / a) I_k` in 40 decimal digits, scaled to sum to
one, which needs neither the exponential nor the Bessel function.
"""

from decimal import Decimal, localcontext

import numpy as np
from scipy import special

from paper.common import legend_above, markdown_table, new_figure, paragraphs, select
from torusgp.kernels.spectra import SquaredExponential

TITLE = "Stable coefficients"
LENGTH_SCALES = tuple(np.geomspace(0.005, 2.0, 53).round(5).tolist())
SHOWN = (2.0, 0.5, 0.1, 0.05, 0.03, 0.005)
SMALLEST = 1e-20  # coefficients below it are less than the rounding of the largest of any set
DIGITS = 40
EPSILON = float(np.finfo(float).eps)
WAYS = {
    "plain": lambda k, scale: special.iv(k, scale**-2) / np.exp(scale**-2),
    "asymptotic": lambda k, scale: np.exp(-np.square(k * scale) / 2) * scale / np.sqrt(2 * np.pi),
    "scaled Bessel": lambda k, scale: special.ive(k, scale**-2),
    "torusgp": lambda k, scale: SquaredExponential().coefficients(k, scale),
}
NAMES = {
    "plain": "I_k(a) / exp(a)",
    "asymptotic": "exp(-k^2 / 2a) / sqrt(2 pi a)",
    "scaled Bessel": "scipy.special.ive",
    "torusgp": "torusgp",
}


def missing(folder):
    return ""


def run(pool, quick, folder):
    scales = LENGTH_SCALES[::6] if quick else LENGTH_SCALES
    shown = tuple(scale for scale in SHOWN if not quick or scale > 0.02)
    rows = [row for part in pool.map("stability", measure, [(s,) for s in sorted({*scales, *shown})]) for row in part]
    return {
        "settings": {"shown": shown, "smallest": SMALLEST, "digits": DIGITS, "overflow": overflow()},
        "rows": rows,
    }


def exact(argument):
    """Coefficients of the orders whose value is at least the smallest, in many digits; the argument is a Decimal."""
    with localcontext() as context:
        context.prec = DIGITS
        a = float(argument)
        largest = int(np.sqrt(2 * a * 70) + 60)  # exp(-70) is far below the smallest; more for small arguments
        start = largest + int(12 * np.sqrt(a)) + 60  # where the recurrence may begin with any number
        above, here, values = Decimal(0), Decimal(10) ** -DIGITS, []
        for order in range(start, 0, -1):
            above, here = here, above + 2 * order / argument * here
            values.append(here)  # of the order below
        values = values[::-1]
        total = values[0] + 2 * sum(values[1:])
        values = [value / total for value in values]
    return [value for value in values if value >= SMALLEST]


def measure(length_scale):
    """Largest relative error of each way over the orders, as digits lost; None where it is no number."""
    reference = exact(1 / Decimal(length_scale) ** 2)
    k = np.arange(len(reference), dtype=float)
    rows = []
    for way, evaluate in WAYS.items():
        with np.errstate(all="ignore"):
            values = evaluate(k, length_scale)
        if np.isfinite(values).all():
            errors = [abs(Decimal(float(v)) / c - 1) for v, c in zip(values, reference, strict=True)]
            lost = max(0.0, float(np.log10(max(float(max(errors)), EPSILON / 2) / EPSILON)))
        else:
            lost = None
        rows.append({"length_scale": length_scale, "way": way, "orders": len(reference), "digits_lost": lost})
    return rows


def overflow():
    """The length scale below which the plain formula is no number, by bisection."""
    low, high = 0.02, 0.1
    while high - low > 1e-7:
        middle = (low + high) / 2
        with np.errstate(all="ignore"):
            good = np.isfinite(WAYS["plain"](0.0, middle))
        low, high = (low, middle) if good else (middle, high)
    return high


def draw(record):
    figure, axes = new_figure(1, 1, 6.8, 3.8)
    ax = axes[0, 0]
    looks = (("#D55E00", "D"), ("#E69F00", "s"), ("#56B4E9", "^"), ("#000000", "o"))
    for (colour, marker), way in zip(looks, WAYS, strict=True):
        rows = [row for row in select(record["rows"], way=way) if row["digits_lost"] is not None]
        ax.plot(
            [row["length_scale"] for row in rows],
            [row["digits_lost"] for row in rows],
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1.2,
            label=NAMES[way],
        )
    ax.axvspan(min(LENGTH_SCALES), record["settings"]["overflow"], color="#D55E00", alpha=0.12, label="plain: overflow")
    ax.axhline(-np.log10(EPSILON), color="0.5", linestyle=":", linewidth=1)
    ax.set(xscale="log", xlabel="length scale l", ylabel="digits lost, of 15.7", ylim=(-0.3, 17))
    ax.set_xticks([0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0], labels=["0.005", "0.01", "0.03", "0.1", "0.3", "1", "2"])
    ax.grid(alpha=0.3)
    legend_above(figure, axes, 3)
    return {"stability": figure}


def describe(record):
    settings = record["settings"]
    lines = []
    for scale in settings["shown"]:
        rows = {row["way"]: row for row in select(record["rows"], length_scale=scale)}
        lost = [rows[way]["digits_lost"] for way in WAYS]
        cells = ["overflow" if one is None else f"{one:.1f}" for one in lost]
        lines.append([f"{scale:g}", rows["plain"]["orders"], *cells])
    return paragraphs(
        "![Digits that four formulas of the coefficients lose, against the length scale](stability.png)",
        "The coefficient exp(-a) I_k(a), a = 1 / l^2, as a quotient is no number for l < "
        f"{settings['overflow']:.4f}, where I_0(a) overflows. The paper's stable form is in its supplement, which is "
        "not "
        "at hand; its text speaks of an asymptotic of the quotient. Digits lost, the most over all orders with a "
        f"coefficient of at least {settings['smallest']:g}, beside {settings['digits']} decimal digits by the backward "
        "recurrence:",
        markdown_table(["l", "orders", *NAMES.values()], lines),
        "The leading asymptotic is right in the limit, and at the low orders, only. What is lost at short length "
        "scales by "
        "the last two is what the rounding of l itself moves the coefficients by, the high orders most. The library "
        "sums "
        "expansions of the logarithm, chosen by order and argument, so that coefficients too small for a number keep "
        "their order, too.",
    )
