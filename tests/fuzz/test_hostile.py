"""Indexes and shards that somebody made to be read wrongly: an error of one line, or a read; never a crash."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.hostile import KINDS
from tests.optional import optional

pytestmark = pytest.mark.linux  # memory_limit


def outcomes(kind: str, first: int, count: int, folder: Path) -> tuple[int, int]:
    """How many damaged copies were read and refused by a process of its own, which ends by itself."""
    if kind.startswith("index"):
        optional("faiss", "faiss")
    command = [sys.executable, "-m", "tests.fuzz.hostile", kind, str(first), str(count), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, f"it ended with {done.returncode} at {done.stderr[-2000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["faults"], "\n".join(found["faults"][:10])
    assert found["succeeded"] + found["refused"] == count
    return found["succeeded"], found["refused"]


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_files(kind: str, tmp_path: Path) -> None:
    _, refused = outcomes(kind, 0, 60, tmp_path)
    assert refused > 10


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_many_hostile_files(kind: str, tmp_path: Path) -> None:
    _, refused = outcomes(kind, 1000, 2000, tmp_path)
    assert refused > 300
