"""The command ``torusgp``, one file for each subcommand.

Typer and rich are imported when the command runs, so that their absence gives an error of one line, and the file of a
subcommand when that is called, so that help comes at once. The work of a subcommand is a function that knows nothing
of them: it returns what it found, and the subcommand prints it.
"""

import io
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

from torusgp.cli._console import fail, missing_libraries

__all__ = ["load_commands", "main", "make_app"]

_COMMANDS = {  # with the first sentence of their help
    "fit": "Fit a model to a table, to predict one of its columns from the others.",
    "predict": "Predict the target of a model for the rows of a table.",
    "forecast": "Forecast the rows that come after those of a model's table, with intervals and whole paths.",
    "backtest": "Forecast the past from several origins, and compare with what came.",
    "info": "Say what is in a model file: inputs, periods, length scales, noise, and how good it is.",
    "report": "Write a page about a model, to open in a browser: forecast, what drives it, errors, problems.",
    "inpaint": "Fill the missing part of an image that repeats, such as a texture, a weave or a crystal.",
    "lattice": "Find the lattice on which an image repeats, such as a crystal under a microscope or a weave.",
}


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


def _plain_app(**options):
    import typer

    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **options)


def _load(name):
    """A subcommand itself, in the place of what is listed."""
    import typer

    own = _plain_app()
    module = import_module(f"torusgp.cli._{name}")
    own.command(name, help=module.HELP)(module.command)
    return typer.main.get_command(own)


def load_commands():
    """All subcommands with their parameters, as click knows them."""
    return [_load(name) for name in _COMMANDS]


def make_app():
    """The commands, as a Typer application."""
    if not {"typer", "rich"}.isdisjoint(missing_libraries()):
        raise ImportError("The command needs typer and rich.")
    import typer
    from typer.core import TyperGroup

    class Commands(TyperGroup):
        def resolve_command(self, ctx, args):
            name, listed, rest = super().resolve_command(ctx, args)
            return name, listed and _load(name), rest

    app = _plain_app(cls=Commands, no_args_is_help=True)

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
        """Gaussian-process regression for tables and time series."""

    for name, summary in _COMMANDS.items():
        app.command(name, help=summary)(lambda: None)
    return app
