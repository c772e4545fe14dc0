"""The documentation: code on its pages runs, what they name exists, the site builds, and its links lead somewhere."""

import ast
import importlib
import inspect
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from sklearn.exceptions import ConvergenceWarning

from torusgp.cli import load_commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.relative_to(DOCS).as_posix(): path for path in [*sorted(DOCS.glob("*.md")), DOCS / "reference/index.md"]}
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))
OTHER_LIBRARIES = ("gpytorch", "numpyro", "prophet", "pymc")  # some pages use them; the rest of a page runs without
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

_BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", flags=re.DOTALL | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_TEST = re.compile(r"tests/[\w/]+\.py(?:::\w+)*")
_FILE = re.compile(r"(?<!images/)(?:src|docs|examples|benchmarks|paper|tests)/[\w/.-]+\.(?:py|md|css|toml|png)\b")


@dataclass(frozen=True)
class Block:
    """Code on a page, or commands, and what is shown as their output."""

    page: str
    line: int
    kind: str
    code: str
    printed: str | None

    @property
    def tree(self):
        return ast.parse(self.code if self.kind == "python" else "")

    @property
    def libraries(self):
        """Which of the libraries that need not be there it imports."""
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module for node in imports if isinstance(node, ast.ImportFrom)}
        return {part for name in names for part in name.split(".")} & set(OTHER_LIBRARIES)

    def names(self, kind):
        """Names that it reads (ast.Load) or makes (ast.Store), imported ones too."""
        found = {node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, kind)}
        if kind is ast.Store:
            imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]
            found |= {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
            found |= {node.name for node in self.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        return found

    def run(self, namespace):
        if self.kind == "python":
            # line numbers in a traceback are then those of the page
            exec(compile("\n" * self.line + self.code, str(PAGES[self.page]), "exec"), namespace)
            return
        for line in self.code.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "))
            if program == "torusgp":
                command = [sys.executable, "-c", "from torusgp.cli import main; main()", *arguments]
                done = subprocess.run(command, capture_output=True, text=True, timeout=300)
                assert done.returncode == 0, f"{line}\n{done.stderr}"


def read_blocks(page):
    text = PAGES[page].read_text(encoding="utf-8")
    return [Block(page, text[: found.start()].count("\n") + 1, *found.groups()) for found in _BLOCK.finditer(text)]


def assert_printed(printed, expected):
    """Text has to be equal; numbers may differ by two in their last digit or by 5 per cent, as another machine's do."""
    assert _NUMBER.sub("#", printed).split() == _NUMBER.sub("#", expected).split(), printed
    for found, stated in zip(_NUMBER.findall(printed), _NUMBER.findall(expected), strict=True):
        digits, _, exponent = stated.partition("e")
        last_digit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
        assert float(found) == pytest.approx(float(stated), rel=0.05, abs=2.01 * last_digit), printed


def chosen_blocks(page, library=None):
    """Blocks of a page that can be run with no other library than this one, in order."""
    chosen, made, missing = [], set(), set()
    for block in read_blocks(page):
        needed = (block.names(ast.Load) - block.names(ast.Store)) & missing
        if block.libraries <= {library} and not needed:
            chosen.append(block)
            made |= block.names(ast.Store)
            missing -= made
        else:
            missing |= block.names(ast.Store) - made
    return chosen


def is_ours(warning):
    """Whether a warning speaks to the user of this library, and not of what another library will remove."""
    places = ("/docs/", "/torusgp/")
    if "/site-packages/" in warning.filename:  # of another library, wherever the environment lies
        return False
    return warning.category in (UserWarning, ConvergenceWarning) and any(one in warning.filename for one in places)


def run_blocks(blocks, capsys):
    """Run blocks in order, in one namespace, and compare what they print."""
    namespace = {"__name__": "page"}
    for block in blocks:
        capsys.readouterr()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            block.run(namespace)
        assert not [str(one.message) for one in caught if is_ours(one)], f"{block.page}:{block.line}"
        if block.printed is not None:
            assert_printed(capsys.readouterr().out, block.printed)
        elif block.kind == "python":
            assert not capsys.readouterr().out, f"{block.page}:{block.line} prints what the page does not show"


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder of its own for what pages write, and no published data."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="pages draw")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TORUSGP_DATA", raising=False)
    for name, value in ONE_THREAD.items():
        monkeypatch.setenv(name, value)
    yield tmp_path
    pyplot.close("all")


@pytest.mark.parametrize("page", [page for page in PAGES if chosen_blocks(page)])
def test_code_of_a_page_runs_and_prints_what_it_says(page, elsewhere, capsys):
    run_blocks(chosen_blocks(page), capsys)


@pytest.mark.parametrize(
    ("page", "library"),
    [
        pytest.param(page, library, id=f"{page}-{library}")
        for page in PAGES
        for library in sorted(set().union(*(block.libraries for block in read_blocks(page))))
    ],
)
def test_code_that_compares_with_another_library(page, library, elsewhere, capsys):
    pytest.importorskip(library, reason=f"{library} is not installed")
    run_blocks(chosen_blocks(page, library), capsys)


def test_no_code_is_left_out():
    """With every library at hand, each block of every page is run by some test."""
    for page in PAGES:
        libraries = [None, *sorted(set().union(*(block.libraries for block in read_blocks(page))))]
        run = [block for library in libraries for block in chosen_blocks(page, library)]
        assert set(run) == set(read_blocks(page))


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("0.96 of 120\n", "0.95 of 118\n"),
        ("error 7e-18", "error 8e-18"),
        ("[1.2 -3.0]  text", "[1.2 -3.1] text"),
    ],
)
def test_numbers_of_another_machine_are_accepted(printed, expected):
    assert_printed(printed, expected)


