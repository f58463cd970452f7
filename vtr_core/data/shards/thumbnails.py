"""Thumbnails of a data set: small JPEGs in files beside the shards, which training never reads."""

import base64
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.data.manifest import Manifest, ThumbnailFile
from vtr_core.errors import DatasetError
from vtr_core.storage import Location
from vtr_core.storage.bounded_tables import check_parquet


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG file, and the span in seconds from whose middle it is taken."""

    item_id: str
    """The clip's id; for whole videos the video's id."""
    start: float
    end: float
    jpeg: bytes

    @property
    def href(self) -> str:
        """The thumbnail as a data URI."""
        return f"data:image/jpeg;base64,{base64.b64encode(self.jpeg).decode()}"


SUFFIX = ".thumbnails"
_GROUP_ROWS = 64
"""Rows of a row group, the unit of reading."""
_LAYOUT = {"compression": "none", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True}
_SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("start", pa.float64(), nullable=False),
        pa.field("end", pa.float64(), nullable=False),
        pa.field("jpeg", pa.binary(), nullable=False),
    ]
)


def write_thumbnails(location: Location, thumbnails: Sequence[Thumbnail]) -> ThumbnailFile:
    """Write the thumbnails of one shard to `location`."""
    rows = [{"id": t.item_id, "start": t.start, "end": t.end, "jpeg": t.jpeg} for t in thumbnails]
    content = io.BytesIO()
    with pq.ParquetWriter(content, _SCHEMA, **_LAYOUT) as file:
        file.write_table(pa.Table.from_pylist(rows, _SCHEMA), row_group_size=_GROUP_ROWS)
    whole = content.getvalue()
    storage.write_bytes(location, whole)
    return ThumbnailFile(location.name, len(whole), hashlib.sha256(whole).hexdigest())


@dataclass
class Thumbnails:
    """The thumbnails of a data set by id; files are scanned lazily; thread-safe."""

    manifest: Manifest
    _places: dict[str, tuple[Location, int]] = field(default_factory=dict)
    """File and row of each scanned id."""
    _looked_through: int = 0
    _lock: Lock = field(default_factory=Lock)

    def __bool__(self) -> bool:
        """Whether the data set has thumbnails."""
        return any(shard.thumbnails for shard in self.manifest.shards)

    def find(self, ids: Iterable[str]) -> dict[str, Thumbnail]:
        """The existing thumbnails of some ids; DatasetError where a file is missing or damaged."""
        items = dict.fromkeys(ids)
        with self._lock:
            files = self._files()
            while self._looked_through < len(files) and not items.keys() <= self._places.keys():
                file = files[self._looked_through]
                for row, item_id in enumerate(self._table(file, None, ["id"])["id"].to_pylist()):
                    self._places.setdefault(item_id, (file, row))
                self._looked_through += 1
        by_file: dict[str, tuple[Location, list[int]]] = {}
        for file, row in (self._places[item_id] for item_id in items if item_id in self._places):
            by_file.setdefault(file.uri, (file, []))[1].append(row)
        return {thumbnail.item_id: thumbnail for file, rows in by_file.values() for thumbnail in self._read(file, rows)}

    def _files(self) -> list[Location]:
        """The files of thumbnails, each once, in the folders of their shards; the last first, as a later one of joined
        data sets replaces an item of an earlier one (`vtr index --add`)."""
        shards = reversed(self.manifest.shards)
        files = [self.manifest.folder(shard) / shard.thumbnails.file for shard in shards if shard.thumbnails]
        return list({place.uri: place for place in files}.values())

    def _read(self, file: Location, rows: Sequence[int]) -> Iterator[Thumbnail]:
        for group in sorted({row // _GROUP_ROWS for row in rows}):
            table = self._table(file, group, _SCHEMA.names).to_pylist()
            for row in rows:
                if row // _GROUP_ROWS == group:
                    cells = table[row % _GROUP_ROWS]
                    yield Thumbnail(cells["id"], cells["start"], cells["end"], cells["jpeg"])

    def _table(self, place: Location, group: int | None, columns: Sequence[str]) -> Any:
        try:
            with place.open_file() as source:
                file = pq.ParquetFile(source, page_checksum_verification=True)
                groups = range(file.num_row_groups) if group is None else [group]
                check_parquet(source, file.metadata, groups, columns)
                return file.read(columns) if group is None else file.read_row_group(group, columns)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise DatasetError(f"{place} cannot be read ({error}); restore or rebuild the data set") from error
