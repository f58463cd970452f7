"""Captions, ids and file names are text in pages, wherever they stand."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.systems.capsules.activation_report import ReadDataset, activation_report, render_page
from vtr_core.systems.capsules.activations import ClipActivations

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title><script>",
    "{{ 7 * 7 }}",
)
CLIPS = 40


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize(
    "where", ["clip id", "video id", "caption", "word", "data set", "place", "checkpoint", "preset", "modality"]
)
def test_every_text_is_escaped(where: str, evil: str) -> None:
    page = render_page(_report({where: evil}))
    harmless = render_page(_report({where: "harmless"}))
    assert _tags(page) == _tags(harmless)
    assert " 49 " not in page


@pytest.mark.parametrize("evil", EVIL)
def test_ids_of_clips_with_pictures_are_escaped(evil: str) -> None:
    def page(name: str) -> str:
        report = _report({"clip id": name})
        return render_page(
            report, [{f"{name}{i}": Thumbnail(f"{name}{i}", 0, 1, b"\xff\xd8\xff") for i in range(CLIPS)}]
        )

    assert _tags(page(evil)) == _tags(page("harmless"))
    assert "data:image/jpeg;base64,/9j/" in page(evil)
    assert len(re.findall("data:image/jpeg", page(evil))) == len(set(re.findall('<symbol id="([^"]+)"', page(evil))))


def _tags(page: str) -> list[str]:
    """The names of all tags and attributes, as a browser reads them."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append(" ".join([tag, *sorted(name for name, _ in attrs)]))

    Reader().feed(page)
    return found


def _report(texts: dict[str, str]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    dog = np.arange(CLIPS) % 10 == 0
    captions = np.empty(CLIPS, object)
    for i in range(CLIPS):
        captions[i] = (texts.get("caption", "a dog"), "second" if dog[i] else f"cat w{i % 7}")
    clips = {
        "clip_id": np.array([f"{texts.get('clip id', 'clip')}{i}" for i in range(CLIPS)], object),
        "video_id": np.array([texts.get("video id", "video")] * CLIPS, object),
        "video_key": np.arange(CLIPS),
        "start": 1.0 + np.arange(CLIPS),
        "end": np.full(CLIPS, 100.0),
        "captions": captions,
    }
    values = rng.random((CLIPS, 2)).astype(np.float32)
    values[:, 0] += dog
    names = ("text", texts.get("modality", "video"))
    read = ClipActivations(CLIPS, clips, dict.fromkeys(names, np.ones(CLIPS, bool)), dict.fromkeys(names, values))
    one = ReadDataset(texts.get("data set", "d"), texts.get("place", "/data"), "f", False, read)
    report = activation_report(
        texts.get("checkpoint", "/run"), texts.get("preset", "capsule"), 7, [one, replace(one, name="other")],
        top=2, min_videos=2,
    )  # fmt: skip
    for capsule in report["capsules"]:
        for cell in (cell for part in capsule["modalities"] for cell in part["cells"]):
            cell["concepts"] = [{**concept, "word": texts.get("word", "dog")} for concept in cell["concepts"]]
    return report
