"""S3-compatible stores: settings of URIs, clients of buckets, and a pyarrow file system whose errors name the fault."""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from mmap import ACCESS_READ, mmap
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs
from obstore.exceptions import InvalidPathError
from obstore.store import S3Store as Bucket

from vtr_core.storage.fault import (
    Fault,
    Patience,
    RegionError,
    StorageError,
    given_patience,
    persist,
    storage_error,
    store_fault,
)

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import ClientConfig, RetryConfig, S3Credential

    Below = tuple[Iterable[str], list[ObjectMeta]]
    """Folder keys, and objects."""


_SWITCHES = {"true": True, "1": True, "false": False, "0": False}
_ALLOWED = ("endpoint_override", "scheme", "region", "anonymous", "force_virtual_addressing")


@dataclass(frozen=True)
class S3Settings:
    """Connection settings of one store; credentials come from AWS's standard chain."""

    endpoint: str | None
    """The store's URL; None for AWS."""
    region: str | None
    """None: the bucket's own region, as AWS reports it."""
    anonymous: bool = False
    force_virtual_addressing: bool = False
    ca_bundle: str | None = None
    """File of trusted CA certificates."""

    @property
    def shown(self) -> str:
        """The endpoint as shown in messages."""
        return self.endpoint or "AWS"


@dataclass(frozen=True)
class S3Place:
    """A parsed `s3://bucket/key?setting=value`."""

    settings: S3Settings
    path: str
    """bucket/key"""


