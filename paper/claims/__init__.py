"""Each claim of the paper's text beside what was measured: holds, in part, or not, and where not, why."""

from paper.claims import _gram, _prediction, _sets
from paper.claims._base import FAILS, HOLDS, IN_PART, OPEN
from paper.common import markdown_table, read_record

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
    words = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold", OPEN: "were not measured"}
    found = {word: sum(row["verdict"] == word for row in record["rows"]) for word in words}
    counts = [f"{count} {words[word]}" for word, count in found.items() if count]
    lines = [
        [row["section"], row["claim"], row["measured"], f"**{row['verdict']}**", row["reason"]]
        for row in record["rows"]
    ]
    table = markdown_table(["section", "claim", "measured", "verdict", "where not, why"], lines)
    return f"Of {len(lines)} claims: {', '.join(counts)}.\n\n{table}"
