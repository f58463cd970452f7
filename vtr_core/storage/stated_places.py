"""Places that stand in files: what a foreign index, checkpoint or data set may make this machine open.

A file that somebody else wrote can name any URI, with an endpoint of its own in it, to which the user's credentials
would be sent. So a place that a file names is opened only where it is a path of this machine, or lies in the bucket
that the user has named by naming the file; everything else the user has to name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit

from vtr_core.storage.fault import StorageError

_STATED_BY: ContextVar[str | None] = ContextVar("stated_by", default=None)
REMOTE = "://"


def stated_place(place: str, file: str, flag: str) -> str:
    """The place that `file`, the URI of a file or folder that the user named, names in turn, where it may be opened.

    A path of this machine is returned as it is, and so is a URI of the file's own bucket, with the settings of the
    user's URI instead of its own. StorageError with `flag`, by which the user can name it, for every other URI, and
    for `hub:`, whose repositories are fetched with the user's token.
    """
    if place.startswith("hub:"):
        raise _refused(place, file, flag)
    if REMOTE not in place:
        return place
    stated, named = urlsplit(place), urlsplit(file)
    if stated.scheme == "file" and not stated.netloc:
        return place
    if (stated.scheme, stated.netloc) != (named.scheme, named.netloc) or not stated.netloc:
        raise _refused(place, file, flag)
    return place.partition("?")[0] + (f"?{named.query}" if named.query else "")


_OWN_ENDPOINTS = ("s3", "gs")
"""Stores of which a URI without settings leads to the endpoint of the user's environment, and nowhere else."""


def resumed_place(place: str, folder: str, flag: str) -> str:
    """The place that the folder of a run or a sweep states for going on with it.

    As `stated_place`, and so is every bucket whose URI has no settings: it is asked of the user's own endpoint, so that
    credentials go where they always go. Settings of a store (endpoint_override, scheme, anonymous, region …) are never
    taken from a folder, which may be somebody else's: StorageError with `flag`, by which the user gives the URI again.
    """
    parts = urlsplit(place)
    if parts.scheme in _OWN_ENDPOINTS and parts.netloc and not (parts.query or parts.fragment or "@" in parts.netloc):
        return place
    return stated_place(place, folder, flag)


@contextmanager
def stated_by(file: str | None) -> Iterator[None]:
    """While a name is looked up that `file` states, nothing is fetched: `check_fetch` refuses. None: the user's own."""
    token = _STATED_BY.set(file)
    try:
        yield
    finally:
        _STATED_BY.reset(token)


def check_fetch(place: str, command: str) -> None:
    """StorageError where a file, and not the user, names what would be fetched; `command` fetches it."""
    file = _STATED_BY.get()
    if file is not None:
        raise StorageError(
            f"{file} names {place}, which is not on this machine; what a file names is not fetched: {command}, if you "
            "trust it"
        )


def _refused(place: str, file: str, flag: str) -> StorageError:
    shown = place.partition("?")[0]
    return StorageError(
        f"{file} names {shown}, which is not on this machine; a file cannot make a command open other places with your "
        f"credentials: if you trust it, name it with {flag}"
    )
