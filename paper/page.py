"""The Markdown page: every experiment's figures and numbers beside the paper's, from the saved records."""

import re

import numpy as np

from paper.common import markdown_table, read_record

_WIDEST = 1000  # pixels of a figure on a web page
_COLOURS, _HEAVIEST = 128, 240_000  # of a figure on a web page: colours, and bytes
BEYOND = ("rivals", "robot")  # experiments of another command
_NAME = "Index Set Fourier Series Features, reproduced"


def write(folder, experiments):
    """Write ``README.md`` from the records in a folder; returns its path."""
    path = folder / "README.md"
    path.write_text(compose(folder, experiments), encoding="utf-8")
    return path


def publish(folder, experiments, docs):
    """Write the page and its figures, at the size of a web page, into the documentation; returns the path of the page.

    Parameters
    ----------
    folder : Path
        Folder of the records, all of them made in full.
    experiments : dict of str to module
        The experiments.
    docs : Path
        Folder of the documentation.

    Returns
    -------
    Path
    """
    records = {name: read_record(folder, name) for name in experiments}
    lacking = [name for name, record in records.items() if record is None or record["quick"]]
    if lacking:
        raise ValueError(f"Cannot publish: {', '.join(lacking)} was not run in full.")
    images = docs / "images/paper"
    images.mkdir(parents=True, exist_ok=True)
    for name, record in records.items():
        for figure_name, figure in experiments[name].draw(record).items():
            save_small(figure, images / f"{figure_name}.png")
    path = docs / "paper.md"
    path.write_text(compose(folder, experiments, "images/paper/"), encoding="utf-8")
    return path


def save_small(figure, path):
    """Save a figure at the size of a web page, with few colours."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure.set_dpi(min(110.0, _WIDEST / figure.get_figwidth()))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    while True:  # pictures with noise are large
        picture.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size < _HEAVIEST:
            return
        picture = picture.resize([int(0.85 * size) for size in picture.size], Image.Resampling.LANCZOS)


def compose(folder, experiments, images=""):
    """Text of the page; ``images`` stands before the names of figures."""
    records = {name: read_record(folder, name) for name in experiments}
    parts = [f"# {_NAME}\n", _introduction(records), _contents(records, experiments)]
    for name in ("claims", *(one for one in experiments if one != "claims")):
        record, title = records[name], experiments[name].TITLE
        if record is None:
            reason = experiments[name].missing(folder)
            parts.append(f"## {title}\n\nNot run{': ' + reason if reason else ''}.\n")
            continue
        warning = "Made in small (`--quick`): only to see that it works.\n\n" if record["quick"] else ""
        try:
            text = experiments[name].describe(record)
        except (KeyError, IndexError, TypeError) as error:
            text = f"The saved numbers are those of another version ({error!r}): run `python -m paper {name}` again."
        text = re.sub(r"(!\[[^\]]*\]\()", rf"\g<1>{images}", text)
        parts.append(f"## {title}\n\n{warning}{text}\n")
    return "\n".join(parts)


def _introduction(records):
    """What the page is, and which code it was made by."""
    commits = sorted({str(record.get("commit") or "unknown") for record in records.values() if record is not None})
    made = f"Made from commit {', '.join(f'`{one}`' for one in commits)}." if commits else ""
    return (
        "Every number and figure of Tompkins and Ramos, *Index Set Fourier Series Features for Approximating "
        "Multi-dimensional Periodic Kernels* (2018), that its text lets one reproduce, made by `make paper`; beyond it "
        "rivals on the same holes and a robot arm, made by `make paper-rivals`. The numbers behind each figure are in "
        f"the JSON file of the same experiment, in `paper/results`. {made}\n"
    )


def minutes(records, names):
    """Processor time of some experiments in minutes, as told: the sum of the column of the page."""
    return sum(round(records[name]["cpu_seconds"]) for name in names if records.get(name)) / 60


def _contents(records, experiments):
    """A table of the experiments, with what they cost."""
    lines = []
    for name, record in records.items():
        if record is None:
            lines.append([name, experiments[name].TITLE, "not run", "", ""])
            continue
        title = f"[{record['title']}](#{_anchor(record['title'])})" + (" (small)" if record["quick"] else "")
        lines.append([name, title, *(f"{record[key]:.0f}" for key in ("seconds", "cpu_seconds", "peak_mebibytes"))])
    table = markdown_table(["experiment", "what", "seconds", "of processor time", "peak MiB"], lines)
    beyond = [name for name in experiments if name in BEYOND]
    paper = [name for name in experiments if name not in beyond]
    return (
        f"{table}\n\nProcessor time in all: {minutes(records, paper):.1f} minutes for the paper, "
        f"{minutes(records, beyond):.1f} for what is beyond it.\n"
    )


def _anchor(title):
    """Name of a heading in links."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
