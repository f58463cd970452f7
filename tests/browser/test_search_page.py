"""The page of `vtr serve` in Chromium: type, filter, turn the page, open an explanation, by mouse and by keys."""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders.searched import HOSTILE, KINDS, dual_index, served
from tests.optional import optional

pytestmark = pytest.mark.long
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = optional("playwright.sync_api", "dev")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(dual_index(tmp_path_factory.mktemp("browsed"))) as server:
        yield server.address.url


@pytest.fixture
def page(browser: Any, url: str) -> Iterator[Any]:
    made = browser.new_page()
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    made.goto(url)
    yield made
    made.close()
    assert faults == []


def _wait_for(page: Any, hits: int) -> None:
    from playwright.sync_api import expect

    expect(page.locator("#found button")).to_have_count(hits, timeout=60_000)


def _search(page: Any) -> None:
    page.fill("#query", "a video")
    page.click("#go")
    page.wait_for_selector("#found button")


def test_a_query_is_typed_filtered_and_explained(page: Any) -> None:
    _search(page)
    assert page.locator("#found button").count() == 24
    assert HOSTILE in page.locator("#found .caption").first.text_content()
    page.select_option("#column", "kind")
    page.fill("#value", KINDS[1])
    page.click("#add")
    _wait_for(page, 20)
    assert page.locator("#summary").text_content() == "1–20 of 20 items"
    page.locator("#found button").first.click()
    page.wait_for_selector("#why .clouds")
    assert "<b>caption</b>" in page.locator("#why").text_content()
    page.keyboard.press("Escape")
    page.locator("#chips button").click()
    _wait_for(page, 24)
    page.select_option("#column", "start")
    page.select_option("#relation", "<")
    page.fill("#value", "3")
    page.keyboard.press("Enter")
    _wait_for(page, 3)
    assert page.title() != "taken"


def test_pages_are_turned_and_remembered(page: Any) -> None:
    _search(page)
    page.click("#next")
    _wait_for(page, 16)
    assert page.locator("#page").text_content() == "25–40"
    assert page.locator("#next").is_disabled()
    page.reload()
    _wait_for(page, 16)
    page.go_back()
    _wait_for(page, 24)


def test_keys_alone_are_enough(page: Any) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("/")
    page.keyboard.type("a video")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found button")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("[...document.querySelectorAll('#found button')].indexOf(document.activeElement)") == 1
    page.keyboard.press("Enter")
    page.wait_for_selector("#why .clouds")
    page.keyboard.press("Escape")
    assert not page.locator("#dialog").is_visible()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"


def test_it_fits_a_phone_and_is_dark_where_that_is_preferred(browser: Any, url: str) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme="dark")
    page.goto(url)
    _search(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"
    page.close()


def test_an_empty_query_clears_the_page(page: Any) -> None:
    _search(page)
    page.fill("#query", " ")
    page.click("#go")
    _wait_for(page, 0)
    assert page.locator("#summary").text_content() == ""


def test_a_query_of_unknown_words_is_refused_in_words(browser: Any, url: str) -> None:
    page = browser.new_page()  # whose console has the error that the answer is
    page.goto(url)
    _search(page)
    page.fill("#query", "zzz")
    page.click("#go")
    _wait_for(page, 0)
    assert "no word of the query 'zzz'" in page.locator("#fault").text_content()
    page.close()


def test_sliders_transform_concepts(page: Any) -> None:
    _search(page)
    before = page.locator("#found .card .number").first.text_content()
    page.click("#transform summary")
    with page.expect_response(lambda response: "scale=4" in response.url):
        page.fill("#scale", "4")
    page.wait_for_function(f"document.querySelector('#found .card .number').textContent !== {before!r}")
    with page.expect_response(lambda response: "scale=" not in response.url):
        page.click("#trained")
