"""Embeddings of clips, or of whole videos whose rows are weighted, in the adapter's space."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS, video_rows
from vtr_core.embedding.data_frames import given_frames
from vtr_core.embedding.embedded_rows import (
    EmbeddedRows,
    check_features,
    check_frames,
    concatenate,
    encode,
    evaluating,
)
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.inputs import check_made_with
from vtr_core.systems.adapter.model import Adapter
from vtr_core.systems.clip_space import CLIP_SPACE
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import Encoded, JointSpace
from vtr_core.text.tokens.vocabulary import Vocabulary


def _check(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError for data without the model's feature, or whose rows another extractor made or rescaled."""
    model = config.model
    assert isinstance(model, AdapterConfig)
    if model.frames == "attention":
        check_frames(manifest, model)
    else:
        check_features(manifest, _taken(model, manifest))
    if model.encoder.feature_dim:
        check_made_with(manifest, model.encoder)


def _taken(model: AdapterConfig, manifest: Manifest) -> dict[str, int]:
    """The features that are compared with a data set's: of mean and deviation a model of the mean takes the mean."""
    wanted = dict(model.inputs.features)
    dims = {feature.name: feature.dim for feature in manifest.schema.features}
    if wanted[model.feature] == model.encoder.feature_dim and dims.get(model.feature) == 2 * wanted[model.feature]:
        wanted[model.feature] *= 2
    return wanted


def _rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """A row for each caption; rows of a whole video share its vector."""
    assert isinstance(model, Adapter)
    if model.config.frames == "pooled":
        return CLIP_SPACE.rows(model, config, manifest, vocabulary, places)
    name, dim = model.config.feature, model.config.encoder.dim
    found, most = [_whole_videos(*_no_captions(dim))], config.evaluation.batch_rows
    with evaluating(model):
        for videos in video_rows(
            manifest, places, config.batch.max_frames, min(MAX_VIDEOS, most), model.config.columns, mean=False
        ):
            seen = _seen(model, videos.frames[name], videos.mask[name])
            tokens = encode(vocabulary, videos.captions, model.config.inputs.max_words)
            texts = [model.encode_text(part.to(model.device)).cpu().numpy() for part in tokens.split(most)]
            at = videos.caption_video
            told, shown = (tokens != 0).any(dim=1).numpy(), videos.present[name].numpy()[at]
            vectors = {TEXT: np.concatenate(texts) * told[:, None], VIDEO: seen[at] * shown[:, None]}
            found.append(_whole_videos(vectors, told, shown, videos.video_key[at]))
    return concatenate(found)


def _arrays(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Clips given as pooled rows, or whole videos given as rows of frames; the vectors are those of evaluation."""
    model, config = loaded.model, loaded.config
    assert isinstance(model, Adapter)
    if model.config.frames == "pooled":
        assert CLIP_SPACE.arrays is not None
        return CLIP_SPACE.arrays(loaded, videos)
    feature, most = model.config.feature, min(MAX_VIDEOS, config.evaluation.batch_rows)
    dim, vectors, present = model.config.inputs.features[feature], [], []
    with evaluating(model):
        for given in given_frames(videos, feature, dim, config.batch.max_frames, most):
            shown = given.mask.any(dim=1).numpy()
            vectors.append(_seen(model, given.frames, given.mask) * shown[:, None])
            present.append(shown)
    return Encoded({VIDEO: np.concatenate(vectors)}, {VIDEO: np.concatenate(present)})


def _seen(model: Adapter, frames: Tensor, mask: Tensor) -> Float32[np.ndarray, "videos dim"]:
    found: np.ndarray = model.encode_frames(frames.to(model.device), mask.to(model.device)).float().cpu().numpy()
    return found


def _no_captions(dim: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """The empty share of a worker."""
    nothing, nobody = np.zeros((0, dim), np.float32), np.zeros(0, np.bool_)
    return {TEXT: nothing, VIDEO: nothing}, nobody, nobody, np.zeros(0, np.int64)


def _whole_videos(
    vectors: dict[str, np.ndarray], told: np.ndarray, shown: np.ndarray, video_key: np.ndarray
) -> EmbeddedRows:
    """Rows of whole videos: each is its own only clip."""
    return EmbeddedRows(vectors, {TEXT: told, VIDEO: shown}, clip_key=video_key, video_key=video_key)


ADAPTER_SPACE = JointSpace(check=_check, rows=_rows, queries=CLIP_SPACE.queries, arrays=_arrays)
