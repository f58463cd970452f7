"""The index of a folder of videos: windows of the files, stored as pooled features and pictures in Parquet parts.

A folder is encoded file by file; every part is complete in itself, so that a killed run loses at most one, and the next
call encodes the files that are new or changed. The index is made anew of all parts, which takes seconds.
"""

import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.shards.thumbnails import Thumbnail
from vtr_core.data.sources.video_files import VideoFile
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.extraction.features import Chosen, ClipPooling, Extracted, VideoFeatures, columns
from vtr_core.extraction.outputs import Extract, Progress
from vtr_core.extraction.pictures import THUMBNAILS_PER_SECOND, thumbnails, times
from vtr_core.fingerprint import fingerprint
from vtr_core.retrieval.index.build import SHARD_ITEMS, joint_record, new_shard
from vtr_core.retrieval.index.index import CONCEPTS, Backend, PlannedIndex, Shard
from vtr_core.retrieval.index.items import Items
from vtr_core.storage import Location, StorageError, locate
from vtr_core.storage.bounded_tables import check_parquet
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import JointSpace, clip_space_of
from vtr_core.unusable import UnusableError
from vtr_core.video.decoding import located

FOLDER, RECORD = "windows", "windows.json"
PART_FILES, PART_WINDOWS = 64, 1024
"""A part is written as soon as it has so many files, or so many windows."""
GROUP_ROWS = 64
"""Rows of a row group, the unit in which pictures are read."""
_ASKED_AT_ONCE = 32
_SUFFIX = ".parquet"
_FEATURE = "feature_"
_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("uri", pa.string(), nullable=False),
        pa.field("bytes", pa.int64()),
        pa.field("changed_ns", pa.int64()),
        pa.field("start", pa.float64()),
        pa.field("end", pa.float64()),
        pa.field("jpeg", pa.binary()),
        pa.field("reason", pa.string()),
        pa.field("what", pa.string()),
    ]
)
"""Columns of a part beside features; a file that was dropped is one row, without a start and with a reason."""


@dataclass(frozen=True)
class VideoVersion:
    """A listed video file; another place, size or time of change is other content."""

    name: str
    uri: str
    bytes: int | None
    changed_ns: int | None
    """None where the file is missing or its store keeps no times."""


def versions(files: Sequence[VideoFile]) -> list[VideoVersion]:
    """The files as they are now."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
        return list(pool.map(_version, files))


def _version(file: VideoFile) -> VideoVersion:
    try:
        place = located(file.uri)
        info = place.info
    except (UnusableError, StorageError, OSError):  # its decoding tells what is wrong with it
        return VideoVersion(file.name, file.uri, None, None)
    return VideoVersion(file.name, file.uri, info.size, info.mtime_ns)


@dataclass(frozen=True)
class WindowSettings:
    """How windows are made of videos; the same for all parts."""

    chosen: tuple[Chosen, ...]
    pooling: ClipPooling
    seconds: float
    thumbnail_size: int | None
    """Pixels of a picture's longer side; None for none."""

    def __post_init__(self) -> None:
        if not 0.1 <= self.seconds <= 3600:
            raise ConfigError(f"--window is {self.seconds:g}; it must be from 0.1 to 3600 seconds")

    @property
    def recipes(self) -> tuple[Chosen, ...]:
        """The recipes of each video: features, then pictures."""
        return (*self.chosen, *(() if self.thumbnail_size is None else (thumbnails(self.thumbnail_size),)))

    def to_json(self) -> dict[str, Any]:
        """The settings by name, the recipes by fingerprint."""
        return {
            "recipes": [chosen.settings()["fingerprint"] for chosen in self.chosen],
            "pool": self.pooling.pool,
            "normalise": self.pooling.normalise,
            "window": self.seconds,
            "thumbnails": self.thumbnail_size,
        }

    def spans(self, duration: float) -> list[tuple[float, float]]:
        """Windows of equal length that cover a video, in seconds: as many as make them nearest to `seconds` long.

        One for a recipe that sees whole videos alone.
        """
        whole = any(chosen.recipe.rows_per_second is None for chosen in self.chosen)
        count = 1 if whole else max(1, int(duration / self.seconds + 0.5))
        return [(duration * number / count, duration * (number + 1) / count) for number in range(count)]

    def rows(self, video: VideoVersion, extracted: Extracted) -> list[dict[str, Any]]:
        """The rows of a video: one for each window that has any features, or one that says why it was dropped."""
        if isinstance(extracted, UnusableError):
            return [_row(video, reason=extracted.reason.value, what=str(extracted))]
        try:
            rows = [self._window(video, extracted, span) for span in self.spans(extracted.duration)]
        except UnusableError as fault:
            return [_row(video, reason=fault.reason.value, what=str(fault))]
        usable = [row for row in rows if any(name.startswith(_FEATURE) for name in row)]
        return usable or [_row(video, reason="no_frames", what=f"{video.uri} has no frame, or no sound, to encode")]

    def _window(self, video: VideoVersion, extracted: VideoFeatures, span: tuple[float, float]) -> dict[str, Any]:
        vectors = {name: self.pooling.vector(self.chosen, name, extracted, span) for name in columns(self.chosen)}
        features = {f"{_FEATURE}{name}": vector.tobytes() for name, vector in vectors.items() if vector is not None}
        jpeg, pictures = None, extracted.pictures.get(len(self.chosen))
        if pictures is not None and len(pictures):  # the one nearest to the middle
            shown = times(len(pictures), THUMBNAILS_PER_SECOND)
            jpeg = bytes(pictures[int(np.abs(shown - sum(span) / 2).argmin())])
        return _row(video, start=span[0], end=span[1], jpeg=jpeg, **features)


