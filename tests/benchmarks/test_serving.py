"""The page of the load test says whether the goal is reached only of a load that it is for."""

import json

import pytest

from benchmarks.report.pages import RESULTS
from benchmarks.serving import markdown

FIGURES = json.loads((RESULTS / "serving.json").read_text())
FIGURES["device"] = FIGURES["machine"]


def test_the_page_is_that_of_its_figures() -> None:
    assert markdown(FIGURES) == (RESULTS / "serving.md").read_text()


@pytest.mark.parametrize("name", ["clients", "clips", "seconds"])
def test_a_smaller_load_is_not_judged(name: str) -> None:
    fast = {run: {**figures, "p99_ms": 1.0, "faults": {}} for run, figures in FIGURES["runs"].items()}
    assert "ms: reached without pause; reached with a pause of 1 s." in markdown({**FIGURES, "runs": fast})
    page = markdown({**FIGURES, "runs": fast, name: FIGURES[name] - 1})
    assert "ms: not judged, as it is for 50 clients, 100,000 clips and 60 s." in page
    assert "reached" not in page


def test_a_fault_misses_the_goal() -> None:
    runs = {run: {**figures, "p99_ms": 1.0, "faults": {"ReadTimeout": 1}} for run, figures in FIGURES["runs"].items()}
    assert "**not reached** without pause" in markdown({**FIGURES, "runs": runs})
