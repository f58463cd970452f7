"""The scores of captions against videos in the spaces of a dual encoder, as whole matrices."""

import numpy as np
import torch
from jaxtyping import Float32

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.evaluation import Normalisation
from vtr_core.retrieval.embed.encoded import Encoded
from vtr_core.systems.dual.ranking.bounds import hybrid_of
from vtr_core.systems.dual.ranking.tiles import DualSpace, Grid, SharedDual
from vtr_core.systems.dual.rows import DualRows, dual_encoder
from vtr_core.systems.loaded_model import TrainedModel


def whole_scores(
    rows: DualRows, concept_similarity: ConceptSimilarity, latent_weight: float, normalise: Normalisation
) -> dict[DualSpace, Float32[np.ndarray, "captions videos"]]:
    """The tiles of evaluation, put together: hybrid scores, where the rows have both spaces, then those of each space.

    ConfigError for "train" where the ranges of training batches are unknown.
    """
    shared = SharedDual(rows, concept_similarity, 0, torch.device("cpu"))
    captions, videos = len(rows.text_present), len(rows.video_present)
    grid = Grid(shared, np.arange(captions), np.arange(videos))
    hybrid = hybrid_of(grid, latent_weight, normalise, rows.ranges) if len(shared.spaces) == 2 else None
    spaces: list[DualSpace] = list(shared.spaces) if hybrid is None else ["hybrid", *shared.spaces]
    found: dict[DualSpace, np.ndarray] = {space: np.empty((captions, videos), np.float32) for space in spaces}
    for tile in grid.tiles():
        scores = tile.scores if hybrid is None else {**tile.scores, "hybrid": hybrid.scores(tile, "captions")}
        for space, whole in found.items():
            whole[tile.captions, tile.videos] = scores[space].numpy()
    return found


def compare(loaded: TrainedModel, texts: Encoded, videos: Encoded) -> Float32[np.ndarray, "texts videos"]:
    """The scores by which evaluation ranks videos for texts: hybrid where the model has both spaces."""
    model, evaluation = dual_encoder(loaded), loaded.config.evaluation
    rows = DualRows(
        latent_text=texts.vectors.get("latent"),
        latent_video=videos.vectors.get("latent"),
        concept_text=texts.vectors.get("concept"),
        concept_video=videos.vectors.get("concept"),
        caption_video=np.zeros(len(texts), np.int64),
        captions=(),
        video_id=(),
        video_key=np.arange(len(videos)),
        caption_key=np.arange(len(texts)),
        text_present=texts.known,
        video_present=videos.known,
        ranges=model.ranges.float().cpu().numpy(),
    )
    found = whole_scores(rows, model.config.concept_similarity, evaluation.latent_weight, evaluation.normalise)
    return next(iter(found.values()))
