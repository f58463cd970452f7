"""Explanation of a hit: the tags of video and query, their contributions to the score, and the shared tags."""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.causality import causality_at_k
from vtr_core.config.data_sets import Comparison
from vtr_core.embedding.video_ranking import Scoring, VideoScores
from vtr_core.retrieval.explain.explanation import FEW, MANY, HitExplanation, Tag
from vtr_core.similarity import contributions


def explain_hits(
    positions: Int64[np.ndarray, " hits"],
    scores: VideoScores,
    video: Float[Tensor, "hits concepts"],
    text: Float[Tensor, " concepts"],
    scoring: Scoring,
    *,
    concepts: Sequence[str],
    video_ids: Sequence[str],
    right: Sequence[int],
    num_tags: int,
) -> tuple[HitExplanation, ...]:
    """Explanations of the videos at `positions`, best first.

    video, text: transformed concept scores of these videos and of the query. video_ids, scores: of all videos.
    Contributions and causality are shares of the total score: those of the concept similarity, times 1 − α under hybrid
    scoring.
    """
    assert scores.concept is not None, "only concepts explain"
    if not len(positions):
        return ()
    texts = text.expand_as(video)
    weight = scoring.concept_weight
    kind = scoring.transform.similarity
    shares = weight * contributions(video, texts, kind)
    few = causality_at_k(video, texts, FEW, kind, weight).values
    many = causality_at_k(video, texts, MANY, kind, weight).values
    found = []
    for row, position in enumerate(positions.tolist()):
        columns = tag_columns(video[row], text, shares[row], kind, concepts, num_tags)
        found.append(
            HitExplanation(
                rank=row + 1,
                video_id=video_ids[position],
                right=position in right,
                score=float(scores.total[position]),
                latent=None if scores.latent is None else float(scores.latent[position]),
                concept=float(scores.concept[position]),
                min_sum=float(torch.minimum(video[row], text).sum()) if kind == "jaccard" else None,
                max_sum=float(torch.maximum(video[row], text).sum()) if kind == "jaccard" else None,
                causality_few=float(few[row]),
                causality_many=float(many[row]),
                video=columns[0],
                query=columns[1],
                contributions=columns[2],
                shared=columns[3],
            )
        )
    return tuple(found)


def tag_columns(
    video: Float[Tensor, " concepts"],
    text: Float[Tensor, " concepts"],
    shares: Float[Tensor, " concepts"],
    kind: Comparison,
    concepts: Sequence[str],
    num_tags: int,
) -> tuple[tuple[Tag, ...], tuple[Tag, ...], tuple[Tag, ...], tuple[Tag, ...]]:
    """Detections of the video, detections of the query, contributions and shared tags, at most `num_tags` each.

    A tag is matched where it is among the strongest of both. Detections are positive values. Under cosine and dot
    negative scores contribute as well: a concept that is negative in both raises the similarity and is shown with ¬
    (cosine), one of opposite signs lowers it.
    """
    strongest_video, strongest_text = strongest(video, num_tags), strongest(text, num_tags)
    matched = [i for i in strongest_text if i in set(strongest_video)]
    common = _in_common(video, text, kind)
    decimals = 1 if kind == "cosine" else 2

    def detected(values: Tensor, chosen: Sequence[int]) -> tuple[Tag, ...]:
        return tuple(
            Tag(concepts[i], float(values[i]), f"{float(values[i]):.{decimals}f}", i in matched) for i in chosen
        )

    contributing = tuple(
        Tag(
            name=f"¬{concepts[i]}" if kind == "cosine" and max(video[i], text[i]) < 0 else concepts[i],
            value=float(shares[i]),
            shown=percent(float(shares[i])),
            matched=i in matched,
            against=kind != "jaccard" and bool(video[i] * text[i] < 0),
        )
        for i in strongest(shares, num_tags)
    )
    shared = sorted(matched, key=lambda i: -float(common[i]))
    return detected(video, strongest_video), detected(text, strongest_text), contributing, detected(common, shared)


def strongest(values: Float[Tensor, " concepts"], count: int) -> list[int]:
    """The positions of the largest positive values, largest first, ties by position."""
    order = torch.argsort(-values, stable=True)[:count].tolist()
    return [i for i in order if values[i] > 0]


def _in_common(
    video: Float[Tensor, " concepts"], text: Float[Tensor, " concepts"], kind: Comparison
) -> Float[Tensor, " concepts"]:
    """jaccard: the smaller of the two. cosine, dot: their geometric mean where both are positive, else 0."""
    match kind:
        case "jaccard":
            return torch.minimum(video, text)
        case "cosine" | "dot":
            return (video.clamp(min=0) * text.clamp(min=0)).sqrt()
        case _:
            assert_never(kind)


def percent(share: float) -> str:
    """A share in %, with two significant digits."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %" if value >= 0.095 else f"{value:.2f} %"
