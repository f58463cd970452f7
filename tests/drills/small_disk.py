"""A real disk of a few megabytes: a tmpfs in a mount namespace of its own, which `unshare` gives without privileges."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class SmallDisk:
    """`folder` is the disk for commands that are started with `wrap` before them; here it is seen as `seen`."""

    folder: Path
    seen: Path
    wrap: tuple[str, ...]

    @classmethod
    @contextmanager
    def mounted(cls, folder: Path, size: str) -> Iterator["SmallDisk"]:
        """The disk at `folder`; skips the test where the system does not allow it."""
        folder.mkdir()
        namespaces = "-m" if os.geteuid() == 0 else "-Urm"
        script = f"mount -t tmpfs -o size={size} tmpfs '{folder}' && echo mounted && exec sleep infinity"
        holder = subprocess.Popen(["unshare", namespaces, "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != "mounted\n":
                pytest.skip(f"no disk of a few megabytes can be mounted: run where `unshare {namespaces}` is allowed")
            user = ("-U", "--preserve-credentials") if namespaces == "-Urm" else ()
            wrap = ("nsenter", "-t", str(holder.pid), "-m", *user)
            yield cls(folder, Path(f"/proc/{holder.pid}/root{folder}"), (*wrap, f"--wd={os.getcwd()}"))
        finally:
            holder.kill()
            holder.wait()

    def grow(self, size: str) -> None:
        """Make room, without touching what is there."""
        subprocess.run([*self.wrap, "mount", "-o", f"remount,size={size}", str(self.folder)], check=True)
