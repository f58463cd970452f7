"""S3-compatible stores as a pyarrow file system that waits for a store that is away and names what it refuses.

pyarrow's own S3 file system does the work. Around each of its operations, and each reading of an open file, stands the
same patience, so whoever holds a `Location` or hands its file system on (to Parquet, to Ray) has it too. Below it the
AWS library itself tries three times within a few seconds.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from vtr_core.storage.client import certain
from vtr_core.storage.fault import UNREACHABLE, Fault, StorageError, arrow_fault, storage_error
from vtr_core.storage.open_objects import PatientFile, Upload
from vtr_core.storage.patience import given_patience, persist
from vtr_core.storage.s3_settings import S3Settings

T = TypeVar("T")
_ATTEMPTS = 3
_CONNECT_TIMEOUT_S = 10.0
_READ_AT_ONCE = 8 * 2**20


class S3Store(pafs.FileSystemHandler):
    """The handler behind the file system; paths are `bucket/key`."""

    def __init__(self, settings: S3Settings, region: str) -> None:
        self.settings, self.region = settings, region
        options: dict[str, Any] = {} if settings.endpoint is None else {"endpoint_override": settings.endpoint}
        if settings.ca_bundle is not None:
            options["tls_ca_file_path"] = settings.ca_bundle
        self._inner = pafs.S3FileSystem(
            region=region,
            anonymous=settings.anonymous,
            force_virtual_addressing=settings.force_virtual_addressing,
            connect_timeout=_CONNECT_TIMEOUT_S,
            retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
            allow_delayed_open=True,  # what fits into one request is sent as one
            **options,
        )

    def __reduce__(self) -> tuple[object, ...]:
        return store, (self.settings, self.region)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, S3Store) and (self.settings, self.region) == (other.settings, other.region)

    def __hash__(self) -> int:
        return hash((self.settings, self.region))

    def patiently(self, path: str, operation: Callable[[], T]) -> T:
        """The result of an operation of pyarrow's on `path`; StorageError for what the store refuses to the end."""

        def judge(error: Exception) -> Fault | None:
            return arrow_fault(error) if isinstance(error, OSError) else None

        return persist(operation, judge, partial(self._error, path), given_patience(), f"s3://{path}")

    def _error(self, path: str, fault: Fault, tried_s: float) -> StorageError:
        fault = certain(fault, self.settings, self.region, path)
        return storage_error(fault, f"s3://{path}", self.settings.shown, tried_s)

    def upload(self, file: str, path: str) -> None:
        """Publish a local file as the object `path`, whole or not at all.

        In a thread of its own: pyarrow publishes what it has of an object that a signal cuts off, and only the main
        thread gets signals. (Its `copy_files` is of no use, it does not say when the last part could not be sent.)
        """
        with ThreadPoolExecutor(1) as sender:
            sender.submit(self.patiently, path, lambda: self._send(file, path)).result()

    def _send(self, file: str, path: str) -> None:
        with pa.memory_map(file) if os.path.getsize(file) else pa.BufferReader(b"") as content:
            sink = self._inner.open_output_stream(path)
            sink.write(content.read_buffer())
            sink.close()

    # What pyarrow asks of a handler.

    def get_type_name(self) -> str:
        """The kind of file system."""
        return "s3"

    def normalize_path(self, path: str) -> str:
        """The path as it is."""
        return self._inner.normalize_path(path)

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """What lies at each path."""
        return self.patiently(paths[0] if paths else "", lambda: self._inner.get_file_info(paths))

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """What lies below a folder."""
        return self.patiently(selector.base_dir, lambda: self._inner.get_file_info(selector))

    def create_dir(self, path: str, recursive: bool) -> None:
        """Mark a folder."""
        self.patiently(path, lambda: self._inner.create_dir(path, recursive=recursive))

    def delete_dir(self, path: str) -> None:
        """Delete all objects below a folder."""
        self.patiently(path, lambda: self._inner.delete_dir(path))

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        """Delete what is in a folder."""
        self.patiently(path, lambda: self._inner.delete_dir_contents(path, missing_dir_ok=missing_dir_ok))

    def delete_root_dir_contents(self) -> None:
        """Never: that would be every bucket."""
        raise StorageError("the contents of all buckets are not deleted")

    def delete_file(self, path: str) -> None:
        """Delete an object."""
        self.patiently(path, lambda: self._inner.delete_file(path))

    def move(self, src: str, dest: str) -> None:
        """Copy and delete an object."""
        self.patiently(dest, lambda: self._inner.move(src, dest))

    def copy_file(self, src: str, dest: str) -> None:
        """Copy an object."""
        self.patiently(dest, lambda: self._inner.copy_file(src, dest))

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """An object to be read from its beginning, some megabytes at once, however little is asked for."""
        opened = self.open_input_file(path)
        return pa.BufferedInputStream(opened, max(1, min(opened.size(), _READ_AT_ONCE)))

    def open_input_file(self, path: str) -> pa.NativeFile:
        """An object to be read anywhere; every reading is one request."""
        opened = self.patiently(path, lambda: self._inner.open_input_file(path))
        return pa.PythonFile(PatientFile(opened, partial(self.patiently, path)), mode="r")

    def open_output_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """A new object, published when it is closed."""
        return pa.PythonFile(Upload(lambda file: self.upload(file, path)), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> pa.NativeFile:  # noqa: ARG002
        """Objects do not grow."""
        raise StorageError(f"s3://{path}: an object cannot be appended to; write it anew")


@cache
def store(settings: S3Settings, region: str) -> S3Store:
    """The process's one handler of a store."""
    return S3Store(settings, region)


@cache
def filesystem(settings: S3Settings, bucket: str) -> pafs.PyFileSystem:
    """The process's one file system for a bucket."""
    return pafs.PyFileSystem(store(settings, bucket_region(settings, bucket)))


def bucket_region(settings: S3Settings, bucket: str) -> str:
    """The region that was given, else the bucket's own on AWS, else what a store that has no regions is told."""
    if settings.region is not None:
        return settings.region
    if settings.endpoint is not None:
        return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return _resolved(settings, bucket)


def _resolved(settings: S3Settings, bucket: str) -> str:
    """The region of a bucket on AWS."""

    def judge(error: Exception) -> Fault | None:
        if not isinstance(error, OSError):
            return None
        return arrow_fault(error) or Fault("nosuchbucket" if "not found" in str(error) else UNREACHABLE)

    def give_up(fault: Fault, tried_s: float) -> StorageError:
        return storage_error(fault, f"s3://{bucket}", settings.shown, tried_s)

    return persist(lambda: pafs.resolve_s3_region(bucket), judge, give_up, given_patience(), f"s3://{bucket}")
