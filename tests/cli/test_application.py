import subprocess
import sys

import pytest

from tests.cli.runner import run
from torusgp.cli import main


def test_help_and_unknown_commands():
    listed = run("--help").stdout
    assert "demo" in listed
    assert "inpaint" in listed
    assert run("demo", "--help").exit_code == 0
    assert run("dmeo").exit_code == 2


@pytest.mark.parametrize("missing", ["typer", "rich.console"])
def test_missing_extra_is_told_in_one_line(missing, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    line = 'Error: The command needs typer and rich. Install them with: pip install "torusgp[cli,plot]"\n'
    assert capsys.readouterr().err == line


def test_entry_point():
    code = "import sys; sys.argv = ['torusgp', '--help']; from torusgp.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert "demo" in result.stdout
