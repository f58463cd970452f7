"""S3-compatible stores as a pyarrow file system that waits for a store that is away and names what it refuses.

obstore does the work. Around each of its operations, and each reading of an open file, stands the same patience, so
whoever holds a `Location` or hands its file system on (to Parquet, to Ray) has it too. A folder is there as long as an
object lies in it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from mmap import mmap
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from vtr_core.storage.bucket import Bucket, certain, header, kept, objects
from vtr_core.storage.fault import Fault, StorageError, storage_error, store_fault
from vtr_core.storage.open_objects import OpenObject, Upload
from vtr_core.storage.patience import Patience, given_patience, persist
from vtr_core.storage.s3_settings import S3Settings

if TYPE_CHECKING:
    from obstore import ObjectMeta

    Below = tuple[Iterable[str], list[ObjectMeta]]
    """Folders and objects, by their keys."""

T = TypeVar("T")
_READ_AT_ONCE = 8 * 2**20
_PART, _AT_ONCE = 10 * 2**20, 4


@dataclass(frozen=True)
class S3Store(pafs.FileSystemHandler):
    """The handler behind the file system; paths are `bucket/key`."""

    settings: S3Settings

    def ask(self, path: str, question: Callable[[Bucket, str], T], patience: Patience | None = None) -> T:
        """What a bucket's client answers about a key, after given_patience() at most.

        StorageError for what the store refuses to the end, FileNotFoundError for an object that is not there.
        """
        name, _, key = path.partition("/")

        def give_up(fault: Fault, tried_s: float) -> StorageError:
            reason = certain(fault, self.settings, path)
            return storage_error(reason, f"s3://{path}", self.settings.shown, tried_s)

        def ask() -> T:
            return question(kept(self.settings, name), key)

        try:
            return persist(ask, store_fault, give_up, patience or given_patience(), f"s3://{path}")
        except FileNotFoundError:
            raise FileNotFoundError(f"there is no object s3://{path}") from None

    def put(self, path: str, content: bytes | mmap) -> None:
        """Write an object, whole or not at all."""
        self.ask(path, lambda bucket, key: bucket.put(key, content, chunk_size=_PART, max_concurrency=_AT_ONCE))

    # What pyarrow asks of a handler.

    def get_type_name(self) -> str:
        """The kind of file system."""
        return "s3"

    def normalize_path(self, path: str) -> str:
        """The path as it is."""
        return path

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """What lies at each path."""
        return [self._info(path.rstrip("/")) for path in paths]

    def _info(self, path: str) -> pafs.FileInfo:
        def look(bucket: Bucket, key: str) -> pafs.FileInfo:
            if key and (found := header(bucket, key)) is not None:
                return _file(path, found)
            is_folder = next(objects(bucket, key), None) is not None or not key
            return pafs.FileInfo(path, pafs.FileType.Directory if is_folder else pafs.FileType.NotFound)

        return self.ask(path, look)

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """What lies below a folder."""
        base = selector.base_dir.rstrip("/")
        name = base.partition("/")[0]
        folders, files = self.ask(base, all_below if selector.recursive else directly_below)
        found = [pafs.FileInfo(f"{name}/{folder}", pafs.FileType.Directory) for folder in folders]
        found += [_file(f"{name}/{one['path']}", one) for one in files]
        if not found and not selector.allow_not_found and self._info(base).type != pafs.FileType.Directory:
            raise FileNotFoundError(f"there is no folder s3://{base}")
        return found

    def create_dir(self, path: str, recursive: bool) -> None:
        """Nothing: the first object in it makes a folder."""

    def delete_dir(self, path: str) -> None:
        """Delete all objects below a folder."""
        self.delete_dir_contents(path)

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:  # noqa: ARG002
        """Delete what is in a folder."""
        if "/" not in path:
            self.delete_root_dir_contents()
        self.ask(path, lambda bucket, key: bucket.delete([one["path"] for page in bucket.list(key) for one in page]))

    def delete_root_dir_contents(self) -> None:
        """Never: that would be every bucket."""
        raise StorageError("a whole bucket is not deleted")

    def delete_file(self, path: str) -> None:
        """Delete an object."""
        self.ask(path, lambda bucket, key: bucket.delete(key))

    def move(self, src: str, dest: str) -> None:
        """Copy and delete an object."""
        self.copy_file(src, dest)
        self.delete_file(src)

    def copy_file(self, src: str, dest: str) -> None:
        """Copy an object within its bucket."""
        (name, _, source), (other, _, target) = src.partition("/"), dest.partition("/")
        if name != other:
            raise StorageError(f"s3://{src} cannot be copied to another bucket; read it and write it there")
        self.ask(dest, lambda bucket, _: bucket.copy(source, target))

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """An object to be read from its beginning, some megabytes at once, however little is asked for."""
        opened = self.open_input_file(path)
        return pa.BufferedInputStream(opened, max(1, min(opened.size(), _READ_AT_ONCE)))

    def open_input_file(self, path: str) -> pa.NativeFile:
        """An object to be read anywhere; every reading is one request."""

        def part(begin: int, length: int) -> pa.Buffer:
            return pa.py_buffer(self.ask(path, lambda bucket, key: bucket.get_range(key, start=begin, length=length)))

        return pa.PythonFile(OpenObject(self.ask(path, lambda bucket, key: bucket.head(key)["size"]), part), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """A new object, published when it is closed."""
        return pa.PythonFile(Upload(partial(self.put, path)), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """Objects do not grow."""
        raise StorageError(f"s3://{path}: an object cannot be appended to; write it anew")


@cache
def filesystem(settings: S3Settings) -> pafs.PyFileSystem:
    """The process's one file system of a store."""
    return pafs.PyFileSystem(S3Store(settings))


def _file(path: str, found: "ObjectMeta") -> pafs.FileInfo:
    return pafs.FileInfo(path, pafs.FileType.File, size=found["size"], mtime=found["last_modified"])


def directly_below(bucket: Bucket, key: str) -> "Below":
    """What lies directly in a folder."""
    found = bucket.list_with_delimiter(key)
    return found["common_prefixes"], [one for one in found["objects"] if one["path"] != key]


def all_below(bucket: Bucket, key: str) -> "Below":
    """What lies in a folder and in those in it."""
    files = list(objects(bucket, key))
    parents = {str(parent) for one in files for parent in PurePosixPath(one["path"]).parents}
    return sorted(parent for parent in parents if PurePosixPath(key) in PurePosixPath(parent).parents), files
