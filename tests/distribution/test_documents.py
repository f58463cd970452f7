"""Links and commands of the documents."""

import re

import pytest

from docs.make.outside import site_links
from tests.cluster.quoted_commands import check, in_document
from tests.distribution.project import ROOT
from tests.distribution.readme_walk import NOT_WALKED, QUOTED, WALKED, elsewhere
from vtr_core.errors import ConfigError

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


ALL = [
    list(words) for words in dict.fromkeys(map(tuple, [*QUOTED, *in_document((ROOT / "CONTRIBUTING.md").read_text())]))
]


def test_they_are_found() -> None:
    assert ["train", "--resume", "s3://bucket/runs/a"] in ALL
    assert ["doctor"] in ALL
    assert len(ALL) > 50


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_each_is_understood(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if words == ["--help"]:
        return
    check(words, monkeypatch)
    if not {"--help", "--list"} & set(words):
        with pytest.raises(ConfigError, match="no-such-flag"):
            check([*words, "--no-such-flag", "x"], monkeypatch)


def test_each_is_run_by_a_test_or_listed_with_a_reason() -> None:
    unknown = [words for words in ALL if not (elsewhere(words) or words in WALKED)]
    assert unknown == []
    assert [start for start in NOT_WALKED if not any(elsewhere(words) == start for words in ALL)] == []
