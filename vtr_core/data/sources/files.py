"""Files of a source, as text, table or subtitles, and checks of names and paths that annotations give."""

import csv
import errno
import io
import math
import os
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.errors import InputError
from vtr_core.json_text import parse_json
from vtr_core.storage import MAX_NAME_BYTES, Location, StorageError, is_file_name
from vtr_core.storage.bounded_tables import scalar_batches, scalar_columns
from vtr_core.unusable import Reason, UnusableError

_NO_FILE = (errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL)


MOST_BYTES, _MOST_TEXT = 2**32, 2**30
"""Of a file that is read whole, features or text; features of a day at one row a second have 1.4 GB."""


def check_source(location: Location, most: int = MOST_BYTES) -> None:
    """UnusableError for a link that leads out of the folder that was named, and for a file of more than `most`
    bytes."""
    if location.leads_out:
        raise UnusableError(
            Reason.UNSAFE_ID, f"{location} is a link that leads out of its folder; put the file itself there"
        )
    if location.is_local:
        try:
            size = location.info.size
        except StorageError as error:
            raise UnusableError(Reason.UNREADABLE_FILE, str(error)) from error
        if size is not None and size > most:
            raise UnusableError(Reason.UNREADABLE_FILE, f"{location} has {size} bytes; at most {most} are read")


def read_file(location: Location, most: int = MOST_BYTES) -> bytes:
    """The whole file; UnusableError, with the reason, where it does not exist, may not be read, or is a folder, a
    device, a pipe, a link that leads out of its folder, or of more bytes than `most`.

    Other faults of the storage (a network that is down) are a StorageError, since they are no fault of the file.
    """
    check_source(location, most)
    try:
        return storage.read_bytes(location)
    except (FileNotFoundError, NotADirectoryError) as error:
        for path in spellings(location.path):
            if path != location.path and location.is_local and os.path.lexists(path):
                return read_file(replace(location, path=path), most)
        raise UnusableError(Reason.MISSING_FILE, f"there is no file {location}") from error
    except OSError as error:
        if isinstance(error, PermissionError) or error.errno in _NO_FILE or is_folder(location):
            raise UnusableError(Reason.UNREADABLE_FILE, f"{location} cannot be read ({error})") from error
        raise StorageError(f"{location} cannot be read ({error}); run the same command again to resume") from error


def spellings(name: str) -> tuple[str, ...]:
    """A name as it is given, with its accents composed (NFC), and apart (NFD), as macOS wrote the names of files."""
    return tuple(dict.fromkeys((name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))))


def read_source_json(location: Location) -> Any:
    """The content of a JSON file of raw data; InputError for a link that leads out of its folder, errors as
    `storage.read_json` otherwise."""
    require_source(location, _MOST_TEXT)
    return storage.read_json(location)


def require_source(location: Location, most: int = 2**50) -> None:
    """InputError where a file that is needed fails `check_source`; tables are read row by row, whatever their size."""
    try:
        check_source(location, most)
    except UnusableError as fault:
        raise InputError(str(fault)) from fault


def is_folder(location: Location) -> bool:
    """Whether there is a folder of this name."""
    return bool(location.info.type == pafs.FileType.Directory)


def read_text(location: Location) -> str:
    """The content of a UTF-8 file, with or without a byte-order mark, its line ends as they are.

    Raises UnusableError where it is missing, cannot be read, or is in another encoding.
    """
    try:
        return read_file(location, _MOST_TEXT).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{location} is not text in UTF-8 ({error})") from error


def read_lines(location: Location) -> list[str]:
    """The lines of a file that is needed, without their ends; InputError where `read_text` cannot read it."""
    try:
        return [line.removesuffix("\r") for line in read_text(location).split("\n")]
    except UnusableError as fault:
        raise InputError(f"{fault}; give a text file in UTF-8") from fault


def filled_lines(location: Location) -> list[str]:
    """The lines of a file that is needed, without white space around them; those without anything are left out."""
    return [line.strip() for line in read_lines(location) if line.strip()]


Row = dict[str, Any]
FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
_MAX_CELL = 1 << 24


def read_table(location: Location, *required: Collection[str]) -> Iterator[Row]:
    """The rows of a table as {column: value}; text from CSV, the file's own types from JSON lines and Parquet.

    `required` are alternatives: the table must have all columns of one of them. For JSON lines each row is checked.
    In CSV and TSV a cell that begins with a quote must be quoted as a whole: a quote without its pair would take the
    rows after it into its cell.
    Raises InputError for a missing or damaged file, another format, or missing columns.
    """
    suffix = "." + location.name.rsplit(".", 1)[-1].lower()
    require_source(location)
    try:
        if suffix in (".csv", ".tsv"):
            yield from _csv_rows(location, required, "," if suffix == ".csv" else "\t")
        elif suffix == ".jsonl":
            yield from _json_rows(location, required)
        elif suffix == ".parquet":
            yield from _parquet_rows(location, required)
        else:
            raise InputError(f"{location} is not a table that can be read; formats: {', '.join(FORMATS)}")
    except FileNotFoundError as error:
        raise InputError(f"there is no table {location}; give one that exists ({', '.join(FORMATS)})") from error
    except OSError as error:
        raise InputError(f"{location} cannot be read ({error})") from error
    except csv.Error as error:
        raise InputError(
            f"{location} is no {suffix[1:]} whose quotes come in pairs ({error}); quote each cell that begins with a "
            'quote, and double the quotes in it (\'"""No"", she said"\'), or give .jsonl'
        ) from error
    except (ValueError, pa.ArrowException) as error:
        raise InputError(f"{location} is damaged or not {suffix[1:]} in UTF-8 ({error})") from error


