"""The glossary decides: what stands in its column "not" is in no page, message or docstring."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs/glossary.md"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/gallery").glob("*.py"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CODE = re.compile(r"`+[^`]*`+|https?://\S+")  # such as the name of a test


def avoided():
    """Words that are not to be used."""
    table = GLOSSARY.read_text(encoding="utf-8").partition("| say | not |")[2]
    cells = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", table, flags=re.MULTILINE)
    return [word.strip() for cell in cells for word in cell.split(",")]


AVOIDED = re.compile(
    rf"(?<!heat )\b({'|'.join(map(re.escape, avoided()))})\b(?! (?:number|vector)s?)", flags=re.IGNORECASE
)


def text_of_page(path):
    text = path.read_text(encoding="utf-8")
    return text.partition("## Say, and do not say")[0] if path == GLOSSARY else text


def texts_of_source(path):
    """Strings of a file, docstrings among them, and names of functions and classes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")


def test_the_glossary_has_words_to_avoid():
    assert len(avoided()) > 10
    assert AVOIDED.search("They are judged by it.")
    assert not AVOIDED.search("The wave number of a judicious column.")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_use_the_words_of_the_glossary(path):
    assert not [match[0] for match in AVOIDED.finditer(CODE.sub("", text_of_page(path)))]


def test_messages_docstrings_and_names_use_the_words_of_the_glossary():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in SOURCES
        for line, text in texts_of_source(path)
        for match in AVOIDED.finditer(CODE.sub("", text))
    ]
    assert not found
