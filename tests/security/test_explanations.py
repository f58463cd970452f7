"""Queries, ids, concepts and places are text in the page of explanations, wherever they stand."""

from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser

import pytest

from tests.builders.dual_toys import WORDS, report, videos
from vtr_core.analysis.transforms import Transform
from vtr_core.retrieval.explain.explained_queries import Described
from vtr_core.retrieval.explain.explanation import ExplainOptions, Tag
from vtr_core.retrieval.explain.pages import read_pictures, render_explanations, render_hits
from vtr_core.retrieval.search.index_search import Hit

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


def page(texts: dict[str, str]) -> str:
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


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("where", ["query", "video id", "concept", "checkpoint", "preset", "data"])
def test_every_text_is_escaped(where: str, evil: str) -> None:
    found = page({where: evil})
    assert _read(found)[0] == _harmless(where)
    assert evil in _read(found)[1]
    assert " 49 " not in found


def hits(texts: dict[str, str]) -> str:
    item, tag = texts.get("item", "v:1"), Tag(texts.get("tag", "dog"), 1.0, "1 %")
    found = [Hit(1, item, texts.get("video", "v"), 0.5, tags=(tag,), start=1.0, end=2.0)]
    where = texts.get("scoring", "latent"), texts.get("data", "data/test")
    return render_hits(texts.get("query", "a dog"), *where, found, read_pictures(None, [item]))


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("where", ["query", "item", "video", "tag", "scoring", "data"])
def test_every_text_of_a_page_of_hits_is_escaped(where: str, evil: str) -> None:
    found = hits({where: evil})
    assert _read(found)[0] == _read(hits({where: "harmless"}))[0]
    assert evil in _read(found)[1]
    assert " 49 " not in found


@lru_cache
def _harmless(where: str) -> list[str]:
    """The tags of the page where nothing is evil."""
    return _read(page({where: "harmless"}))[0]


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
