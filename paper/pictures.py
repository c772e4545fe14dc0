"""Filled holes of the textures beside the truth, for three numbers of components, as in the paper's figure."""

import numpy as np

from paper.common import SEQUENCES, missing_textures, new_figure, paragraphs, read_record, select
from paper.textures import KINDS, PICTURED_METHODS
from torusgp.data.datasets import load_texture

TITLE = "Filled holes of the textures"
MARGIN = 12  # pixels shown around the hole


def missing(folder):
    reason = missing_textures(KINDS)
    if not reason and not (folder / "holes.json").exists():
        reason = "it draws what the experiment textures predicts: run that first"
    return reason


def run(pool, quick, folder):
    rows = read_record(folder, "holes")["rows"]
    panels = [{key: row[key] for key in ("kind", "method", "size", "rmse", "mnll")} for row in rows]
    images = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        texture = load_texture(kind)
        filled = [{key: row[key] for key in ("method", "size", "hole")} for row in select(rows, kind=kind)]
        truth = np.rint(255 * cut(texture.image, texture.hole)).astype(int)
        images.append({"kind": kind, "truth": truth, "filled": filled})
    return {"settings": {"margin": MARGIN}, "panels": panels, "images": images}


def cut(image, hole):
    """The hole with a margin."""
    rows, columns = (np.flatnonzero(hole.any(axis=axis)) for axis in (1, 0))
    return image[rows[0] - MARGIN : rows[-1] + MARGIN + 1, columns[0] - MARGIN : columns[-1] + MARGIN + 1]


def draw(record):
    return {f"pictures_{one['kind']}": draw_image(record, one) for one in record["images"]}


def draw_image(record, image):
    from matplotlib.patches import Rectangle

    sizes = list(dict.fromkeys(one["size"] for one in image["filled"]))
    truth, margin = np.array(image["truth"]), record["settings"]["margin"]
    inside = slice(margin, -margin)
    figure, axes = new_figure(len(sizes), 1 + len(PICTURED_METHODS), 2.5, 3.0)
    for ax_row, size in zip(axes, sizes, strict=True):
        for ax, method in zip(ax_row, ("truth", *PICTURED_METHODS), strict=True):
            pixels, title = truth, "truth"
            if method != "truth":
                hole = select(image["filled"], method=method, size=size)[0]["hole"]
                pixels = truth.copy()
                pixels[inside, inside] = np.reshape(hole, truth[inside, inside].shape)
                panel = select(record["panels"], kind=image["kind"], method=method, size=size)[0]
                name = f"{method}+W" if method in SEQUENCES else method
                title = f"{name}\nRMSE {panel['rmse']:.4f}"
            ax.imshow(pixels, cmap="gray", vmin=0, vmax=255)
            width = pixels.shape[0] - 2 * margin
            corner = (margin - 0.5, margin - 0.5)
            ax.add_patch(Rectangle(corner, width, width, fill=False, edgecolor="#D55E00", linewidth=1.2))
            ax.set_title(title, fontsize=10)
            ax.set(xticks=[], yticks=[])
        ax_row[0].set_ylabel(f"{size} components", fontsize=11)
    return figure


def describe(record):
    pictures = [
        f"![Holes in {one['kind']}, filled by each method](pictures_{one['kind']}.png)" for one in record["images"]
    ]
    return paragraphs(
        *pictures,
        "The hole is the square; around it are the pixels that were learned from. Warped features have one component "
        "more than named.",
    )