@pytest.mark.parametrize(
    ("printed", "expected"),
    [("0.90", "0.99"), ("error 7e-18", "error 7e-16"), ("3 periods", "3 lattices"), ("1 2", "1 2 3"), ("-1.5", "1.5")],
)
def test_other_output_is_not_accepted(printed, expected):
    with pytest.raises((AssertionError, ValueError)):
        assert_printed(printed, expected)


# What pages name ------------------------------------------------------------------------------------------------------


def exists(test):
    """Whether a file of tests has this class or function."""
    file, *names = test.split("::")
    if not (ROOT / file).is_file():
        return False
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for name in names:
        found = [node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
        if not found:
            return False
        body = found[0].body
    return True


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_are_named_exist(page):
    named = set(_TEST.findall(PAGES[page].read_text(encoding="utf-8")))
    assert not [test for test in named if not exists(test)]


def test_names_of_tests_are_looked_up_in_their_files():
    here = "tests/test_docs.py"
    assert exists(here)
    assert exists(f"{here}::test_names_of_tests_are_looked_up_in_their_files")
    assert not exists(f"{here}::test_that_is_not_there")
    assert not exists("tests/test_nowhere.py")
    assert not exists(f"{here}::Block::no_method")


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page):
    named = set(_FILE.findall(PAGES[page].read_text(encoding="utf-8")))
    assert not [file for file in named if not (ROOT / file).exists()]


def test_every_promise_names_a_test():
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| promise \| tests \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, flags=re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 20
    assert not [row for row in rows if not _TEST.search(row.split("|")[2])]


def test_every_section_of_the_theory_names_a_test():
    text = (DOCS / "theory.md").read_text(encoding="utf-8")
    sections = re.split(r"^#{2,3} ", text, flags=re.MULTILINE)[1:]
    # headings that only hold others, or are continued by the next one
    whole = {"Spectra", "Axes", "Features and index sets", "Posterior and evidence", "Prediction"}
    whole |= {
        "Periods and lattices",
        "Statistics that do not depend on hyperparameters",
        "The model",
        "One Cholesky factor",
    }
    missing = [one.splitlines()[0] for one in sections if not _TEST.search(one)]
    assert set(missing) <= whole


