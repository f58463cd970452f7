"""What a manifest records of one shard: its files with sizes and hashes, and the rows of its videos."""

from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.config.record import record


@dataclass(frozen=True)
class ThumbnailFile:
    """A Parquet file of the thumbnails of a shard's clips or videos."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Shard:
    """One Parquet file. `row_groups[g]` lists the rows of each video of row group g, in row order.

    A video has a row per clip and caption in a `clips` data set, one row in a `videos` or `steps` data set.
    """

    file: str
    rows: int
    bytes: int
    sha256: str
    footer_sha256: str
    row_groups: tuple[tuple[int, ...], ...]
    etag: str | None = None
    """ETag of the object on an S3-compatible store when it was written; not part of the fingerprint."""
    thumbnails: ThumbnailFile | None = None
    """The file of thumbnails beside the shard; None without thumbnails."""
    folder: str | None = None
    """For shards of joined data sets the URI of the shard's own data set; never stored in files."""

    @property
    def videos(self) -> int:
        """The number of videos; row groups hold whole videos, so none is counted twice."""
        return sum(len(group) for group in self.row_groups)

    def to_json(self) -> dict[str, Any]:
        """The shard as JSON, with one line of counts per row group."""
        value = {**asdict(self), "row_groups": [" ".join(map(str, group)) for group in self.row_groups]}
        return {key: held for key, held in value.items() if held is not None and key != "folder"}

    @classmethod
    def from_json(cls, value: Any) -> "Shard":
        """The inverse of `to_json`."""
        groups = tuple(tuple(int(count) for count in group.split()) for group in value["row_groups"])
        beside = value.get("thumbnails")
        thumbnails = None if beside is None else record(ThumbnailFile, beside)
        shard = record(cls, {**value, "row_groups": groups, "thumbnails": thumbnails, "folder": None})
        if shard.rows != sum(map(sum, groups)) or any(count < 1 for group in groups for count in group):
            raise ValueError(f"the row groups of {shard.file} do not make {shard.rows} rows")
        return shard
