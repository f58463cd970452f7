"""The manifest of a data set: its content and shards, written last; a folder without it is no data set."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from vtr_core import storage
from vtr_core.config.data_sets import JOINED, joined, joined_uris, joined_weights
from vtr_core.config.override import record
from vtr_core.data.records.schema import Schema, read_schema
from vtr_core.errors import DatasetError, command_line
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, is_file_name, locate


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
        if shard.rows * KEY_BYTES > shard.bytes:  # plans of batches take memory by rows
            raise ValueError(f"{shard.file} has {shard.rows} rows in {shard.bytes} bytes")
        return shard


FILE = "manifest.json"
KEY_BYTES = 8
"""Of the key that every row has."""


@dataclass(frozen=True)
class VocabularyRecord:
    """The vocabulary of the `tokens` column: its files and hashes, with or without word vectors."""

    file: str
    num_words: int
    fingerprint: str
    vectors: str | None = None
    word_dim: int | None = None
    vectors_sha256: str | None = None
    """sha256 of the file of vectors; None in older data sets."""
    made: dict[str, Any] | None = None
    """Tokenisation of captions, in the form of `CaptionText`; None in older data sets."""

    def to_json(self) -> dict[str, Any]:
        """The record as stored, without what older data sets do not say."""
        later = ("vectors_sha256", "made")
        return {name: value for name, value in asdict(self).items() if value is not None or name not in later}


@dataclass(frozen=True)
class Manifest:
    """A complete data set: schema, vocabulary, shards, origin, and counts of dropped rows."""

    uri: str
    schema: Schema
    vocabulary: VocabularyRecord
    shards: tuple[Shard, ...]
    source: dict[str, Any]
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of rows in all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def videos(self) -> int:
        """The number of videos in all shards."""
        return sum(shard.videos for shard in self.shards)

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the content, independent of the location."""
        if len(joined_uris(self.uri)) > 1:
            weights = self.source.get("weights")
            parts = list(self.source["parts"].values())
            return fingerprint(parts if weights is None else {"parts": parts, "weights": weights})
        return fingerprint(self.to_json())

    @property
    def location(self) -> Location:
        """The folder of the data set; for joined data sets that of the first, whose vocabulary is common to all."""
        return locate(joined_uris(self.uri)[0])

    def place(self, shard: Shard) -> Location:
        """The location of a shard's file."""
        return self.folder(shard) / shard.file

    def folder(self, shard: Shard) -> Location:
        """The folder of a shard's files: that of its own data set, where several are joined."""
        return self.location if shard.folder is None else locate(shard.folder)

    def to_json(self) -> dict[str, Any]:
        """The manifest as stored, without its location and fingerprint."""
        return {
            **self.schema.to_json(),
            "rows": self.rows,
            "videos": self.videos,
            "vocabulary": self.vocabulary.to_json(),
            "dropped": self.dropped,
            "source": self.source,
            "shards": [shard.to_json() for shard in self.shards],
        }

    def save(self) -> None:
        """Write `manifest.json`, the last step of an ingest."""
        storage.write_json(self.location / FILE, {**self.to_json(), "fingerprint": self.fingerprint})

    @classmethod
    def load(cls, uri: str) -> "Manifest":
        """The manifest of the data set at `uri`, or of several, "A + B", concatenated; of "2 * A + B" with A twice.

        A folder with a single split stands for it: see `data_set`. Raises DatasetError where the manifest is missing or
        damaged, or several data sets are incompatible, SchemaMismatch for another kind or version.
        """
        weights = joined_weights(uri)
        if len(weights) > 1:
            return _joined([cls.load(part) for part in joined_uris(uri)], weights)
        location = locate(data_set(uri))
        value = storage.read_json(location / FILE)
        try:
            made = record(_Made, value)
            manifest = cls(
                uri=location.uri,
                schema=read_schema(value, location.uri),
                vocabulary=record(VocabularyRecord, value["vocabulary"]),
                shards=tuple(Shard.from_json(shard) for shard in value["shards"]),
                source=made.source,
                dropped=made.dropped,
            )
            matches = value.get("fingerprint") == manifest.fingerprint
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError, RecursionError) as error:
            raise DatasetError(f"{location / FILE} is damaged ({error!r}); rebuild it with vtr ingest") from error
        if not matches:
            raise DatasetError(f"{location / FILE} does not match its fingerprint; rebuild it with vtr ingest")
        _require_plain_names(manifest)
        return manifest


