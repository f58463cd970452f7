"""Pictures of `vtr serve` for its how-to page: `python -m docs.make.search_pictures --index INDEX --query TEXT`.

The page is the real one, of an index such as that of `vtr demo`, in Chromium by Playwright.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlencode

import tyro

from docs.make.chromium import chromium, keep
from docs.make.navigation import ROOT
from pipelines.arguments import parse
from pipelines.serve.command import ServeFlags
from pipelines.serve.serve import serving

MOST_BYTES = 300_000


@dataclass(frozen=True)
class Flags:
    """What is shown."""

    index: str = tyro.MISSING
    """Index of a data set with thumbnails."""
    query: str = tyro.MISSING
    """Query."""
    filter: tuple[str, ...] = ()
    """Conditions."""
    out: str = f"{ROOT}/docs/pictures"
    """Folder for search-desktop.png, search-dark.png and search-phone.png."""


@dataclass(frozen=True)
class View:
    """A window, and whether it shows why the first item was found."""

    width: int
    height: int
    colours: Literal["light", "dark"]
    explained: bool = False


VIEWS: Mapping[str, View] = MappingProxyType(
    {
        "search-desktop": View(1200, 800, "light"),
        "search-dark": View(1200, 800, "dark", explained=True),
        "search-phone": View(390, 780, "light"),
    }
)


def main(argv: list[str]) -> None:
    """Write the pictures."""
    flags = parse(Flags, argv, "python -m docs.make.search_pictures")
    address = urlencode([("q", flags.query), *(("filter", one) for one in flags.filter)])
    with _served(flags.index) as url, chromium() as browser:
        for name, view in VIEWS.items():
            keep(_taken(browser, f"{url}?{address}", view), Path(flags.out) / f"{name}.png", MOST_BYTES)


@contextmanager
def _served(index: str) -> Iterator[str]:
    with serving(ServeFlags(index, port=0)) as server:
        thread = Thread(target=server.run)
        thread.start()
        try:
            yield server.address.url
        finally:
            server.stop()
            thread.join()


def _taken(browser: Any, address: str, view: View) -> bytes:
    size = {"width": view.width, "height": view.height}
    page = browser.new_page(viewport=size, color_scheme=view.colours)
    page.goto(address, wait_until="networkidle")
    page.wait_for_selector("#found button")
    if view.explained:
        page.click("#found button")
        page.wait_for_selector("#why > *:not(.soft)")
    page.wait_for_function("[...document.images].every((one) => one.complete || one.loading === 'lazy')")
    content: bytes = page.screenshot()
    page.close()
    return content


if __name__ == "__main__":
    main(sys.argv[1:])