def _row(video: VideoVersion, **values: Any) -> dict[str, Any]:
    file = {"file": video.name, "uri": video.uri, "bytes": video.bytes, "changed_ns": video.changed_ns}
    return {**file, **values}


@dataclass(frozen=True)
class WindowStore:
    """The parts of an index."""

    location: Location

    @classmethod
    def beside(cls, index: Location) -> "WindowStore":
        """The parts of the index at `index`."""
        return cls(index / FOLDER)

    def __bool__(self) -> bool:
        """Whether there are any: an index of a data set has none."""
        return storage.exists(self.location / RECORD)

    def record(self) -> dict[str, Any]:
        """The model and the settings that the parts were begun with; DatasetError for a damaged record."""
        record = storage.read_json(self.location / RECORD)
        if not isinstance(record, dict) or not {"checkpoint", "model_fingerprint", "window"} <= record.keys():
            raise DatasetError(f"{self.location / RECORD} is damaged; delete {self.location} and run vtr index again")
        return record

    def claim(self, checkpoint: str, model_fingerprint: str, settings: WindowSettings) -> None:
        """Write the record; ConfigError where the parts were begun with another model or other settings."""
        if not self:
            values = {"checkpoint": checkpoint, "model_fingerprint": model_fingerprint, **settings.to_json()}
            storage.write_json(self.location / RECORD, values)
            return
        record, index = self.record(), self.location.parent
        if record["model_fingerprint"] != model_fingerprint:
            raise ConfigError(
                f"{index} is an index of the encoder {record['checkpoint']}, whose vectors cannot be compared with "
                f"those of {checkpoint}; leave out --encoder, or give another --out"
            )
        if record["window"] != settings.seconds:
            raise ConfigError(
                f"{index} has windows of {record['window']:g} s, not {settings.seconds:g}; leave out --window, or give "
                "another --out"
            )
        changed = [name for name, value in settings.to_json().items() if record.get(name) != value]
        if changed:
            raise ConfigError(f"{index} was made with other {' and '.join(changed)}; give another --out")

    def names(self) -> set[str]:
        """The files of all parts."""
        return set(self._known())

    def outdated(self, videos: Sequence[VideoVersion]) -> list[VideoVersion]:
        """Those of the videos that no part has as they are now."""
        known = self._known()
        return [video for video in videos if video.bytes is None or known.get(video.name) != video]

    def encode(self, videos: Sequence[VideoVersion], settings: WindowSettings, extract: Extract) -> Iterator[Progress]:
        """Encode the videos and write parts; yields the progress after each video."""
        rows: list[dict[str, Any]] = []
        progress = Progress(0, len(videos), 0, 0.0)
        files, number = 0, 1 + max((int(part.name.partition("-")[0]) for part in self.parts()), default=0)
        for position, extracted in extract([video.uri for video in videos]):
            rows += settings.rows(videos[position], extracted)
            files, progress = files + 1, progress.after(extracted)
            if files >= PART_FILES or len(rows) >= PART_WINDOWS or progress.videos == len(videos):
                self._write(number, rows)
                rows, files, number = [], 0, number + 1
            yield progress

    def keep(self, names: Collection[str]) -> None:
        """Drop the rows of files that are not among these, and of files that a later part has again."""
        listed = pa.array(sorted(names), pa.string())
        last = {file: part.name for part in self.parts() for file in _files(self._read(part, ["file"]))}
        for part in self.parts():
            files = self._read(part, ["file"]).column("file")
            later = pa.array([last[file] != part.name for file in files.to_pylist()], pa.bool_())
            self._rewrite(part, pc.and_(pc.is_in(files, value_set=listed), pc.invert(later)))

    def drop(self, ids: Collection[str]) -> None:
        """Drop windows with these ids, and all windows of files with these names."""
        for part in self.parts():
            pairs = zip(_files(self._read(part, ["file"])), self.ids(part), strict=True)
            self._rewrite(part, pa.array([file not in ids and item not in ids for file, item in pairs], pa.bool_()))

    def tables(self) -> Iterator[pa.Table]:
        """The windows of each part, with all columns but pictures."""
        for part in self.parts():
            names = self._opened(part, lambda file, _: file.schema_arrow.names)
            table = self._read(part, [name for name in names if name != "jpeg"])
            yield table.filter(pc.is_valid(table.column("start")))

    def ids(self, part: Location) -> list[str]:
        """The ids of a part's rows, see `item_ids`."""
        return item_ids(self._read(part, ["file", "start"]))

    def dropped(self) -> tuple[Counter[str], dict[str, str]]:
        """How many files were dropped by reason, and what is wrong with the first of each."""
        counts: Counter[str] = Counter()
        examples: dict[str, str] = {}
        for part in self.parts():
            table = self._read(part, ["reason", "what"])
            for reason, text in zip(*(column.to_pylist() for column in table.columns), strict=True):
                if reason is not None:
                    counts[reason] += 1
                    examples.setdefault(reason, text)
        return counts, examples

    def fingerprint(self) -> str:
        """Of the files as they were encoded, whatever the parts."""
        known = self._known()
        return fingerprint([[name, known[name].bytes, known[name].changed_ns] for name in sorted(known)])

    def _known(self) -> dict[str, VideoVersion]:
        """The files of all parts, as the last part with each has them."""
        files: dict[str, VideoVersion] = {}
        for part in self.parts():
            table = self._read(part, ["file", "uri", "bytes", "changed_ns"])
            for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
                files[values[0]] = VideoVersion(*values)
        return files

    def parts(self) -> list[Location]:
        """The parts, in the order in which they were written."""
        return [place for place in storage.children(self.location) if place.name.endswith(_SUFFIX)]

    def _write(self, number: int, rows: Sequence[Mapping[str, Any]]) -> None:
        names = sorted({name for row in rows for name in row if name.startswith(_FEATURE)})
        widths = {name: next(len(row[name]) for row in rows if name in row) for name in names}
        schema = pa.schema([*_SCHEMA, *(pa.field(name, pa.binary(widths[name])) for name in names)])
        content = _content(pa.Table.from_pylist([{**dict.fromkeys(schema.names), **row} for row in rows], schema))
        storage.write_bytes(self.location / f"{number:06d}-{sha256(content).hexdigest()[:8]}{_SUFFIX}", content)

    def _rewrite(self, part: Location, mask: pa.Array | pa.ChunkedArray) -> None:
        """The part with the rows of a mask alone; it is deleted where none are left."""
        if pc.all(mask).as_py():
            return
        if pc.any(mask).as_py():
            storage.write_bytes(part, _content(self._read(part, None).filter(mask)))
        else:
            storage.delete_file(part)

    def pictures(self, part: Location, group: int) -> pa.Table:
        """A row group of a part, with places, times and pictures."""
        return self._read(part, ["file", "uri", "start", "end", "jpeg"], group)

    def _read(self, part: Location, names: Sequence[str] | None, group: int | None = None) -> pa.Table:
        """Columns of a part (None: all), or of one of its row groups."""

        def read(file: pq.ParquetFile, source: pa.NativeFile) -> pa.Table:
            check_parquet(source, file.metadata, range(file.num_row_groups) if group is None else [group], names)
            return file.read(names) if group is None else file.read_row_group(group, names)

        return self._opened(part, read)

    def _opened(self, part: Location, use: Callable[[pq.ParquetFile, pa.NativeFile], Any]) -> Any:
        try:
            with part.open_file() as source:
                return use(pq.ParquetFile(source, page_checksum_verification=True), source)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise DatasetError(f"{part} cannot be read ({error}); delete it and run vtr index again") from error


