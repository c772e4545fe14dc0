"""The page: sections filled into a template, with its style and script inside."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

from torusgp.libraries import require
from torusgp.views.findings import Findings
from torusgp.views.report._sections import errors, experts, interactions, opening, parts, shares_section
from torusgp.views.report._subject import Subject


def render_page(subject: Subject, title: str | None = None) -> str:
    """A page about a model, as HTML.

    The same subject gives the same page. It is complete in itself: style, script and data are inside, and a policy in
    its head forbids browsers to load anything else.
    """
    found = subject.findings
    sections = [parts(subject), interactions(subject), errors(subject), experts(subject)]
    script = _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode()
    return _template("page.html.jinja").render(
        title=title if title is not None else f"{'Model' if subject.future is None else 'Forecast'} of {found.target}",
        found=found,
        opening=opening(subject),
        drivers=shares_section(subject),
        sections=[one for one in sections if one is not None],
        tables=subject.tables,
        style=_asset("style.css"),
        script=script,
        digest=digest,
        version=_version(),
    )


def short_form(found: Findings) -> str:
    """View of a model in notebooks: verdict, figures, what matters, problems and notes.

    Empty if jinja2 is not installed.
    """
    try:
        template = _template("short.html.jinja")
    except ImportError:
        return ""
    return template.render(found=found, style=_asset("style.css"))


@cache
def _template(name: str) -> Any:
    jinja2 = require("jinja2", "report", "A report needs")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["data"] = _to_data
    environment.filters["tidy"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    return environment.get_template(name)


def _to_data(content: Any) -> str:
    """Data inside a script element, which must not end it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _asset(name: str) -> str:
    return files("torusgp.views.report").joinpath(name).read_text(encoding="utf-8")


def _version() -> str:
    try:
        return version("torusgp")
    except PackageNotFoundError:  # the source without an installation
        return "of unknown version"
