"""The line that tells how far a pass has come."""

import io
import re

import pytest

from torusgp.data.progress import ProgressBar, describe, show_progress


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def lines(self):
        """States of the line, without what moves the cursor."""
        return self.getvalue().replace("\x1b[K", "").strip("\r\n").split("\r")


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

    monkeypatch.setattr("torusgp.data.progress.time", type("time", (), {"monotonic": lambda: Clock.now}))
    return Clock


def run(bar, clock, states):
    """Show rows at moments."""
    with bar as show:
        for moment, n_rows in states:
            clock.now = 1000.0 + moment
            show(n_rows)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((0, 0, 100, 0.0), "[------------------------------]   0 %  0 rows  0 rows/s"),
        ((100, 100, 100, 2.0), "[##############################] 100 %  100 rows  50 rows/s  0 s left"),
        ((200, 200, 100, 2.0), "[##############################] 100 %  200 rows  100 rows/s  0 s left"),
        ((5_000, 5_000, None, 2.0), "5.0 k rows  2.5 k rows/s"),
        ((5_000, 5_000, None, 2.0, True), "5.0 k rows  2.5 k rows/s  in 2 s"),
        (
            (10**9, 10**8, 4 * 10**9, 10.0),
            "[#######-----------------------]  25 %  1.0 G rows  10.0 M rows/s  5 min 0 s left",
        ),
        (
            (10**9, 10**8, 10**11, 100.0),
            "[------------------------------]   1 %  1.0 G rows  1.0 M rows/s  27 h 30 min left",
        ),
    ],
)
def test_lines(arguments, line):
    assert describe(*arguments) == line


def test_one_line_on_a_terminal(clock):
    file = Terminal()
    run(ProgressBar(990, file), clock, [(0, 0), (0.1, 10), (1, 100), (1.2, 120), (2, 200), (9, 990)])
    lines = file.lines()
    assert [re.search(r"(\d+) rows ", line)[1] for line in lines] == ["100", "200", "990", "990"]
    assert "8 s left" in lines[1]
    assert lines[-1].endswith("in 9 s")
    assert file.getvalue().endswith("\n")


def test_few_lines_elsewhere(clock):
    file = io.StringIO()
    run(ProgressBar(990, file), clock, [(0, 0), (1, 100), (14, 200), (16, 300), (20, 400), (50, 990)])
    lines = file.getvalue().splitlines()
    assert [re.search(r"(\d+) rows ", line)[1] for line in lines] == ["300", "990", "990"]
    assert "\r" not in file.getvalue()
    assert "\x1b" not in file.getvalue()


def test_rows_from_before_are_not_in_the_rate(clock):
    file = Terminal()
    run(ProgressBar(2000, file), clock, [(0, 1000), (10, 1100)])
    assert "10 rows/s  1 min 30 s left" in file.lines()[0]
    assert "10 rows/s  in 10 s" in file.lines()[-1]


def test_the_time_left_follows_the_recent_rate(clock):
    """Rows that are only compared, at the beginning of a pass that goes on, pass by fast."""
    file = Terminal()
    fast, slow = [(t, 1000 * t) for t in range(30)], [(t, 29_000 + 10 * (t - 29)) for t in range(30, 80)]
    run(ProgressBar(30_000, file), clock, fast + slow)
    assert "10 rows/s  50 s left" in file.lines()[-2]


def test_an_error_leaves_a_whole_line():
    file = Terminal()

    def fail():
        with ProgressBar(10, file) as show:
            show(0)
            show(5)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert "5 rows" in file.lines()[-1]
    assert file.getvalue().endswith("\n")


def test_nothing_is_written_before_the_first_row():
    file = Terminal()
    with ProgressBar(10, file):
        pass
    assert file.getvalue() == ""


def test_what_can_be_asked_for(capsys):
    seen = []
    with show_progress(seen.append) as show:
        show(3)
    for nothing in (None, False):
        with show_progress(nothing, 10) as show:
            show(3)
    assert seen == [3]
    assert capsys.readouterr().err == ""
    with show_progress(True, 6) as show:
        show(3)
    assert " 50 %  3 rows" in capsys.readouterr().err
    with pytest.raises(ValueError, match="progress must be True, False or a function"):
        show_progress("yes")
