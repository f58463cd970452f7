"""Contents of data sets: those below a folder, rows of one, and whether it can be read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rich.table import Table
from rich.text import Text

from pipelines.report.figures import blank_table
from vtr_core import storage
from vtr_core.data.manifest import FILE, Manifest, splits
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.shard_file import check_files
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import DatasetError, one_line
from vtr_core.storage import Location, locate


@dataclass(frozen=True)
class Listed:
    """A data set as its manifest describes it."""

    uri: str
    kind: str
    """Record kind and version: `clips/1`."""
    rows: int
    videos: int
    megabytes: float
    features: dict[str, int]
    """Dimension by name."""
    dropped: int
    """Rows that the ingest could not use."""


def data_sets(folder: str) -> list[Listed]:
    """The data sets at `folder`, directly in it, and one folder deeper, where splits lie."""
    return [_listed(Manifest.load(place.uri)) for place in _places(locate(folder), 2)]


def _places(place: Location, deeper: int) -> Iterator[Location]:
    if storage.exists(place / FILE):
        yield place
    elif deeper and not place.filesystem.get_file_info(place.path).is_file:
        for child in storage.children(place):
            yield from _places(child, deeper - 1)


def _listed(manifest: Manifest) -> Listed:
    return Listed(
        uri=manifest.uri,
        kind=manifest.schema.label(),
        rows=manifest.rows,
        videos=manifest.videos,
        megabytes=sum(shard.bytes for shard in manifest.shards) / 1e6,
        features={feature.name: feature.dim for feature in manifest.schema.features},
        dropped=sum(manifest.dropped.values()),
    )


def listing_table(sets: list[Listed]) -> Table:
    """One row for each data set."""
    table = blank_table("", "data set", "kind", "rows", "videos", "MB", "features", "dropped")
    for listed in sets:
        features = " ".join(f"{name}:{dim}" for name, dim in listed.features.items())
        numbers = (f"{listed.rows:,}", f"{listed.videos:,}", f"{listed.megabytes:.1f}")
        table.add_row(Text(listed.uri), listed.kind, *numbers, Text(features), f"{listed.dropped:,}")
    return table


_NOT_SHOWN = ("tokens", "candidate_tokens", "clip_key", "video_key", "caption_key", "caption_keys", "pixels", "frames")
_LONGEST = 200
"""Letters of a cell in a table."""

Row = dict[str, Any]


def shown_columns(manifest: Manifest) -> list[str]:
    """The columns whose values a reader understands: neither keys, tokens, features' values nor pictures."""
    hidden = {*_NOT_SHOWN, *(feature.name for feature in manifest.schema.features)}
    return [name for name in manifest.schema.arrow().names if name not in hidden]


def first_rows(manifest: Manifest, count: int) -> list[Row]:
    """The shown columns of the first `count` rows in file order, or of all where there are fewer. DamagedShard."""
    return list(islice(_rows(manifest), count))


def _rows(manifest: Manifest) -> Iterator[Row]:
    reader = RowGroupReader(manifest, shown_columns(manifest))
    for place in row_groups(manifest):
        columns = {name: array.to_pylist() for name, array in reader.read_arrow(place).items()}
        yield from (dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True))


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


@dataclass(frozen=True)
class Checked:
    """What reading a data set from its first to its last page found."""

    uri: str
    rows: int
    """Rows that were read."""
    row_groups: int
    faults: tuple[str, ...]
    """One line for each file or row group that cannot be read."""
    dropped: dict[str, int]
    """Rows that the ingest left out, by reason: no fault of the files."""

    def lines(self) -> list[str]:
        """For a terminal."""
        state = f"{len(self.faults)} faults" if self.faults else "as its manifest says"
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
        head = f"{self.uri}: {self.rows:,} rows in {self.row_groups:,} row groups read, {state}"
        return [
            head,
            *(f"  {fault}" for fault in self.faults),
            *([f"  dropped by the ingest: {dropped}"] if dropped else []),
        ]


def check_data(uri: str) -> list[Checked]:
    """The data set at `uri`, or each split below it. DatasetError where there is none."""
    return [check(Manifest.load(place)) for place in splits(uri).values() or [uri]]


def check(manifest: Manifest) -> Checked:
    """Read everything; what cannot be read is a fault, and the rest is read all the same."""
    faults = []
    for look in (lambda: check_files(manifest), lambda: WordTable.load(manifest)):
        try:
            look()
        except DatasetError as error:
            faults.append(str(error))
    reader, rows = RowGroupReader(manifest, manifest.schema.arrow().names), 0
    for place in row_groups(manifest):
        try:
            columns = reader.read_arrow(place)
        except DatasetError as error:
            faults.append(str(error))
        else:
            rows += len(next(iter(columns.values())))
    return Checked(manifest.uri, rows, len(row_groups(manifest)), tuple(faults), dict(manifest.dropped))
