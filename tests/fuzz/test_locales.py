"""Terminals of every encoding, and words of every script."""

import io
import json
import sys
import unicodedata
from pathlib import Path
from random import Random

import pytest

from pipelines.cli import main
from tests.fuzz.drawn import LOCALES, words
from vtr_core.text.tokens.vocabulary import tokenise


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with captions in many scripts."""
    folder = tmp_path_factory.mktemp("scripts")
    rows = [{"id": f"v{seed}", "caption": f"a {' '.join(words(Random(seed)))} 😀"} for seed in range(20)]
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    _written("utf-8", ["ingest", "captions", "--records", "videos", "--table", str(folder / "t.jsonl"),
                       "--out", str(folder / "d"), "--workers", "0"])  # fmt: skip
    return folder / "d"


@pytest.mark.parametrize("encoding", LOCALES)
def test_a_terminal_of_another_encoding(encoding: str, shown: Path) -> None:
    """What it lacks is replaced: a command shows as many lines as in UTF-8, and ends well, or with its one line."""
    for command in (["data", "show", str(shown), "--rows", "20"], ["train", "--help"]):
        assert len(_written(encoding, command)) == len(_written("utf-8", command))
    assert _written(encoding, ["train", "adapter", "--help"])[0].startswith("usage: vtr train adapter")
    (line,) = _written(encoding, ["data", "show", f"{shown} 日本"], ends=2)
    assert line.startswith("vtr data: ")


def _written(encoding: str, command: list[str], ends: int = 0) -> list[str]:
    """The lines that a command writes to streams of an encoding."""
    written = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["vtr", *command])
        for name in ("stdout", "stderr"):
            patch.setattr(sys, name, io.TextIOWrapper(written, encoding=encoding, write_through=True))
        try:
            main()
        except SystemExit as stop:
            assert stop.code == ends  # noqa: PT017
        lines = written.getvalue().decode(encoding).splitlines()
        for stream in (sys.stdout, sys.stderr):
            stream.detach()  # type: ignore[attr-defined]
    return lines


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 20_000), marks=pytest.mark.long)], ids=str)
def test_a_word_is_one_token_however_it_is_written(seeds: range) -> None:
    """Composed or decomposed, with its marks, in any case."""
    for seed in seeds:
        random = Random(seed)
        given = list(words(random))
        expected = [unicodedata.normalize("NFC", word.lower()) for word in given]
        for form in ("NFC", "NFD"):
            assert tokenise(unicodedata.normalize(form, " ".join(given))) == expected
