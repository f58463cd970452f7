"""The page of retrieved examples in Chromium: a unit and its activation stay in one line, on any screen."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_search_page import browser
from vtr_core.retrieval.explain.examples import (
    ComparedModel,
    ExampleAnswer,
    ExampleHit,
    ExampleQuery,
    ExampleReport,
)
from vtr_core.retrieval.explain.explanation import Tag
from vtr_core.retrieval.explain.html_pages import render_examples
from vtr_core.retrieval.explain.key_frames import Picture

pytestmark = pytest.mark.long
__all__ = ["browser"]


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    units = tuple(Tag(f"{number} word", 1.5, "×1.50", number % 2 == 0) for number in range(12))
    hit = ExampleHit(1, "clip", "video", True, 2.5, "a dog", 0.0, 2.0, {"video": units, "audio": units})
    answer = ExampleAnswer(1, (hit,), units)
    models = tuple(ComparedModel("runs/a", 3, "dot", title) for title in ("A: first", "B: second"))
    report = ExampleReport("data/mine", 1, models, (ExampleQuery("a dog", ("clip",), (answer, answer)),))
    file = tmp_path / "explanations.html"
    file.write_text(render_examples(report, {"clip": Picture(0, "clip")}))
    return file


@pytest.fixture(params=[1200, 420])
def page(browser: Any, page_file: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    made = browser.new_page(viewport={"width": request.param, "height": 900})
    made.goto(page_file.as_uri())
    yield made
    made.close()


def test_no_unit_is_torn_and_nothing_is_wider_than_the_window(page: Any) -> None:
    torn = "[...document.querySelectorAll('.unit')].filter(one => one.getClientRects().length > 1).length"
    assert page.locator(".unit").count() == 2 * 3 * 12
    assert page.evaluate(torn) == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
