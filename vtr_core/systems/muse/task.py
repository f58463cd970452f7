"""MUSE's training and evaluation: batches of tokens, the loss, and embedded videos and texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float32
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS, VideoRows, video_rows
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.embedding.data_frames import given_frames
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_frames, concatenate, encode, evaluating
from vtr_core.errors import CheckpointError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.systems.implementation import Implementation, LossTables
from vtr_core.systems.joint_space import RetrievalTask, predict, signature
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse, WordTower, initialize
from vtr_core.systems.spaces import Encoded, JointSpace
from vtr_core.text.tokens.vocabulary import Vocabulary


def check(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError unless the data set has the model's features."""
    assert isinstance(config.model, MuseConfig)
    check_frames(manifest, config.model)


def embed_videos(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """A row for each caption of the videos in `places`, in file order; rows of a video share its single vector.

    Computed on the model's device; the model is left unchanged. Captions of a data set ingested with another vocabulary
    are encoded anew with the model's. At most `evaluation.batch_rows` videos or captions are embedded at once.
    """
    assert isinstance(model, Muse)
    check_frames(manifest, model.config)
    known = manifest.vocabulary.fingerprint == vocabulary.fingerprint
    parts, max_rows = [_no_rows(model)], config.evaluation.batch_rows
    with evaluating(model):
        most, names = min(MAX_VIDEOS, max_rows), model.config.columns
        for videos in video_rows(manifest, places, config.batch.max_frames, most, names, mean=False):
            captions = videos.tokens if model.words is not None else videos.caption_vectors
            if model.words is not None and not known:
                captions = encode(vocabulary, videos.captions, model.config.inputs.max_words)
            assert captions is not None, "the data set has the model's features"
            parts.append(_embedded(model, videos, captions, max_rows))
    return concatenate(parts)


def embed_words(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether it has an in-vocabulary word; if not, the vector is 0.

    Raises CheckpointError for a model of given text vectors, which has no vocabulary.
    """
    assert isinstance(model, Muse)
    if model.words is None:
        raise CheckpointError(
            "the model compares given vectors of texts and has no encoder of words, so it cannot embed a new text; "
            "train one with --model.text.kind encoder, or words"
        )
    with evaluating(model):
        return _texts(model, encode(vocabulary, captions, model.config.inputs.max_words), config.evaluation.batch_rows)


def encode_frames(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Videos given as frames (frames, values) of the model's feature; the vectors are those of evaluation."""
    model, config = loaded.model, loaded.config
    assert isinstance(model, Muse)
    feature, most = model.config.feature, min(MAX_VIDEOS, config.evaluation.batch_rows)
    dim, vectors, present = model.config.inputs.features[feature], [], []
    with evaluating(model):
        for batch in given_frames(videos, feature, dim, config.batch.max_frames, most):
            vectors.append(_vectors(model, batch.frames, batch.mask))
            present.append(batch.mask.any(dim=1).numpy())
    return Encoded({VIDEO: np.concatenate(vectors)}, {VIDEO: np.concatenate(present)})


def _vectors(model: Muse, frames: Tensor, mask: Tensor) -> Float32[np.ndarray, "videos dim"]:
    return model.video(*model.split(frames.to(model.device)), mask.to(model.device)).float().cpu().numpy()


def _embedded(model: Muse, videos: VideoRows, captions: Tensor, max_rows: int) -> EmbeddedRows:
    name = model.config.feature
    vectors = _vectors(model, videos.frames[name], videos.mask[name])
    texts, known = _texts(model, captions, max_rows)
    rows = videos.caption_video
    present = {TEXT: known, VIDEO: videos.present[name].numpy()[rows]}
    video_key = videos.video_key[rows]
    return EmbeddedRows({TEXT: texts, VIDEO: vectors[rows]}, present, clip_key=video_key, video_key=video_key)


def _texts(
    model: Muse, captions: Tensor, max_rows: int
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    vectors = [model.text(part.to(model.device)).float().cpu().numpy() for part in captions.split(max_rows)]
    return np.concatenate(vectors), model.known(captions).numpy()


def _no_rows(model: Muse) -> EmbeddedRows:
    """The empty result of a worker without a share of a small data set."""
    nothing, no_flags, no_keys = np.zeros((0, model.dim), np.float32), np.zeros(0, np.bool_), np.zeros(0, np.int64)
    return EmbeddedRows({TEXT: nothing, VIDEO: nothing}, {TEXT: no_flags, VIDEO: no_flags}, no_keys, no_keys)


def _build(
    config: MuseConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Muse:
    """A newly initialised model; vectors: (words, word_dim) of the vocabulary, for a text encoder of words."""
    model = Muse(config)
    if statistics is not None:
        assert model.tokens is not None, "frames are taken as they are"
        model.tokens.load(statistics[config.feature])
    if config.compat == "none":
        initialize(model)
    if vectors is not None and isinstance(model.words, WordTower):
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,  # noqa: ARG001  all systems' are called alike
) -> RetrievalTask:
    assert isinstance(config.model, MuseConfig)
    names = config.model.columns
    return RetrievalTask(config, rank, world, lambda columns: frame_batch(columns, names))


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Muse)
    return scan_event(model.config.learner, device, dtype)


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=check, rows=embed_videos, queries=embed_words, arrays=encode_frames),
    events=_events,
)
