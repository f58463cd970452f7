"""The page of explanations: one HTML file that needs nothing else and runs no script."""

from collections.abc import Mapping
from functools import lru_cache

import jinja2

from vtr_core.retrieval.explain.frames import Picture
from vtr_core.retrieval.explain.hits import percent
from vtr_core.retrieval.explain.tag_cloud import sized
from vtr_core.retrieval.explain.values import ExplainReport, described

TEMPLATE, EXPLORER = "explanations.html", "explorer.html"


def render_explanations(report: ExplainReport, pictures: Mapping[str, Picture]) -> str:
    """The report as HTML. Every text is escaped: queries, ids and concepts may hold anything.

    pictures: by video id, one for every hit.
    """
    return page_environment().get_template(TEMPLATE).render(report=report, pictures=pictures)


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
    return environment
