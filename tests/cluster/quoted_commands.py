"""The `vtr` commands that the comments of a cluster's file quote, and the stages' own parsers to try them with."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster.profiles import profile
from pipelines.cli import run

ROOT = Path(__file__).resolve().parents[2]
_QUOTED = re.compile(
    r"(?:^|[\s\[\"])(vtr (?:ingest|train|evaluate|sweep|analyze|index|search|explain|demo|submit)\b.*)"
)


def commands(text: str) -> list[list[str]]:
    """The words of every quoted command; lines that end with a backslash go on in the next one."""
    plain = "\n".join(line.removeprefix("#") for line in text.splitlines() if line.startswith("#"))
    joined = re.sub(r"\s*\\\n\s*", " ", plain)
    found = [match[1] for line in joined.splitlines() if (match := _QUOTED.search(line))]
    return [_words(command) for command in found]


def _words(command: str) -> list[str]:
    """The words after `vtr`, without a remark set apart by wide space."""
    return shlex.split(re.split(r" {4,}", command)[0])[1:]


def check(words: Sequence[str], patch: pytest.MonkeyPatch) -> None:
    """Everything of a command but its work; ConfigError where it would be refused."""
    done = {"train": ("train", "_print_end"), "ingest": ("ingest", "report"), "demo": ("demo",)}
    for stage, functions in done.items():
        for function in functions:
            patch.setattr(f"pipelines.{stage}.command.{function}", lambda *_: None)
    submitted = []
    patch.setattr("pipelines.submit.command.submit", lambda flags, command: submitted.append((flags, command)))
    run(words[0], words[1:])
    for flags, command in submitted:
        from pipelines.submit.job_command import with_profile

        inner = with_profile(command, profile(flags.profile).changes) if flags.profile else command
        run(inner.words[0], inner.words[1:])
