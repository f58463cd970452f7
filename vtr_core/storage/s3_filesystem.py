"""pyarrow file system for S3-compatible stores: open objects, retries, errors that name the fault."""

import io
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from mmap import ACCESS_READ, mmap
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from vtr_core.storage.bucket import Bucket, S3Settings, certain, client_of, header, objects
from vtr_core.storage.fault import Fault, Patience, StorageError, given_patience, persist, storage_error, store_fault


class OpenObject:
    """Random-access reader of an object. Each read is one range request: no read-ahead, no cache."""

    closed = False

    def __init__(self, size: int, part: Callable[[int, int], pa.Buffer]) -> None:
        """size: bytes of the object; part: reads (offset, length)."""
        self._size, self._part, self._position = size, part, 0

    def read(self, size: int = -1) -> pa.Buffer:
        """The next `size` bytes, or all remaining ones."""
        left = max(0, self._size - self._position)
        count = left if size < 0 else min(size, left)
        content = self._part(self._position, count) if count else pa.py_buffer(b"")
        self._position += content.size
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next read."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        """The position of the next read."""
        return self._position

    def close(self) -> None:
        """Do nothing: no resource is held."""
        self.closed = True


class Upload:
    """Output stream that buffers in a local file until it is closed."""

    closed = False

    def __init__(self, publish: Callable[[bytes | mmap], None]) -> None:
        """publish: uploads the written bytes."""
        self._publish = publish
        self._file = tempfile.NamedTemporaryFile(prefix="vtr-upload-")  # noqa: SIM115  (closed in close)
        self.write, self.tell = self._file.write, self._file.tell

    def close(self) -> None:
        """Upload the written bytes."""
        if not self.closed:
            self.closed = True
            with self._file:
                self._file.flush()
                self._publish(mapped(self._file.name))


def mapped(file: str) -> bytes | mmap:
    """The content of a local file as a memory map, for uploads; obstore's own file reading has half the speed."""
    with open(file, "rb") as source:
        return mmap(source.fileno(), 0, access=ACCESS_READ) if os.path.getsize(file) else b""


if TYPE_CHECKING:
    from obstore import ObjectMeta

    Below = tuple[Iterable[str], list[ObjectMeta]]
    """Folder keys, and objects."""

T = TypeVar("T")
_READ_AT_ONCE = 8 * 2**20
_PART, _AT_ONCE = 10 * 2**20, 4


