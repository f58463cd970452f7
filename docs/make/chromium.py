"""Chromium of the system, which photographs pages for the documents."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser by Playwright; SystemExit where the system has none."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise SystemExit("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


def keep(content: bytes, file: Path, most: int) -> None:
    """Write a PNG with 256 colours; SystemExit where it has more than `most` bytes."""
    content = _few_colours(content)
    if len(content) > most:
        raise SystemExit(f"{file.name} has {len(content):,} bytes; at most {most:,}")
    file.write_bytes(content)


def _few_colours(content: bytes) -> bytes:
    found = io.BytesIO()
    with Image.open(io.BytesIO(content)) as picture:
        picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(found, "PNG", optimize=True)
    return found.getvalue()
