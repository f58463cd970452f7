"""A process that takes more memory than it may have is refused it by Linux, and is ended elsewhere."""

import subprocess
import sys
from pathlib import Path

import pytest

from vtr_core import process_limits
from vtr_core.process_limits import EXCEEDED, free_memory

TAKES = "held = bytes(b'x' * {megabytes}) * 2**20\nimport time\ntime.sleep({seconds})\nprint('done')"


def _run(start: str, megabytes: int, seconds: float) -> "subprocess.CompletedProcess[str]":
    """Of a process that has at most 64 MiB more: how it ended after taking so many, and staying for so long."""
    script = f"from vtr_core.process_limits import limit, watch\n{start}\n" + TAKES.format(
        megabytes=megabytes, seconds=seconds
    )
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_a_container_has_no_more_than_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_limits, "CGROUP", tmp_path)
    machine = free_memory()
    assert machine > 5 << 20
    for most, free in (("max", None), (str(9 << 20), 5 << 20), (str(1 << 20), 0)):
        (tmp_path / "memory.max").write_text(f"{most}\n")
        (tmp_path / "memory.current").write_text(f"{4 << 20}\n")
        assert free_memory() == free or (free is None and free_memory() > 5 << 20)


@pytest.mark.linux
@pytest.mark.parametrize("what", ["addresses", "data"])
def test_linux_refuses_what_is_beyond(what: str) -> None:
    start = f"limit(64 * 2**20, {what!r})"
    assert _run(start, 16, 0).stdout == "done\n"
    assert "MemoryError" in _run(start, 128, 0).stderr


def test_a_watched_process_is_ended_beyond() -> None:
    assert _run("watch(64 * 2**20)", 16, 0.5).stdout == "done\n"
    ended = _run("watch(64 * 2**20)", 128, 60)
    assert (ended.returncode, ended.stdout) == (EXCEEDED, "")
