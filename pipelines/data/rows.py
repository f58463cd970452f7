"""Rows of a data set for people: texts and times as they are, features by their size and presence."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rich.table import Table
from rich.text import Text

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.errors import one_line

_NOT_SHOWN = ("tokens", "candidate_tokens", "clip_key", "video_key", "caption_key", "caption_keys", "pixels", "frames")
_LONGEST = 200
"""Letters of a cell in a table."""

Row = dict[str, Any]


def shown_columns(manifest: Manifest) -> list[str]:
    """The columns whose values a reader understands: neither keys, tokens, features' values nor pictures."""
    hidden = {*_NOT_SHOWN, *(feature.name for feature in manifest.schema.features)}
    return [name for name in manifest.schema.arrow().names if name not in hidden]


def all_rows(manifest: Manifest) -> Iterator[Row]:
    """Every row in file order, its shown columns. Raises DamagedShard."""
    reader = RowGroupReader(manifest, shown_columns(manifest))
    for place in row_groups(manifest):
        columns = {name: array.to_pylist() for name, array in reader.read_arrow(place).items()}
        yield from (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


def first_rows(manifest: Manifest, count: int) -> list[Row]:
    """The first `count` rows, or all where there are fewer."""
    return list(islice(all_rows(manifest), count))


def rows_table(manifest: Manifest, rows: Sequence[Row]) -> Table:
    """The rows with a column for each value; text is shown as it is, with control characters escaped."""
    title = f"{manifest.uri}: {len(rows)} of {manifest.rows:,} rows, {manifest.schema.label()}"
    table = Table(title=Text(title), title_justify="left")
    for name in shown_columns(manifest):
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_printable(cell_text(value))) for value in row.values()))
    return table


def _printable(text: str) -> str:
    """The lines without control characters, which could control the terminal."""
    return "\n".join(map(one_line, text.split("\n")))


def cell_text(value: Any) -> str:
    """A value for people: long texts are cut, of long lists the first five are shown."""
    match value:
        case bool():
            text = "yes" if value else "no"
        case float():
            text = f"{value:.2f}".rstrip("0").rstrip(".")
        case Mapping():
            text = " ".join(cell_text(inner) for inner in value.values())
        case list():
            text = "\n".join(cell_text(inner) for inner in value[:5]) + (
                f"\n… {len(value) - 5} more" if value[5:] else ""
            )
        case _:
            text = str(value)
    return text if len(text) <= _LONGEST or isinstance(value, list) else text[:_LONGEST] + "…"
