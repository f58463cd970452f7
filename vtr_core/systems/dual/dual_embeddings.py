"""Embeddings of a data set of whole videos in the spaces of a dual encoder, and its concepts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.evaluated_rows import video_rows
from vtr_core.data.reading.stored_rows import video_texts
from vtr_core.embedding.data_frames import given_frames
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_frames, encode, evaluating
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.nn.embeddings import DualVectors
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import Encoded
from vtr_core.text.tokens.vocabulary import Vocabulary

SPACES = ("latent", "concept")


@dataclass(frozen=True)
class DualRows:
    """Captions and videos of a data set by space, `latent` and `concept`, that the model has; concept scores are h,
    before the sigmoid.

    A row that is not present (a caption without a known word, a video without frames) is exactly 0 throughout.
    """

    text: Mapping[str, Float32[np.ndarray, "captions _"]]
    video: Mapping[str, Float32[np.ndarray, "videos _"]]
    caption_video: Int64[np.ndarray, " captions"]
    """The index of each caption's video."""
    captions: tuple[str, ...]
    video_id: tuple[str, ...]
    video_key: Int64[np.ndarray, " videos"]
    caption_key: Int64[np.ndarray, " captions"]
    text_present: Bool[np.ndarray, " captions"]
    video_present: Bool[np.ndarray, " videos"]
    concepts: tuple[str, ...] = ()
    """Names of the concepts."""


def embed_dual(loaded: TrainedModel, manifest: Manifest, stored: EmbeddedRows | None = None) -> DualRows:
    """All captions and videos of a data set of whole videos, in file order, on the model's device.

    stored: `table_rows` of all of them, where they are already computed. Raises CheckpointError for a model that is no
    dual encoder, DatasetError where the data set lacks its feature.
    """
    model = dual_encoder(loaded)
    if stored is not None:
        return _from_table(stored, manifest, loaded.concepts)
    places = row_groups(manifest)
    return embed_dual_rows(model, loaded.config, manifest, loaded.vocabulary, places, loaded.concepts)


def table_rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """`embed_dual_rows` as one table of `latent` and `concept`, for storage: every video, then its captions.

    `clip_key` is the key of the video or of the caption.
    """
    assert isinstance(model, HybridEncoder), "of this system"
    rows = embed_dual_rows(model, config, manifest, vocabulary, places)
    order = _table_order(len(rows.video_id), rows.caption_video)
    vectors = {space: np.concatenate([videos, rows.text[space]])[order] for space, videos in rows.video.items()}
    return EmbeddedRows(
        vectors=vectors,
        present=dict.fromkeys(vectors, np.concatenate([rows.video_present, rows.text_present])[order]),
        clip_key=np.concatenate([rows.video_key, rows.caption_key])[order],
        video_key=np.concatenate([rows.video_key, rows.video_key[rows.caption_video]])[order],
    )


def _from_table(stored: EmbeddedRows, manifest: Manifest, concepts: tuple[str, ...]) -> DualRows:
    """The inverse of `table_rows`, with the data set's texts; DatasetError where the keys are not those of its rows."""
    texts = video_texts(manifest)
    order = _table_order(len(texts.video_id), texts.caption_video)
    if not np.array_equal(stored.clip_key, np.concatenate([texts.video_key, texts.caption_key])[order]):
        raise DatasetError(f"the embeddings have other rows than {manifest.uri}; run vtr embed again")
    place = np.argsort(order)
    videos, captions = place[: len(texts.video_id)], place[len(texts.video_id) :]
    present = next(iter(stored.present.values()))
    return DualRows(
        text={space: vectors[captions] for space, vectors in stored.vectors.items()},
        video={space: vectors[videos] for space, vectors in stored.vectors.items()},
        caption_video=texts.caption_video,
        captions=texts.captions,
        video_id=texts.video_id,
        video_key=texts.video_key,
        caption_key=texts.caption_key,
        text_present=present[captions],
        video_present=present[videos],
        concepts=concepts,
    )


def _table_order(num_videos: int, caption_video: Int64[np.ndarray, " captions"]) -> Int64[np.ndarray, " rows"]:
    """The order in which all videos followed by all captions become every video followed by its captions."""
    return np.argsort(np.concatenate([np.arange(num_videos), caption_video]), kind="stable")


def encode_texts(loaded: TrainedModel, texts: Sequence[str]) -> Encoded:
    """Texts in each space of the model, at most `evaluation.batch_rows` at once; the model is left unchanged.

    Those without an in-vocabulary word are not present.
    """
    model = dual_encoder(loaded)
    with evaluating(model):
        tokens = encode(loaded.vocabulary, texts, model.config.inputs.max_words)
        vectors, known = _texts(model, tokens, loaded.config.evaluation.batch_rows)
    return Encoded(vectors, dict.fromkeys(vectors, known))


def _texts(
    model: HybridEncoder, tokens: Int64[Tensor, "captions max_words"], max_rows: int
) -> tuple[dict[str, np.ndarray], Bool[np.ndarray, " captions"]]:
    """The captions by space, and which are known."""
    parts = [_by_space(model.text(part.to(_device(model)))) for part in tokens.split(max_rows)]
    return _together(parts), model.known(tokens).numpy()


