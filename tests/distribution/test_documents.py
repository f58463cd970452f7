"""Documents name files that are there."""

import re

import pytest

from tests.distribution.project import ROOT

_PAGES = sorted(file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md"))
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "NOTICE", *_PAGES)
_PATH = re.compile(r"(?<![\w/.])(?:vtr_core|pipelines|tests|tune_spaces|cluster|benchmarks|requirements)/[\w./-]*[\w/]")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_paths_lead_somewhere(name: str) -> None:
    text = re.sub(r"[\w./-]*<[^>]*>[\w./-]*", "", (ROOT / name).read_text())
    assert [path for path in _PATH.findall(text) if not (ROOT / path).exists()] == []
