"""The page of explanations in Chromium: facts of a hit stay in their column, on any screen, with one model or two."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_search_page import browser
from vtr_core.analysis.transforms import Transform
from vtr_core.retrieval.explain.explanation import (
    Answer,
    ExplainOptions,
    ExplainReport,
    HitExplanation,
    QueryExplanation,
    System,
    Tag,
)
from vtr_core.retrieval.explain.html_pages import render_explanations
from vtr_core.retrieval.explain.key_frames import Picture

pytestmark = pytest.mark.long
__all__ = ["browser"]


def _report(models: int) -> ExplainReport:
    tags = tuple(Tag(f"demonstration{number}", 1.0, "0.2 %", number % 2 == 0) for number in range(10))
    hit = HitExplanation(1, "video7010", True, 0.95, 0.276, 0.717, 1234.56, 1721.33, 0.016, 0.043, *(tags,) * 4)
    system = System("a model", 7, 4096, 0.4, Transform("jaccard", 1.0, 0.0, 1.0), (0.016, 0.002), (0.043, 0.004), 1)
    query = QueryExplanation("a dog", ("video7010",), (Answer(1, (hit,)),) * models)
    return ExplainReport(
        "runs/a", "p", 7, "data/mine", 9, 4096, "hybrid", 0.6, ExplainOptions(), (system,) * models, (query,)
    )


@pytest.fixture(params=[(1, 1200), (1, 420), (2, 1200), (2, 420)])
def page(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    models, width = request.param
    file = tmp_path / "explanations.html"
    file.write_text(render_explanations(_report(models), {"video7010": Picture(0, "video7010")}))
    made = browser.new_page(viewport={"width": width, "height": 900})
    made.goto(file.as_uri())
    yield made
    made.close()


def test_facts_stay_in_their_column_and_nothing_is_wider_than_the_window(page: Any) -> None:
    outside = """[...document.querySelectorAll('.head .number')].filter(one =>
        one.getBoundingClientRect().right > one.closest('.head').getBoundingClientRect().right + 0.5)
        .map(one => one.textContent)"""
    assert page.evaluate(outside) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
