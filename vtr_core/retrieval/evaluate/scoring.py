"""Scores of a block of queries and items under a configured similarity."""

from collections.abc import Sequence
from typing import assert_never

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.metrics.standing import ScoreChunk
from vtr_core.nn.volume import triple_volume
from vtr_core.retrieval.evaluate.entries import Entries
from vtr_core.similarity import Similarity, SimilarityKind, neg_volume, similarity_function


def block_scores(queries: Entries, items: Entries, similarity: SimilarityKind) -> ScoreChunk:
    """Scores of a range of queries and a range of items; higher is more similar.

    Of several modalities the similarities are averaged, see `mean_scores`, and the volume is taken under `neg_volume`,
    see `neg_volumes`.
    """
    match similarity:
        case "neg_volume":
            return lambda query_part, item_part: neg_volumes(
                queries.select(query_part), items.select(item_part)
            ).numpy()
        case "dot" | "cosine" | "neg_euclidean" | "generalized_jaccard":
            score = similarity_function(similarity)
            return lambda query_part, item_part: mean_scores(
                queries.select(query_part), items.select(item_part), [score] * len(items.parts)
            ).numpy()
        case _:
            assert_never(similarity)


def mean_scores(queries: Entries, items: Entries, scores: Sequence[Similarity]) -> Float[Tensor, "queries items"]:
    """(1/n) Σ score(q, v) over the n pairs of a modality q of the query and a modality v of the item, by v's score.

    Modalities that either of them lacks are not averaged, so that clips with and without sound compare: a sum of
    vectors or of similarities would rank an item by how many modalities it has. Of an entry without any, 0.
    """
    if len(queries.parts) == len(items.parts) == 1:
        return scores[0](queries.parts[0], items.parts[0])
    total = queries.parts[0].new_zeros(len(queries.key), len(items.key))
    count = total.clone()
    for query, asked in zip(queries.parts, queries.present, strict=True):
        for score, item, shown in zip(scores, items.parts, items.present, strict=True):
            both = torch.from_numpy(asked[:, None] & shown)
            total += torch.where(both, score(query, item), 0)
            count += both
    return total / count.clamp(min=1)


def neg_volumes(queries: Entries, items: Entries) -> Float[Tensor, "queries items"]:
    """Minus the volume spanned by the vectors of a query and an item (Cicchetti et al. 2025, GRAM).

    With one modality each: −√(1 − cos²). With two modalities of the query or of the item: minus the volume of the three
    unit vectors; where one of the two is absent, minus the area with the other.
    """
    if len(queries.parts) > len(items.parts):
        return neg_volumes(items, queries).T
    (query,) = queries.parts
    if len(items.parts) == 1:
        return neg_volume(query, items.parts[0])
    first, second = items.parts
    has_first, has_second = items.present
    scores = query.new_empty(len(query), len(first))
    for kept, part in ((has_first & ~has_second, first), (~has_first, second)):
        scores[:, _index(kept)] = neg_volume(query, part[_index(kept)])
    both = _index(has_first & has_second)
    scores[:, both] = -triple_volume(query, first[both], second[both], smallest_determinant=0.0)
    return scores


def _index(mask: np.ndarray) -> Tensor:
    return torch.from_numpy(mask)
