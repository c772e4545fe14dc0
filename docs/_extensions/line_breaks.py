"""Where a line may end inside a long name: at its joints, instead of anywhere, which is how browsers break it.

The marks are ``<wbr>``, which leave no trace in text that is copied. Those of the class "fine" count on phones alone,
by style.css: between the words of a class and inside the path of a test.
"""

import re

_CODE = re.compile(r'<code class="[^"]*\bliteral\b[^"]*">.*?</code>', flags=re.DOTALL)
_NAME = re.compile(r'<span class="pre">([^<]{16,})</span>')
_HEADING = re.compile(r'(?<=<h1>)([\w.]+)(?=<a class="headerlink")')
_JOINT = re.compile(r"(?<=[a-z0-9])(::|[_./=(\[]+)(?=[\w\"'&])")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LONG = 40  # characters; names up to this stay in one piece in running text, by style.css


def with_breaks(body):
    """HTML whose long names have places to break."""
    body = _CODE.sub(lambda match: _NAME.sub(lambda name: _break_name(name[1]), match[0]), body)
    body = _HEADING.sub(lambda match: _HUMP.sub("<wbr>", _JOINT.sub(r"\1<wbr>", match[1])), body)
    # signatures: before the first parameter, which would stick to the name
    return body.replace('<span class="sig-paren">(</span><em', '<span class="sig-paren">(</span><wbr><em')


def _break_name(name):
    kind = "pre long" if len(name) > _LONG else "pre"
    path, colons, rest = name.rpartition(".py::")
    path = _JOINT.sub(r'\1<wbr class="fine">', path)
    rest = _HUMP.sub('<wbr class="fine">', _JOINT.sub(r"\1<wbr>", rest))
    return f'<span class="{kind}">{path}{colons}{"<wbr>" if colons else ""}{rest}</span>'


def setup(app):
    """Change the text of every page just before it goes into its template."""
    app.connect("html-page-context", _on_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def _on_page(app, page, template, context, doctree):
    if doctree is not None:
        context["body"] = with_breaks(context["body"])
