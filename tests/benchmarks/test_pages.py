"""A benchmark's page: its place is asked for first, it is what its command makes, README's figures are its."""

import json
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks.report.pages import Benchmark


@dataclass(frozen=True)
class _Flags:
    number: int = 1
    out: str = ""


def test_a_benchmark_asks_for_the_place_of_its_page_before_it_measures(tmp_path: Path) -> None:
    measured: list[int] = []

    def measure(flags: _Flags) -> dict[str, Any]:
        measured.append(flags.number)
        return {"double": 2 * flags.number, "device": "a machine"}

    benchmark = Benchmark("benchmarks.made.up", _Flags, measure, lambda figures: f"# {figures['double']}\n", ("numpy",))
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="File exists; give a folder"):
        benchmark.main(["--number", "3", "--out", str(tmp_path / "file")])
    assert measured == []
    out = tmp_path / "new" / "folder"
    benchmark.main(["--number", "3", "--out", str(out)])
    figures = json.loads((out / "made_up.json").read_text())
    assert (figures["double"], figures["device"], set(figures["versions"])) == (6, "a machine", {"numpy", "python"})
    assert figures["command"] == f"python -m benchmarks.made.up --number 3 --out {out}"
    assert (out / "made_up.md").read_text() == "# 6\n"


BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PAGES = sorted((BENCHMARKS / "results").glob("*.md"))
MODULE = re.compile(r"python -m benchmarks\.([\w.]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_made_by_a_command_or_says_at_which_commit_it_was(page: Path) -> None:
    text = page.read_text()
    if re.search(
        r"No command makes this page|Made at commit `[0-9a-f]{8}`|make drills|vtr tables|with a stopwatch", text
    ):
        return
    modules = [BENCHMARKS / name.replace(".", "/") for name in MODULE.findall(text)]
    assert modules, "the page names no command"
    assert all(path.with_suffix(".py").exists() or (path / "__main__.py").exists() for path in modules)


@pytest.mark.parametrize(
    "name",
    ["checkpoint_stop", "cider", "published_sizes", "routing", "scale_model", "scan", "similarity", "store"],
)
def test_a_page_is_what_its_command_makes_of_its_figures(name: str) -> None:
    results = BENCHMARKS / "results"
    page = import_module(f"benchmarks.{name}").markdown(json.loads((results / f"{name}.json").read_text()))
    assert page.strip() == (results / f"{name}.md").read_text().strip()


ROOT = Path(__file__).parents[2]
SECTIONS = re.compile(r"## (?:Limits|Measured beside others)\n(.*?)(?=\n## )", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((benchmarks/results/\w+\.md)\)([^\[]*)")
NUMBER = re.compile(r"\d*\.?\d+")


def _told() -> list[tuple[str, str]]:
    """(page, figure) of every figure between a link to a page and the next link."""
    sections = SECTIONS.findall((ROOT / "README.md").read_text())
    assert len(sections) == 2
    links = [link for section in sections for link in LINK.findall(section)]
    figures = [(page, figure) for page, said in links for figure in NUMBER.findall(said)]
    assert len(figures) > 8
    return figures


@pytest.mark.parametrize(("page", "figure"), _told())
def test_a_figure_is_a_rounding_of_one_in_its_page(page: str, figure: str) -> None:
    digits = len(figure.partition(".")[2])
    held = [float(number) for number in NUMBER.findall((ROOT / page).read_text())]
    assert float(figure) in {round(number, digits) for number in held}, f"{page} has no {figure}"