@dataclass(frozen=True)
class _Made:
    """The fields of a manifest on its origin."""

    source: dict[str, Any]
    dropped: dict[str, int]


def _joined(parts: list[Manifest], weights: list[int]) -> Manifest:
    """Several data sets as one, the shards of each as often as its weight says, so that each pass of an epoch over it
    has a random order of its own; a batch may have a video of a repeated data set twice.

    DatasetError unless they have the same kind of rows and the same vocabulary, and none is given twice.
    """

    def columns(part: Manifest) -> str:
        features = (f"{feature.name} ({feature.dim} values)" for feature in part.schema.features)
        return ", ".join([part.schema.label(), *features, f"{part.schema.max_words} words a caption"])

    first = parts[0]
    if len({part.uri for part in parts}) < len(parts):
        raise DatasetError(f"{JOINED.join(part.uri for part in parts)}: a data set is given twice; name it once")
    for part in parts[1:]:
        if part.schema != first.schema:
            raise DatasetError(
                f"{part.uri} has other columns than {first.uri}: {columns(part)}; there {columns(first)}: make it with "
                f"the same features and --vocabulary {first.uri}, which gives it the same length of captions, or both "
                "with one --max-words"
            )
        if part.vocabulary.fingerprint != first.vocabulary.fingerprint:
            raise DatasetError(
                f"{part.uri} has another vocabulary than {first.uri}; make it with --vocabulary {first.uri}"
            )
    repeated = [part for part, weight in zip(parts, weights, strict=True) for _ in range(weight)]
    return Manifest(
        uri=joined([part.uri for part in parts], weights),
        schema=first.schema,
        vocabulary=first.vocabulary,
        shards=tuple(replace(shard, folder=part.uri) for part in repeated for shard in part.shards),
        source={
            "adapter": "joined",
            "parts": {part.uri: part.fingerprint for part in parts},
            **({} if max(weights) == 1 else {"weights": weights}),
        },
    )


def splits(uri: str) -> dict[str, str]:
    """The data sets below a folder of splits, as {name: uri}: {"train": …, "val": …}; {} for other URIs."""
    storage.check_readable(locate(uri))
    return {child.name: child.uri for child in storage.children(locate(uri)) if storage.exists(child / FILE)}


def data_set(uri: str, split: str | None = None) -> str:
    """The URI of the data set at `uri`: `uri` itself, or, in a folder of splits, that of `split` or of the only one.

    Raises DatasetError where there is none, where its ingest was interrupted, and, with a list of the splits, where it
    is ambiguous.
    """
    location = locate(uri)
    if storage.exists(location / FILE):
        return location.uri
    inner = splits(uri)
    if storage.exists(location / "_ingest"):
        advice = "its ingest was interrupted: run the same vtr ingest command again to resume it"
    elif split in inner:
        return inner[split]
    elif len(inner) == 1:
        return next(iter(inner.values()))
    elif inner:
        advice = f"it holds splits, give one of {', '.join(inner.values())}"
    else:
        advice = f"make one with {command_line('ingest', 'SOURCE', '--out', location.uri)}"
    raise DatasetError(f"{location} is not a data set: it has no {FILE}; {advice}")


def training_sets(uri: str, validation: str | None) -> tuple[str, str | None]:
    """The training set at `uri` (of splits the one called train), and `validation`, by default the split val beside it.

    For several data sets, "2 * A + B", the default is the first one's val.
    """
    weights = joined_weights(uri)
    parts = {part: data_set(part, "train") for part in joined_uris(uri)}
    if len(parts) < len(weights):
        raise DatasetError(f"{uri}: a data set is given twice; give it a weight instead, as --data-weights 2 1")
    named_validation = None if validation is None else data_set(validation, "val")
    beside = [splits(part).get("val") for part, own in parts.items() if own != locate(part).uri]
    default = next((val for val in beside if val is not None and val not in parts.values()), None)
    return joined(list(parts.values()), weights), named_validation or default


def _require_plain_names(manifest: Manifest) -> None:
    """DatasetError for a file name that leads out of the data set's folder."""
    words = manifest.vocabulary
    beside = [shard.thumbnails.file for shard in manifest.shards if shard.thumbnails is not None]
    for name in (words.file, words.vectors or words.file, *(shard.file for shard in manifest.shards), *beside):
        if not is_file_name(name):
            raise DatasetError(f"{manifest.location / FILE} names the file {name!r}, which is not in its folder")
