"""The page of the results: a table for each problem, and every loss named."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np

OURS = ("torusgp", "torusgp, terms by hand", "torusgp, noise that changes")
BESIDE = ("details", "clock", "commit", "blocks")  # what is no column of a table
PACKAGES = ("torusgp", "lightgbm", "pygam", "prophet", "gpytorch", "statsforecast")
_HEADER = (
    "# Beside other libraries\n\n"
    "Six published series and tables. Every method gets the same rows, inputs and holidays, and one thread. "
    "Seconds are processor time on a shared machine, so only their ratios mean something. Methods that want terms "
    "(mgcv, pyGAM) are told those of the problem; 'torusgp' is told the columns alone. Boosting has no noise of "
    "its own: it gets that of rows left out in blocks. Noise that changes is a second model of squared residuals for "
    "mgcv and boosting, of all inputs. In forecasts splines of time run away, so mgcv and pyGAM "
    "have a straight line instead. The best value of each score is in bold. Below each table stands what torusgp "
    "loses.\n\n"
    "Repeat it with `make bench-peers-tables`, the folder of the data in `TORUSGP_DATA`; mgcv takes part where R "
    "is installed."
)


def write(record):
    """Markdown of all problems."""
    parts = [_HEADER, _versions(), _commits(record)]
    for case in record.values():
        if len(case["results"]) > 1:
            parts.append(_section(case))
    return "\n\n".join(parts) + "\n"


def _versions():
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"Versions: {', '.join(found)}."


def _commits(record):
    """Which code the rows of torusgp were made by."""
    rows = [row for case in record.values() for label, row in case["results"].items() if label in OURS]
    found = sorted({str(row.get("commit") or "unknown") for row in rows})
    return f"Results of torusgp are those of commit {', '.join(f'`{one}`' for one in found)}."


def _section(case):
    results = {label: _as_printed(row) for label, row in case["results"].items()}  # what looks equal is no loss
    keys = [key for key in next(iter(results.values())) if key not in BESIDE]
    lines = [f"## {case['title']}", ""]
    lines += [f"{case['rows']:,} rows to learn from, {case['held out']:,} held out; errors in {case['unit']}.", ""]
    lines += ["| method | " + " | ".join(keys) + " |", "|---|" + "---|" * len(keys)]
    best = {key: _best(results, key) for key in keys}
    for label, row in results.items():
        cells = []
        for key in keys:
            text = _number(key, row.get(key))
            cells.append(f"**{text}**" if label == best[key] else text)
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"{label} failed: `{why}`" for label, why in case["failed"].items()]
    lines += [_losses(results), *_paired(case["results"])]
    return "\n".join(lines)


def _better(key, a, b):
    """Whether one value of a score is better than another."""
    return a > b if key == "R2" else a < b


def _best(results, key):
    if key.startswith("coverage"):
        return None
    values = {label: row[key] for label, row in results.items() if row.get(key) is not None}
    return (max if key == "R2" else min)(values, key=values.get) if values else None


def _as_printed(row):
    """A row whose numbers have as many digits as the page shows."""
    return {key: float(f"{one:.4g}") if isinstance(one, float) else one for key, one in row.items()}


def _number(key, value):
    if value is None:
        return ""
    return f"{100 * value:.1f} %" if key.startswith("coverage") else f"{value:.4g}"


def _losses(results):
    """Where another method is better than the better one of ours."""
    ours = [results[label] for label in results if label in OURS]
    if not ours:
        return ""
    sentences = []
    for key in ("R2", "MASE", "MAE", "pinball", "log loss", "seconds"):
        mine = [row[key] for row in ours if row.get(key) is not None]
        if not mine:
            continue
        own = max(mine) if key == "R2" else min(mine)
        ahead = [
            f"{label} ({_number(key, row[key])})"
            for label, row in results.items()
            if label not in OURS and row.get(key) is not None and _better(key, row[key], own)
        ]
        if ahead:
            sentences.append(f"{key}: {', '.join(ahead)} against {_number(key, own)}")
    return "torusgp loses in " + "; in ".join(sentences) + "." if sentences else "torusgp loses nothing here."


def _paired(results):
    """How much larger the three best log losses of others are than our best one, with standard errors."""
    known = {label: row for label, row in results.items() if row.get("blocks")}
    ours, others = ([label for label in known if (label in OURS) == is_ours] for is_ours in (True, False))
    if not ours or not others:
        return []
    best, *_ = sorted(ours, key=lambda label: known[label]["log loss"])
    differences = []
    for label in sorted(others, key=lambda label: known[label]["log loss"])[:3]:
        one = np.subtract(known[label]["blocks"], known[best]["blocks"])
        error = one.std(ddof=1) / np.sqrt(len(one))
        differences.append(f"{label} {one.mean():.4f} \u00b1 {error:.4f}")
    n_blocks = len(known[best]["blocks"])
    return [
        "",
        f"Log losses less that of {best}, with standard errors of {n_blocks} blocks of rows: {', '.join(differences)}.",
    ]
