"""Similarity from the strongest concepts of each pair only (thesis, section 5.3.2)."""

from collections.abc import Sequence
from typing import assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core.analysis.transforms import ConceptSimilarity
from vtr_core.errors import ConfigError

PAIR_BLOCK = 1 << 25
"""Numbers held at a time: captions × videos × concepts of a block, 128 MiB for each of the two or three tensors."""


def top_k_similarity(
    text: Float[Tensor, "captions concepts"],
    video: Float[Tensor, "videos concepts"],
    ks: Sequence[int],
    similarity: ConceptSimilarity,
) -> dict[int, Float[Tensor, "captions videos"]]:
    """The similarity of every pair from the k concepts G that contribute the most to it, for several k at once.

    jaccard: Σ_{i∈G} min / Σ_{i∈G} max.     cosine: Σ_{i∈G} v_i s_i / (√Σ_{i∈G} v_i² · √Σ_{i∈G} s_i²).
    G is chosen for each pair: the k largest min(v_i, s_i), or |v_i s_i|; all concepts where there are fewer than k. A
    denominator of 0 gives 0. C@k is then 1 by construction. `text` and `video` are transformed scores. Costs a partial
    sort per pair, so it is meant for a part of a large set.
    """
    if not ks or min(ks) < 1:
        raise ConfigError(f"similarity from the top k concepts: k is {list(ks)}; give numbers of at least 1")
    most = min(max(ks), text.shape[1])
    rows = max(1, PAIR_BLOCK // video.numel())
    found: dict[int, list[Tensor]] = {k: [] for k in ks}
    for start in range(0, len(text), rows):
        above, below = _cumulative(text[start : start + rows], video, most, similarity)
        for k, parts in found.items():
            place = min(k, most) - 1
            parts.append(above[..., place] / torch.where(below[..., place] > 0, below[..., place], 1))
    return {k: torch.cat(parts) for k, parts in found.items()}


def _cumulative(
    text: Tensor, video: Tensor, most: int, similarity: ConceptSimilarity
) -> tuple[Float[Tensor, "captions videos most"], Float[Tensor, "captions videos most"]]:
    """Numerators and denominators with the 1, 2, … `most` strongest concepts of each pair."""
    s, v = text.unsqueeze(1), video.unsqueeze(0)
    match similarity:
        case "jaccard":
            strongest = torch.minimum(s, v).topk(most, dim=2)
            union = torch.maximum(s, v).gather(2, strongest.indices)
            return strongest.values.cumsum(2), union.cumsum(2)
        case "cosine":
            product = s * v
            chosen = product.abs().topk(most, dim=2).indices
            squares = [side.square().expand_as(product).gather(2, chosen).cumsum(2).sqrt() for side in (s, v)]
            return product.gather(2, chosen).cumsum(2), squares[0] * squares[1]
        case _:
            assert_never(similarity)
