"""Each claim of the paper's text beside what was measured: holds, in part, or not, and where not, why."""

from paper.claims import _gram, _prediction, _sets
from paper.claims._base import FAILS, HOLDS, IN_PART, MENDED, MISPRINT, OPEN, OURS, PAPER, count, sentence
from paper.common import markdown_table, paragraphs, read_record

TITLE = "The paper's claims, one by one"
CLAIMS = _sets.CLAIMS + _gram.CLAIMS + _prediction.CLAIMS


def missing(folder):
    return ""


def run(pool, quick, folder):
    names = {name for claim in CLAIMS for name in claim.needs}
    records = {name: read_record(folder, name) for name in names}
    rows = []
    for claim in CLAIMS:
        row = {
            "kind": claim.kind,
            "section": claim.section,
            "claim": f"“{claim.quote}”" if claim.literal else claim.quote,
            "experiments": claim.needs,
        }
        absent = [name for name in claim.needs if records[name] is None]
        small = [name for name in claim.needs if name not in absent and records[name]["quick"]]
        if absent or (small and not claim.in_small):
            reason = f"{', '.join(absent)} was not run" if absent else f"{', '.join(small)} was run in small"
            rows.append(row | {"verdict": OPEN, "measured": "", "reason": reason})
        else:
            rows.append(row | claim.judge(*(records[name] for name in claim.needs)))
    return {"rows": rows}


def draw(record):
    return {}


def describe(record):
    parts = [
        f"{sentence(record['rows'])[0].upper()}{sentence(record['rows'])[1:]}. Counted by the program, from the rows "
        "below; a misprint is a formula that is wrong as printed and right as it must have been meant, and no claim.",
        _prediction.rule(),
    ]
    headings = {PAPER: "### Claims of the paper", MISPRINT: "### Misprints, mended", OURS: "### Statements of our own"}
    for kind, heading in headings.items():
        reason = "as meant" if kind == MISPRINT else "where not, why"
        lines = [
            [row["section"], row["claim"], row["measured"], f"**{row['verdict']}**", row["reason"]]
            for row in record["rows"]
            if row["kind"] == kind
        ]
        parts += [heading, markdown_table(["section", "claim", "measured", "verdict", reason], lines)]
    return paragraphs(*parts)


__all__ = ["CLAIMS", "FAILS", "HOLDS", "IN_PART", "MENDED", "MISPRINT", "OPEN", "OURS", "PAPER", "count", "sentence"]
