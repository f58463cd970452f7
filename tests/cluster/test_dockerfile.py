"""The images are made by the Makefile's steps, from files that exist; a linter finds no fault."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cluster import mamba_wheels
from tests.cluster.quoted_commands import ROOT


def _instructions() -> list[tuple[str, str]]:
    """The instructions with their arguments; lines that go on are joined, comments left out."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in joined.splitlines())]


def _stages() -> dict[str, list[tuple[str, str]]]:
    """The instructions of every stage, those of the stage that it begins from first."""
    stages: dict[str, list[tuple[str, str]]] = {}
    name = ""
    for word, rest in _instructions():
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages[name] = list(stages.get(base, []))
        elif name:
            stages[name].append((word, rest))
    return stages


def _copied(stage: str) -> set[str]:
    """The files and folders of the repository that a stage has."""
    return {part for word, rest in _stages()[stage] if word == "COPY" for part in rest.split()[:-1]}


def _targets() -> dict[str, str]:
    """The recipes of the Makefile."""
    text = (ROOT / "Makefile").read_text()
    return {match[1]: match[2] for match in re.finditer(r"(?m)^([\w-]+|\$\(VENV\)/installed):.*\n((?:\t.*\n)*)", text)}


def test_the_linter_finds_no_fault() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([linter, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_installed_is_installed_by_the_makefile() -> None:
    runs = [rest for word, rest in _instructions() if word == "RUN"]
    makes = [rest.split()[1] for rest in runs if rest.startswith("make ")]
    assert makes == ["install", "mamba-wheels", "install-mamba", "install"]
    assert set(makes) <= _targets().keys()
    assert all(
        "LOCKED=1 " in rest and rest.count("EXTRAS=postgres,login,numba") for rest in runs if rest.startswith("make ")
    )
    assert not [rest for rest in runs if re.search(r"\bpip\b|venv", rest.replace("/opt/vtr/.venv/bin", ""))]


DIGEST = f"python:3@sha256:{'0a' * 32}"


@pytest.mark.parametrize(("stage", "base"), [("system", "PYTHON_IMAGE"), ("mamba-wheels", "CUDA_IMAGE")])
def test_a_release_is_refused_where_a_base_has_no_digest(stage: str, base: str) -> None:
    """The lines of the Dockerfile themselves, by sh."""
    (check,) = [rest for word, rest in _stages()[stage] if word == "RUN" and f"${base}" in rest]

    def refused(release: str, image: str) -> bool:
        return bool(subprocess.run(["sh", "-c", check], env={"RELEASE": release, base: image}, check=False).returncode)

    assert not refused("", "python:3.11")
    assert not refused("1", DIGEST)
    assert all(refused("1", image) for image in ("python:3.11", DIGEST[:-1], f"{DIGEST}0"))
    assert {"RELEASE", base} <= {rest for word, rest in _stages()[stage] if word == "ARG"}


def test_every_image_ends_without_root() -> None:
    for name in ("cpu", "cuda"):
        words = [word for word, _ in _stages()[name]]
        assert ("USER", "1000") in _stages()[name]
        assert "RUN" not in words[words.index("USER") :]


def test_all_that_is_copied_is_there_and_sent_to_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert "*" in ignored, "what is not named is not sent: .git, data, runs"
    copied = [rest for word, rest in _instructions() if word == "COPY" and not rest.startswith("--from")]
    for rest in copied:
        for name in rest.split()[:-1]:
            assert (ROOT / name).exists(), name
            assert name.partition("/")[0] in sent, name


def test_what_is_compiled_is_fetched_by_its_hash() -> None:
    assert str(mamba_wheels.SOURCES.parent) in _copied("mamba-wheels")
    assert "--no-deps --require-hashes --requirement requirements/mamba.txt" in _targets()["mamba-wheels"]
    assert {"--require-hashes", f"--requirement={mamba_wheels.SOURCES}"} <= set(
        mamba_wheels.download_command(Path("/x"))
    )