@dataclass(frozen=True)
class S3Store(pafs.FileSystemHandler):
    """The handler behind the file system; paths are `bucket/key`."""

    settings: S3Settings

    def ask(self, path: str, question: Callable[[Bucket, str], T], patience: Patience | None = None) -> T:
        """The result of `question` on the bucket's client and the key of `path`, retried by given_patience().

        StorageError if the store refuses or stays unreachable, FileNotFoundError for missing objects.
        """
        name, _, key = path.partition("/")

        def give_up(fault: Fault, tried_s: float) -> StorageError:
            reason = certain(fault, self.settings, path)
            return storage_error(reason, f"s3://{path}", self.settings.shown, tried_s)

        def ask() -> T:
            return question(client_of(self.settings, name), key)

        try:
            return persist(ask, store_fault, give_up, patience or given_patience(), f"s3://{path}")
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no object s3://{path}") from None

    def put(self, path: str, content: bytes | mmap) -> None:
        """Write an object atomically."""
        self.ask(path, lambda bucket, key: bucket.put(key, content, chunk_size=_PART, max_concurrency=_AT_ONCE))

    # The methods of pyarrow's FileSystemHandler.

    def get_type_name(self) -> str:
        """The kind of file system."""
        return "s3"

    def normalize_path(self, path: str) -> str:
        """The path unchanged."""
        return path

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """Kind, size and time of the file or folder at each path."""
        return [self._info(path.rstrip("/")) for path in paths]

    def _info(self, path: str) -> pafs.FileInfo:
        def look(bucket: Bucket, key: str) -> pafs.FileInfo:
            if key and (item := header(bucket, key)) is not None:
                return _file(path, item)
            is_folder = next(objects(bucket, key), None) is not None or not key
            return pafs.FileInfo(path, pafs.FileType.Directory if is_folder else pafs.FileType.NotFound)

        return self.ask(path, look)

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """Kind, size and time of the entries of a folder."""
        base = selector.base_dir.rstrip("/")
        name = base.partition("/")[0]
        folders, files = self.ask(base, _all_below if selector.recursive else _directly_below)
        entries = [pafs.FileInfo(f"{name}/{folder}", pafs.FileType.Directory) for folder in folders]
        entries += [_file(f"{name}/{item['path']}", item) for item in files]
        if not entries and not selector.allow_not_found and self._info(base).type != pafs.FileType.Directory:
            raise FileNotFoundError(f"there is no folder s3://{base}")
        return entries

    def create_dir(self, path: str, recursive: bool) -> None:
        """Do nothing: a folder exists once it contains an object."""

    def delete_dir(self, path: str) -> None:
        """Delete all objects below a folder."""
        self.delete_dir_contents(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:  # noqa: ARG002
        """Delete the content of a folder."""
        if "/" not in path:
            self.delete_root_dir_contents()
        self.ask(path, lambda bucket, key: bucket.delete([item["path"] for page in bucket.list(key) for item in page]))

    def delete_root_dir_contents(self) -> None:
        """Not supported: it would delete every bucket."""
        raise StorageError("a whole bucket is not deleted")

    def delete_file(self, path: str) -> None:
        """Delete an object."""
        self.ask(path, lambda bucket, key: bucket.delete(key))

    def move(self, src: str, dest: str) -> None:
        """Not supported: objects are read and written."""
        raise StorageError(f"s3://{src} cannot be moved to {dest}; read it, write it there and delete it")

    def copy_file(self, src: str, dest: str) -> None:
        """Not supported: objects are read and written."""
        raise StorageError(f"s3://{src} cannot be copied to {dest}; read it and write it there")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """A sequential reader of an object, with requests of some megabytes even for small reads."""
        opened = self.open_input_file(path)
        return pa.BufferedInputStream(opened, max(1, min(opened.size(), _READ_AT_ONCE)))

    def open_input_file(self, path: str) -> pa.NativeFile:
        """A random-access reader of an object; every read is one request."""

        def part(begin: int, length: int) -> pa.Buffer:
            return pa.py_buffer(self.ask(path, lambda bucket, key: bucket.get_range(key, start=begin, length=length)))

        return pa.PythonFile(OpenObject(self.ask(path, lambda bucket, key: bucket.head(key)["size"]), part), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """A writer of a new object, uploaded when it is closed."""
        return pa.PythonFile(Upload(partial(self.put, path)), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """Not supported: objects cannot be appended to."""
        raise StorageError(f"s3://{path}: an object cannot be appended to; write it anew")


@cache
def filesystem(settings: S3Settings) -> pafs.PyFileSystem:
    """The file system of a store, one per process."""
    return pafs.PyFileSystem(S3Store(settings))


def _file(path: str, item: "ObjectMeta") -> pafs.FileInfo:
    return pafs.FileInfo(path, pafs.FileType.File, size=item["size"], mtime=item["last_modified"])


def _directly_below(bucket: Bucket, key: str) -> "Below":
    """Folders and objects directly in a folder."""
    listing = bucket.list_with_delimiter(key)
    return listing["common_prefixes"], [item for item in listing["objects"] if item["path"] != key]


def _all_below(bucket: Bucket, key: str) -> "Below":
    """Folders and objects in a folder, recursively."""
    files = list(objects(bucket, key))
    parents = {str(parent) for item in files for parent in PurePosixPath(item["path"]).parents}
    return sorted(parent for parent in parents if PurePosixPath(key) in PurePosixPath(parent).parents), files
