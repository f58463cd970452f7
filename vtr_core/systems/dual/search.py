"""A dual encoder's videos and queries, as searching takes them."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64

from vtr_core.errors import DatasetError, InputError
from vtr_core.retrieval.search.search import DualQuery, DualVideos, as_tensor
from vtr_core.systems.dual.rows import DualModel, DualRows, dual_encoder, embed_dual_captions


def dual_videos(rows: DualRows, loaded: DualModel) -> tuple[DualVideos, Int64[np.ndarray, " rows"]]:
    """The videos that have frames, and of every video of `rows` its position among them, −1 where it has none.

    Raises DatasetError where no video has any.
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


def dual_queries(loaded: DualModel, texts: Sequence[str]) -> list[DualQuery]:
    """Queries in the model's spaces; InputError for one without a word that the model knows."""
    found = known_dual_queries(loaded, texts)
    for text, query in zip(texts, found, strict=True):
        if query is None:
            raise unknown_words(text, loaded)
    return [query for query in found if query is not None]


def known_dual_queries(loaded: DualModel, texts: Sequence[str]) -> list[DualQuery | None]:
    """Queries in the model's spaces; None for one without a word that the model knows."""
    captions = embed_dual_captions(loaded, list(texts))
    latent, concept = as_tensor(captions.latent), as_tensor(captions.concept)
    return [
        DualQuery(text, None if latent is None else latent[i], None if concept is None else concept[i])
        if captions.present[i]
        else None
        for i, text in enumerate(texts)
    ]


def unknown_words(text: str, loaded: DualModel) -> InputError:
    """The error for a query that the model cannot read."""
    words = loaded.vocabulary.words
    return InputError(
        f"no word of the query {text!r} is among the {len(words)} that the model knows, such as "
        f"{', '.join(words[:5])}; ask in the language and the words of its training captions"
    )
