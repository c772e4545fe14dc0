"""Displays of :mod:`torusgp.views.plotting` as images inside the page."""

import base64
import io
import re
import warnings
from contextlib import contextmanager

from torusgp.views.report._markup import element, join

_DPI = 125  # of the parts of a drawing that are pixels
# The same picture on every machine, whatever style its user likes. Text stays text: the reader's browser has letters
# that matplotlib's font lacks.
_SETTINGS: dict = {"svg.hashsalt": "torusgp", "svg.fonttype": "none", "font.size": 9.0, "axes.titlesize": 9.0}
_PREAMBLE = re.compile(r"^.*?(?=<svg )|<metadata>.*?</metadata>\s*|(?<=\n) +", re.DOTALL)


def figure_image(draw, size, alternative):
    """A drawing as an image.

    Parameters
    ----------
    draw : callable
        Takes a matplotlib Figure and draws on it.
    size : pair of float
        Width and height in inches of 96 pixels.
    alternative : str
        What the image shows, for those who do not see it.

    Returns
    -------
    Markup
    """
    (image,) = figure_images(lambda figures: draw(figures[0]), [size], [alternative])
    return image


def figure_images(draw, sizes, alternatives):
    """Drawings that are made together, as images of their own.

    Parameters
    ----------
    draw : callable
        Takes a list of matplotlib Figures and draws on them.
    sizes : sequence of pairs of float
        Widths and heights in inches of 96 pixels.
    alternatives : sequence of str
        What each shows, for those who do not see it.

    Returns
    -------
    list of Markup
    """
    with _drawing():
        from matplotlib.figure import Figure

        figures = [Figure(figsize=size, layout="constrained") for size in sizes]
        draw(figures)
        drawings = [_to_svg(figure) for figure in figures]
    return [
        element(
            "img",
            src=f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
            alt=alternative,
            width=round(96 * width),
            height=round(96 * height),
        )
        for svg, (width, height), alternative in zip(drawings, sizes, alternatives, strict=True)
    ]


def literal(text):
    r"""Text that matplotlib shows as it is, instead of reading formulas between dollar signs.

    Examples
    --------
    >>> literal("price ($ per $)")
    'price (\\$ per \\$)'
    """
    return text.replace("$", r"\$")


def set_ticks(ax, axis, ticks):
    """Put ticks, as a dimension gives them, on the "x" or "y" axis."""
    if ticks is not None:
        places, labels = ticks
        limits = getattr(ax, f"get_{axis}lim")()
        getattr(ax, f"set_{axis}ticks")(places, labels)
        getattr(ax, f"set_{axis}lim")(limits)


def figure(content, caption, *, wide=False, chart=False, more=None):
    """A figure with its caption.

    Parameters
    ----------
    content : Markup
        The image or chart.
    caption : str or Markup
        What it shows.
    wide : bool, default=False
        Whether it takes a row of its own.
    chart : bool, default=False
        Whether it is a chart whose values the page's script says.
    more : Markup, optional
        Such as a legend, between the two.

    Returns
    -------
    Markup
    """
    names = " ".join(name for name, is_so in (("wide", wide), ("chart", chart)) if is_so)
    content = element("div", content, class_="canvas", **({"tabindex": 0, "role": "group"} if chart else {}))
    return element("figure", content, more, element("figcaption", caption), class_=names or None)


def figures(*content):
    """Figures side by side where there is room."""
    return element("div", join(content), class_="figures")


@contextmanager
def _drawing():
    """Settings of matplotlib that do not depend on the machine or its user."""
    import matplotlib
    import matplotlib.style

    with matplotlib.style.context("default"), matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the browser will draw it
        yield


def _to_svg(figure):
    file = io.StringIO()
    figure.savefig(file, format="svg", dpi=_DPI, metadata={"Date": None})
    return _PREAMBLE.sub("", file.getvalue())