def cell_text(value: object) -> str | None:
    """A cell of a table as text; None where it is empty, as NaN is in Parquet."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(value).strip() or None


def columns_of(location: Location, columns: Collection[str], required: Collection[Collection[str]]) -> Collection[str]:
    """The first of the `required` alternatives whose columns all exist; InputError where no alternative fits."""
    for alternative in required:
        if set(alternative) <= set(columns):
            return alternative
    needed = ", or ".join(", ".join(alternative) for alternative in required)
    raise InputError(f"{location} has the columns {', '.join(columns) or '(none)'}; it needs {needed}")


def _lines(location: Location, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a table with their ends; InputError for one that is longer than a cell may be."""
    while line := text.readline(_MAX_CELL):
        if len(line) == _MAX_CELL:
            raise InputError(f"{location} has a line of {_MAX_CELL >> 20} MiB or more; give a table of rows")
        yield line


def _csv_rows(location: Location, required: Collection[Collection[str]], delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(_MAX_CELL)
    with location.open_stream() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        reader = csv.DictReader(_lines(location, text), delimiter=delimiter, restval="", strict=True)
        columns_of(location, reader.fieldnames or (), required)
        for row in reader:
            row.pop(None, None)  # cells beyond the header's
            yield row


def _json_rows(location: Location, required: Collection[Collection[str]]) -> Iterator[Row]:
    with location.open_stream() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig")
        for number, line in enumerate(_lines(location, text), start=1):
            if not line.strip():
                continue
            try:
                row = parse_json(line)
            except ValueError as error:
                raise InputError(f"{location}, line {number}: {line.strip()[:40]!r} is no JSON ({error})") from error
            if not isinstance(row, dict):
                raise InputError(f"{location}, line {number}: a JSON object is needed, not {line.strip()[:40]!r}")
            columns_of(location, row, required)
            yield row


def _parquet_rows(location: Location, required: Collection[Collection[str]]) -> Iterator[Row]:
    with location.open_file() as source:
        table = pq.ParquetFile(source)
        columns_of(location, scalar_columns(table.schema_arrow), required)
        for batch in scalar_batches(table, source):
            yield from batch.to_pylist()


_SPAN = re.compile(r"(\S+?)\s*-->\s*(\S+)((?:\s+\w+:\S+)*)")
"""A start, an end, and where players place the text: X1:63 X2:223 Y1:43 Y2:58, or align:start position:0%."""
_TIME = re.compile(r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?")


@dataclass(frozen=True)
class Subtitle:
    """A text from `start` to `end`, in seconds as written; `line` of the file is its time line, counted from 1."""

    line: int
    start: float
    end: float
    text: str


@dataclass(frozen=True)
class BadLine:
    """A malformed line, with the reason."""

    line: int
    fault: str


def parse_srt(content: str) -> Iterator[Subtitle | BadLine]:
    """The blocks of a file in order. Blank lines part them; the number before a time line may be missing.

    A block without a time line, or without a text, is a BadLine. A text of several lines is joined by spaces.
    """
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        if line.strip():
            block.append((number, line.strip()))
        elif block:
            yield _parse_block(block)
            block = []


def _parse_block(block: list[tuple[int, str]]) -> Subtitle | BadLine:
    rest = block[1:] if block[0][1].isdigit() else block
    if not rest:
        return BadLine(block[0][0], f"the block {block[0][1]!r} is empty")
    number, times = rest[0]
    match = _SPAN.fullmatch(times)
    start, end = (None, None) if match is None else (_seconds(match[1]), _seconds(match[2]))
    if start is None or end is None:
        return BadLine(number, f"{times[:80]!r} is not a time line, as in 00:00:01,500 --> 00:00:04,000")
    text = " ".join(line for _, line in rest[1:])
    if not text:
        return BadLine(number, f"there is no text after {times!r}")
    return Subtitle(number, start, end, text)


def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds, fraction = match.groups()
    return 3600 * int(hours or 0) + 60 * int(minutes) + int(seconds) + float(f"0.{fraction or 0}")


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
    return path.startswith(("/", "file:/")) or "://" in path


def check_label(label: str) -> None:
    """Raise UnusableError unless `label`, an id that names no file, is one printable line of bounded length."""
    if not label.isprintable() or _size(label) > _MAX_PATH_BYTES:
        raise UnusableError(
            Reason.UNSAFE_ID, f"the id {label[:80]!r} is not one printable line; use letters and digits"
        )


def _size(name: str) -> int:
    return len(name.encode(errors="replace"))
