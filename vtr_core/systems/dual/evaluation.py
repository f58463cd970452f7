"""Retrieval metrics of a dual encoder: both directions, in each space and by the hybrid score."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.evaluation import EvaluationConfig, Normalisation
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.evaluate.retrieval import QuerySample, metric_values
from vtr_core.retrieval.search.dual_spaces import QuerySubset, SpaceFigures
from vtr_core.systems.dual.ranking.bounds import hybrid_of
from vtr_core.systems.dual.ranking.directions import directions
from vtr_core.systems.dual.ranking.tiles import DualSpace, Grid, SharedDual
from vtr_core.systems.dual.rows import DualRows, dual_encoder, embed_dual, only_captions
from vtr_core.systems.loaded_model import TrainedModel

_CPU = torch.device("cpu")


def evaluate_dual(
    rows: DualRows,
    concept_similarity: ConceptSimilarity,
    latent_weight: float = 0.6,
    normalise: Normalisation = "matrix",
    sample: QuerySample | None = None,
    rank: int = 0,
    device: torch.device = _CPU,
) -> list[SpaceFigures]:
    """The metrics by the hybrid score, where the model has both spaces, then those of each space.

    Every caption is a query: captions without an in-vocabulary word, or whose video has no frames, count as failures,
    so that the number of queries depends on the data set alone. In the other direction, every video with frames and an
    in-vocabulary caption is a query. Gallery items are the videos with frames, and the captions with an in-vocabulary
    word.

    sample: at most so many queries of each direction, against all items; bounds are then those over these queries.
    rank, device: of a worker that has some of the rows, contiguous and in order of rank; the metrics are those of all
    rows, to the last digit, and equal on every worker.
    """
    shared = SharedDual(rows, concept_similarity, rank, device)
    captions, videos = np.arange(len(shared.caption_video)), np.arange(len(shared.video_present))
    there = back = Grid(shared, captions, videos)
    if sample is not None:
        there = Grid(shared, sample.drawn(len(captions)), videos)
        back = Grid(shared, captions, shared.asking[sample.drawn(len(shared.asking))])
    spaces: list[DualSpace] = list(shared.spaces)
    if len(spaces) == 2:
        spaces.insert(0, "hybrid")
    how = latent_weight, normalise, rows.ranges
    hybrid = hybrid_of(there, *how) if len(shared.spaces) == 2 else None
    found = [directions(there, "captions", spaces, hybrid)]
    if len(shared.asking):
        if hybrid is not None and back is not there:
            hybrid = hybrid_of(back, *how)
        found.append(directions(back, "videos", spaces, hybrid))
    return [SpaceFigures(space, [one[space] for one in found]) for space in spaces]


def checkpoint_figures(
    loaded: TrainedModel,
    manifest: Manifest,
    evaluation: EvaluationConfig,
    subset: QuerySubset | None = None,
    stored: EmbeddedRows | None = None,
    sample: QuerySample | None = None,
) -> list[SpaceFigures]:
    """`evaluate_dual` of a data set, and of its captions in `subset`; DatasetError if there are no items.

    sample: of the queries of both. stored: the data set's embeddings, where they are already computed.
    """
    model, rows = dual_encoder(loaded).config, embed_dual(loaded, manifest, stored)
    if not rows.video_present.any() or not len(rows.captions):
        raise DatasetError(f"{manifest.uri}: no video has frames of {model.feature}, or there is no caption")
    how = model.concept_similarity, evaluation.latent_weight, evaluation.normalise, sample
    found = evaluate_dual(rows, *how)
    if subset is None:
        return found
    kept = np.isin(rows.caption_key, subset.caption_keys)
    part = only_captions(rows, kept)
    if not part.video_present.any() or not kept.any():
        raise DatasetError(f"{manifest.uri} has no {subset.name} query whose video has frames")
    return [*found, *(replace(one, queries=subset.name) for one in evaluate_dual(part, *how))]


def dual_metric_values(figures: Sequence[SpaceFigures], prefix: str) -> dict[str, float]:
    """The metrics by name: `<prefix>/t2v/r1` … by the first score, `<prefix>/latent/t2v/r1` … by the others."""
    values: dict[str, float] = {}
    for number, one in enumerate(figures):
        values.update(metric_values(one.directions, prefix if number == 0 else f"{prefix}/{one.space}"))
    return values
