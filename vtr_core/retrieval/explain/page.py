"""The pages of explanations and of hits: HTML files that need nothing else and run no script."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import jinja2

from vtr_core.retrieval.explain.frames import Picture
from vtr_core.retrieval.explain.hits import percent
from vtr_core.retrieval.explain.tag_cloud import sized
from vtr_core.retrieval.explain.values import ExplainReport, described
from vtr_core.time_span import time_span

TEMPLATE, EXPLORER, HITS = "explanations.html", "explorer.html", "hits.html"


def render_explanations(report: ExplainReport, pictures: Mapping[str, Picture]) -> str:
    """The report as HTML. Every text is escaped: queries, ids and concepts may hold anything.

    pictures: by video id, one for every hit.
    """
    return page_environment().get_template(TEMPLATE).render(report=report, pictures=pictures)


def render_hits(query: str, scoring: str, data: str, hits: Sequence[object], pictures: Mapping[str, Picture]) -> str:
    """What a search found as HTML, everything escaped. pictures: by item id, one for every hit."""
    values = {"query": query, "scoring": scoring, "data": data, "hits": hits, "pictures": pictures}
    return page_environment().get_template(HITS).render(values)


def render_explorer(**values: object) -> str:
    """The page of the interactive explanation; its data come from the server's JSON."""
    return page_environment().get_template(EXPLORER).render(**values)


@lru_cache(maxsize=1)
def page_environment() -> jinja2.Environment:
    """What renders the pages: everything is escaped, and an unknown name is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vtr_core.retrieval", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, described=described, sized=sized)
    environment.globals["time_span"] = time_span
    return environment
