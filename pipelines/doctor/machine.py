"""Checks of the machine's resources for Ray: cores, memory, shared memory for objects, disk for temporary files."""

import os
import shutil
from pathlib import Path

from pipelines.doctor.findings import Finding
from vtr_core.ray_private import object_store_bytes

SECTION = "machine"
SHARED = Path("/dev/shm")
_FULL = 0.95
"""Used share of a disk above which Ray writes no objects to it (RAY_local_fs_capacity_threshold)."""


def machine_findings() -> list[Finding]:
    """Findings on cores and memory, shared memory and disk."""
    import psutil

    memory = psutil.virtual_memory()
    return [
        Finding(SECTION, "CPU cores", "ok", str(os.cpu_count())),
        Finding(SECTION, "memory", "ok", f"{_gb(memory.total)}, {_gb(memory.available)} of it free"),
        shared_memory_finding(_size(SHARED), object_store_bytes(memory.total)),
        disk_finding(Path(os.environ.get("RAY_TMPDIR") or "/tmp") / "ray"),
    ]


def shared_memory_finding(size: int | None, wanted: int) -> Finding:
    """A warning where /dev/shm is smaller than Ray's object store, which is then on disk."""
    if size is None:
        return Finding(SECTION, "shared memory", "ok", f"there is no {SHARED} here; Ray keeps its objects in {_tmp()}")
    what = f"{SHARED} has {_gb(size)}, Ray's objects take {_gb(wanted)}"
    if size < wanted:
        remedy = f"Ray keeps them on disk, which is slow; in a container start it with --shm-size={wanted >> 30 or 1}g"
        return Finding(SECTION, "shared memory", "warning", what, remedy)
    return Finding(SECTION, "shared memory", "ok", what)


def disk_finding(folder: Path) -> Finding:
    """Free disk space for Ray's temporary files; broken where the disk is too full for Ray to write objects."""
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    usage = shutil.disk_usage(there)
    what = f"{folder} has {_gb(usage.free)} of {_gb(usage.total)} free"
    if usage.used > _FULL * usage.total:
        remedy = "make room, or set RAY_TMPDIR to a folder on another disk"
        return Finding(SECTION, "Ray's disk", "broken", f"{what}; Ray writes no objects beyond {_FULL:.0%}", remedy)
    return Finding(SECTION, "Ray's disk", "ok", what)


def _size(folder: Path) -> int | None:
    return shutil.disk_usage(folder).total if folder.is_dir() else None


def _tmp() -> str:
    return os.environ.get("RAY_TMPDIR") or "/tmp"


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
