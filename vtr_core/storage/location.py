"""Locations of files and folders: the URI as given, its file system, and whether one can write there."""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from vtr_core.redaction import has_secret
from vtr_core.storage.bucket import parse_s3
from vtr_core.storage.fault import StorageError
from vtr_core.storage.s3_filesystem import S3Store, filesystem


def below(uri: str, name: str) -> str:
    """The URI of `name` in the folder `uri`; the settings of an s3:// URI stay at its end."""
    place, mark, settings = uri.partition("?") if uri.startswith("s3://") else (uri, "", "")
    return f"{place.rstrip('/')}/{name}{mark}{settings}"


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


MAX_NAME_BYTES = 240


@dataclass(frozen=True)
class Location:
    """A file or folder: its URI for messages, and its pyarrow file system and path."""

    uri: str
    filesystem: pafs.FileSystem
    path: str
    root: str | None = field(default=None, compare=False, repr=False)
    """The path of the folder that somebody named, of a file or folder below it."""

    def __str__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "Location":
        return Location(
            below(self.uri, name), self.filesystem, f"{self.path.rstrip('/')}/{name}", self.root or self.path
        )

    @property
    def leads_out(self) -> bool:
        """Whether a link on the way from the folder that was named leads out of it; the folder itself may be a link."""
        if not self.is_local or self.root is None:
            return False
        root = os.path.realpath(self.root)
        return os.path.commonpath([root, os.path.realpath(self.path)]) != root

    def open_file(self) -> pa.NativeFile:
        """A random-access reader; OSError where there is no file, and for devices, pipes and sockets."""
        self._check_regular()
        return self.filesystem.open_input_file(self.path)

    def open_stream(self) -> pa.NativeFile:
        """A reader of the bytes as they are, also of compressed files; errors as for `open_file`."""
        self._check_regular()
        return self.filesystem.open_input_stream(self.path, compression=None)

    def _check_regular(self) -> None:
        """OSError for what is neither a file nor a folder: opening a pipe alone waits for its other end."""
        mode = None
        if self.is_local:
            with suppress(OSError):  # the file system says what is wrong
                mode = os.stat(self.path).st_mode
        if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, "it is a device, a pipe or a socket, and no file")

    @property
    def parent(self) -> "Location":
        """The folder that holds this one; a bucket, or the root, is its own."""
        above = self.path.rstrip("/").rpartition("/")[0]
        if not above:
            return self
        place, mark, settings = self.uri.partition("?") if self.uri.startswith("s3://") else (self.uri, "", "")
        return Location(f"{place.rstrip('/').rpartition('/')[0]}{mark}{settings}", self.filesystem, above)

    @property
    def is_local(self) -> bool:
        """Whether this is a path of this machine's file system."""
        return isinstance(self.filesystem, pafs.LocalFileSystem)

    @property
    def s3(self) -> S3Store | None:
        """The S3-compatible store of this location; None for other locations."""
        handler = self.filesystem.handler if isinstance(self.filesystem, pafs.PyFileSystem) else None
        return handler if isinstance(handler, S3Store) else None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]


def locate(uri: str | os.PathLike[str]) -> Location:
    """The location of a URI (`s3://bucket/key`, `file:///x`) or of a local path, absolute or relative.

    `s3://` is any S3-compatible store: that of AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, else AWS. Credentials come from
    the environment, AWS's configuration files or the machine's role. A URI may end in settings of its own:
    `?endpoint_override=host:port&scheme=http&region=…&anonymous=true&force_virtual_addressing=true`.
    """
    text = os.fspath(uri)
    if "://" not in text:
        path = str(Path(text).expanduser().absolute())
        return Location(path, pafs.LocalFileSystem(), path)
    if text.startswith("s3://"):
        place = parse_s3(text)
        return Location(text, filesystem(place.settings), place.path)
    if has_secret(text):
        raise StorageError(
            f"{text} has a password or key in it, which is refused, because URIs are shown and logged; leave it out, "
            "and set it in the environment"
        )
    try:
        filesystem_of_uri, path = pafs.FileSystem.from_uri(text)
    except (pa.ArrowInvalid, OSError) as error:
        known = "a local path, file://, s3:// or gs://"
        raise StorageError(f"cannot use {text} (scheme {urlsplit(text).scheme!r}): {error}; give {known}") from error
    return Location(text, filesystem_of_uri, path)


def is_file_name(name: str) -> bool:
    """Whether `name` is valid as the name of one file or folder, without path components."""
    faults = "/" in name or "\\" in name or ".." in name or not name.isprintable() or name in ("", ".")
    return not faults and len(name.encode(errors="replace")) <= MAX_NAME_BYTES
