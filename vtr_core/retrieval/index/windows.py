"""Windows of video files beside their index: the pooled features and a picture of each, in Parquet parts.

A folder of videos is encoded file by file; every part is complete in itself, so that a killed run loses at most one,
and the next call encodes the files that are new or changed. The index is made anew of all parts, which takes seconds.
"""

import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vtr_core import storage
from vtr_core.data.records.schema import FEATURE_DTYPE
from vtr_core.data.sources.video_files import VideoFile
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.extraction.features import ClipPooling, Extracted, VideoFeatures
from vtr_core.extraction.networks import Chosen, columns
from vtr_core.extraction.outputs import Extract, Progress
from vtr_core.extraction.pictures import THUMBNAILS_PER_SECOND, thumbnails, times
from vtr_core.fingerprint import fingerprint
from vtr_core.storage import Location, StorageError
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
        info = place.filesystem.get_file_info(place.path)
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
    def asked(self) -> tuple[Chosen, ...]:
        """The recipes of each video: features, then pictures."""
        return (*self.chosen, *(() if self.thumbnail_size is None else (thumbnails(self.thumbnail_size),)))

    def to_json(self) -> dict[str, Any]:
        """The settings by name, the recipes by fingerprint."""
        return {
            "recipes": [one.settings()["fingerprint"] for one in self.chosen],
            "pool": self.pooling.pool,
            "normalise": self.pooling.normalise,
            "window": self.seconds,
            "thumbnails": self.thumbnail_size,
        }

    def spans(self, duration: float) -> list[tuple[float, float]]:
        """Windows of equal length that cover a video, in seconds: as many as make them nearest to `seconds` long.

        One for a recipe that sees whole videos alone.
        """
        whole = any(one.recipe.rows_per_second is None for one in self.chosen)
        count = 1 if whole else max(1, int(duration / self.seconds + 0.5))
        return [(duration * number / count, duration * (number + 1) / count) for number in range(count)]

    def rows(self, video: VideoVersion, found: Extracted) -> list[dict[str, Any]]:
        """The rows of a video: one for each window that has any features, or one that says why it was dropped."""
        if isinstance(found, UnusableError):
            return [_row(video, reason=found.reason.value, what=str(found))]
        try:
            rows = [self._window(video, found, span) for span in self.spans(found.duration)]
        except UnusableError as fault:
            return [_row(video, reason=fault.reason.value, what=str(fault))]
        kept = [row for row in rows if any(name.startswith(_FEATURE) for name in row)]
        return kept or [_row(video, reason="no_frames", what=f"{video.uri} has no frame, or no sound, to encode")]

    def _window(self, video: VideoVersion, found: VideoFeatures, span: tuple[float, float]) -> dict[str, Any]:
        vectors = {name: self.pooling.vector(self.chosen, name, found, span) for name in columns(self.chosen)}
        held = {f"{_FEATURE}{name}": vector.tobytes() for name, vector in vectors.items() if vector is not None}
        return _row(video, start=span[0], end=span[1], jpeg=self._picture(found, span), **held)

    def _picture(self, found: VideoFeatures, span: tuple[float, float]) -> bytes | None:
        """The picture nearest to the middle of a window."""
        pictures = found.pictures.get(len(self.chosen))
        if pictures is None or not len(pictures):
            return None
        shown = times(len(pictures), THUMBNAILS_PER_SECOND)
        return bytes(pictures[int(np.abs(shown - sum(span) / 2).argmin())])


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
        found = storage.read_json(self.location / RECORD)
        if not isinstance(found, dict) or not {"checkpoint", "model_fingerprint", "window"} <= found.keys():
            raise DatasetError(f"{self.location / RECORD} is damaged; delete {self.location} and run vtr index again")
        return found

    def claim(self, checkpoint: str, model_fingerprint: str, settings: WindowSettings) -> None:
        """Write the record; ConfigError where the parts were begun with another model or other settings."""
        asked = {"checkpoint": checkpoint, "model_fingerprint": model_fingerprint, **settings.to_json()}
        if not self:
            storage.write_json(self.location / RECORD, asked)
            return
        held, index = self.record(), self.location.parent
        if held["model_fingerprint"] != model_fingerprint:
            raise ConfigError(
                f"{index} is an index of the encoder {held['checkpoint']}, whose vectors cannot be compared with those "
                f"of {checkpoint}; leave out --encoder, or give another --out"
            )
        if held["window"] != settings.seconds:
            raise ConfigError(
                f"{index} has windows of {held['window']:g} s, not {settings.seconds:g}; leave out --window, or give "
                "another --out"
            )
        other = [name for name, value in settings.to_json().items() if held.get(name) != value]
        if other:
            raise ConfigError(f"{index} was made with other {' and '.join(other)}; give another --out")

    def names(self) -> set[str]:
        """The files of all parts."""
        return set(self._known())

    def outdated(self, videos: Sequence[VideoVersion]) -> list[VideoVersion]:
        """Those of the videos that no part has as they are now."""
        known = self._known()
        return [video for video in videos if video.bytes is None or known.get(video.name) != video]

    def encode(self, videos: Sequence[VideoVersion], settings: WindowSettings, extract: Extract) -> Iterator[Progress]:
        """Encode the videos and write parts; yields the progress after each video."""
        held: list[dict[str, Any]] = []
        progress = Progress(0, len(videos), 0, 0.0)
        files, number = 0, 1 + max((int(part.name.partition("-")[0]) for part in self.parts()), default=0)
        for position, found in extract([video.uri for video in videos]):
            held += settings.rows(videos[position], found)
            files, progress = files + 1, progress.after(found)
            if files >= PART_FILES or len(held) >= PART_WINDOWS or progress.videos == len(videos):
                self._write(number, held)
                held, files, number = [], 0, number + 1
            yield progress

    def keep(self, names: Collection[str]) -> None:
        """Drop the rows of files that are not among these, and of files that a later part has again."""
        kept = pa.array(sorted(names), pa.string())
        last = self._last()
        for part in self.parts():
            files = self._read(part, ["file"]).column("file")
            later = pa.array([last[file] != part.name for file in files.to_pylist()], pa.bool_())
            self._rewrite(part, pc.and_(pc.is_in(files, value_set=kept), pc.invert(later)))

    def drop(self, ids: Collection[str]) -> None:
        """Drop windows with these ids, and all windows of files with these names."""
        for part in self.parts():
            files = _files(self._read(part, ["file"]))
            gone = [file in ids or item in ids for file, item in zip(files, self.ids(part), strict=True)]
            self._rewrite(part, pa.array([not one for one in gone], pa.bool_()))

    def tables(self) -> Iterator[pa.Table]:
        """The windows of each part, with all columns but pictures."""
        for part in self.parts():
            names = self._opened(part, lambda file: file.schema_arrow.names)
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
            for reason, what in zip(*(column.to_pylist() for column in table.columns), strict=True):
                if reason is not None:
                    counts[reason] += 1
                    examples.setdefault(reason, what)
        return counts, examples

    def fingerprint(self) -> str:
        """Of the files as they were encoded, whatever the parts."""
        known = self._known()
        return fingerprint([[name, known[name].bytes, known[name].changed_ns] for name in sorted(known)])

    def _known(self) -> dict[str, VideoVersion]:
        """The files of all parts, as the last part with each has them."""
        found: dict[str, VideoVersion] = {}
        for part in self.parts():
            table = self._read(part, ["file", "uri", "bytes", "changed_ns"])
            for values in zip(*(column.to_pylist() for column in table.columns), strict=True):
                found[values[0]] = VideoVersion(*values)
        return found

    def _last(self) -> dict[str, str]:
        """The name of the last part that has a file."""
        return {file: part.name for part in self.parts() for file in _files(self._read(part, ["file"]))}

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
        return self._opened(part, lambda file: file.read_row_group(group, ["file", "uri", "start", "end", "jpeg"]))

    def _read(self, part: Location, names: Sequence[str] | None) -> pa.Table:
        return self._opened(part, lambda file: file.read(names))

    def _opened(self, part: Location, use: Callable[[pq.ParquetFile], Any]) -> Any:
        try:
            with part.filesystem.open_input_file(part.path) as source:
                return use(pq.ParquetFile(source, page_checksum_verification=True))
        except (OSError, pa.ArrowException) as error:
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
