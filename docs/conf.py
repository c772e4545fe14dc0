"""How the documentation is built: ``make docs``, or ``sphinx-build -W --keep-going -n docs docs/_build/html``."""

import inspect
import re
import sys
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "torusgp"
author = "the torusgp developers"
copyright = author
release = version = installed_version("torusgp")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",  # the source behind every name
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "mathml",
    "line_breaks",
    "command_reference",
    "json_fields",
]
_PARTS = ("command", "json", "columns-predict", "columns-forecast", "columns-backtest")  # of the page of the command
exclude_patterns = ["_build", "_templates", "images", "gallery", *(f"reference/generated/{name}.md" for name in _PARTS)]
templates_path = ["_templates"]
default_role = None
nitpicky = True

# Reference ----------------------------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # types stand in the docstrings
autodoc_member_order = "bysource"
# Large, and needed by adapters alone: their pages are built without.
autodoc_mock_imports = ["torch", "gpytorch", "linear_operator", "numpyro", "jax", "pymc", "pytensor"]
numpydoc_show_class_members = False  # the templates list them, with their text
# Types of parameters lead to the pages of these classes; other words stay words, also those of other projects.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = {word: word for word in DEFAULT_LINKS} | {
    name: f"{module}.{name}"
    for module, names in {
        "torusgp": "BayesianFeatureRegressor Circle Line Category Lattice Slope SufficientStatistics TableModel Torch "
        "TorusGPRegressor TorusKernel",
        "torusgp.adapters.torch": "TorusFeatures",
        "torusgp.views.analysis": "Effect SobolIndices",
        "torusgp.data.datasets": "ElectricityDemand LithiumDensity Texture",
        "torusgp.kernels.index_sets": "IndexSet",
        "torusgp.images.distortion": "Distortion Polynomials",
        "torusgp.images.inpainting": "Inpainting",
        "torusgp.images.lattices": "Defect ImageLattice",
        "torusgp.data.crystals": "CrystalDensity",
        "torusgp.surfaces": "FreeEnergy MinimumEnergyPath StationaryPoint StationaryPoints",
        "torusgp.fitting.periods": "FoundPeriod PeriodSearch Periodogram Trend TrendColumns",
        "torusgp.data.sources": "Chunk Source",
        "torusgp.kernels.spectra": "Spectrum Warped",
        "torusgp.tables.regressors": "SlopeEstimate",
        "torusgp.views.scores": "Redundancy Scores",
    }.items()
    for name in names.split()
}
nitpick_ignore_regex = [
    # bases and types of other projects: their pages are not at hand where there is no network
    (r"py:.*", r"(numpy|scipy|sklearn|pandas|matplotlib|torch|gpytorch|dask|pyarrow|collections|abc)\b.*"),
    (r"py:.*", r"(builtins\.)?(object|ABC|Sequence|ValueError|MemoryError|tuple|dict|list|float|int|str|bool)"),
]

# Text ---------------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # most quotes here are those of strings: default="auto"
highlight_language = "pycon"  # blocks without a language: sessions are coloured, and plain text is left alone
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Gallery ------------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "backreferences_dir": "reference/generated/backreferences",
    "doc_module": ("torusgp",),
    "reference_url": {"torusgp": None},
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),  # what a line returns is not shown, what it prints is
    "remove_config_comments": True,
    "thumbnail_size": (640, 448),
    "image_srcset": ["2x"],  # sharp on screens of double density
    "min_reported_time": 1e6,  # how long a build took is of no interest to readers
    "write_computation_times": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

# Pages --------------------------------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"torusgp {release}"
html_static_path = ["_static"]
html_css_files = ["style.css"]
pygments_dark_style = "github-dark"  # that of the theme underlines modules, as if they were links
html_math_renderer = "mathml"
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}


# Docstrings ---------------------------------------------------------------------------------------------------------

# Names such as kernel_, which reStructuredText takes for links.
_FITTED = re.compile(r"(?<![`\w])(\w*[a-z0-9])_(?=[,.;:)\"'\s]|$)")


def escape_fitted_names(app, what, name, obj, options, lines):
    """Escape names that end in an underscore, in types and prose; numpydoc takes care of names before a colon."""
    for i, line in enumerate(lines):
        names, colon, rest = line.partition(" : ")
        if line.lstrip().startswith((">>>", "...")) or re.fullmatch(r"[\w, *]+", line):
            continue
        if not colon or not re.fullmatch(r"\s*[\w, *]+", names):
            names, colon, rest = "", "", line
        lines[i] = names + colon + _FITTED.sub(r"\1\\_", rest)


def show_own_signature(app, what, name, obj, options, signature, return_annotation):
    """Take the signature of a class whose base is mocked from its own __init__, since the mock hides it."""
    if what != "class" or signature != "(*args, **kwargs)" or "__init__" not in vars(obj):
        return None
    whole = inspect.signature(vars(obj)["__init__"])
    return str(whole.replace(parameters=list(whole.parameters.values())[1:])), return_annotation


def setup(app):
    """Run before numpydoc, whose priority is the default of 500."""
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=400)
    app.connect("autodoc-process-signature", show_own_signature)
