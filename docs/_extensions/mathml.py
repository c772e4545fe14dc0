"""Formulas as MathML, which browsers draw themselves: no script, nothing from another server, and pages work offline.

The converter is that of docutils. A formula that it does not know ends the build with a warning that names it, so that
no page shows one unformatted.
"""

import re

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_BRACKET = re.compile(r"\\[bB]igg?[lr]?\s*(\\?[()\[\]{}|])")
_FENCES = {  # in a group of their own, bars and braces stand close to what they hold
    r"\lvert": r"\left|",
    r"\rvert": r"\right|",
    r"\lVert": r"\left\Vert",
    r"\rVert": r"\right\Vert",
    r"\{": r"\left\{",
    r"\}": r"\right\}",
}
_FENCE = re.compile(r"(?<!\\left)(?<!\\right)(?:\\[lr][vV]ert(?![a-zA-Z])|\\[{}])")
_BAR = re.compile(r"(?<!\\left)(?<!\\right)(?<!\\)\\?\|")
_PRIMES = re.compile(r"'+")
_FRACTION = re.compile(r"\\([td]?)frac(\d)(\d)")  # docutils would take 12 for one number
_DOTS = re.compile(r"\\dots(?![a-zA-Z])")  # docutils has no rule for which dots are meant
_FUNCTION = re.compile(
    r"(?P<before>[\w})\]])?(?P<gap>\s*)\\(?P<name>log|cos|sin|exp|det)(?![a-zA-Z])(?P<after>\s*(?=[\w\\]))?"
)
_EMPTY_LINES = re.compile(r"\n\s*\n")

# Spaces that TeX does not set, and browsers do: around a slash, between max and its bracket or the start of a line,
# after a sign that follows a relation.
_SPACES = (
    (re.compile(r'<mo stretchy="false">/</mo>'), '<mo stretchy="false" lspace="0" rspace="0">/</mo>'),
    (re.compile(r"<mo>(max|min)</mo>(?=\s*<mo[^>]*>\()"), r'<mo rspace="0">\1</mo>'),
    (re.compile(r"(<(?:math|mrow|mtd)[^>]*>\s*<mo)((?: rspace=\"0\")?>(?:max|min)<)"), r'\1 lspace="0"\2'),
    (re.compile("(<mo>[=→∝≤≥,]</mo>\\s*)<mo>([±∓+\N{MINUS SIGN}])</mo>"), r'\1<mo form="prefix">\2</mo>'),
)

logger = logging.getLogger(__name__)


def to_mathml(source, block):
    r"""A formula of LaTeX as MathML; lines that end in ``\\`` without an environment are aligned."""
    source = _EMPTY_LINES.sub("\n", _DOTS.sub(r"\\ldots", source.strip()))
    source = _FRACTION.sub(r"\\\1frac{\2}{\3}", source)
    source = _PRIMES.sub(lambda match: "^{" + r"\prime" * len(match[0]) + "}", source)
    source = _with_growing_brackets(source)
    source = _with_pairs_of_bars(source)
    source = _FENCE.sub(lambda match: _FENCES[match[0]] + " ", source)
    source = _FUNCTION.sub(_with_thin_spaces, source)
    if block and r"\\" in source and r"\begin" not in source:
        source = rf"\begin{{aligned}}{source}\end{{aligned}}"
    written = tex2mathml(source, as_block=block)
    for spaced, close in _SPACES:
        written = spaced.sub(close, written)
    # as in TeX: fractions and sums of aligned lines are as large as those of a single one
    return written.replace('<mtable class="ams-align"', '<mtable class="ams-align" displaystyle="true"')


def _with_growing_brackets(source):
    """Brackets of a given size become brackets that grow with what they hold: bars are opened and closed in turn."""
    bars = 0

    def grow(match):
        nonlocal bars
        bracket = match[1]
        bars += bracket == "|"
        opens = bars % 2 == 1 if bracket == "|" else bracket[-1] in "([{"
        return rf"\left{bracket}" if opens else rf"\right{bracket}"

    return _BRACKET.sub(grow, source)


def _with_pairs_of_bars(source):
    r"""Plain bars, ``|`` and ``\|``, are opened and closed in turn; a bar that means "given" is ``\mid``."""
    bars = _BAR.findall(source)
    if any(bars.count(bar) % 2 for bar in bars):
        return source
    seen = dict.fromkeys(bars, 0)

    def pair(match):
        bar = match[0]
        seen[bar] += 1
        side = "l" if seen[bar] % 2 else "r"
        return rf"\{side}vert " if bar == "|" else rf"\{side}Vert "

    return _BAR.sub(pair, source)


def _with_thin_spaces(match):
    r"""TeX sets ``a \log b`` with thin spaces around the name, and none before a bracket or an exponent."""
    before = "" if match["before"] is None else match["before"] + r"\,"
    after = "" if match["after"] is None else r"\,"
    return before + (match["gap"] if match["before"] is None else "") + "\\" + match["name"] + after + " "


def _write(writer, node, block):
    try:
        return to_mathml(node.astext(), block)
    except (MathError, IndexError) as error:  # the second for a script with nothing before it
        logger.warning("no MathML of %r: %s", node.astext(), error, location=node)
        return f"<code>{writer.encode(node.astext())}</code>"


def visit_inline(writer, node):
    """Write a formula in a line."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math") + _write(writer, node, block=False) + "</span>")
    raise SkipNode


def visit_block(writer, node):
    """Write a formula of its own, with its number if it has a label."""
    # the theme puts formulas into a container that has their ids
    ids = [one for one in node["ids"] if one not in node.parent.get("ids", ())]
    writer.body.append(writer.starttag({}, "div", CLASS="math", ids=ids))
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="eqno">({number})')
        writer.add_permalink_ref(node, _("Link to this equation"))
        writer.body.append("</span>")
    writer.body.append('<div class="formula">' + _write(writer, node, block=True) + "</div></div>\n")
    raise SkipNode


def setup(app):
    """Register the renderer under the name "mathml"."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
