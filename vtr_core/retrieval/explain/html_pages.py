"""The pages of explanations and of hits: self-contained HTML files without scripts."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

import jinja2

from vtr_core.page_templates import page_environment
from vtr_core.retrieval.explain.examples import ExampleReport
from vtr_core.retrieval.explain.explanation import ExplainReport, described, percent, sized
from vtr_core.retrieval.explain.key_frames import Picture
from vtr_core.time_span import time_span

TEMPLATE, HITS = "explanations.html", "hits.html"
EXAMPLES = "examples.html"
SEARCH, INTERFACE = "search.html", "interface.html"


def render_explanations(report: ExplainReport, pictures: Mapping[str, Picture]) -> str:
    """The report as HTML. All texts (queries, ids, concepts) are escaped.

    pictures: by video id, one for every hit.
    """
    return _environment().get_template(TEMPLATE).render(report=report, pictures=pictures)


def render_examples(report: ExampleReport, pictures: Mapping[str, Picture]) -> str:
    """The retrieved examples of models as HTML, everything escaped; without placeholders where no hit has a picture.

    pictures: by item id, one for every hit.
    """
    pictured = any(picture.content for picture in pictures.values())
    return _environment().get_template(EXAMPLES).render(report=report, pictures=pictures, pictured=pictured)


def render_hits(
    query: str,
    scoring: str,
    data: str,
    hits: Sequence[object],
    pictures: Mapping[str, Picture],
    links: Mapping[str, str] = MappingProxyType({}),
    not_known: str = "",
) -> str:
    """The hits of a search as HTML, everything escaped.

    pictures: by item id, one for every hit. links: by item id, where a hit can be watched; only those of http(s) and
    of local files become links. not_known: the words of the query that the model does not know, in a line.
    """
    shown = {item_id: link for item_id, link in links.items() if link.startswith(("http://", "https://", "file://"))}
    values = {"query": query, "scoring": scoring, "data": data, "hits": hits, "pictures": pictures, "links": shown}
    values["not_known"] = not_known
    return _environment().get_template(HITS).render(values)


def render_search(**values: object) -> str:
    """The page of search, which gets its data as JSON from the server."""
    return _environment().get_template(SEARCH).render(**values)


def render_interface(nonce: str, api: Mapping[str, object]) -> str:
    """The page of a JSON interface that an OpenAPI document describes."""
    return _environment().get_template(INTERFACE).render(nonce=nonce, api=api)


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = page_environment("vtr_core.retrieval")
    environment.filters.update(percent=percent, described=described, sized=sized)
    environment.globals["time_span"] = time_span
    return environment
