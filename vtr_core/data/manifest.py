"""The manifest: what a data set holds, written last, so that a folder without it is not a data set."""

from dataclasses import asdict, dataclass, field
from typing import Any

from vtr_core import storage
from vtr_core.data.schema import Schema, read_schema, require_clips
from vtr_core.errors import DatasetError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, locate

FILE = "manifest.json"


@dataclass(frozen=True)
class Shard:
    """One Parquet file. `row_groups[g]` lists the rows of each video of row group g, in row order.

    A video of a `clips` data set has a row per clip and caption, a video of a `videos` or `steps` data set has one.
    """

    file: str
    rows: int
    bytes: int
    sha256: str
    row_groups: tuple[tuple[int, ...], ...]

    @property
    def videos(self) -> int:
        """Videos in the shard; a row group holds whole videos, so none is counted twice."""
        return sum(len(group) for group in self.row_groups)

    def to_json(self) -> dict[str, Any]:
        """The shard as JSON, with one line of counts per row group."""
        return {**asdict(self), "row_groups": [" ".join(map(str, group)) for group in self.row_groups]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Shard":
        """The shard that `to_json` wrote."""
        groups = tuple(tuple(int(count) for count in group.split()) for group in value["row_groups"])
        return cls(**{**value, "row_groups": groups})


@dataclass(frozen=True)
class VocabularyRecord:
    """The vocabulary of the `tokens` column: where it is, and whether it comes with vectors."""

    file: str
    num_words: int
    fingerprint: str
    vectors: str | None = None
    word_dim: int | None = None


@dataclass(frozen=True)
class Manifest:
    """A complete data set: schema, vocabulary, shards, where it came from and what was dropped on the way."""

    uri: str
    schema: Schema
    vocabulary: VocabularyRecord
    shards: tuple[Shard, ...]
    source: dict[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows in all shards: clips and captions, or whole videos."""
        return sum(shard.rows for shard in self.shards)

    @property
    def videos(self) -> int:
        """Videos in all shards."""
        return sum(shard.videos for shard in self.shards)

    @property
    def fingerprint(self) -> str:
        """sha256 of the content: equal for equal data sets wherever they lie."""
        return fingerprint({key: value for key, value in self.to_json().items() if key != "fingerprint"})

    @property
    def location(self) -> Location:
        """The folder of the data set."""
        return locate(self.uri)

    def require_clips(self) -> "Manifest":
        """This data set, if it is one of clips; SchemaMismatch, with the remedy, for any other kind."""
        require_clips(self.schema, self.uri)
        return self

    def to_json(self) -> dict[str, Any]:
        """The manifest as it is written, without the place where it lies and without its own fingerprint."""
        return {
            **self.schema.to_json(),
            "rows": self.rows,
            "videos": self.videos,
            "vocabulary": asdict(self.vocabulary),
            "dropped": self.dropped,
            "source": self.source,
            "shards": [shard.to_json() for shard in self.shards],
        }

    def save(self) -> None:
        """Write `manifest.json`; the last act of an ingest."""
        storage.write_json(self.location / FILE, {**self.to_json(), "fingerprint": self.fingerprint})

    @classmethod
    def load(cls, uri: str) -> "Manifest":
        """The manifest of the data set at `uri`.

        Raises DatasetError where there is none or it is damaged, SchemaMismatch for another kind or version.
        """
        location = locate(uri)
        if not storage.exists(location / FILE):
            raise DatasetError(f"{location} is not a data set: it has no {FILE}{_advice(location)}")
        value = storage.read_json(location / FILE)
        try:
            manifest = cls._from_json(location.uri, value)
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError) as error:
            raise DatasetError(f"{location / FILE} is damaged ({error!r}); rebuild it with vtr ingest") from error
        if value.get("fingerprint") != manifest.fingerprint:
            raise DatasetError(f"{location / FILE} does not match its fingerprint; rebuild it with vtr ingest")
        return manifest

    @classmethod
    def _from_json(cls, uri: str, value: dict[str, Any]) -> "Manifest":
        return cls(
            uri=uri,
            schema=read_schema(value, uri),
            vocabulary=VocabularyRecord(**value["vocabulary"]),
            shards=tuple(Shard.from_json(record) for record in value["shards"]),
            source=value["source"],
            dropped=value["dropped"],
        )


def splits(uri: str) -> dict[str, str]:
    """The data sets below a folder of splits, as {name: uri}: {"train": …, "val": …}; {} for anything else."""
    return {child.name: child.uri for child in storage.children(locate(uri)) if storage.exists(child / FILE)}


def _advice(location: Location) -> str:
    inner = splits(location.uri)
    if inner:
        return f"; it holds splits, give one of {', '.join(inner.values())}"
    if storage.exists(location / "_ingest"):
        return "; its ingest was interrupted: run the same vtr ingest command again to resume it"
    return "; make one with vtr ingest <source> … --out " + location.uri
