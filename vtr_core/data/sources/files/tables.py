"""Tables row by row: CSV, TSV, JSON lines or Parquet, from any storage, with their columns checked first."""

import csv
import io
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core.errors import InputError
from vtr_core.json_text import parse_json
from vtr_core.storage import Location

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


def columns_of(location: Location, columns: Collection[str], required: Collection[Collection[str]]) -> Collection[str]:
    """The first of the `required` alternatives whose columns all exist; InputError where no alternative fits."""
    for alternative in required:
        if set(alternative) <= set(columns):
            return alternative
    wanted = ", or ".join(", ".join(alternative) for alternative in required)
    raise InputError(f"{location} has the columns {', '.join(columns) or '(none)'}; it needs {wanted}")


def _csv_rows(location: Location, required: Collection[Collection[str]], delimiter: str) -> Iterator[Row]:
    csv.field_size_limit(_MAX_CELL)
    with location.filesystem.open_input_stream(location.path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        reader = csv.DictReader(text, delimiter=delimiter, restval="", strict=True)
        columns_of(location, reader.fieldnames or (), required)
        for row in reader:
            row.pop(None, None)  # cells beyond the header's
            yield row


def _json_rows(location: Location, required: Collection[Collection[str]]) -> Iterator[Row]:
    with location.filesystem.open_input_stream(location.path) as stream:
        for number, line in enumerate(io.TextIOWrapper(stream, encoding="utf-8-sig"), start=1):
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
    with location.filesystem.open_input_file(location.path) as source:
        table = pq.ParquetFile(source)
        columns_of(location, table.schema_arrow.names, required)
        for batch in table.iter_batches():
            yield from batch.to_pylist()
