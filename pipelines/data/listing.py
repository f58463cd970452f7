"""The data sets below a folder."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from pipelines.report.blank_table import blank_table
from vtr_core import storage
from vtr_core.data.manifest import FILE, Manifest
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

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def data_sets(folder: str) -> list[Listed]:
    """The data sets at `folder`, directly in it, and one folder deeper, where splits lie."""
    return [_listed(Manifest.load(place.uri)) for place in _places(locate(folder), 2)]


def _places(place: Location, deeper: int) -> Iterator[Location]:
    if storage.exists(place / FILE):
        yield place
    elif deeper and not _is_file(place):
        for child in storage.children(place):
            yield from _places(child, deeper - 1)


def _is_file(place: Location) -> bool:
    info = place.filesystem.get_file_info(place.path)
    return bool(info.is_file)


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


def listing_table(found: list[Listed]) -> Table:
    """One row for each data set."""
    table = blank_table("", "data set", "kind", "rows", "videos", "MB", "features", "dropped")
    for one in found:
        features = " ".join(f"{name}:{dim}" for name, dim in one.features.items())
        numbers = (f"{one.rows:,}", f"{one.videos:,}", f"{one.megabytes:.1f}")
        table.add_row(Text(one.uri), one.kind, *numbers, Text(features), f"{one.dropped:,}")
    return table