def test_supported_versions_are_those_of_the_package():
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([\w-]+) \| ([^|]+) \|$", text.partition("## Supported versions")[2], re.MULTILINE))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    least = dict(re.match(r"([\w-]+)>=([\d.]+)", one).groups() for one in project["dependencies"])
    for name in ("NumPy", "SciPy", "scikit-learn", "FINUFFT"):
        assert rows[name].startswith(f"{least[name.lower()]} or later")
    tested = re.search(r"python-version: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    versions = re.findall(r"3\.\d+", tested.group(1))
    assert re.findall(r"3\.\d+", rows["Python"]) == versions
    assert project["requires-python"] == f">={versions[0]}"


# The reference --------------------------------------------------------------------------------------------------------

MODULES = (
    "torusgp",
    "torusgp.views.analysis",
    "torusgp.data.datasets",
    "torusgp.kernels.index_sets",
    "torusgp.images.inpainting",
    "torusgp.views.plotting",
    "torusgp.data.sources",
    "torusgp.kernels.spectra",
)


def public_names(module):
    """Functions and classes that a module offers."""
    loaded = importlib.import_module(module)
    names = getattr(loaded, "__all__", None)
    if names is None:
        own = [name for name, value in vars(loaded).items() if getattr(value, "__module__", None) == module]
        names = [name for name in own if not name.startswith("_")]
    return [
        f"{module}.{name}"
        for name in names
        if inspect.isclass(getattr(loaded, name)) or inspect.isfunction(getattr(loaded, name))
    ]


def listed_names():
    """Objects in the lists of the reference, each by the real one behind its name."""
    names, module, in_list = [], "", False
    for line in (DOCS / "reference/index.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split(":: ")[1].strip()
        if line and not line.startswith(" "):
            in_list = line.startswith(".. autosummary::")
        elif in_list and line.strip() and not line.strip().startswith(":"):
            names.append(f"{module}.{line.strip()}")
    return names


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_in_the_reference(module):
    listed = listed_names()
    by_object = {id(_resolve(name)) for name in listed if not name.startswith("torusgp.adapters.")}
    assert not [name for name in public_names(module) if id(_resolve(name)) not in by_object]


def test_what_went_is_gone():
    went = (DOCS / "removed.md").read_text(encoding="utf-8").partition("## What was measured")[0]
    names = [
        name
        for row in re.findall(r"^\| (.*?) \|", went, re.MULTILINE)
        for name in re.findall(r"`(torusgp\.[\w.]+)`", row)
    ]
    assert len(names) > 5
    for name in names:
        with pytest.raises((ImportError, AttributeError)):
            _resolve(name)
    assert isinstance(_resolve("torusgp.tables.regressors.SlopeEstimate"), type)


def test_the_reference_lists_every_name_once():
    listed = listed_names()
    assert len(listed) > 60
    assert len(set(listed)) == len(listed)


def _resolve(name):
    """The object of a dotted name."""
    module, _, rest = name.partition(".")
    found = importlib.import_module(module)
    for part in rest.split("."):
        if not hasattr(found, part):
            importlib.import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def test_the_page_of_the_command_is_written_from_the_command():
    pytest.importorskip("typer", reason="the command needs the extra cli")
    page = runpy.run_path(str(DOCS / "_extensions/command_reference.py"))["command_page"]()
    for command in load_commands():
        section = page.partition(f"## torusgp {command.name}\n")[2].partition("\n## ")[0]
        options = [name for one in command.params for name in one.opts if name.startswith("--")]
        assert not [name for name in options if f"`{name}" not in section]


# The gallery and the site ---------------------------------------------------------------------------------------------


@pytest.mark.slow  # building the site runs them too
@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_draws(script, elsewhere, recwarn):
    from matplotlib import pyplot

    runpy.run_path(str(script), run_name="__main__")
    assert pyplot.get_fignums()
    assert not [str(one.message) for one in recwarn if is_ours(one)]


def test_the_gallery_covers_what_the_library_is_for():
    text = "".join(script.read_text(encoding="utf-8") for script in GALLERY)
    assert len(GALLERY) >= 8
    for name in (
        "TableModel(",
        "load_electricity_demand",
        "predict_gradient",
        "load_lithium_density",
        "load_texture",
        "sobol_indices",
        "predict_parts",
        "Line(",
        "Category(",
        "period_bounds",
        "log_normal",
    ):
        assert name in text


class _Page(HTMLParser):
    """Links of a page, what it loads, and the places that links may lead to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.places |= {value for key in ("id", "name") if (value := attributes.get(key))}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(attributes["href"])
        elif attributes.get("src"):
            self.loaded.append(attributes["src"])


def broken_links(site):
    """Links inside a site that lead nowhere, and what its pages load from elsewhere."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    broken, foreign, n_checked = [], [], 0
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data") or parts.netloc:
                foreign += [f"{path.name}: {link}"] if link in page.loaded and parts.scheme != "data" else []
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            n_checked += 1
            anchor = unquote(parts.fragment)
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].places):
                broken.append(f"{path.relative_to(site.resolve())}: {link}")
    return broken, foreign, n_checked


