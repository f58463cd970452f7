"""Captions, ids and file names are text in pages, wherever they stand."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from vtr_core.analysis.capsule_usage import TopClips, UsageMeter
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.systems.capsules.activation_findings import ReadDataset, activation_report
from vtr_core.systems.capsules.activation_report import ActivationReport, ReportOptions, render_page
from vtr_core.systems.capsules.activations import Clip, DatasetActivations, ModalityActivations

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


def _report(texts: dict[str, str]) -> ActivationReport:
    rng = np.random.default_rng(0)
    dog = np.arange(CLIPS) % 10 == 0
    word = texts.get("word", "dog")
    words = tuple(frozenset({word} if d else {"cat", f"w{i % 7}"}) for i, d in enumerate(dog))
    captions = (texts.get("caption", "a dog"), "second")
    weights = np.array([[0.5], [0.1]], np.float32) @ np.ones((1, 2), np.float32)
    name, video = texts.get("clip id", "clip"), texts.get("video id", "video")
    clips = {i: Clip(f"{name}{i}", video, 1.0 + i, 100.0, captions, weights) for i in range(CLIPS)}
    values = rng.random((CLIPS, 2)).astype(np.float32)
    values[:, 0] += dog
    meter = UsageMeter(2)
    meter.add(values)
    top = TopClips.empty(2, 2).with_clips(np.arange(CLIPS), values)
    part = ModalityActivations(meter.usage(), top, np.ones(CLIPS, bool), values)
    parts = {"text": part, texts.get("modality", "video"): part}
    read = DatasetActivations(CLIPS, clips, words, np.arange(CLIPS), parts, ())
    one = ReadDataset(texts.get("data set", "d"), texts.get("place", "/data"), "f", False, read)
    options = replace(ReportOptions(top=2), min_videos=2, active_share=0.1)
    return activation_report(
        texts.get("checkpoint", "/run"), texts.get("preset", "capsule"), 7, [one, replace(one, name="other")], options
    )
