"""Checks of names from annotations before their use as file names, paths below a folder, or row ids.

Rows with invalid ids are dropped and counted as `unsafe_id`.
"""

from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.storage import MAX_NAME_BYTES, is_file_name

_MAX_PATH_BYTES = 2000


def check_id(name: str) -> None:
    """Raise UnusableError unless `name` can be a file name: no separators, no `..`, printable, not too long."""
    if not is_file_name(name):
        raise UnusableError(Reason.UNSAFE_ID, f"the id {name[:80]!r} cannot be a file name; use letters and digits")


def check_path(path: str) -> None:
    """Raise UnusableError unless `path` stays below the folder that it is relative to, and a file can be called so."""
    parts = path.split("/")
    faults = "\\" in path or ".." in parts or path.startswith("/") or "://" in path or not path.isprintable()
    if faults or max(map(_size, parts)) > MAX_NAME_BYTES or _size(path) > _MAX_PATH_BYTES:
        raise UnusableError(
            Reason.UNSAFE_ID, f"the path {path[:80]!r} leads out of its folder; give one below it, without .."
        )


def is_elsewhere(path: str) -> bool:
    """Whether `path` is absolute or a URI, and so not below the folder that others are relative to."""
    return path.startswith("/") or "://" in path


def check_label(label: str) -> None:
    """Raise UnusableError unless `label`, an id that names no file, is one printable line of bounded length."""
    if not label.isprintable() or _size(label) > _MAX_PATH_BYTES:
        raise UnusableError(
            Reason.UNSAFE_ID, f"the id {label[:80]!r} is not one printable line; use letters and digits"
        )


def _size(name: str) -> int:
    return len(name.encode(errors="replace"))
