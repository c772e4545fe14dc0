import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import torusgp


def test_version():
    assert torusgp.__version__ == version("torusgp")


def test_completion_shows_public_names_alone():
    assert set(dir(torusgp)) == {*torusgp.__all__, "__version__"}
    assert all(hasattr(torusgp, name) for name in dir(torusgp))


def imported_by(code):
    """Modules that a new interpreter has imported after some code."""
    program = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(result.stderr.split())


HEAVY = {"pandas", "matplotlib", "torch", "dask", "pyarrow", "scipy", "sklearn"}


def test_importing_the_package_imports_no_library():
    modules = imported_by("import torusgp; dir(torusgp)")
    assert "torusgp" in modules
    assert not modules & (HEAVY | {"numpy", "finufft"})


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_of_the_command_import_nothing_heavy(argument):
    modules = imported_by(
        f"from torusgp.cli import main; sys.argv = ['torusgp', '{argument}']\ntry: main()\nexcept SystemExit: pass"
    )
    assert "typer" in modules
    assert not modules & HEAVY


def test_the_regressor_needs_no_extra():
    # scikit-learn itself imports pandas where that is installed
    assert not imported_by("import torusgp; torusgp.TorusGPRegressor") & {"matplotlib", "torch", "dask", "rich"}


def test_the_stub_lists_what_it_imports_and_nothing_else():
    stub = ast.parse(Path(torusgp.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    (listed,) = (node.value for node in stub.body if isinstance(node, ast.Assign))
    assert ast.literal_eval(listed) == sorted(torusgp.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'Torus'"):
        torusgp.Torus  # noqa: B018
