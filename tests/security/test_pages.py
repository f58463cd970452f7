"""Captions, queries, ids, concepts and file names are text in pages, wherever they stand."""

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from tests.builders.dual_toys import WORDS, report, videos
from vtr_core.analysis.transforms import Transform
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.retrieval.explain.explained_queries import Described
from vtr_core.retrieval.explain.explanation import ExplainOptions, Tag
from vtr_core.retrieval.explain.pages import read_pictures, render_explanations, render_hits
from vtr_core.retrieval.search.index_search import Hit
from vtr_core.systems.capsules.activation_report import ReadDataset, ReportOptions, activation_report, render_page
from vtr_core.systems.capsules.activations import ClipActivations

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></svg></style><script>",
    "<b><i>never closed",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd",
    "{{ 7 * 7 }}",
    "a & b &lt;",
)
CLIPS = 40


def capsules(texts: dict[str, str]) -> str:
    """A page of activations."""
    return render_page(_report(texts))


def pictured(texts: dict[str, str]) -> str:
    """A page of activations with a picture of each clip."""
    names = [f"{texts['clip id']}{i}" for i in range(CLIPS)]
    return render_page(_report(texts), [{name: Thumbnail(name, 0, 1, b"\xff\xd8\xff") for name in names}])


def explanations(texts: dict[str, str]) -> str:
    """A page of explained queries."""
    searched = videos(names=(texts.get("concept", "dog"), *WORDS[1:]))
    searched = replace(searched, video_id=tuple(f"{texts.get('video id', 'v')}{i}" for i in range(9)))
    described = Described(
        texts.get("checkpoint", "/runs/one"), texts.get("preset", "hybrid"), 7, texts.get("data", "data/test")
    )
    queries = (texts.get("query", "a dog runs"), "a cat sleeps")
    options = ExplainOptions(hits=2, tags=14)
    found = report(queries, searched, Transform("jaccard", 2.0), described=described, options=options)
    shown = [hit.video_id for asked in found.queries for answer in asked.answers for hit in answer.hits]
    return render_explanations(found, read_pictures(None, shown))


def hits(texts: dict[str, str]) -> str:
    """A page of a search."""
    item, tag = texts.get("item", "v:1"), Tag(texts.get("tag", "dog"), 1.0, "1 %")
    found = [Hit(1, item, texts.get("video", "v"), 0.5, tags=(tag,), start=1.0, end=2.0)]
    where = texts.get("scoring", "latent"), texts.get("data", "data/test")
    return render_hits(texts.get("query", "a dog"), *where, found, read_pictures(None, [item]))


PAGES = {
    capsules: "clip id,video id,caption,word,data set,place,checkpoint,preset,modality",
    pictured: "clip id",
    explanations: "query,video id,concept,checkpoint,preset,data",
    hits: "query,item,video,tag,scoring,data",
}


@pytest.mark.parametrize(
    ("page", "where"), [(page, where) for page, all_ in PAGES.items() for where in all_.split(",")]
)
def test_every_text_is_escaped(page: Callable[[dict[str, str]], str], where: str) -> None:
    tags, _ = _read(page({where: "harmless"}))
    for evil in EVIL:
        html = page({where: evil})
        found, text = _read(html)
        assert found == tags, evil
        assert " 49 " not in html
        assert evil in text or page in (capsules, pictured)  # which shorten what is long


def test_each_picture_of_a_page_is_defined_once() -> None:
    page = pictured({"clip id": EVIL[0]})
    assert "data:image/jpeg;base64,/9j/" in page
    assert len(re.findall("data:image/jpeg", page)) == len(set(re.findall('<symbol id="([^"]+)"', page)))


def _read(html: str) -> tuple[list[str], str]:
    """The names of all tags and attributes, and all text, as a browser reads them."""
    tags: list[str] = []
    texts: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append(" ".join([tag, *sorted(name for name, _ in attrs)]))

        def handle_data(self, data: str) -> None:
            texts.append(data)

    Reader().feed(html)
    return tags, "\n".join(texts)


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
    made = activation_report(
        texts.get("checkpoint", "/run"), texts.get("preset", "capsule"), 7, [one, replace(one, name="other")],
        ReportOptions(top=2, min_videos=2),
    )  # fmt: skip
    for capsule in made["capsules"]:
        for cell in (cell for part in capsule["modalities"] for cell in part["cells"]):
            cell["concepts"] = [{**concept, "word": texts.get("word", "dog")} for concept in cell["concepts"]]
    return made
