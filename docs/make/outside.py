"""Pages of the site that lie elsewhere in the repository, and links between them and docs/."""

import os
import re
from pathlib import PurePosixPath

from docs.make.navigation import ROOT

OUTSIDE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
    "SECURITY.md": "operations/security.md",
    "benchmarks/results": "benchmarks/index.md",
    **{f"benchmarks/results/{file.name}": f"benchmarks/{file.name}" for file in ROOT.glob("benchmarks/results/*.md")},
}
"""Files of the repository, and their pages on the site."""
_SOURCES = {page: file for file, page in OUTSIDE.items()}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def inside() -> dict[str, str]:
    """The text of each page that lies outside docs/."""
    return {page: (ROOT / file).read_text() for file, page in OUTSIDE.items() if (ROOT / file).is_file()}


def site_links(text: str, page: str) -> str:
    """The page's text with links to the repository's files as links to the site's pages.

    A file that the site does not have becomes its path in the text, and a notebook its page. Links elsewhere stay, and
    those that lead nowhere, which mkdocs reports.
    """
    source = _SOURCES.get(page, f"docs/{page}")
    return _LINK.sub(lambda link: _on_site(link, source, page), text)


def _on_site(link: re.Match[str], source: str, page: str) -> str:
    picture, words, target = link.groups()
    path, hash_sign, anchor = target.partition("#")
    if not path or ":" in path:
        return link[0]
    file = os.path.normpath(PurePosixPath(source).parent / path)
    place = OUTSIDE.get(file) or _in_docs(file, page)
    if place is None:
        return f"{words} (`{file}`)" if (ROOT / file).exists() else link[0]
    return f"{picture}[{words}]({os.path.relpath(place, PurePosixPath(page).parent)}{hash_sign}{anchor})"


def _in_docs(file: str, page: str) -> str | None:
    """The site's path of a file of docs/; of a notebook its page's, but on that page the notebook's own."""
    if not file.startswith("docs/"):
        return None
    place = PurePosixPath(file.removeprefix("docs/"))
    return str(
        place.with_suffix(".md") if place.suffix == ".ipynb" and place.stem != PurePosixPath(page).stem else place
    )
