import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.cli.runner import run
from torusgp.cli import _COMMANDS, main


def test_help_and_unknown_commands():
    listed = run("--help").stdout
    assert "forecast" in listed
    assert "inpaint" in listed
    assert run("forecast", "--help").exit_code == 0
    assert run("froecast").exit_code == 2


def test_the_list_of_commands_says_what_their_own_help_begins_with():
    for name, summary in _COMMANDS.items():
        assert summary in " ".join(run(name, "--help").stdout.split())


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout == f"torusgp {version('torusgp')}\n"


ALL = 'Install all that the command needs with: pip install "torusgp[cli,plot,io]"\n'


@pytest.mark.parametrize(
    ("missing", "names"),
    [
        (["typer"], "typer"),
        (["rich"], "rich"),
        (["typer", "rich", "pandas", "PIL"], "typer, rich, pillow, pandas"),
    ],
)
def test_missing_extras_are_told_in_one_line(missing, names, monkeypatch, capsys):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    assert capsys.readouterr().err == f"Error: The command needs typer and rich. Not installed: {names}. {ALL}"


def test_a_command_names_what_others_miss_too(tmp_path, monkeypatch):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n")
    for name in ("pandas", "matplotlib"):
        monkeypatch.setitem(sys.modules, name, None)
    result = run("fit", tmp_path / "data.csv", "--target", "y", "--period", "x=1")
    assert result.exit_code == 2
    assert result.stderr == f"Error: Tables need pandas. Not installed: matplotlib, pandas. {ALL}"


@pytest.mark.parametrize(
    "arguments",
    [
        ["-c", "import sys; sys.argv = ['torusgp', '--help']; from torusgp.cli import _COMMANDS, main; main()"],
        ["-m", "torusgp", "--help"],
    ],
)
def test_entry_points(arguments):
    result = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "forecast" in result.stdout
