"""The command run in this process, and the state of a folder before and after."""

from typer.testing import CliRunner

from torusgp.cli import make_app


def run(*arguments):
    """Result of a command: its exit code, standard output and standard error."""
    return CliRunner(env={"COLUMNS": "80"}).invoke(make_app(), [str(argument) for argument in arguments])


def tree(folder):
    """All that a folder holds: relative names, and the contents of files."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def assert_fails(result, message):
    """Assert that a command ended with one line about what was wrong, and nothing else."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
