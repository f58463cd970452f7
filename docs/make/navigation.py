"""The navigation of mkdocs.yml, and the order of its pages."""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def written_pages() -> list[str]:
    """The pages in docs/, as paths below it."""
    return sorted(file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md"))


def expanded(entries: Sequence[Any], others: Iterable[str] = ()) -> list[Any]:
    """The navigation with each pattern replaced by the pages that it matches and no other line names.

    entries: a list as in mkdocs.yml; others: pages beside those of docs/.
    """
    pages = sorted({*written_pages(), *others})
    return [_filled(entry, pages, set(_names(entries))) for entry in entries]


def _filled(entry: Any, pages: Sequence[str], named: set[str]) -> Any:
    if isinstance(entry, dict):
        return {title: _filled(inner, pages, named) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [page for inner in entry for page in _flat(_filled(inner, pages, named))]
    return [page for page in pages if fnmatch(page, entry) and page not in named] if "*" in entry else entry


def _flat(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def _names(entry: Any) -> Iterator[str]:
    """All pages that an entry names, in its order."""
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry.values() if isinstance(entry, dict) else entry:
            yield from _names(inner)


def documents() -> list[Path]:
    """README and the pages of docs/ in the order of the navigation."""
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    found = [DOCS / name for name in _names(expanded(nav)) if (DOCS / name).is_file()]
    return [ROOT / "README.md", *found]
