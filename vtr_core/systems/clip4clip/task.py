"""CLIP4Clip's training and evaluation: batches of frames, and embedded pictures and texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import Crops, centre
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.stored_rows import picture_rows, taken_frames
from vtr_core.data.records.schema import require_frames
from vtr_core.embedding.embedded_rows import EmbeddedRows, concatenate, encode, evaluating
from vtr_core.errors import DatasetError, InputError
from vtr_core.nn.embeddings import VIDEO
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MuseFrames
from vtr_core.systems.clip4clip.model import Clip4Clip, load_pretrained
from vtr_core.systems.implementation import Implementation, LossTables
from vtr_core.systems.joint_space import RetrievalTask, predict, signature
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import Encoded, JointSpace
from vtr_core.systems.video_space import caption_rows, embed_words, no_rows, video_vectors
from vtr_core.text.tokens.vocabulary import Vocabulary


def check(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError unless the data set has frames at least as large as CLIP's pictures."""
    assert isinstance(config.model, Clip4ClipConfig)
    schema, size = require_frames(manifest.schema, manifest.uri), config.model.backbone.image_size
    if min(schema.height, schema.width) < size:
        raise DatasetError(
            f"{manifest.uri} has frames of {schema.height} × {schema.width} pixels, the model reads {size} × {size}; "
            f"extract them with --frame-size {size}"
        )


def embed_clips(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """A row for each caption of the clips in `places`, in file order; rows of a clip share its single vector.

    Computed on the model's device; the model is left unchanged. Captions of a data set with another vocabulary are
    encoded anew with the model's. At most `evaluation.batch_rows` clips or captions are embedded at once.
    """
    assert isinstance(model, Clip4Clip)
    check(config, manifest)
    same_words, max_rows = manifest.vocabulary.fingerprint == vocabulary.fingerprint, config.evaluation.batch_rows
    parts = [no_rows(model.dim)]
    with evaluating(model):
        for clips in picture_rows(manifest, places, config.batch.max_frames, max_rows):
            tokens = torch.from_numpy(clips.tokens.astype(np.int64))
            if not same_words:
                tokens = encode(vocabulary, clips.captions, model.config.inputs.max_words)
            frames = torch.from_numpy(clips.frames).permute(0, 1, 4, 2, 3)
            mask = torch.arange(frames.shape[1]) < torch.from_numpy(clips.kept)[:, None]
            vectors = video_vectors(model, centre(frames, model.config.backbone.image_size), mask)
            shown, keys = np.ones(len(vectors), np.bool_), (clips.clip_key, clips.video_key)
            parts.append(caption_rows(model, vectors, shown, tokens, clips.caption_clip, keys, max_rows))
    return concatenate(parts)


def encode_pictures(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Clips given as RGB frames, uint8 (frames, height, width, 3), or None; the vectors are those of evaluation.

    Of more than `batch.max_frames` frames as many in equal steps are taken, and of larger ones the centre. InputError
    for arrays of another type or shape.
    """
    model, config = loaded.model, loaded.config
    assert isinstance(model, Clip4Clip)
    size, most = model.config.backbone.image_size, config.batch.max_frames
    clips = [_pictures(clip, f"clip {row}", size, most) for row, clip in enumerate(videos[VIDEO])]
    present = np.array([len(clip) > 0 for clip in clips], np.bool_)
    vectors = np.zeros((len(clips), model.dim), np.float32)
    with evaluating(model):
        for rows in torch.from_numpy(np.flatnonzero(present)).split(config.evaluation.batch_rows):
            if len(rows):  # else no clip has frames
                taken = [clips[row] for row in rows.tolist()]
                frames = pad_sequence(taken, batch_first=True)
                mask = torch.arange(frames.shape[1]) < torch.tensor([len(clip) for clip in taken])[:, None]
                vectors[rows.numpy()] = video_vectors(model, frames, mask)
    return Encoded({VIDEO: vectors}, {VIDEO: present})


def _pictures(clip: Any, place: str, size: int, most: int) -> UInt8[Tensor, "frames 3 size size"]:
    if clip is None:
        return torch.zeros((0, 3, size, size), dtype=torch.uint8)
    frames = np.asarray(clip)
    if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[3] != 3 or min(frames.shape[1:3]) < size:
        raise InputError(
            f"{place} is {frames.dtype} of the shape {frames.shape}; give RGB frames as uint8 of (frames, height, "
            f"width, 3), of at least {size} × {size} pixels"
        )
    taken = frames[list(taken_frames(len(frames), most))]
    return centre(torch.from_numpy(taken).permute(0, 3, 1, 2), size)


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,  # noqa: ARG001  all systems' are called alike
) -> RetrievalTask:
    model = config.model
    assert isinstance(model, Clip4ClipConfig)
    crops = Crops(model.stored_size, model.backbone.image_size, model.random_crop, config.seed)
    return RetrievalTask(config, rank, world, crops.batch)


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Clip4Clip)
    frames = model.config.frames
    return scan_event(frames.learner, device, dtype) if isinstance(frames, MuseFrames) else {}


IMPLEMENTATION = Implementation(
    build=lambda config, vectors, statistics: Clip4Clip(config),  # noqa: ARG005  CLIP has vectors of its own
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=check, rows=embed_clips, queries=embed_words, arrays=encode_pictures),
    events=_events,
    pretrained=load_pretrained,
)
