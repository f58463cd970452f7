"""Videos and images of a data set as tensors for evaluation, with captions and subjects."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, UInt8
from torch import Tensor

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.arrays import as_rows, means, pad, stored_videos
from vtr_core.data.records.schema import PIXEL_DTYPE, PIXELS, require_images, require_videos
from vtr_core.errors import DatasetError

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
            frames = {name: pad(cells, rows, max_frames) for name, cells in videos.frames.items()}
            yield VideoRows(
                frames={name: torch.from_numpy(padded.values) for name, padded in frames.items()},
                mask={name: torch.from_numpy(padded.mask) for name, padded in frames.items()},
                mean={name: torch.from_numpy(means(cells, rows)) for name, cells in videos.frames.items() if mean},
                present={name: torch.from_numpy(padded.lengths > 0) for name, padded in frames.items()},
                video_id=tuple(video_id[first : first + len(rows)]),
                video_key=videos.video_key[rows],
                captions=tuple(captions[caption_rows]),
                tokens=torch.from_numpy(videos.tokens.vectors[caption_rows].astype(np.int64)),
                caption_vectors=None
                if videos.caption_vectors is None
                else torch.from_numpy(videos.caption_vectors.vectors[caption_rows].copy()),
                caption_key=videos.caption_key[caption_rows],
                caption_video=np.repeat(np.arange(len(rows)), counts),
            )


_SHOWN = 3


@dataclass(frozen=True)
class ImageRows:
    """Images of row groups in file order."""

    image_id: tuple[str, ...]
    subject: tuple[str, ...]
    pixels: UInt8[Tensor, "images channels height width"]


def read_images(manifest: Manifest, places: Sequence[RowGroup]) -> ImageRows:
    """All images of the row groups `places`; SchemaMismatch for data sets of other kinds."""
    schema = require_images(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, ["image_id", "subject", PIXELS])
    ids: list[str] = []
    subjects: list[str] = []
    pixels = [np.zeros((0, schema.height * schema.width * schema.channels), PIXEL_DTYPE)]
    for place in places:
        columns = reader.read_arrow(place)
        ids += columns["image_id"].to_pylist()
        subjects += columns["subject"].to_pylist()
        pixels.append(as_rows(columns[PIXELS], PIXEL_DTYPE))
    whole = torch.from_numpy(np.concatenate(pixels)).view(-1, *schema.shape)
    return ImageRows(tuple(ids), tuple(subjects), whole.permute(0, 3, 1, 2).contiguous())


def subjects_of(manifest: Manifest) -> tuple[str, ...]:
    """The distinct subjects of a data set of images, sorted."""
    require_images(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, ["subject"])
    subjects = {name for place in row_groups(manifest) for name in reader.read_arrow(place)["subject"].to_pylist()}
    return tuple(sorted(subjects))


def require_other_subjects(manifest: Manifest, other: Manifest, roles: str) -> None:
    """DatasetError where two data sets share a subject; `roles`, such as "training and validation", is for the message.

    Verification of training subjects does not measure generalisation to unseen ones.
    """
    shared = sorted(set(subjects_of(manifest)) & set(subjects_of(other)))
    if shared:
        examples = ", ".join(shared[:_SHOWN]) + (f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else "")
        raise DatasetError(
            f"{roles} share {len(shared)} subjects: {examples} are in {manifest.uri} and in {other.uri}; "
            "split by subject, as vtr ingest faces --validation … --test … does"
        )
