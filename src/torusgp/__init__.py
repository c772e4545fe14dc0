"""Gaussian-process regression for tables and time series, by deterministic Fourier features."""

import ast
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# Each public name is imported on first use, from where the stub beside this file says: so importing the package, or
# asking its command for help, waits for no library.
_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_HOMES = {alias.name: node.module for node in _STUB.body if isinstance(node, ast.ImportFrom) for alias in node.names}

__all__ = list(_HOMES)

try:
    __version__ = version("torusgp")
except PackageNotFoundError:  # the source without an installation
    __version__ = "unknown"


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    own = home == __name__  # a package inside this one, which asking for its name would ask for again
    value = globals()[name] = (
        import_module(f"{home}.{name}") if own else getattr(__import__(home, fromlist=[name]), name)
    )
    return value


def __dir__():
    return sorted([*__all__, "__version__"])
