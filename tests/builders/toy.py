"""Sources of invented clips and videos whose content tells where it came from, and data sets made without Ray."""

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
from PIL import Image

from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import AnySource, Clip, Drops, FrameClip, Video, VideoEntry
from vtr_core.storage import locate

DIM = 3


@dataclass(frozen=True)
class Toy:
    """Video v has `clips[v]` clips; clip c of it has the video feature [v, c, v + c] and every third one audio."""

    clips_of: Sequence[int] = (3, 1, 4, 2, 5)
    fail_at: frozenset[int] = field(default_factory=frozenset)
    name: ClassVar[str] = "toy"

    def settings(self) -> dict[str, Any]:
        return {"clips_of": list(self.clips_of)}

    def features(self) -> tuple[FeatureSpec, ...]:
        return FeatureSpec("video", DIM), FeatureSpec("audio", 2)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(f"v{i}", i) for i in range(len(self.clips_of))]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield f"video number{video.content}"

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:
        v = video.content
        if v in self.fail_at:
            drops.drop("unreadable_file", f"v{v} cannot be read", self.clips_of[v])
            return
        for c in range(self.clips_of[v]):
            features: dict[str, np.ndarray] = {"video": np.array([v, c, v + c], np.float16)}
            if c % 3 == 0:
                features["audio"] = np.array([c, 1], np.float16)
            yield Clip(f"v{v}:{c}", float(c), c + 1.0, f"video number{v}", features)


@dataclass(frozen=True)
class ToyVideos:
    """Video v has `frames_of[v]` frames, frame t of it [v, t, v + t], v + 1 captions, and every third one audio."""

    frames_of: Sequence[int] = (3, 1, 4, 0, 5)
    fail_at: frozenset[int] = field(default_factory=frozenset)
    prefix: str = "v"
    name: ClassVar[str] = "toy"

    def settings(self) -> dict[str, Any]:
        return {"frames_of": list(self.frames_of)}

    def features(self) -> tuple[FeatureSpec, ...]:
        return FeatureSpec("video", DIM), FeatureSpec("audio", 2)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(f"{self.prefix}{v}", v) for v in range(len(self.frames_of))]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield from self._captions(video.content)

    def video(self, video: VideoEntry, drops: Drops) -> Video | None:
        v = video.content
        if v in self.fail_at:
            drops.drop("unreadable_file", f"v{v} cannot be read")
            return None
        features: dict[str, np.ndarray] = {}
        if self.frames_of[v]:
            features["video"] = np.array([[v, t, v + t] for t in range(self.frames_of[v])], np.float16)
        if v % 3 == 0:
            features["audio"] = np.full((2, 2), v, np.float16)
        return Video(f"{self.prefix}{v}", self._captions(v), features)

    def _captions(self, v: int) -> list[str]:
        return [f"Caption number{c} of video number{v}" for c in range(v + 1)]


@dataclass(frozen=True)
class ToyFrames:
    """Video v has `clips_of[v]` clips; clip c of it has c + 1 frames, each of one colour, and v % 3 + 1 captions."""

    clips_of: Sequence[int] = (3, 1, 4, 2, 5)
    bad: frozenset[str] = field(default_factory=frozenset)
    """Clips whose last frame is none."""
    name: ClassVar[str] = "toy"

    def settings(self) -> dict[str, Any]:
        return {"clips_of": list(self.clips_of)}

    def features(self) -> tuple[FeatureSpec, ...]:
        return ()

    def pictures(self) -> tuple[int, int]:
        return 8, 16

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(f"v{v}", v) for v in range(len(self.clips_of))]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield from toy_captions(video.content)

    def frame_clips(self, video: VideoEntry, drops: Drops) -> Iterator[FrameClip]:
        v = video.content
        for c in range(self.clips_of[v]):
            frames = [_jpeg(np.full((8, 16, 3), toy_colour(v, c, t), np.uint8)) for t in range(c + 1)]
            if f"v{v}:{c}" in self.bad:
                frames[-1] = b"no picture"
            times = [c + t / 100 for t in range(c + 1)]
            yield FrameClip(f"v{v}:{c}", float(c), c + 1.0, toy_captions(v), times, frames)


def toy_captions(v: int) -> list[str]:
    """Those of each clip of video v."""
    return [f"Caption number{c} of video number{v}" for c in range(v % 3 + 1)]


def toy_colour(v: int, c: int, t: int) -> tuple[int, int, int]:
    """Of all pixels of frame t of clip c of video v."""
    return 40 + 37 * v % 200, 60 + 20 * c, 60 + 20 * t


def _jpeg(pixels: np.ndarray) -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG", quality=100)
    return content.getvalue()


def toy_dataset(
    folder: Path,
    clips_of: Sequence[int] = (3, 1, 4, 2, 5),
    splits: Mapping[str, float] | None = None,
    videos_per_shard: int = 2,
) -> list[Manifest]:
    """Ingest a `Toy` into `folder`, one shard after another."""
    return written(Toy(tuple(clips_of)), folder, IngestOptions(splits=splits or {}, videos_per_shard=videos_per_shard))


def toy_videos(folder: Path, frames_of: Sequence[int] = (3, 1, 4, 0, 5), videos_per_shard: int = 2) -> Manifest:
    """Ingest `ToyVideos` into `folder`."""
    return written(ToyVideos(tuple(frames_of)), folder, IngestOptions(videos_per_shard=videos_per_shard))[0]


def written(
    source: AnySource,
    folder: Path,
    options: IngestOptions,
    words: WordTable | None = None,
    word_vectors: str | None = None,
) -> list[Manifest]:
    """Ingest `source` into `folder`, one shard after another."""
    plan = plan_ingest(source, locate(str(folder)), words, options, word_vectors)
    for task in begin(plan):
        do(plan, task)
    return list(finish(plan).manifests)


def damage(manifest: Manifest, place: RowGroup, column: str = "video") -> None:
    """Change one byte of a column of a row group."""
    path = Path(manifest.location.path) / manifest.shards[place.shard].file
    group = pq.read_metadata(path).row_group(place.index)
    (chunk,) = (group.column(i) for i in range(group.num_columns) if group.column(i).path_in_schema == column)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 4
    path.write_bytes(content)
