"""Files of a source, as text, table or subtitles, and checks of names and paths that annotations give."""

import csv
import errno
import io
import math
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.errors import InputError
from vtr_core.json_text import parse_json
from vtr_core.storage import MAX_NAME_BYTES, Location, StorageError, is_file_name
from vtr_core.storage.bounded_tables import cell_values, readable_batches, readable_columns
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


class Row(dict[str, Any]):
    """A row of a table as {column: value}. `where` names its file and place, for messages; `number` counts from 1."""

    def __init__(self, cells: Mapping[str, Any], where: str, number: int = 0) -> None:
        super().__init__(cells)
        self.where, self.number = where, number

    def text(self, column: str, *also: type) -> str | None:
        """The text of a cell, see `text_of`."""
        return text_of(self.get(column), f"{self.where}, column {column}", *also)

    def required_id(self, column: str) -> str:
        """A cell's id, a text or a whole number; InputError where it is empty."""
        if name := self.text(column, *IDS):
            return name
        raise InputError(f"{self.where}, column {column}: it is empty; every row needs one")


IDS = (int,)
"""What may stand for a text where it is an id or the name of a file."""
TIMES = (int, float, Decimal)
"""What may stand for a text where it is seconds."""
LABELS = (int, float, bool, Decimal, date, time)
"""What may stand for a text that is shown and filtered by alone."""


def text_of(value: object, where: str, *also: type) -> str | None:
    """A text without white space around it; None for an absent one: an empty text, None, and NaN, as tables have it.

    also: other types whose values are written out, such as IDS. Everything else (lists, objects, bytes …) is an
    InputError with `where`, since its writing would be taken for words.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, also) and (bool in also or not isinstance(value, bool)):
        return str(value)
    raise InputError(f"{where}: {ascii(value)[:60]} is no text but {type(value).__name__}; give a text in its place")


FORMATS = (".csv", ".tsv", ".jsonl", ".parquet")
_CAPTIONS = ("caption", "sentence", "text")
"""Columns of which a row may have a list: it stands for a row for each text."""
_MAX_CELL = 1 << 24


def read_table(location: Location, *required: Collection[str]) -> Iterator[Row]:
    """The rows of a table; cells are text in CSV, and of the file's own types in JSON lines and Parquet.

    `required` are alternatives: the table must have all columns of one of them. For JSON lines each row is checked.
    In CSV and TSV a cell that begins with a quote must be quoted as a whole: a quote without its pair would take the
    rows after it into its cell. A list of captions gives a row for each, and an empty one a row without a caption.
    Raises InputError for a missing or damaged file, another format, missing columns and two of the same name.
    """
    suffix = "." + location.name.rsplit(".", 1)[-1].lower()
    require_source(location)
    try:
        if suffix in (".csv", ".tsv"):
            rows = _csv_rows(location, required, "," if suffix == ".csv" else "\t")
        elif suffix == ".jsonl":
            rows = _json_rows(location, required)
        elif suffix == ".parquet":
            rows = _parquet_rows(location, required)
        else:
            raise InputError(f"{location} is not a table that can be read; formats: {', '.join(FORMATS)}")
        for number, cells in enumerate(rows, start=1):
            yield from _rows(cells, f"{location}, row {number}", number)
    except FileNotFoundError as error:
        raise InputError(f"there is no table {location}; give one that exists ({', '.join(FORMATS)})") from error
    except OSError as error:
        raise InputError(f"{location} cannot be read ({error})") from error
    except (ValueError, pa.ArrowException) as error:
        raise InputError(f"{location} is damaged or not {suffix[1:]} in UTF-8 ({error})") from error


def _rows(cells: Mapping[str, Any], where: str, number: int) -> Iterator[Row]:
    """The row, or a row for each text where it has a list of captions."""
    for column in _CAPTIONS:
        if isinstance(texts := cells.get(column), list):
            yield from (Row({**cells, column: text}, where, number) for text in texts or [None])
            return
    yield Row(cells, where, number)


def _check_columns(location: Location, columns: Collection[str], required: Collection[Collection[str]]) -> None:
    """InputError where none of the `required` alternatives has all its columns."""
    if not any(set(alternative) <= set(columns) for alternative in required):
        needed = ", or ".join(", ".join(alternative) for alternative in required)
        raise InputError(f"{location} has the columns {', '.join(columns) or '(none)'}; it needs {needed}")


def _lines(location: Location, text: io.TextIOWrapper) -> Iterator[str]:
    """The lines of a table with their ends; InputError for one that is longer than a cell may be."""
    while line := text.readline(_MAX_CELL):
        if len(line) == _MAX_CELL:
            raise InputError(f"{location} has a line of {_MAX_CELL >> 20} MiB or more; give a table of rows")
        yield line


def _csv_rows(location: Location, required: Collection[Collection[str]], delimiter: str) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_MAX_CELL)
    with location.open_stream() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        reader = csv.reader(_lines(location, text), delimiter=delimiter, strict=True)
        line, header = 1, list[str]()
        try:
            header = next(reader, [])
            _check_header(location, header, required)
            line = reader.line_num + 1
            for cells in reader:
                if any(cells[len(header) :]):
                    raise InputError(
                        f"{location}, line {line}: it has {len(cells)} cells, the header {len(header)}; quote each "
                        f"cell that holds {delimiter!r}"
                    )
                if cells:
                    yield dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{location}, line {line}: the row that begins there has a quote without its pair ({error}); quote "
                'cells that begin with a quote, and double the quotes in them (\'"""No"", she said"\'), or give .jsonl'
            ) from error


def _check_header(location: Location, names: Sequence[str], required: Collection[Collection[str]]) -> None:
    """InputError where columns are missing, and for two of the same name, of which only one would be read."""
    _check_columns(location, names, required)
    twice = [name for name, count in Counter(names).items() if count > 1 and name]
    if twice:
        raise InputError(f"{location} has several columns {', '.join(twice)}; give each column a name of its own")


def _json_rows(location: Location, required: Collection[Collection[str]]) -> Iterator[dict[str, Any]]:
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
            _check_columns(location, row, required)
            yield row


def _parquet_rows(location: Location, required: Collection[Collection[str]]) -> Iterator[dict[str, Any]]:
    with location.open_file() as source:
        schema = pq.read_schema(source)
        readable = readable_columns(schema)
        needed = {name for alternative in required for name in alternative}
        for field in schema:
            if field.name in needed.difference(readable):
                raise InputError(
                    f"{location}, column {field.name}: {field.type} is not read; give texts, numbers, times or lists "
                    "of texts"
                )
        _check_header(location, readable, required)
        for batch in readable_batches(source):
            columns = map(cell_values, batch.columns)
            yield from (dict(zip(readable, values, strict=True)) for values in zip(*columns, strict=True))


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
    """UnusableError unless `name` can be a file name: no separators, no `..`, printable, not too long."""
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
