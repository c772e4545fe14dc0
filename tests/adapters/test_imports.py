"""What is imported, and what is said where a library is missing; each in a process of its own."""

import subprocess
import sys

import pytest

# Stands in front of all other finders; None in sys.modules would trip up others that look for the library
BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {library!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
try:
    import torusgp.adapters.{adapter}
except ImportError as error:
    print(error)
"""
FOREIGN = ("torch", "gpytorch", "linear_operator", "jax", "numpyro", "pymc", "pytensor")


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_the_package_imports_no_adapter_and_none_of_their_libraries():
    result = run(
        "import sys, torusgp\n"
        "import torusgp.adapters\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        f"print(sorted(loaded & set({FOREIGN!r})))\n"
        "print(sorted(name for name in sys.modules if name.startswith('torusgp.adapters')))\n"
    )
    assert result.stdout.splitlines() == ["[]", "['torusgp.adapters']"], result.stderr


@pytest.mark.parametrize(
    ("adapter", "missing"),
    [
        ("torch", "torch"),
        ("gpytorch", "gpytorch"),
        ("gpytorch", "torch"),
        ("numpyro", "numpyro"),
        ("numpyro", "jax"),
        ("pymc", "pymc"),
        ("pymc", "pytensor"),
    ],
)
def test_a_missing_library_is_named_with_the_line_that_installs_it(adapter, missing):
    result = run(BLOCKED.format(library=missing, adapter=adapter))
    # what the first library needs in turn comes with it
    expected = f'torusgp.adapters.{adapter} needs {adapter}. Install it with: pip install "torusgp[{adapter}]"\n'
    assert result.stdout == expected, result.stderr
    assert result.returncode == 0
