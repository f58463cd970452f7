"""Whether a folder, or a file, of this machine can be written to, found out before long work."""

import tempfile
from pathlib import Path

from vtr_core.storage.fault import StorageError


def check_local_folder(path: Path) -> None:
    """StorageError unless files can be written to `path`, or to where it would be made; leaves nothing behind."""
    nearest = next((place for place in (path, *path.parents) if place.exists()), path)
    if not nearest.is_dir():
        raise StorageError(f"{path} cannot be written: {nearest} is a file; name a folder, new or existing")
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise StorageError(
            f"{path} cannot be written: a file in {nearest} is refused ({why}); name another folder, free space, or "
            "see to its permissions"
        ) from error


def check_no_folder(path: Path) -> None:
    """StorageError where a folder is at `path`, which no file can replace."""
    if path.is_dir():
        raise StorageError(f"{path} cannot be written: it is a folder; name a file, new or existing")
