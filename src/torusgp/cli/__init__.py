"""The command ``torusgp``, one file for each subcommand.

Typer and rich are imported when the command runs, so that their absence is told in one line. The work of a subcommand
is a function that knows nothing of them: it returns what it found, and the subcommand prints it.
"""

import io
import sys
from importlib.metadata import version
from typing import Annotated

from torusgp.cli._console import fail, missing_libraries
from torusgp.cli._demo import add_demo
from torusgp.cli._fit import add_fit
from torusgp.cli._info import add_info
from torusgp.cli._inpaint import add_inpaint
from torusgp.cli._lattice import add_lattice
from torusgp.cli._predict import add_predict
from torusgp.cli._report import add_report

__all__ = ["main", "make_app"]


def main():
    """Entry point of the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign must not end the command
    try:
        app = make_app()
    except ImportError as error:
        fail(error)
    app()


def make_app():
    """The commands, as a Typer application."""
    if not {"typer", "rich"}.isdisjoint(missing_libraries()):
        raise ImportError("The command needs typer and rich.")
    import typer

    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

    def show_version(wanted):
        if wanted:
            print(f"torusgp {version('torusgp')}")
            raise typer.Exit

    @app.callback()
    def torusgp(
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
        ] = False,
    ):
        """Gaussian-process regression for data that repeats in several directions at once."""

    for add in (add_demo, add_fit, add_predict, add_info, add_report, add_inpaint, add_lattice):
        add(app)
    return app
