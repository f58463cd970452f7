"""Models that embed whole videos, or clips of frames, and captions in one joint space: how they embed data sets."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS, video_rows
from vtr_core.embedding.data_frames import given_frames
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_frames, concatenate, encode, evaluating
from vtr_core.errors import CheckpointError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import Encoded
from vtr_core.text.tokens.vocabulary import Vocabulary


class VideoTextModel(nn.Module, ABC):
    """A model of videos and captions as unit vectors in one space."""

    config: Any
    dim: int
    """Dimension of the space."""
    reads_captions: bool = True
    """Whether it encodes texts; without, the data set's own caption vectors are compared."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """The model's device."""

    @abstractmethod
    def encode_videos(
        self, frames: Float[Tensor, "videos frames *values"], mask: Bool[Tensor, "videos frames"]
    ) -> Float[Tensor, "videos dim"]:
        """Unit vectors of videos, given as the frames that are stored of them."""

    @abstractmethod
    def encode_text(self, captions: Tensor) -> Float[Tensor, "captions dim"]:
        """Unit vectors of captions, given as tokens, or as vectors where the model reads no captions."""

    @abstractmethod
    def known(self, captions: Tensor) -> Bool[Tensor, " captions"]:
        """Which captions have something that the model can read."""


def embed_videos(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """A row for each caption of the whole videos in `places`, in file order; rows of a video share its vector.

    Computed on the model's device; the model is left unchanged. Captions of a data set ingested with another vocabulary
    are encoded anew with the model's. At most `evaluation.batch_rows` videos or captions are embedded at once.
    """
    assert isinstance(model, VideoTextModel)
    check_frames(manifest, model.config)
    same_words = manifest.vocabulary.fingerprint == vocabulary.fingerprint
    parts, max_rows, name = [no_rows(model.dim)], config.evaluation.batch_rows, model.config.feature
    most = min(MAX_VIDEOS, max_rows)
    with evaluating(model):
        for videos in video_rows(manifest, places, config.batch.max_frames, most, model.config.columns, mean=False):
            captions = videos.tokens if model.reads_captions else videos.caption_vectors
            if model.reads_captions and not same_words:
                captions = encode(vocabulary, videos.captions, model.config.inputs.max_words)
            assert captions is not None, "the data set has the model's features"
            vectors, shown = video_vectors(model, videos.frames[name], videos.mask[name]), videos.present[name].numpy()
            keys = videos.video_key, videos.video_key
            parts.append(caption_rows(model, vectors, shown, captions, videos.caption_video, keys, max_rows))
    return concatenate(parts)


def video_vectors(model: VideoTextModel, frames: Tensor, mask: Tensor) -> Float32[np.ndarray, "videos dim"]:
    """The vectors of a batch of videos, computed on the model's device."""
    return model.encode_videos(frames.to(model.device), mask.to(model.device)).float().cpu().numpy()


def caption_rows(
    model: VideoTextModel,
    videos: Float32[np.ndarray, "videos dim"],
    shown: Bool[np.ndarray, " videos"],
    captions: Tensor,
    video_of: Int64[np.ndarray, " captions"],
    keys: tuple[Int64[np.ndarray, " videos"], Int64[np.ndarray, " videos"]],
    max_rows: int,
) -> EmbeddedRows:
    """A row for each caption, with the vector of its video; keys: of each video's clip, and of itself."""
    texts, known = _texts(model, captions, max_rows)
    present = {TEXT: known, VIDEO: shown[video_of]}
    vectors = {TEXT: texts, VIDEO: videos[video_of]}
    vectors = {name: np.where(present[name][:, None], values, 0) for name, values in vectors.items()}
    return EmbeddedRows(vectors, present, keys[0][video_of], keys[1][video_of])


def no_rows(dim: int) -> EmbeddedRows:
    """The empty result of a worker without a share of a small data set."""
    nothing, no_flags, no_keys = np.zeros((0, dim), np.float32), np.zeros(0, np.bool_), np.zeros(0, np.int64)
    return EmbeddedRows({TEXT: nothing, VIDEO: nothing}, {TEXT: no_flags, VIDEO: no_flags}, no_keys, no_keys)


def _texts(
    model: VideoTextModel, captions: Tensor, max_rows: int
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    vectors = [model.encode_text(part.to(model.device)).float().cpu().numpy() for part in captions.split(max_rows)]
    return np.concatenate(vectors), model.known(captions).cpu().numpy()


def embed_words(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether it has an in-vocabulary word; if not, the vector is 0.

    Raises CheckpointError for a model of given text vectors, which has no vocabulary.
    """
    assert isinstance(model, VideoTextModel)
    if not model.reads_captions:
        raise CheckpointError(
            "the model compares given vectors of texts and has no encoder of words, so it cannot embed a new text; "
            "train one with --model.text.kind encoder, or words"
        )
    with evaluating(model):
        return _texts(model, encode(vocabulary, captions, model.config.inputs.max_words), config.evaluation.batch_rows)


def encode_frames(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Whole videos given as frames (frames, values) of the model's feature; the vectors are those of evaluation."""
    model, config = loaded.model, loaded.config
    assert isinstance(model, VideoTextModel)
    feature, most = model.config.feature, min(MAX_VIDEOS, config.evaluation.batch_rows)
    dim, vectors, present = model.config.inputs.features[feature], [], []
    with evaluating(model):
        for batch in given_frames(videos, feature, dim, config.batch.max_frames, most):
            present.append(batch.mask.any(dim=1).numpy())
            vectors.append(np.where(present[-1][:, None], video_vectors(model, batch.frames, batch.mask), 0))
    return Encoded({VIDEO: np.concatenate(vectors)}, {VIDEO: np.concatenate(present)})
