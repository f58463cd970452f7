"""The data of the feeding benchmark: clips of HowTo100M's dimensions, as our shards and as raw features per video.

A few of the videos come with a feature a second in .npy files, as published loaders read them; their clips in the
shards are those features max-pooled and normalised. The other videos' clips are drawn directly. No row is constant, and
none can be compressed to speak of.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, IngestPlan, ShardTask, plan_ingest
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.errors import VtrError
from vtr_core.fingerprint import key64
from vtr_core.storage import delete_folder, locate
from vtr_core.text.tokens.vocabulary import Vocabulary

FEATURES = (FeatureSpec("video", 4096), FeatureSpec("audio", 1024))
MAX_WORDS = 20
NUM_WORDS = 10_000
NUM_CLIPS = 32
"""Of a video: as many as a batch samples of it, so that what is read is what is delivered, as in a scan."""
CLIP_SECONDS = 4
POOL_ROWS = 2048
"""Rows of standard normal values that all rows are made of: one of them, its lowest bits changed."""
LOW_BITS = 64
"""The lowest six of the mantissa's ten bits differ from row to row."""


@dataclass(frozen=True)
class FeedingClips:
    """A source of `clips` without captions that mean anything: what counts is the size of the rows."""

    num_videos: int
    num_raw: int
    """Videos, the first ones, whose clips are pooled from a feature a second."""
    seed: int = 0
    name: ClassVar[str] = "feeding"

    def settings(self) -> dict[str, Any]:
        """What the rows depend on."""
        return asdict(self)

    def features(self) -> tuple[FeatureSpec, ...]:
        """Those of the published HowTo100M features, both video streams side by side."""
        return FEATURES

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing is dropped)
        """All videos by their index."""
        return [VideoEntry(video_id(index), index) for index in range(self.num_videos)]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """Not asked for: the vocabulary is given."""
        raise NotImplementedError(f"the vocabulary of {len(videos)} videos is given")

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:  # noqa: ARG002  (nothing is dropped)
        """The clips of one video, one after another."""
        pooled, words = self.pooled(video.content), self.words(video.content)
        bounds = np.cumsum([feature.dim for feature in FEATURES])[:-1]
        for index, (row, caption) in enumerate(zip(pooled, words, strict=True)):
            values = np.split(row, bounds)
            features = {feature.name: part for feature, part in zip(FEATURES, values, strict=True)}
            start = float(index * CLIP_SECONDS)
            text = " ".join(f"w{word}" for word in caption)
            yield Clip(f"{video.video_id}_{index}", start, start + CLIP_SECONDS, text, features)

    def words(self, video: int) -> np.ndarray:
        """(clips, words): the captions' ids, from 1 on."""
        generator = np.random.default_rng([self.seed, video, 0])
        return generator.integers(1, NUM_WORDS + 1, (NUM_CLIPS, MAX_WORDS), np.int32)

    def pooled(self, video: int) -> np.ndarray:
        """(clips, values) float16: what the shards hold."""
        num_clips = len(self.words(video))
        if video >= self.num_raw:
            return self._rows(video, num_clips)
        seconds = self.seconds(video).astype(np.float32).reshape(num_clips, CLIP_SECONDS, -1)
        parts = np.split(seconds.max(axis=1), np.cumsum([feature.dim for feature in FEATURES])[:-1], axis=1)
        return np.concatenate([part / np.linalg.norm(part, axis=1, keepdims=True) for part in parts], axis=1).astype(
            np.float16
        )

    def seconds(self, video: int) -> np.ndarray:
        """(seconds, values) float16: a raw video's features, one a second."""
        return self._rows(video, len(self.words(video)) * CLIP_SECONDS)

    def _rows(self, video: int, count: int) -> np.ndarray:
        generator = np.random.default_rng([self.seed, video, 1])
        chosen = self._pool[generator.integers(POOL_ROWS, size=count)]
        chosen ^= generator.integers(LOW_BITS, size=(count, 1), dtype=np.uint16)
        return chosen.view(np.float16)

    @cached_property
    def _pool(self) -> np.ndarray:
        values = sum(feature.dim for feature in FEATURES)
        drawn = np.random.default_rng(self.seed).standard_normal((POOL_ROWS, values), np.float32)
        return drawn.astype(np.float16).view(np.uint16)


def video_id(index: int) -> str:
    """The id of a video by its index."""
    return f"v{index:06d}"


def write_shards(source: FeedingClips, folder: Path, processes: int = 2) -> Manifest:
    """Ingest `source` into `folder` as `vtr ingest` does, unless shards of the present version are there."""
    if (folder / FILE).exists():
        with suppress(VtrError):
            return Manifest.load(str(folder))
    delete_folder(locate(str(folder)))
    words = WordTable(Vocabulary(tuple(f"w{word}" for word in range(1, NUM_WORDS + 1))))
    plan = plan_ingest(source, locate(str(folder)), words, IngestOptions(max_words=MAX_WORDS))
    with ProcessPoolExecutor(processes) as pool:
        list(pool.map(_Task(plan), begin(plan)))
    return finish(plan).manifests[0]


@dataclass(frozen=True)
class _Task:
    """`do` of a plan, for other processes."""

    plan: IngestPlan

    def __call__(self, task: ShardTask) -> None:
        do(self.plan, task)


def write_raw(source: FeedingClips, folder: Path) -> None:
    """The raw videos as `<id>.<feature>.npy`, and `clips.npy` with what else a loader knows of each clip."""
    if (folder / "clips.npy").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    clips = []
    for video in range(source.num_raw):
        name, seconds = video_id(video), source.seconds(video)
        first = 0
        for feature in FEATURES:
            np.save(folder / f"{name}.{feature.name}.npy", seconds[:, first : first + feature.dim])
            first += feature.dim
        for index, words in enumerate(source.words(video)):
            start = index * CLIP_SECONDS
            keys = key64(f"{name}_{index}"), key64(name)
            clips.append((video, start, start + CLIP_SECONDS, words, *keys))
    kinds = [("video", "i4"), ("start", "i4"), ("end", "i4"), ("tokens", "i4", (MAX_WORDS,))]
    np.save(folder / "clips.npy", np.array(clips, [*kinds, ("clip_key", "i8"), ("video_key", "i8")]))


def repeated(manifest: Manifest, folder: Path, times: int) -> Manifest:
    """A data set of `times` as many shards and rows: hard links to the same files under other names.

    Rows, row groups and videos are as many as its manifest says; only the disk holds them once.
    """
    delete_folder(locate(str(folder)))  # its links may be to shards that were made again since
    folder.mkdir(parents=True)
    shards = []
    for copy in range(times):
        for shard in manifest.shards:
            name = f"copy-{copy}-{shard.file}"
            os.link(Path(manifest.location.path) / shard.file, folder / name)
            shards.append(replace(shard, file=name))
    larger = replace(manifest, uri=locate(str(folder)).uri, shards=tuple(shards))
    larger.save()
    return larger
