"""Clips with captions for benchmarks of many rows: cheap to make, and a model can learn what belongs together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32

from vtr_core.data.ingest.ingest import begin, do, finish
from vtr_core.data.ingest.plan import IngestOptions, plan_ingest
from vtr_core.data.manifest import FILE, Manifest
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.shards.word_table import WordTable
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

NUM_WORDS, WORDS, CLIPS, DIM = 400, 6, 128, 32
"""Words of the world and of a caption, clips of a video, and values of a clip's one feature, `video`."""
_CLIP_S, _NOISE = 4.0, 0.5
_VIDEOS_PER_SHARD = 64


@dataclass(frozen=True)
class MadeClips:
    """A source of videos of CLIPS clips: a clip's feature is the sum of its words' vectors with noise."""

    num_videos: int
    seed: int = 0
    """Of the clips; words mean the same for every seed."""
    name: ClassVar[str] = "made"

    def settings(self) -> dict[str, Any]:
        """What the rows depend on."""
        return asdict(self)

    def features(self) -> tuple[FeatureSpec, ...]:
        """One feature."""
        return (FeatureSpec("video", DIM),)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing is dropped)
        """All videos by their index."""
        return [VideoEntry(f"v{index:06d}", index) for index in range(self.num_videos)]

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """Not asked for: the vocabulary is given."""
        raise NotImplementedError(f"the vocabulary of {len(videos)} videos is given")

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:  # noqa: ARG002  (nothing is dropped)
        """The clips of one video."""
        generator = np.random.default_rng([self.seed, video.content])
        words = generator.integers(NUM_WORDS, size=(CLIPS, WORDS))
        noise = _NOISE * generator.standard_normal((CLIPS, DIM), np.float32)
        rows = (self._meanings[words].mean(axis=1) * np.sqrt(WORDS) + noise).astype(np.float16)
        for index, (row, said) in enumerate(zip(rows, words.tolist(), strict=True)):
            start, text = index * _CLIP_S, " ".join(f"w{word}" for word in said)
            yield Clip(f"{video.video_id}_{index:03d}", start, start + _CLIP_S, text, {"video": row})

    @cached_property
    def _meanings(self) -> Float32[np.ndarray, "words dim"]:
        return np.random.default_rng(0).standard_normal((NUM_WORDS, DIM), np.float32)


def write_clips(folder: Path, clips: int, seed: int = 0) -> Manifest:
    """A data set of at least so many clips in `folder`, unless one is there already."""
    if (folder / FILE).exists():
        return Manifest.load(str(folder))
    source = MadeClips(-(-clips // CLIPS), seed)
    words = WordTable(Vocabulary(tuple(f"w{word}" for word in range(NUM_WORDS))))
    options = IngestOptions(max_words=WORDS, videos_per_shard=_VIDEOS_PER_SHARD)
    plan = plan_ingest(source, locate(str(folder)), words, options)
    for task in begin(plan):
        do(plan, task)
    return finish(plan).manifests[0]
