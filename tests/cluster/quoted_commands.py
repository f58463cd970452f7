"""The `vtr` commands that documents and comments of cluster files quote, and the commands' own parsers to try them."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from cluster.profiles import profile
from pipelines.cli import run
from pipelines.verify.command import Verified

ROOT = Path(__file__).resolve().parents[2]
_QUOTED = re.compile(
    r"(?:^|[\s\[\"])(vtr (?:ingest|train|evaluate|sweep|analyze|index|search|explain|demo|submit)\b.*)"
)

_BLOCK = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
"""A code block: its language, if it names one, and its lines."""


def commands(text: str) -> list[list[str]]:
    """The words of every quoted command; lines that end with a backslash go on in the next one."""
    plain = "\n".join(line.removeprefix("#") for line in text.splitlines() if line.startswith("#"))
    joined = re.sub(r"\s*\\\n\s*", " ", plain)
    found = [match[1] for line in joined.splitlines() if (match := _QUOTED.search(line))]
    return [_words(command) for command in found]


def in_document(text: str) -> list[list[str]]:
    """The words of the commands in a Markdown document: lines of its code blocks, and what its text quotes whole.

    Of those only commands on data, `--data`; others are named, without all that they need: `vtr train --config FILE`.
    """
    blocks = [block for language, block in _BLOCK.findall(text) if language in ("", "bash", "sh", "shell", "console")]
    lines = [line.strip() for block in blocks for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines()]
    quoted = re.findall(r"`(vtr [^`]+)`", _BLOCK.sub("", text))
    given = [" ".join(command.split()) for command in quoted if " --data " in command]
    found = [re.sub(r"\s{2,}#.*| > .*", "", line) for line in [*lines, *given] if re.match(r"vtr [a-z-]", line)]
    return [shlex.split(command)[1:] for command in found if not re.search("[<…►]", command)]


def _words(command: str) -> list[str]:
    """The words after `vtr`, without a remark set apart by wide space."""
    return shlex.split(re.split(r" {4,}", command)[0])[1:]


WORK = (
    "pipelines.analyze.cooccurrence.analyze",
    "pipelines.analyze.information.analyze",
    "pipelines.caption.command.caption",
    "pipelines.concepts.command.concepts",
    "pipelines.data.command._check",
    "pipelines.data.command._list",
    "pipelines.data.command._show",
    "pipelines.demo.command.demo",
    "pipelines.doctor.findings.as_text",
    "pipelines.doctor.findings.machine_findings",
    "pipelines.doctor.findings.package_findings",
    "pipelines.doctor.findings.service_findings",
    "pipelines.doctor.findings.torch_findings",
    "pipelines.embed.command.embed",
    "pipelines.evaluate.command._print_metrics",
    "pipelines.evaluate.localization.evaluate",
    "pipelines.evaluate.retrieval.evaluate",
    "pipelines.explain.queries.explain",
    "pipelines.export.command.export",
    "pipelines.extract.command.run",
    "pipelines.import.command.convert_weights",
    "pipelines.index.indexing.index",
    "pipelines.ingest.command.ingest",
    "pipelines.ingest.command.report",
    "pipelines.runs.command._run",
    "pipelines.search.search.search",
    "pipelines.serve.serve.serve",
    "pipelines.sweep.run.resume",
    "pipelines.sweep.run.sweep",
    "pipelines.train.reports.print_end",
    "pipelines.train.command.resume",
    "pipelines.train.command.train",
    "pipelines.systems.capsules.explain_capsules.explain",
    "pipelines.systems.capsules.capsule_tables.tables",
    "pipelines.systems.captioning.caption_metrics.evaluate",
    "pipelines.systems.captioning.import_lavender.import_lavender",
    "pipelines.systems.captioning.import_bert.import_bert",
    "pipelines.systems.captioning.gmc_tables.tables",
    "pipelines.systems.clip4clip.import_clip4clip.import_clip4clip",
    "pipelines.systems.dual.causality_analysis.analyze",
    "pipelines.systems.dual.complementarity_analysis.analyze",
    "pipelines.systems.dual.import_hybrid_space.import_hybrid_space",
    "pipelines.systems.dual.thesis_rows.tables",
    "pipelines.systems.muse.muse_tables.tables",
    "pipelines.systems.siamese.face_verification.evaluate",
    "pipelines.systems.siamese.face_rounds.tables",
)
"""What commands do when they have understood their words."""


def check(words: Sequence[str], patch: pytest.MonkeyPatch) -> None:
    """Everything of a command but its work; ConfigError where it would be refused."""
    for function in WORK:
        patch.setattr(function, lambda *_: ())
    submitted = []
    patch.setattr("pipelines.submit.command.submit", lambda flags, command: submitted.append((flags, command)))
    patch.setattr("pipelines.verify.command.verify", lambda _: Verified(True, 0.0, 1.0))
    run(words[0], words[1:])
    for flags, command in submitted:
        from pipelines.submit.job_command import with_profile

        inner = with_profile(command, profile(flags.profile).changes) if flags.profile else command
        run(inner.words[0], inner.words[1:])
