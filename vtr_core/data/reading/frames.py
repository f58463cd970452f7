"""Videos of a `videos` data set with all their captions, for evaluation; frames are read once per video."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.frames import means, pad
from vtr_core.data.records.required_kind import require_videos
from vtr_core.data.records.stored_videos import StoredVideos, stored_videos

MAX_VIDEOS = 128
"""Videos padded together; padding a row group of short videos and a long one would take many times its size."""


@dataclass(frozen=True)
class VideoRows:
    """Consecutive videos of a row group, in file order, and all their captions, video by video.

    Frames, mask, mean and present are as in `FrameBatch`, with a row for each video. Captions have separate rows:
    caption c belongs to video `caption_video[c]`, a position among these videos.
    """

    frames: dict[str, Float[Tensor, "videos _ _"]]
    """Frames by feature, (videos, frames, dim) float16."""
    mask: dict[str, Bool[Tensor, "videos _"]]
    mean: dict[str, Float[Tensor, "videos _"]]
    """Mean of all frames by feature, (videos, dim) float32; empty where it was not asked for."""
    present: dict[str, Bool[Tensor, " videos"]]
    video_id: tuple[str, ...]
    video_key: Int64[np.ndarray, " videos"]
    captions: tuple[str, ...]
    """The original texts, for models with another vocabulary."""
    tokens: Int64[Tensor, "captions max_words"]
    """Tokens of the data set's vocabulary."""
    caption_vectors: Float[Tensor, "captions dim"] | None
    """The feature `text`, float16; None where it was not read."""
    caption_key: Int64[np.ndarray, " captions"]
    caption_video: Int64[np.ndarray, " captions"]


def video_rows(
    manifest: Manifest,
    places: Sequence[RowGroup],
    max_frames: int,
    max_videos: int = MAX_VIDEOS,
    features: Collection[str] | None = None,
    mean: bool = True,
) -> Iterator[VideoRows]:
    """All videos of the row groups `places`, in order, at most `max_videos` together.

    features: those that are read; None: all of the data set. Frames are the first `max_frames` of each video; with
    `mean` also the mean of all. Raises DamagedShard, and SchemaMismatch for data sets of other kinds.
    """
    schema = require_videos(manifest.schema, manifest.uri)
    names = [feature.name for feature in schema.features if features is None or feature.name in features]
    reader = RowGroupReader(manifest, [*names, "video_id", "video_key", "captions", "caption_keys", "tokens"])
    for place in places:
        columns = reader.read_arrow(place)
        videos = stored_videos(columns, schema)
        captions, video_id = columns["captions"].flatten().to_pylist(), columns["video_id"].to_pylist()
        for first in range(0, len(video_id), max_videos):
            rows = np.arange(first, min(first + max_videos, len(video_id)))
            counts = videos.tokens.counts[rows]
            caption_rows = slice(int(videos.first_caption[first]), int(videos.first_caption[first] + counts.sum()))
            kept = {name: pad(cells, rows, max_frames) for name, cells in videos.frames.items()}
            yield VideoRows(
                frames={name: torch.from_numpy(padded.values) for name, padded in kept.items()},
                mask={name: torch.from_numpy(padded.mask) for name, padded in kept.items()},
                mean={name: torch.from_numpy(means(cells, rows)) for name, cells in videos.frames.items() if mean},
                present={name: torch.from_numpy(padded.kept > 0) for name, padded in kept.items()},
                video_id=tuple(video_id[first : first + len(rows)]),
                video_key=videos.video_key[rows],
                captions=tuple(captions[caption_rows]),
                tokens=torch.from_numpy(videos.tokens.vectors[caption_rows].astype(np.int64)),
                caption_vectors=_vectors(videos, caption_rows),
                caption_key=videos.caption_key[caption_rows],
                caption_video=np.repeat(np.arange(len(rows)), counts),
            )


def _vectors(videos: StoredVideos, caption_rows: slice) -> Float[Tensor, "captions dim"] | None:
    vectors = videos.caption_vectors
    return None if vectors is None else torch.from_numpy(vectors.vectors[caption_rows].copy())
