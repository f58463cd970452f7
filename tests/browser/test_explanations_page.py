"""Pages of explanations and of examples in Chromium: nothing is torn or wider than the window, on any screen."""

from collections.abc import Callable, Iterator
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
from vtr_core.retrieval.explain.pages import (
    ComparedModel,
    ExampleAnswer,
    ExampleHit,
    ExampleQuery,
    ExampleReport,
    Picture,
    render_examples,
    render_explanations,
)

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


def _examples() -> str:
    units = tuple(Tag(f"{number} word", 1.5, "×1.50", number % 2 == 0) for number in range(12))
    hit = ExampleHit(1, "clip", "video", True, 2.5, "a dog", 0.0, 2.0, {"video": units, "audio": units})
    answer = ExampleAnswer(1, (hit,), units)
    models = tuple(ComparedModel("runs/a", 3, "dot", title) for title in ("A: first", "B: second"))
    report = ExampleReport("data/mine", 1, models, (ExampleQuery("a dog", ("clip",), (answer, answer)),))
    return render_examples(report, {"clip": Picture(0, "clip")})


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[[str, int], Any]]:
    """Opens a page in a window of this width."""
    pages = []

    def opened(content: str, width: int) -> Any:
        (tmp_path / "page.html").write_text(content)
        pages.append(browser.new_page(viewport={"width": width, "height": 900}))
        pages[-1].goto((tmp_path / "page.html").as_uri())
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


@pytest.mark.parametrize("width", [1200, 420])
@pytest.mark.parametrize("models", [1, 2])
def test_facts_stay_in_their_column(models: int, width: int, opened: Callable[[str, int], Any]) -> None:
    page = opened(render_explanations(_report(models), {"video7010": Picture(0, "video7010")}), width)
    outside = """[...document.querySelectorAll('.head .number')].filter(one =>
        one.getBoundingClientRect().right > one.closest('.head').getBoundingClientRect().right + 0.5)
        .map(one => one.textContent)"""
    assert page.evaluate(outside) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1200, 420])
def test_no_unit_is_torn(width: int, opened: Callable[[str, int], Any]) -> None:
    page = opened(_examples(), width)
    torn = "[...document.querySelectorAll('.unit')].filter(one => one.getClientRects().length > 1).length"
    assert page.locator(".unit").count() == 2 * 3 * 12
    assert page.evaluate(torn) == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