def _content(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(
        table, sink, row_group_size=GROUP_ROWS, compression="none", write_statistics=False, write_page_checksum=True
    )
    return sink.getvalue()


def _files(table: pa.Table) -> list[str]:
    return table.column("file").to_pylist()


def item_ids(table: pa.Table) -> list[str]:
    """The ids of windows: the file's name, #, and the start in seconds; of a dropped file its name."""
    return [
        file if start is None else f"{file}#{in_seconds(start)}"
        for file, start in zip(_files(table), table.column("start").to_pylist(), strict=True)
    ]


def in_seconds(time: float) -> str:
    """A time in seconds to a millisecond, without zeros at its end."""
    return f"{time:.3f}".rstrip("0").rstrip(".")


def features_of(table: pa.Table) -> dict[str, list[np.ndarray | None]]:
    """The pooled features of windows by name; None for a window without, such as one of a silent film."""
    return {
        name.removeprefix(_FEATURE): [
            None if cell is None else np.frombuffer(cell, FEATURE_DTYPE) for cell in table.column(name).to_pylist()
        ]
        for name in table.column_names
        if name.startswith(_FEATURE)
    }


def plan_window_index(loaded: TrainedModel, store: WindowStore, videos: str, backend: Backend) -> PlannedIndex:
    """The index of all windows in `store`, of the video files that `videos` gives.

    An item is a window: its id is the file's name, # and the start in seconds; its video is the file. ConfigError for
    candidates in a space that has no inner product.
    """
    space = clip_space_of(loaded, "an index of video files")
    record = joint_record(loaded, videos, store.fingerprint(), backend)
    concepts = () if space.concept_terms(loaded) is None else loaded.concepts
    return PlannedIndex(record, _shards(loaded, space, store, backend), concepts)


def _shards(loaded: TrainedModel, space: JointSpace, store: WindowStore, backend: Backend) -> Iterator[Shard]:
    parts: list[tuple[dict[str, np.ndarray], pa.Table]] = []
    for table in store.tables():
        tensors = _tensors(loaded, space, table)
        usable = np.logical_or.reduce([tensors[name] for name in tensors if name.startswith("has_")])
        if usable.any():
            items = _items(table.filter(pa.array(usable)))
            parts.append(({name: rows[usable] for name, rows in tensors.items()}, items.table))
        if sum(len(items) for _, items in parts) >= SHARD_ITEMS:
            yield _joined(parts, backend)
            parts = []
    if parts:
        yield _joined(parts, backend)


def _joined(parts: list[tuple[dict[str, np.ndarray], pa.Table]], backend: Backend) -> Shard:
    tensors = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
    return new_shard(tensors, Items(pa.concat_tables([items for _, items in parts])), backend)


def _tensors(loaded: TrainedModel, space: JointSpace, table: pa.Table) -> dict[str, np.ndarray]:
    """The vectors of a part's windows by modality, which of them there are, and z where the model names concepts."""
    assert space.arrays is not None, "models of clips encode given features"
    stored, dims = features_of(table), loaded.config.model.inputs.features
    features = {name: stored.get(name, [None] * len(table)) for name in dims}
    encoded = space.arrays(loaded, features)
    tensors = {**encoded.vectors, **{f"has_{name}": present for name, present in encoded.present.items()}}
    terms = space.concept_terms(loaded)
    if terms is None:
        return tensors
    absent = np.zeros(dims[terms.feature], np.float16)
    values = np.stack([absent if row is None else row for row in features[terms.feature]])
    return {**tensors, CONCEPTS: terms.clips(values).astype(np.float16)}


def _items(table: pa.Table) -> Items:
    columns = {
        "item_id": pa.array(item_ids(table), pa.string()),
        "video_id": table.column("file"),
        "start": table.column("start"),
        "end": table.column("end"),
        "caption": pa.nulls(len(table), pa.string()),
    }
    return Items(pa.table(columns))


@dataclass
class WindowFrames:
    """The pictures of windows, and where they are seen, by id; parts are scanned lazily; thread-safe."""

    store: WindowStore
    _places: dict[str, tuple[Location, int]] = field(default_factory=dict)
    """Part and row of each scanned id."""
    _scanned: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def find(self, ids: Iterable[str]) -> dict[str, Thumbnail]:
        """The pictures that there are."""
        rows = self._rows(ids)
        return {
            item_id: Thumbnail(item_id, row["start"], row["end"], row["jpeg"])
            for item_id, row in rows.items()
            if row["jpeg"] is not None
        }

    def links(self, ids: Iterable[str]) -> dict[str, str]:
        """The address of each window: its file's, with the seconds from start to end as a media fragment (W3C)."""
        return {
            item_id: f"{_address(row['uri'])}#t={in_seconds(row['start'])},{in_seconds(row['end'])}"
            for item_id, row in self._rows(ids).items()
        }

    def _rows(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        distinct = dict.fromkeys(ids)
        with self._lock:
            for part in reversed(self.store.parts()):
                if distinct.keys() <= self._places.keys():
                    break
                if part.name not in self._scanned:
                    self._scanned.add(part.name)
                    for row, item_id in enumerate(self.store.ids(part)):
                        self._places.setdefault(item_id, (part, row))
            places = {item_id: self._places[item_id] for item_id in distinct if item_id in self._places}
        groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for part, row in places.values():
            group = row // GROUP_ROWS
            if (part.name, group) not in groups:
                groups[part.name, group] = self.store.pictures(part, group).to_pylist()
        return {
            item_id: groups[part.name, row // GROUP_ROWS][row % GROUP_ROWS] for item_id, (part, row) in places.items()
        }


def _address(uri: str) -> str:
    """A video's URI for a browser: that of a local file begins with file://, and its name is quoted."""
    place = locate(uri)
    return Path(place.path).absolute().as_uri() if place.is_local else uri
