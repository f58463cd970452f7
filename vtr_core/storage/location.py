"""Locations of files and folders: the URI as given, its file system, and whether one can write there."""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from vtr_core.redaction import has_secret
from vtr_core.storage.fault import StorageError
from vtr_core.storage.s3_filesystem import S3Store, filesystem, parse_s3

_FILE = "file:/"


def is_uri(text: str) -> bool:
    """Whether `text` is the URI of a store; `file:///x` is a path of this machine, as all others are."""
    return "://" in text and not text.startswith(_FILE)


def below(uri: str, name: str) -> str:
    """The URI of `name` in the folder `uri`; marks of URIs in the name are quoted, and settings stay at the end."""
    if not is_uri(uri):
        return f"{uri.rstrip('/')}/{name}"
    place, mark, settings = uri.partition("?")
    quoted = name.replace("%", "%25").replace("?", "%3F") if uri.startswith("s3://") else quote(name)
    return f"{place.rstrip('/')}/{quoted}{mark}{settings}"


def local_path(text: str) -> str:
    """The path of this machine that a path or a file URI stands for; `~` is the home folder where nothing is so called.

    A URI is unquoted, once, unless its raw text alone is there: `file:///films/50%` is a file of this name.
    StorageError for a URI of another machine, and for bytes that are no UTF-8.
    """
    path = text
    if text.startswith(_FILE):
        authority, _, rest = (
            text.removeprefix("file://").partition("/") if "://" in text else ("", "", text[len(_FILE) :])
        )
        if authority not in ("", "localhost"):
            raise StorageError(f"{text} is a file of the machine {authority}; give a path of this one, file:///path")
        raw = f"/{rest}"
        path = unquote(raw, errors="surrogateescape")
        path = raw if os.path.lexists(raw) and not os.path.lexists(path) else path
    elif text.startswith("~") and not os.path.lexists(text):
        path = os.path.expanduser(text)
    if not is_text(path) or "\0" in path:
        raise StorageError(f"'{shown_name(path)}' cannot be the name of a file here: names are UTF-8; rename it")
    return path


def is_text(name: str) -> bool:
    """Whether the name of a file is UTF-8, as URIs, tables and shards need."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown_name(name: str) -> str:
    """The name of a file for messages, bytes that are no UTF-8 written as \\xff."""
    bytes_shown = "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in name)
    return bytes_shown.encode("utf-8", "backslashreplace").decode()


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

    @property
    def info(self) -> pafs.FileInfo:
        """Kind, size and time of what is there, NotFound for nothing; StorageError where it may not be known."""
        try:
            return self.filesystem.get_file_info(self.path)
        except OSError as error:
            why = str(error) if error.errno is None else os.strerror(error.errno)
            message = f"{self} cannot be looked up ({why}); correct the name, or see to permissions"
            raise StorageError(message) from error

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
    """The location of a URI (`s3://bucket/key`) or of a `local_path`, absolute or relative, or `file:///x`.

    `s3://` is any S3-compatible store: that of AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, else AWS. Credentials come from
    the environment, AWS's configuration files or the machine's role. A URI may end in settings of its own:
    `?endpoint_override=host:port&scheme=http&region=…&anonymous=true&force_virtual_addressing=true`.
    """
    text = os.fspath(uri)
    if not is_uri(text):
        path = str(Path(local_path(text)).absolute())
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
