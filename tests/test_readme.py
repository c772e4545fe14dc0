import re
from pathlib import Path

import matplotlib
import pytest

README = Path(__file__).parents[1] / "README.md"
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class TestReadme:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)

    def test_first_example_prints_what_it_says(self, capsys):
        names: dict[str, object] = {}
        exec(self.blocks[0], names)
        stated = re.search(r"print\(.*\)  # (.*)", self.blocks[0]).group(1)
        assert capsys.readouterr().out.strip() == stated

        from sklearn.base import clone

        from torusgp import Circle

        hours, y = names["hours"], names["y"]
        additive = clone(names["model"]).set_params(kernel=Circle(0, 24) + Circle(0, 8766))
        score = additive.fit(hours[:17532], y[:17532]).score(hours[17532:], y[17532:])
        assert f"do not interact, R² is {score:.3f}." in README.read_text(encoding="utf-8")

    def test_example_of_what_does_not_repeat_tells_terms_apart(self, capsys):
        names: dict[str, object] = {}
        exec(self.blocks[1], names)
        spread = dict(line.rsplit(" varies by ", 1) for line in capsys.readouterr().out.splitlines())
        assert float(spread["holiday"]) == pytest.approx(0.8 * names["holiday"].std(), rel=0.1)
        assert float(spread["slope of day"]) == pytest.approx(0.001 * names["day"].std(), rel=0.1)
        assert names["model"].score(names["X"], names["demand"]) > 0.98

    def test_example_of_unknown_periods_finds_them(self, capsys):
        names: dict[str, object] = {}
        exec(self.blocks[2], names)
        found = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
        assert sorted(found) == pytest.approx([7.3, 11.9], rel=1e-3)
        assert sorted(names["model"].period_) == pytest.approx([7.3, 11.9], rel=1e-3)

    def test_example_of_chunks_counts_all_rows(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        exec(self.blocks[3], {})
        rows, noise = re.fullmatch(r"(\d+) rows, noise ([\d.]+)", capsys.readouterr().out.strip()).groups()
        assert int(rows) == 1_000_000
        assert float(noise) == pytest.approx(1, abs=0.01)
        assert (tmp_path / "million.checkpoint").is_file()

    def test_example_of_a_kernel_runs(self, tmp_path, monkeypatch):
        matplotlib.use("Agg")
        monkeypatch.chdir(tmp_path)
        names: dict[str, object] = {}
        exec(self.blocks[4], names)
        assert (tmp_path / "kernel.png").read_bytes().startswith(PNG_SIGNATURE)

    def test_pictures_and_links_exist(self):
        targets = re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
        assert targets
        assert all((README.parent / target).is_file() for target in targets)
