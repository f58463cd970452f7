"""Embeddings of a data set of frames in CLIP4Clip's space: each clip once, and all captions."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float32
from torch import Tensor, nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.data.reading.pictures import PictureRows, picture_rows
from vtr_core.data.records.required_kind import require_frames
from vtr_core.errors import DatasetError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.retrieval.embed.clips import EmbeddedRows, concatenate
from vtr_core.retrieval.embed.evaluating import evaluating
from vtr_core.retrieval.embed.tokens import encode
from vtr_core.run.config import TrainConfig
from vtr_core.systems.clip4clip.config import Clip4ClipConfig
from vtr_core.systems.clip4clip.model import Clip4Clip
from vtr_core.systems.clip4clip.pictures import centre
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
    found = [_no_rows(model)]
    with evaluating(model):
        for clips in picture_rows(manifest, places, config.batch.max_frames, max_rows):
            tokens = torch.from_numpy(clips.tokens.astype(np.int64))
            if not known:
                tokens = encode(vocabulary, clips.captions, model.config.inputs.max_words)
            found.append(_embedded(model, clips, tokens, max_rows))
    return concatenate(found)


def embed_words(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether it has an in-vocabulary word; if not, the vector is 0."""
    assert isinstance(model, Clip4Clip)
    with evaluating(model):
        tokens = encode(vocabulary, captions, model.config.inputs.max_words)
        return _texts(model, tokens, config.evaluation.batch_rows)


def _embedded(model: Clip4Clip, clips: PictureRows, tokens: Tensor, max_rows: int) -> EmbeddedRows:
    frames = torch.from_numpy(clips.frames).permute(0, 1, 4, 2, 3)
    mask = torch.arange(frames.shape[1]) < torch.from_numpy(clips.kept)[:, None]
    cut = centre(frames, model.config.backbone.image_size).to(model.device)
    seen = model.video(cut, mask.to(model.device)).float().cpu().numpy()
    texts, told = _texts(model, tokens, max_rows)
    rows = clips.caption_clip
    present = {TEXT: told, VIDEO: np.ones(len(rows), np.bool_)}
    return EmbeddedRows({TEXT: texts, VIDEO: seen[rows]}, present, clips.clip_key[rows], clips.video_key[rows])


def _texts(
    model: Clip4Clip, tokens: Tensor, max_rows: int
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    vectors = [model.text(part.to(model.device)).float().cpu().numpy() for part in tokens.split(max_rows)]
    return np.concatenate(vectors), (tokens != 0).any(dim=1).numpy()


def _no_rows(model: Clip4Clip) -> EmbeddedRows:
    """The empty result of a worker without a share of a small data set."""
    nothing = np.zeros((0, model.config.backbone.embedding_dim), np.float32)
    nobody, keys = np.zeros(0, np.bool_), np.zeros(0, np.int64)
    return EmbeddedRows({TEXT: nothing, VIDEO: nothing}, {TEXT: nobody, VIDEO: nobody}, keys, keys)
