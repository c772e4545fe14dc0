"""Elements of HTML and SVG whose text is escaped unless it is markup already."""

import html
import json
import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]")
_VOID = frozenset({"img", "meta", "br", "input"})  # they have no content and no end


class Markup(str):
    """Text that is markup already: it is not escaped again."""

    __slots__ = ()


def escape(value):
    """Markup that shows a value as it is, also inside an attribute.

    Parameters
    ----------
    value : object
        Markup, which stays as it is, or anything else, whose text is escaped. Characters that no page may hold are
        replaced.

    Returns
    -------
    Markup

    Examples
    --------
    >>> escape('a < "b"')
    'a &lt; &quot;b&quot;'
    """
    if isinstance(value, Markup):
        return value
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    return Markup(html.escape(_CONTROL.sub("\N{REPLACEMENT CHARACTER}", text), quote=True))


def join(parts, separator=""):
    """Pieces one after the other, escaped where they are not markup."""
    return Markup(escape(separator).join(escape(part) for part in parts if part is not None))


def element(name, /, *children, **attributes):
    """An element with attributes and content.

    Parameters
    ----------
    name : str
        Its name.
    *children : object
        Its content: markup, or text, which is escaped; None is left out.
    **attributes : object
        ``class_`` stands for ``class``, ``data_value`` for ``data-value``. None and False leave one out, True gives it
        no value.

    Returns
    -------
    Markup

    Examples
    --------
    >>> element("td", "<1", class_="number", hidden=True)
    '<td class="number" hidden>&lt;1</td>'
    """
    shown = []
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            shown.append(f" {key}")
        elif value is not None and value is not False:
            shown.append(f' {key}="{escape(value)}"')
    start = f"<{name}{''.join(shown)}>"
    return Markup(start if name in _VOID else f"{start}{join(children)}</{name}>")


def data_block(content):
    """Values as JSON in an element that no browser runs, nor ends before its end.

    Examples
    --------
    >>> "</script>" in data_block({"name": "</script>"}).removesuffix("</script>")
    False
    """
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.encode("utf-8", "replace").decode("utf-8"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(f'<script type="application/json">{text}</script>')


def table(header, rows, **attributes):
    """A table that scrolls sideways where it does not fit; the first cell of each row names it.

    Parameters
    ----------
    header : sequence or None
        Names of the columns.
    rows : iterable of sequences
        Cells: text, markup, or finished ``td`` elements.
    **attributes : object
        Of the table.

    Returns
    -------
    Markup
    """
    head = None
    if header is not None:
        head = element("thead", element("tr", *(element("th", one, scope="col") for one in header)))
    body = element(
        "tbody", *(element("tr", element("th", first, scope="row"), *map(_cell, rest)) for first, *rest in rows)
    )
    return element("div", element("table", head, body, **attributes), class_="scroll", tabindex="0", role="group")


def _cell(content):
    is_cell = isinstance(content, Markup) and content.startswith("<td")
    return content if is_cell else element("td", content)
