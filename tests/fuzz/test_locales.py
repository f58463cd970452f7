"""Terminals of every encoding, and words of every script."""

import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.drawn import LOCALES, words
from tests.fuzz.worlds import ingest
from vtr_core.data.sources.pairs import Captions
from vtr_core.text.tokens.vocabulary import tokenise


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set with captions in many scripts."""
    folder = tmp_path_factory.mktemp("scripts")
    rows = [{"id": f"v{seed}", "caption": f"a {' '.join(words(Random(seed)))} 😀"} for seed in range(20)]
    (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ingest(Captions(table=str(folder / "t.jsonl")), folder / "d", strict=True)
    return folder / "d"


QUICK = ("iso8859-1", "shift_jis")
REST = [pytest.param(encoding, marks=pytest.mark.long) for encoding in LOCALES if encoding not in QUICK]


@pytest.mark.parametrize("encoding", [*QUICK, *REST])
def test_a_terminal_of_another_encoding(encoding: str, shown: Path) -> None:
    """What it lacks is written in another way: all lines are there, and a refusal is one."""
    lines = _written(encoding, ["data", "show", str(shown), "--rows", "20"])
    assert [line for line in lines if "v19" in line]
    (line,) = _written(encoding, ["data", "show", f"{shown} 日本"], ends=2)
    assert line.startswith("vtr data: ")


def _written(encoding: str, command: list[str], ends: int = 0) -> list[str]:
    """The lines that a command writes to streams of an encoding."""
    words, env = [sys.executable, "-m", "pipelines.cli", *command], {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == ends, done.stdout.decode(encoding, "replace")
    return done.stdout.decode(encoding).splitlines()


@pytest.mark.parametrize("seeds", [range(200), pytest.param(range(200, 20_000), marks=pytest.mark.long)], ids=str)
def test_a_word_is_one_token_however_it_is_written(seeds: range) -> None:
    """Composed or decomposed, with its marks, in any case."""
    for seed in seeds:
        random = Random(seed)
        given = list(words(random))
        expected = [unicodedata.normalize("NFC", word.lower()) for word in given]
        for form in ("NFC", "NFD"):
            assert tokenise(unicodedata.normalize(form, " ".join(given))) == expected
