"""Pairs of a table of captions and their features."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float16
from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from vtr_core.config.override import SourceSettings
from vtr_core.data.records.schema import FeatureSpec, check_feature_names
from vtr_core.data.sources.features.feature_arrays import FeatureArray, Pool, to_float16
from vtr_core.data.sources.features.feature_folder import FeatureFolder
from vtr_core.data.sources.files import IDS, LABELS, TIMES, Row, check_id, check_label, check_path, read_table
from vtr_core.data.sources.published_captions import AnnotatedVideo
from vtr_core.data.sources.source import Clip, Drops, Video, VideoEntry
from vtr_core.errors import ConfigError
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import tokenise
from vtr_core.unusable import Reason, UnusableError


def read_captions(uri: str, drops: Drops) -> list[AnnotatedVideo]:
    """The videos of the table at `uri`, a row for each caption: columns id and caption, optionally split.

    Rows of one id are the captions of one video, in their order, repeated and empty ones too, since vectors belong to
    captions by position. Durations, which the table lacks, are 0. Rows of an id that cannot name a file, or of a video
    that is in another split already, are dropped and counted. InputError for a missing or damaged table.
    """
    return _grouped(uri, ("id", "caption"), lambda name, _: check_id(name), drops)


def _grouped(uri: str, columns: Sequence[str], check: Callable[[str, str], None], drops: Drops) -> list[AnnotatedVideo]:
    """The captions of each id in the order of the table; rows that fail `check` of (id, caption) are dropped."""
    captions: dict[str, list[str]] = {}
    splits: dict[str, str | None] = {}
    for row in read_table(locate(uri), columns):
        name, caption, split = row.text("id", *IDS) or "", row.text("caption") or "", row.text("split", *IDS)
        name = name if "id" in columns else name or f"row{row.number}"
        try:
            check(name, caption)
            if split:
                check_id(split)  # it becomes a folder
            if splits.get(name, split) != split:
                message = f"{name} is in the split {splits[name]} already, and cannot be in {split}"
                raise UnusableError(Reason.SPLIT_CONFLICT, message)
        except UnusableError as fault:
            drops.drop(fault.reason, f"{row.where}: {fault}")
        else:
            splits[name] = split
            captions.setdefault(name, []).append(caption)
    return [AnnotatedVideo(name, splits[name], 0.0, tuple(texts)) for name, texts in captions.items()]


class Captions(SourceSettings):
    """The table has caption, and optionally id and split; rows with the same id are captions of the same thing.

    A data set of whole videos whose feature no video has: an epoch reads one caption of each id. Without an id each row
    is a thing of its own.
    """

    name: ClassVar[str] = "captions"

    table: str
    """CSV, TSV, JSON lines (.jsonl) or Parquet."""
    feature: str = "video"
    """The name of the feature that models of the data set read where there are videos."""
    dim: PositiveInt = 1
    """Its dimension."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """The feature that every row lacks."""
        return (FeatureSpec(self.feature, self.dim),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The ids in the order of the table; `VideoEntry.content` is the tuple of captions."""

        def check(name: str, caption: str) -> None:
            check_label(name)
            if not tokenise(caption):
                raise UnusableError(Reason.EMPTY_CAPTION, f"{name}: the caption {caption!r} holds no word")

        grouped = _grouped(self.table, ("caption",), check, drops)
        return [VideoEntry(video.video_id, video.captions, video.split) for video in grouped]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from video.content

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:  # noqa: ARG002  all sources' are called alike
        """The captions of an id, without any feature."""
        return Video(video.video_id, video.content, {})


@dataclass(frozen=True)
class PairRow:
    """A clip with one caption. `files[f]` is the path of feature f, None where the clip lacks it; times in seconds."""

    clip_id: str
    video_id: str
    split: str | None
    start: float | None
    end: float | None
    caption: str
    files: tuple[str | None, ...]
    metadata: tuple[tuple[str, str], ...] = ()
    """Name and text of every kept column."""

    @property
    def content(self) -> tuple[object, ...]:
        """The values that all rows of a clip must share."""
        return self.video_id, self.start, self.end, self.files


