"""A dual encoder's videos and queries for search."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.search.dual_spaces import EmbeddedVideos
from vtr_core.retrieval.search.search import DualQuery, DualVideos, as_tensor
from vtr_core.systems.dual.rows import DualRows, dual_encoder, embed_dual, embed_dual_captions
from vtr_core.systems.loaded_model import TrainedModel


def dual_videos(rows: DualRows, loaded: TrainedModel) -> tuple[DualVideos, Int64[np.ndarray, " rows"]]:
    """The videos that have frames, and the position of every video of `rows` among them, −1 for one without.

    Raises DatasetError where no video has frames.
    """
    kept = np.flatnonzero(rows.video_present)
    if not len(kept):
        raise DatasetError("no video of the data set has a frame of the model's feature; there is nothing to find")
    position = np.full(len(rows.video_present), -1, np.int64)
    position[kept] = np.arange(len(kept))
    videos = DualVideos(
        video_id=tuple(rows.video_id[i] for i in kept),
        latent=as_tensor(None if rows.latent_video is None else rows.latent_video[kept]),
        concept=as_tensor(None if rows.concept_video is None else rows.concept_video[kept]),
        concepts=loaded.concepts,
        similarity=dual_encoder(loaded).config.concept_similarity,
    )
    return videos, position


def embedded_videos(loaded: TrainedModel, manifest: Manifest, stored: EmbeddedRows | None = None) -> EmbeddedVideos:
    """The videos that have frames, and all their captions."""
    rows = embed_dual(loaded, manifest, stored)
    videos, position = dual_videos(rows, loaded)
    told = [(text, int(position[v])) for text, v in zip(rows.captions, rows.caption_video, strict=True)]
    known = [(text, place) for text, place in told if place >= 0]
    return EmbeddedVideos(videos, tuple(text for text, _ in known), tuple(place for _, place in known))


def dual_queries(loaded: TrainedModel, texts: Sequence[str]) -> list[DualQuery | None]:
    """Queries in the model's spaces; None for one without an in-vocabulary word."""
    captions = embed_dual_captions(loaded, list(texts))
    latent, concept = as_tensor(captions.latent), as_tensor(captions.concept)
    return [
        DualQuery(text, None if latent is None else latent[i], None if concept is None else concept[i])
        if captions.present[i]
        else None
        for i, text in enumerate(texts)
    ]
