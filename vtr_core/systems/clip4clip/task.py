"""CLIP4Clip's training and evaluation: batches of frames, and embedded pictures and texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float32, UInt8
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import Crops, centre
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.data.reading.stored_rows import PictureRows, picture_rows, taken_frames
from vtr_core.data.records.schema import require_frames
from vtr_core.embedding.embedded_rows import EmbeddedRows, concatenate, encode, evaluating
from vtr_core.errors import DatasetError, InputError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MuseFrames
from vtr_core.systems.clip4clip.model import Clip4Clip, current_names, load_pretrained
from vtr_core.systems.implementation import Implementation, LossTables
from vtr_core.systems.joint_space import RetrievalTask, predict, signature
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import Encoded, JointSpace
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
    known, max_rows = manifest.vocabulary.fingerprint == vocabulary.fingerprint, config.evaluation.batch_rows
    parts = [_no_rows(model)]
    with evaluating(model):
        for clips in picture_rows(manifest, places, config.batch.max_frames, max_rows):
            tokens = torch.from_numpy(clips.tokens.astype(np.int64))
            if not known:
                tokens = encode(vocabulary, clips.captions, model.config.inputs.max_words)
            parts.append(_embedded(model, clips, tokens, max_rows))
    return concatenate(parts)


def embed_words(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether it has an in-vocabulary word; if not, the vector is 0."""
    assert isinstance(model, Clip4Clip)
    with evaluating(model):
        tokens = encode(vocabulary, captions, model.config.inputs.max_words)
        return _texts(model, tokens, config.evaluation.batch_rows)


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
    vectors = np.zeros((len(clips), model.config.backbone.embedding_dim), np.float32)
    with evaluating(model):
        for rows in torch.from_numpy(np.flatnonzero(present)).split(config.evaluation.batch_rows):
            if len(rows):  # else no clip has frames
                vectors[rows.numpy()] = _vectors(model, [clips[row] for row in rows.tolist()])
    return Encoded({VIDEO: vectors}, {VIDEO: present})


def _vectors(model: Clip4Clip, clips: Sequence[Tensor]) -> Float32[np.ndarray, "clips dim"]:
    counts = torch.tensor([len(clip) for clip in clips])
    frames = pad_sequence(list(clips), batch_first=True)
    mask = torch.arange(frames.shape[1]) < counts[:, None]
    return model.video(frames.to(model.device), mask.to(model.device)).float().cpu().numpy()


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


def _embedded(model: Clip4Clip, clips: PictureRows, tokens: Tensor, max_rows: int) -> EmbeddedRows:
    frames = torch.from_numpy(clips.frames).permute(0, 1, 4, 2, 3)
    mask = torch.arange(frames.shape[1]) < torch.from_numpy(clips.kept)[:, None]
    cut = centre(frames, model.config.backbone.image_size).to(model.device)
    vectors = model.video(cut, mask.to(model.device)).float().cpu().numpy()
    texts, known = _texts(model, tokens, max_rows)
    rows = clips.caption_clip
    present = {TEXT: known, VIDEO: np.ones(len(rows), np.bool_)}
    return EmbeddedRows({TEXT: texts, VIDEO: vectors[rows]}, present, clips.clip_key[rows], clips.video_key[rows])


def _texts(
    model: Clip4Clip, tokens: Tensor, max_rows: int
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    vectors = [model.text(part.to(model.device)).float().cpu().numpy() for part in tokens.split(max_rows)]
    return np.concatenate(vectors), model.known(tokens).numpy()


def _no_rows(model: Clip4Clip) -> EmbeddedRows:
    """The empty result of a worker without a share of a small data set."""
    nothing = np.zeros((0, model.config.backbone.embedding_dim), np.float32)
    no_flags, no_keys = np.zeros(0, np.bool_), np.zeros(0, np.int64)
    return EmbeddedRows({TEXT: nothing, VIDEO: nothing}, {TEXT: no_flags, VIDEO: no_flags}, no_keys, no_keys)


def _build(
    config: Clip4ClipConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Clip4Clip:
    """A newly initialised model; CLIP has word vectors of its own."""
    assert vectors is None or statistics is None
    return Clip4Clip(config)


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,
) -> RetrievalTask:
    model = config.model
    assert isinstance(model, Clip4ClipConfig)
    crops = Crops(model.stored_size, model.backbone.image_size, model.random_crop, config.seed)
    return RetrievalTask(config, rank, world, crops.batch, tables.information)


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Clip4Clip)
    frames = model.config.frames
    return scan_event(frames.learner, device, dtype) if isinstance(frames, MuseFrames) else {}


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=check, rows=embed_clips, queries=embed_words, arrays=encode_pictures),
    events=_events,
    pretrained=load_pretrained,
    current_names=current_names,
)
