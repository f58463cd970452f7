"""Queries, ids, concepts and places are text in the page of explanations, wherever they stand."""

from dataclasses import replace
from functools import lru_cache
from html.parser import HTMLParser

import pytest

from tests.builders.dual_toys import WORDS, report, videos
from vtr_core.analysis.transforms import Transform
from vtr_core.retrieval.explain.frames import read_pictures
from vtr_core.retrieval.explain.page import render_explanations
from vtr_core.retrieval.explain.report import Described
from vtr_core.retrieval.explain.values import ExplainOptions

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
