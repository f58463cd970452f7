"""Documents name files that are there."""

import re

import pytest

from docs.make.outside import site_links
from tests.distribution.project import ROOT

_PAGES = sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "NOTICE", *_PAGES)
_PATH = re.compile(r"(?<![\w/.])(?:vtr_core|pipelines|tests|tune_spaces|cluster|benchmarks|requirements)/[\w./-]*[\w/]")
_LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_paths_lead_somewhere(name: str) -> None:
    text = re.sub(r"[\w./-]*<[^>]*>[\w./-]*", "", (ROOT / name).read_text())
    assert [path for path in _PATH.findall(text) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.endswith(".md")])
def test_links_lead_somewhere_without_the_site(name: str) -> None:
    """Who reads a page in the repository finds what it links; pages that only the site has are not linked."""
    file = ROOT / name
    assert [link for link in _LINK.findall(file.read_text()) if not (file.parent / link).exists()] == []


def test_a_link_to_a_notebook_leads_to_its_page_on_the_site() -> None:
    link = "[Ranking](../notebooks/what-decides-a-ranking.ipynb)"
    assert site_links(link, "tutorials/explaining.md") == "[Ranking](../notebooks/what-decides-a-ranking.md)"
    itself = "[This page as a notebook](what-decides-a-ranking.ipynb)"
    assert site_links(itself, "notebooks/what-decides-a-ranking.md") == itself