@dataclass
class PairRows:
    """Reads rows and detects contradictions between them."""

    columns: Sequence[str]
    keep: Sequence[str] = ()
    """Columns to keep as text."""
    anywhere: bool = False
    """Whether files may be named by absolute paths and URIs."""
    clips: dict[str, tuple[object, ...]] = field(default_factory=dict)
    captions: set[tuple[str, str]] = field(default_factory=set)
    splits: dict[str, str | None] = field(default_factory=dict)

    def read(self, row: Row) -> PairRow:
        """The row as a PairRow; UnusableError where it is invalid or contradicts an earlier one."""
        files = tuple(row.text(column, *IDS) for column in self.columns)
        clip_id = row.text("id", *IDS)
        if clip_id is None:
            raise UnusableError(Reason.UNSAFE_ID, "the id is empty; every clip needs one")
        start, end = _times(row, clip_id)
        video_id = row.text("video_id", *IDS) or clip_id
        split, caption = row.text("split", *IDS), row.text("caption") or ""
        metadata = tuple((name, row.text(name, *LABELS) or "") for name in self.keep)
        pair = PairRow(clip_id, video_id, split, start, end, caption, files, metadata)
        _check(pair, self.anywhere)
        self._check_against_others(pair)
        return pair

    def _check_against_others(self, pair: PairRow) -> None:
        if self.clips.setdefault(pair.clip_id, pair.content) != pair.content:
            message = f"{pair.clip_id} was given before with another video, time or file; an id is for one clip"
            raise UnusableError(Reason.DUPLICATE_ID, message)
        if (pair.clip_id, pair.caption) in self.captions:
            raise UnusableError(Reason.DUPLICATE_ID, f"{pair.clip_id}: the same row again")
        if self.splits.setdefault(pair.video_id, pair.split) != pair.split:
            message = f"{pair.clip_id}: its video {pair.video_id} is in the split {self.splits[pair.video_id]} already"
            raise UnusableError(Reason.SPLIT_CONFLICT, f"{message}, and cannot be in {pair.split}")
        self.captions.add((pair.clip_id, pair.caption))


def kept_columns(names: Sequence[str]) -> tuple[str, ...]:
    """`names`, under which columns of a table can be kept; ConfigError for others."""
    for name in names:
        if not name.isidentifier() or names.count(name) > 1:
            raise ConfigError(f"the column {name!r} cannot be kept; name each once, of letters, digits and _ alone")
    return tuple(names)


def _check(pair: PairRow, anywhere: bool) -> None:
    check_label(pair.clip_id)
    check_label(pair.video_id)
    if pair.split is not None:
        check_id(pair.split)  # it becomes a folder
    if not tokenise(pair.caption):
        raise UnusableError(Reason.EMPTY_CAPTION, f"{pair.clip_id}: the caption {pair.caption!r} holds no word")
    if not any(pair.files):
        raise UnusableError(Reason.NO_FEATURES, f"{pair.clip_id} names no feature file")
    for path in pair.files:
        if path is not None:
            check_label(path) if anywhere else check_path(path)


def _times(row: Row, clip_id: str) -> tuple[float | None, float | None]:
    """Start and end, both or neither."""
    cells = [row.text(name, *TIMES) for name in ("start", "end")]
    if cells == [None, None]:
        return None, None
    try:
        start, end = (float(value or "nan") for value in cells)
    except ValueError:
        start = end = math.nan
    if not (0 <= start < math.inf and 0 <= end < math.inf):
        message = (
            f"{clip_id}, from {row.get('start')} to {row.get('end')} s: times must be seconds from 0 on, or both empty"
        )
        raise UnusableError(Reason.BAD_TIME, message)
    if end <= start:
        raise UnusableError(
            Reason.END_BEFORE_START, f"{clip_id}, from {start:g} to {end:g} s: the end must come after the start"
        )
    return start, end


_OTHERS = {"id", "split"}
"""Columns of the table that hold no feature, beside those that data sets have."""


