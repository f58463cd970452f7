"""Data sets of whole videos with patch tokens in their frames and a vector for each caption, made without Ray."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tests.builders.toy import written
from vtr_core.data.ingest.plan import IngestOptions
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.source import Drops, Video, VideoEntry

GRID, DIM = 2, 8


@dataclass(frozen=True)
class TokenVideos:
    """Video v has v % 4 + 1 frames of a [CLS] token and 2 × 2 patches, none if in `blind`, and v % 3 + 1 captions.

    The first value of a video's tokens is v, of a caption's vector its number, everything else is fixed random noise.
    """

    num_videos: int
    blind: frozenset[int]
    short: frozenset[int]
    """Videos with a caption more than vectors."""
    name: ClassVar[str] = "tokens"

    def settings(self) -> dict[str, Any]:
        return {"num_videos": self.num_videos, "blind": sorted(self.blind), "short": sorted(self.short)}

    def features(self) -> tuple[FeatureSpec, ...]:
        return FeatureSpec("video", (1 + GRID**2) * DIM), FeatureSpec("text", DIM)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:
        return [VideoEntry(f"v{v}", v) for v in range(self.num_videos)]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        for video in videos:
            yield from self._captions(video.content)

    def video(self, video: VideoEntry, drops: Drops) -> Video:
        v = video.content
        captions = self._captions(v)
        features = {"text": text_vectors(v)[: len(captions) - (v in self.short)]}
        if v not in self.blind:
            features["video"] = frame_tokens(v)
        return Video(f"v{v}", captions, features)

    def _captions(self, v: int) -> list[str]:
        return [f"Caption number{c} of video number{v}" for c in range(v % 3 + 1)]


def frame_tokens(v: int) -> np.ndarray:
    """(frames, (1 + 2²) · 8) of a video."""
    tokens = np.random.default_rng([v, 0]).normal(size=(v % 4 + 1, 1 + GRID**2, DIM)).astype(np.float16)
    tokens[:, :, 0] = v
    return tokens.reshape(len(tokens), -1)


def text_vectors(v: int) -> np.ndarray:
    """(captions, 8) of a video."""
    vectors = np.random.default_rng([v, 1]).normal(size=(v % 3 + 1, DIM)).astype(np.float16)
    vectors[:, 0] = np.arange(len(vectors))
    return vectors


def token_videos(folder: Path, num_videos: int = 12, blind: Sequence[int] = (), short: Sequence[int] = ()) -> Manifest:
    """Ingest `TokenVideos` into `folder`, three videos in a shard."""
    source = TokenVideos(num_videos, frozenset(blind), frozenset(short))
    return written(source, folder, IngestOptions(videos_per_shard=3))[0]
