"""The page and its figures, at the size of a web page, for the documentation."""

import re
import subprocess
from pathlib import Path

_WIDTH = 1200  # pixels: sharp on a page of half that width
_COLOURS = 128  # drawn figures have few


def publish(folder, target):
    """Copy the page of a folder of results and the figures that it shows; returns the path of the page."""
    from PIL import Image

    target.mkdir(parents=True, exist_ok=True)
    text = (folder / "README.md").read_text(encoding="utf-8")
    for name in sorted(set(re.findall(r"\]\((\w+\.png)\)", text))):
        with Image.open(folder / name) as figure:
            picture = figure.convert("RGB")
        picture.thumbnail((_WIDTH, 10 * _WIDTH))
        picture.quantize(_COLOURS).save(target / name, optimize=True)
    title, _, rest = text.partition("\n")
    path = target / "index.md"
    path.write_text(f"{title}\n\n*Made by `make paper` from commit {commit()}.*\n{rest}", encoding="utf-8")
    return path


def commit():
    """Short name of the commit that is checked out."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout.strip()