class Pairs(SourceSettings):
    """The table has id, caption, the feature columns, and optionally video_id (default: the id), start, end, split.

    Rows with the same id are captions of one clip. An empty cell is a feature that the clip does not have. Files are
    .npy: (time, …) or (dim,), the axes after the first flattened.
    """

    name: ClassVar[str] = "pairs"
    left_out_unset: ClassVar[frozenset[str]] = frozenset({"anywhere", "keep_columns"})

    table: str
    """CSV, TSV, JSON lines (.jsonl) or Parquet."""
    feature_columns: tuple[str, ...] = Field(default=("video",), min_length=1)
    """Columns with paths of feature files, for instance: video audio; they name the features too."""
    anywhere: bool = False
    """Allow absolute paths and URIs in the table."""
    root: str | None = None
    """The folder that the paths are relative to (default: the table's)."""
    fps: tuple[PositiveFloat, ...] = ()
    """Rows a second of each feature column's files: cut to start and end. Without it, a file holds just its clip."""
    pool: Pool = "mean_std"
    """How the rows of a clip become one vector."""
    normalise: bool = True
    """Scale the vector to unit length; --no-normalise: do not scale it."""

    keep_columns: tuple[str, ...] = ()
    """Columns of the table to keep as text: vtr index lists them with every item. Of a clip with several rows those of
    the first are listed."""

    @field_validator("keep_columns")
    @classmethod
    def _check_kept(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return kept_columns(names)

    @field_validator("feature_columns")
    @classmethod
    def _check_columns(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        check_feature_names(names)
        for name in names:
            if name in _OTHERS or names.count(name) > 1:
                raise ValueError(f"{name!r} cannot name a feature; give distinct columns such as video and audio")
        return names

    @model_validator(mode="after")
    def _check_fps(self) -> "Pairs":
        if len(self.fps) not in (0, len(self.feature_columns)):
            raise ValueError(f"fps needs a value for each of {', '.join(self.feature_columns)}, or none")
        return self

    def features(self) -> tuple[FeatureSpec, ...]:
        """The feature columns, with the dimensions of their first readable files."""
        return tuple(FeatureSpec(name, dim) for name, dim in self._dims.items())

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        """The videos in the order of the table; `VideoEntry.content` is a tuple of PairRow."""
        rows = PairRows(self.feature_columns, self.keep_columns, self.anywhere)
        videos: dict[str, list[PairRow]] = {}
        for row in read_table(locate(self.table), ("id", "caption", *self.feature_columns, *self.keep_columns)):
            try:
                pair = rows.read(row)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{row.where}: {fault}")
            else:
                videos.setdefault(pair.video_id, []).append(pair)
        return [VideoEntry(video, tuple(pairs), pairs[0].split) for video, pairs in videos.items()]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of `videos`."""
        for video in videos:
            yield from (pair.caption for pair in video.content)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        """One row per row of the table; a named file that is missing or damaged drops it."""
        arrays: dict[tuple[str, str], FeatureArray] = {}  # each file of the video is read once
        for pair in video.content:
            try:
                yield self._clip(pair, arrays)
            except UnusableError as fault:
                drops.drop(fault.reason, f"{pair.clip_id}: {fault}")

    def _clip(self, pair: PairRow, arrays: dict[tuple[str, str], FeatureArray]) -> Clip:
        """The row's clip; without times it is as long as its longest file, or 0 where `fps` is not known."""
        features: dict[str, Float16[np.ndarray, " dim"]] = {}
        start, lengths = pair.start or 0.0, [0.0]
        for (name, folder), path in zip(self._folders.items(), pair.files, strict=True):
            if path is None:
                continue
            if (name, path) not in arrays:
                arrays[name, path] = folder.read(path, self._dims[name])
            vector = folder.clip(path, arrays[name, path], start, pair.end if self.fps else None)
            features[name] = to_float16(vector, str(folder.file(path)))
            lengths.append(folder.duration(arrays[name, path]))
        end = pair.end if pair.end is not None else max(lengths) if self.fps else 0.0
        return Clip(pair.clip_id, start, end, pair.caption, features, dict(pair.metadata))

    @cached_property
    def _folders(self) -> dict[str, FeatureFolder]:
        root = locate(self.table).parent if self.root is None else locate(self.root)
        rates = zip(self.feature_columns, self.fps or (1.0,) * len(self.feature_columns), strict=True)
        return {name: FeatureFolder(root, self.pool, fps, self.normalise, True, self.anywhere) for name, fps in rates}

    @cached_property
    def _dims(self) -> dict[str, int]:
        return {name: folder.dim(self._paths(name)) for name, folder in self._folders.items()}

    def _paths(self, column: str) -> Iterator[str]:
        for row in read_table(locate(self.table), ("id", "caption", *self.feature_columns)):
            if path := row.text(column, *IDS):
                yield path
