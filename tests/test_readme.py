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

        hours, y = names["hours"], names["y"]
        additive = clone(names["model"]).set_params(max_interaction=1)
        score = additive.fit(hours[:17532], y[:17532]).score(hours[17532:], y[17532:])
        assert f"do not interact, R² is {score:.3f}." in README.read_text(encoding="utf-8")

    def test_example_of_unknown_periods_finds_them(self, capsys):
        names: dict[str, object] = {}
        exec(self.blocks[1], names)
        found = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
        assert sorted(found) == pytest.approx([7.3, 11.9], rel=1e-3)
        assert sorted(names["model"].kernel_.period) == pytest.approx([7.3, 11.9], rel=1e-3)

    def test_example_of_chunks_counts_all_rows(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        exec(self.blocks[2], {})
        rows, noise = re.fullmatch(r"(\d+) rows, noise ([\d.]+)", capsys.readouterr().out.strip()).groups()
        assert int(rows) == 1_000_000
        assert float(noise) == pytest.approx(1, abs=0.01)
        assert (tmp_path / "million.checkpoint").is_file()

    def test_example_of_a_kernel_runs(self, tmp_path, monkeypatch):
        matplotlib.use("Agg")
        monkeypatch.chdir(tmp_path)
        names: dict[str, object] = {}
        exec(self.blocks[3], names)
        assert (tmp_path / "kernel.png").read_bytes().startswith(PNG_SIGNATURE)

    def test_pictures_and_links_exist(self):
        targets = re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
        assert targets
        assert all((README.parent / target).is_file() for target in targets)