def parse_s3(uri: str) -> S3Place:
    """The parsed URI; StorageError, which does not quote possibly secret parts, if it is malformed."""
    place, _, query = uri.partition("?")  # a key may hold a #, which ends the path of other URIs
    parts = urlsplit(place, allow_fragments=False)
    if "@" in parts.netloc:
        raise StorageError(
            "an s3:// URI with credentials in it is refused, because URIs are shown and logged; leave them out and set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        )
    if not parts.netloc:
        raise StorageError(f"{place} names no bucket; write s3://bucket/key")
    key = unquote(parts.path).strip("/")
    path = f"{parts.netloc}/{key}" if key else parts.netloc
    return S3Place(_settings(query), path)


def _settings(query: str) -> S3Settings:
    settings = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(set(settings) - set(_ALLOWED))
    if unknown:
        names = ", ".join(unknown)
        raise StorageError(f"an s3:// URI cannot set {names}; settings: {', '.join(_ALLOWED)}; keys belong in AWS_…")
    return S3Settings(
        endpoint=_endpoint(settings),
        region=settings.get("region"),
        anonymous=_switch(settings, "anonymous"),
        force_virtual_addressing=_switch(settings, "force_virtual_addressing"),
        ca_bundle=os.environ.get("AWS_CA_BUNDLE") or None,
    )


def _endpoint(settings: dict[str, str]) -> str | None:
    """The endpoint of the URI, else that of AWS_ENDPOINT_URL_S3, else that of AWS_ENDPOINT_URL."""
    override = settings.get("endpoint_override")
    if override:
        url = override if "://" in override else f"{settings.get('scheme', 'https')}://{override}"
        return _checked(url, "endpoint_override")
    for variable in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if os.environ.get(variable):
            return _checked(os.environ[variable], variable)
    return None


def _checked(url: str, where: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise StorageError(f"{where} must be http://host:port or https://host:port, without user and password")
    return f"{parts.scheme}://{parts.netloc}"


def _switch(settings: dict[str, str], name: str) -> bool:
    value = settings.get(name, "false").lower()
    if value not in _SWITCHES:
        raise StorageError(f"{name}={value} in an s3:// URI must be true or false")
    return _SWITCHES[value]


_RETRIES: "RetryConfig" = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}
"""obstore's own retries, for short disturbances. Longer ones are retried by `persist`, since obstore handles no
signals while it retries and repeats requests with their old signature."""
_TIMEOUTS: "ClientConfig" = {
    "connect_timeout": timedelta(seconds=10),
    "read_timeout": timedelta(seconds=120),
    "timeout": timedelta(hours=1),
}
"""Timeouts of one request. `read_timeout` begins at the first byte sent: an upload of four parts of 10 MiB needs at
least 350 KB/s to stay within it."""
_KEPT = timedelta(minutes=10)
"""Claimed lifetime of credentials. obstore renews them five minutes before expiry, so rotated credentials are picked
up after five minutes."""


def connected(settings: S3Settings, name: str) -> Bucket:
    """A client of the bucket `name`. It holds credentials and must not be shown, stored or pickled."""
    by_host = settings.force_virtual_addressing or (settings.endpoint is None and "." not in name)
    endpoint: dict[str, Any] = {}
    if settings.endpoint is not None:
        endpoint["aws_endpoint_url_s3"] = (
            settings.endpoint.replace("://", f"://{name}.") if by_host else settings.endpoint
        )
    client: ClientConfig = {"allow_http": True, **_TIMEOUTS}
    if settings.ca_bundle is not None:
        client["root_certificate"] = _certificates(settings.ca_bundle)
    return Bucket(
        name,
        region=_region(settings, name),
        virtual_hosted_style_request=by_host,
        skip_signature=settings.anonymous,
        disable_bulk_delete=True,  # not every store supports it
        credential_provider=None if settings.anonymous else _credentials,
        client_options=client,
        retry_config=_RETRIES,
        **endpoint,
    )


client_of = cache(connected)
"""As `connected`, with one client per bucket and process."""


def _region(settings: S3Settings, name: str) -> str:
    """The given region, else on AWS the bucket's own, else a default for stores without regions."""
    if settings.region is not None:
        return settings.region
    if settings.endpoint is not None:
        return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    try:
        return pafs.resolve_s3_region(name)
    except OSError as error:
        raise RegionError(str(error)) from None


def _certificates(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise StorageError(f"AWS_CA_BUNDLE={file} cannot be read ({error}); name a file of certificates") from error


def _credentials() -> "S3Credential":
    """Credentials from AWS's standard chain: environment, profiles, single sign-on, the machine's role."""
    from botocore.exceptions import NoCredentialsError
    from botocore.session import Session

    credentials = Session().get_credentials()
    if credentials is None:
        raise NoCredentialsError
    keys = credentials.get_frozen_credentials()
    return {
        "access_key_id": keys.access_key,
        "secret_access_key": keys.secret_key,
        "token": keys.token,
        "expires_at": datetime.now(UTC) + _KEPT,
    }


def certain(fault: Fault, settings: S3Settings, path: str) -> Fault:
    """`fault`, or, where it is ambiguous, the fault of a list request below `path`, whose response has a body.

    Ambiguous are responses to HEAD, which have no body, and "access denied", which expired credentials also cause.
    """
    if fault.is_transient or fault.code not in ("unknown", "accessdenied"):
        return fault
    name, _, key = path.partition("/")
    try:
        check_listing(connected(settings, name), key)
    except Exception as error:
        return store_fault(error) or fault
    return fault


def check_listing(bucket: Bucket, key: str) -> None:
    """Send one list request below `key` and discard its result; the store's errors propagate."""
    with suppress(InvalidPathError):
        next(iter(bucket.list(key, chunk_size=1)), None)


def objects(bucket: Bucket, key: str) -> Iterator["ObjectMeta"]:
    """The objects below a folder.

    Consoles and pyarrow mark folders by empty objects `folder/`, which obstore lists as `folder` and cannot address:
    empty objects without a header are therefore left out.
    """
    for page in bucket.list(key, chunk_size=1000):
        for item in page:
            if item["size"] or header(bucket, item["path"]) is not None:
                yield item


def header(bucket: Bucket, key: str) -> "ObjectMeta | None":
    """Size, time and ETag of an object; None where there is none."""
    try:
        return bucket.head(key)
    except FileNotFoundError:
        return None


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

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:  # noqa: ARG002
        """Delete all objects below a folder."""
        if "/" not in path:
            self.delete_root_dir_contents()
        self.ask(path, lambda bucket, key: bucket.delete([item["path"] for page in bucket.list(key) for item in page]))

    delete_dir = delete_dir_contents

    def delete_root_dir_contents(self) -> None:
        """Not supported: it would delete every bucket."""
        raise StorageError("a whole bucket is not deleted")

    def delete_file(self, path: str) -> None:
        """Delete an object."""
        self.ask(path, lambda bucket, key: bucket.delete(key))

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

    def open_append_stream(self, path: str, *_: Any) -> Any:
        """Not supported, as moving and copying are not: objects are read and written."""
        raise StorageError(f"s3://{path}: an object cannot be moved, copied or appended to; read it and write it anew")

    move = copy_file = open_append_stream


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
