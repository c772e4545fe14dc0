import warnings

import numpy as np
import pytest

from torusgp.cli._console import describe_cell, exit_on_error, fail, print_json, progress_line
from torusgp.engine.backends import TooLargeError


def test_an_error_is_one_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        fail(ValueError("one\n  thing and\nanother"))
    assert exit_.value.code == 2
    assert capsys.readouterr().err == "Error: one thing and another\n"


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("two\nlines"), 2, "Error: two lines\n"),
        (FileNotFoundError("gone"), 2, "Error: gone\n"),
        (ImportError("install it"), 2, "Error: install it\n"),
        (RuntimeError("odd"), 1, "Error: unexpected RuntimeError: odd. Run it again with --debug to see where.\n"),
    ],
    ids=["value", "file", "import", "unexpected"],
)
def test_errors_have_exit_codes(error, code, line, capsys):
    with pytest.raises(SystemExit) as exit_, exit_on_error():
        raise error
    assert exit_.value.code == code
    assert capsys.readouterr().err == line


def test_errors_of_usage_are_left_to_the_application():
    import click

    with pytest.raises(click.BadParameter), exit_on_error():
        raise click.BadParameter("no such thing")


def test_json_has_no_numbers_that_it_does_not_know(capsys):
    print_json({"name": "Zürich", "value": None})
    assert capsys.readouterr().out == '{\n  "name": "Zürich",\n  "value": null\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"value": np.nan})


def test_warnings_follow_the_work_once_each(capsys):
    with progress_line("first") as report:
        report("then\n[bold]this")
        for _ in range(2):
            warnings.warn("mind\nthe gap", stacklevel=1)
        assert capsys.readouterr().err == ""
    captured = capsys.readouterr()
    assert captured.err == "Warning: mind the gap\n"
    assert captured.out == ""


def test_cell_in_words():
    lines = describe_cell(np.array([[3.0, 4.0], [-4.0, 3.0]]), np.full((2, 2), 0.01))
    assert lines[0] == "Cell, as (row, column) in pixels:"
    assert lines[1] == "  first vector   (3.000 ± 0.010, 4.000 ± 0.010), length 5.000"
    assert lines[2] == "  second vector  (-4.000 ± 0.010, 3.000 ± 0.010), length 5.000"
    assert lines[3].strip() == "angle between them 90.00 degrees"
    assert "±" not in "".join(describe_cell(np.eye(2)))


def test_control_characters_are_spelt_out(capsys):
    with pytest.raises(SystemExit):
        fail(ValueError("column '\x1b[2J\x07' of a table, ä"))
    assert capsys.readouterr().err == "Error: column '\\x1b[2J\\x07' of a table, ä\n"


def test_too_large_a_model_is_expected(capsys):
    with pytest.raises(SystemExit) as ended, exit_on_error():
        raise TooLargeError("give fewer columns")
    assert ended.value.code == 2
    assert capsys.readouterr().err == "Error: give fewer columns\n"
