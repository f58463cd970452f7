"""What the package tells people to install is this package, and an extra that it has."""

import re
from pathlib import Path

from tests.distribution.project import EXTRAS, PROJECT, ROOT

NAME = PROJECT["name"]


def _texts() -> dict[Path, str]:
    """Everything that people read or run, these tests apart."""
    folders = ("vtr_core", "pipelines", "cluster", "tune_spaces", "benchmarks")
    every = (file for folder in folders for file in (ROOT / folder).rglob("*"))
    files = [file for file in every if file.suffix in (".py", ".yaml", ".md")]
    return {file: file.read_text() for file in (*files, *ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "Dockerfile")}


def test_no_hint_names_somebody_elses_package() -> None:
    """`vtr` on the public index is another project."""
    wrong = re.compile(r"\bvtr\[|pip install [^`\n]*['\" ]vtr['\" ]|version\(\"vtr\"\)|\bvtr==")
    assert not {str(file): match[0] for file, text in _texts().items() if (match := wrong.search(text))}


def test_every_hint_names_an_extra_that_there_is() -> None:
    hinted = {match for text in _texts().values() for match in re.findall(rf"{NAME}\[([\w-]+)\]", text)}
    assert hinted >= {"captioning", "clip", "faiss", "numba"}
    assert hinted <= set(EXTRAS)