def encode_frames(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Videos, given as frames of the model's feature, in each space of the model; the vectors are those of evaluation.

    Frames are cut to the first `batch.max_frames`, and become float16, as in data sets.
    """
    model = dual_encoder(loaded)
    feature, device = model.config.feature, _device(model)
    dim = model.config.inputs.features[feature]
    parts, present = [], []
    with evaluating(model):
        for batch in given_frames(videos, feature, dim, loaded.config.batch.max_frames):
            parts.append(_by_space(model.video(*(part.to(device) for part in (batch.frames, batch.mask, batch.mean)))))
            present.append(batch.mask.any(dim=1).numpy())
    vectors = _together(parts)
    return Encoded(vectors, dict.fromkeys(vectors, np.concatenate(present)))


def _by_space(vectors: DualVectors) -> dict[str, Float32[np.ndarray, "rows _"]]:
    """The vectors by the spaces that the model has."""
    spaces = zip(SPACES, (vectors.latent, vectors.concept_scores), strict=True)
    return {name: values.float().cpu().numpy() for name, values in spaces if values is not None}


def _together(parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The rows of all parts, by space."""
    return {space: np.concatenate([part[space] for part in parts]) for space in parts[0]}


def dual_encoder(loaded: TrainedModel) -> HybridEncoder:
    """The model of a checkpoint; CheckpointError if it is not a dual encoder."""
    if not isinstance(loaded.model, HybridEncoder):
        raise CheckpointError(
            f"the checkpoint is of a {loaded.config.model.kind!r} model; this needs one of a 'hybrid_encoder', such as "
            "vtr train hybrid-msrvtt makes"
        )
    return loaded.model


def embed_dual_rows(
    model: HybridEncoder,
    config: TrainConfig,
    manifest: Manifest,
    vocabulary: Vocabulary,
    places: Sequence[RowGroup],
    concepts: tuple[str, ...] = (),
) -> DualRows:
    """The captions and videos in `places`, in file order, on the model's device; the model is left unchanged.

    Captions of a data set ingested with another vocabulary are encoded anew with the model's.
    """
    check_frames(manifest, model.config)
    known = manifest.vocabulary.fingerprint == vocabulary.fingerprint
    device, name, dims = _device(model), model.config.feature, (model.config.latent_dim, model.config.num_concepts)
    nothing = {space: np.zeros((0, dim), np.float32) for space, dim in zip(SPACES, dims, strict=True) if dim}
    keys, flags = np.zeros(0, np.int64), np.zeros(0, np.bool_)
    parts = [DualRows(nothing, nothing, keys, (), (), keys, keys, flags, flags, concepts)]  # of a worker without rows
    with evaluating(model):
        for videos in video_rows(manifest, places, config.batch.max_frames, features=[name]):
            tokens = videos.tokens if known else encode(vocabulary, videos.captions, model.config.inputs.max_words)
            texts, text_present = _texts(model, tokens, config.evaluation.batch_rows)
            vectors = model.video(*(part[name].to(device) for part in (videos.frames, videos.mask, videos.mean)))
            parts.append(
                DualRows(
                    text=texts,
                    video=_by_space(vectors),
                    caption_video=videos.caption_video,
                    captions=videos.captions,
                    video_id=videos.video_id,
                    video_key=videos.video_key,
                    caption_key=videos.caption_key,
                    text_present=text_present,
                    video_present=videos.present[name].numpy(),
                    concepts=concepts,
                )
            )
    return concatenate_dual(parts)


def concatenate_dual(parts: Sequence[DualRows]) -> DualRows:
    """The rows of all parts, in order."""
    before = np.cumsum([0, *(len(part.video_id) for part in parts)])
    caption_video = [part.caption_video + first for part, first in zip(parts, before[:-1], strict=True)]
    return DualRows(
        text=_together([part.text for part in parts]),
        video=_together([part.video for part in parts]),
        caption_video=np.concatenate(caption_video).astype(np.int64),
        captions=tuple(text for part in parts for text in part.captions),
        video_id=tuple(name for part in parts for name in part.video_id),
        video_key=np.concatenate([part.video_key for part in parts]),
        caption_key=np.concatenate([part.caption_key for part in parts]),
        text_present=np.concatenate([part.text_present for part in parts]),
        video_present=np.concatenate([part.video_present for part in parts]),
        concepts=parts[0].concepts,
    )


def with_captions(rows: DualRows, chosen: Int64[np.ndarray, " chosen"]) -> DualRows:
    """The captions at the places `chosen`, and all videos."""
    return replace(
        rows,
        text={space: vectors[chosen] for space, vectors in rows.text.items()},
        caption_video=rows.caption_video[chosen],
        captions=tuple(rows.captions[place] for place in chosen.tolist()),
        caption_key=rows.caption_key[chosen],
        text_present=rows.text_present[chosen],
    )


def only_space(rows: DualRows, space: str) -> DualRows:
    """The same captions and videos in one space."""
    return replace(rows, text={space: rows.text[space]}, video={space: rows.video[space]})


def only_captions(rows: DualRows, chosen: Bool[np.ndarray, " captions"]) -> DualRows:
    """The `chosen` captions, and the videos of at least one of them, in order (thesis, section 3.3.2: C)."""
    videos, caption_video = np.unique(rows.caption_video[chosen], return_inverse=True)
    return replace(
        with_captions(rows, np.flatnonzero(chosen)),
        video={space: vectors[videos] for space, vectors in rows.video.items()},
        caption_video=caption_video.astype(np.int64),
        video_id=tuple(rows.video_id[video] for video in videos),
        video_key=rows.video_key[videos],
        video_present=rows.video_present[videos],
    )


def _device(model: nn.Module) -> torch.device:
    return next(model.parameters()).device