def build_site(folder):
    """Where the site is, built into a folder as ``make docs`` does, unless an earlier call has done so."""
    for module in ("sphinx", "numpydoc", "sphinx_gallery", "furo", "myst_parser", "sphinx_copybutton"):
        pytest.importorskip(module, reason="the site needs the extra docs")
    site, built = folder / "site", folder / "built"
    if built.exists():
        return site
    # a copy, since a build writes pages of the reference and of the gallery beside the sources
    ignored = shutil.ignore_patterns("_build", "examples", "generated", "__pycache__")
    shutil.copytree(DOCS, folder / "docs", ignore=ignored)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff"):
        shutil.copy(ROOT / name, folder)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "--keep-going", "docs", "site"]
    environment = {name: value for name, value in os.environ.items() if name != "TORUSGP_DATA"} | ONE_THREAD
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    built.touch()
    return site


def test_the_site_builds_without_warnings_and_its_links_lead_somewhere(tmp_path_factory):
    site = build_site(tmp_path_factory.getbasetemp() / "documentation")
    broken, foreign, n_checked = broken_links(site)
    assert n_checked > 1000
    assert not broken
    assert not foreign  # pages work without a network


def test_broken_links_are_noticed(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here"></a><a href="b.html#there"></a><a href="#nowhere"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><script src="https://example.org/x.js"></script></p>'
    )
    (tmp_path / "b.html").write_text('<h1 id="there">There</h1>')
    broken, foreign, n_checked = broken_links(tmp_path)
    assert broken == ["a.html: #nowhere", "a.html: c.html"]
    assert foreign == ["a.html: https://example.org/x.js"]
    assert n_checked == 4


@pytest.fixture(scope="module")
def to_mathml():
    pytest.importorskip("sphinx", reason="formulas are converted by an extension of Sphinx")
    return runpy.run_path(str(DOCS / "_extensions/mathml.py"))["to_mathml"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\tfrac12", "<mfrac.*<mn>1</mn>.*<mn>2</mn>"),
        (r"\Big( \frac{a}{b} \Big)", r"<mrow>\s*<mo>\(</mo>.*<mo>\)</mo>\s*</mrow>"),
        (r"\Big| a \Big|", r"<mrow>\s*<mo>\|</mo>\s*<mi>a</mi>\s*<mo>\|</mo>\s*</mrow>"),
        (r"\lvert a \rvert^2", r"<msup>\s*<mrow>\s*<mo>\|</mo>\s*<mi>a</mi>\s*<mo>\|</mo>\s*</mrow>\s*<mn>2</mn>"),
        (r"\{k : \omega\}", r"<mrow>\s*<mo>{</mo>\s*<mi>k</mi>"),
        (r"F'F", "<msup>\\s*<mi>F</mi>\\s*<mi>\N{PRIME}</mi>\\s*</msup>\\s*<mi>F</mi>"),
        (r"d \log l", r"<mi>d</mi>\s*<mspace[^>]*>(?:</mspace>)?\s*<mi>log</mi>.*<mspace[^>]*>"),
        (r"\cos(a)", r"<mi>cos</mi>\s*(?:<mo>&ApplyFunction;</mo>)?\s*<mo stretchy=.false.>\("),
        (r"a, \dots, b", "…"),
    ],
)
def test_formulas_become_what_tex_would_show(to_mathml, source, expected):
    assert re.search(expected, to_mathml(source, block=False), flags=re.DOTALL)
