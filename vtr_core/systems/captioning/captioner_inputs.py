"""Videos of a data set or a table as a captioner takes them, with their reference captions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import centre
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS, VideoRows, video_rows
from vtr_core.data.reading.stored_rows import PictureRows, picture_rows
from vtr_core.data.records.schema import FRAMES, require_frames
from vtr_core.embedding.embedded_rows import check_frames
from vtr_core.errors import DatasetError
from vtr_core.systems.captioning.config import CaptionerConfig


def column(config: CaptionerConfig) -> tuple[str, int]:
    """The column of the table, and the number of values of a frame."""
    if config.backbone is not None:
        return FRAMES, config.backbone.image_size**2 * 3
    return config.feature, config.inputs.features.get(config.feature, 1)  # a preset without data has a page, too


def as_given(
    frames: Float[Tensor, "videos frames values"], config: CaptionerConfig
) -> Shaped[Tensor, "videos frames *values"]:
    """What `Captioner.video_tokens` takes; pixels are numbers from 0 to 255, row by row, red, green and blue."""
    if config.backbone is None:
        return frames
    size = config.backbone.image_size
    return frames.round().clamp(0, 255).byte().unflatten(2, (size, size, 3)).permute(0, 1, 4, 2, 3)


@dataclass(frozen=True)
class CaptionerRows:
    """Consecutive videos of a data set; clips of a data set of frames."""

    frames: Shaped[Tensor, "videos frames *values"]
    """Vectors (videos, frames, dim), or pixels (videos, frames, 3, height, width) uint8."""
    mask: Bool[Tensor, "videos frames"]
    names: tuple[str, ...]
    """Ids of videos or clips."""
    references: tuple[tuple[str, ...], ...]


def check_data(manifest: Manifest, config: CaptionerConfig) -> None:
    """DatasetError unless the data set has the captioner's feature, or frames that are large enough."""
    if config.backbone is None:
        check_frames(manifest, config)
        return
    schema, size = require_frames(manifest.schema, manifest.uri), config.backbone.image_size
    if min(schema.height, schema.width) < size:
        raise DatasetError(
            f"{manifest.uri} has frames of {schema.height} × {schema.width} pixels, the model reads {size} × {size}; "
            f"extract them with --frame-size {size}"
        )


def captioner_rows(config: TrainConfig, manifest: Manifest, places: Sequence[RowGroup]) -> Iterator[CaptionerRows]:
    """All videos in `places`, in file order; at most `evaluation.batch_rows` together."""
    model, frames = config.model, config.batch.max_frames
    assert isinstance(model, CaptionerConfig)
    most = min(MAX_VIDEOS, config.evaluation.batch_rows)
    if model.backbone is None:
        for videos in video_rows(manifest, places, frames, most, [model.feature], mean=False):
            yield _of_vectors(videos, model.feature)
    else:
        for clips in picture_rows(manifest, places, frames, most):
            yield _of_pictures(clips, model.backbone.image_size)


def _of_vectors(videos: VideoRows, feature: str) -> CaptionerRows:
    references = _texts(videos.captions, videos.caption_video, len(videos.video_id))
    return CaptionerRows(videos.frames[feature], videos.mask[feature], videos.video_id, references)


def _of_pictures(clips: PictureRows, size: int) -> CaptionerRows:
    frames = torch.from_numpy(clips.frames).permute(0, 1, 4, 2, 3)
    mask = torch.arange(frames.shape[1]) < torch.from_numpy(clips.kept)[:, None]
    references = _texts(clips.captions, clips.caption_clip, len(clips.clip_id))
    return CaptionerRows(centre(frames, size), mask, clips.clip_id, references)


def _texts(captions: Sequence[str], owner: np.ndarray, count: int) -> tuple[tuple[str, ...], ...]:
    """The captions of each of `count` videos, given the video of each caption."""
    return tuple(tuple(captions[i] for i in (owner == place).nonzero()[0].tolist()) for place in range(count))
