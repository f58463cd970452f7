"""Similarities between two sets of vectors, and contributions of concepts; in float32 or more."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn.functional import normalize, pad

from vtr_core.config.data_sets import Comparison
from vtr_core.config.run import Normalisation
from vtr_core.nn.min_sums import ROW_BLOCK, min_sum_blocks
from vtr_core.nn.precision import full_precision

SimilarityKind = Literal["dot", "cosine", "neg_euclidean", "generalized_jaccard"]
Similarity = Callable[[Tensor, Tensor], Tensor]
"""(a (queries, dim), b (items, dim)) → (queries, items)."""

FEWEST_ROWS = 16
"""Minimum number of rows of both operands for which the compiled loop of `min_sum_blocks` is faster."""


def similarity_function(kind: SimilarityKind) -> Similarity:
    """The similarity that a configuration names."""
    match kind:
        case "dot":
            return dot
        case "cosine":
            return cosine
        case "neg_euclidean":
            return neg_euclidean
        case "generalized_jaccard":
            return generalized_jaccard
        case _:
            assert_never(kind)


def mean_over_modalities(
    queries: Sequence[Float[Tensor, "queries dim"]],
    items: Sequence[Float[Tensor, "items dim"]],
    has_query: Sequence[Bool[Tensor, " queries"]],
    has_item: Sequence[Bool[Tensor, " items"]],
    scores: Sequence[Similarity],
) -> Float[Tensor, "queries items"]:
    """(1/n) Σ score(q, v) over the n pairs of a modality q of the query and a modality v of the item, by v's score.

    Modalities that either of them lacks are not averaged, so that clips with and without sound compare: a sum of
    vectors or of similarities would rank an item by how many modalities it has. Of an entry without any, 0.
    """
    if len(queries) == len(items) == 1:
        return scores[0](queries[0], items[0])
    total = queries[0].new_zeros(len(queries[0]), len(items[0]))
    count = total.clone()
    for query, query_present in zip(queries, has_query, strict=True):
        for score, item, item_present in zip(scores, items, has_item, strict=True):
            both = query_present[:, None] & item_present
            total += torch.where(both, score(query, item), 0)
            count += both
    return total / count.clamp(min=1)


def never_positive(kind: SimilarityKind) -> bool:
    """Whether a similarity is the negative of a distance: what multiplies scores must know."""
    return kind == "neg_euclidean"


@full_precision
def dot(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """a_i · b_j."""
    return a @ b.T


@full_precision
def cosine(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """a_i · b_j / (‖a_i‖ ‖b_j‖); a zero vector has cosine 0 with everything."""
    return normalize(a, dim=1) @ normalize(b, dim=1).T


@full_precision
def cosine_to(
    a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"], lengths_b: Float[Tensor, " items"]
) -> Float[Tensor, "queries items"]:
    """`cosine`, but for rounding, where the `lengths` of the items are known: no copy of b is made."""
    return dot_to(normalize(a, dim=1), b) / lengths_b


@full_precision
def dot_to(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """`dot`, but for rounding, of a few queries with many items; on a CPU in a tenth to nine tenths of its time.

    The items come first, so that threads share them, and zeros are added to the queries up to a number that fills the
    registers of a matrix product: of 100,000 items of 512, 1 query takes 21 ms and 2 take 6, 15 take 47 and 16 take 25.
    """
    added = _filled(len(a)) - len(a)
    return (b @ pad(a, (0, 0, 0, added)).T).T[: len(a)].contiguous()


def _filled(count: int) -> int:
    """2, 4, 8, 16 or a multiple of 8, at least `count`."""
    return next((size for size in (2, 4, 8, 16) if count <= size), -(-count // 8) * 8)


def lengths(b: Float[Tensor, "items dim"]) -> Float[Tensor, " items"]:
    """‖b_j‖, at least 1e-12, as vectors are divided by in `cosine`."""
    return torch.linalg.vector_norm(b, dim=1).clamp(min=1e-12)


@full_precision
def neg_euclidean(a: Float[Tensor, "queries dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "queries items"]:
    """−‖a_i − b_j‖, as √(‖a_i‖² + ‖b_j‖² − 2 a_i·b_j) in float64: in float32 it would cancel for near neighbours."""
    distance = torch.cdist(a.double(), b.double(), compute_mode="use_mm_for_euclid_dist")
    return -distance.to(torch.promote_types(a.dtype, b.dtype))


@full_precision
def generalized_jaccard(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"]
) -> Float[Tensor, "queries items"]:
    """Σ_k min(a_ik, b_jk) / Σ_k max(a_ik, b_jk) of non-negative vectors; two all-zero vectors have similarity 0.

    Never builds a (queries, items, concepts) tensor. Where a gradient is wanted, on a GPU, and for few rows: with
    s = Σa + Σb and d = ‖a − b‖₁, Σmin = (s − d)/2 and Σmax = (s + d)/2. Else Σmin by `min_sum_blocks`, with the extra
    `numba` in a tenth of the time, and Σmax = s − Σmin. Equal rows have equal scores in each form.
    """
    wants_gradient = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad)
    if not wants_gradient and a.device.type == "cpu" and min(len(a), len(b)) >= FEWEST_ROWS:
        result = torch.empty(len(a), len(b), dtype=torch.promote_types(a.dtype, b.dtype))
        for rows, block in _jaccard_blocks(a, b):
            result[rows] = block
        return result
    sums = a.sum(dim=1).unsqueeze(1) + b.sum(dim=1)
    distance = torch.cdist(a, b, p=1.0)
    union = sums + distance
    return (sums - distance).clamp(min=0) / torch.where(union > 0, union, 1)


@full_precision
def most_similar_by_jaccard(
    a: Float[Tensor, "queries concepts"], b: Float[Tensor, "items concepts"], k: int
) -> tuple[Float[Tensor, "queries k"], Int64[Tensor, "queries k"]]:
    """The k largest `generalized_jaccard` of every query, best first, and their items; on the CPU, without gradients.

    Holds the scores of a thousand queries at a time, never the matrix. All items where there are fewer than k.
    """
    count = min(k, len(b))
    values = a.new_empty(len(a), count, dtype=torch.promote_types(a.dtype, b.dtype))
    items = torch.empty(len(a), count, dtype=torch.int64)
    for rows, block in _jaccard_blocks(a, b):
        torch.topk(block, count, dim=1, out=(values[rows], items[rows]))
    return values, items


def _jaccard_blocks(a: Tensor, b: Tensor) -> Iterator[tuple[slice, Float[Tensor, "rows items"]]]:
    """Blocks of rows of the generalised Jaccard, each gone with the next.

    Nothing large is allocated for a block: freed and asked for again among what stays, it would fragment the heap.
    """
    dtype = torch.promote_types(a.dtype, b.dtype)
    a, b = a.detach().to(dtype), b.detach().to(dtype)
    query_sums, item_sums = a.sum(dim=1, keepdim=True), b.sum(dim=1)
    buffer = a.new_empty(min(ROW_BLOCK, len(a)), len(b))
    for rows, smaller in min_sum_blocks(a, b):
        union = torch.add(query_sums[rows], item_sums, out=buffer[: len(smaller)]).sub_(smaller)
        yield rows, smaller.div_(union.clamp_(min=torch.finfo(dtype).tiny))  # all zeros: 0; NaN stays


@full_precision
def hybrid(
    latent: Float[Tensor, "queries items"],
    concept: Float[Tensor, "queries items"],
    weight: float = 0.6,
    normalise: Normalisation = "matrix",
    ranges: Float[Tensor, "2 2"] | None = None,
) -> Float[Tensor, "queries items"]:
    """`combined`, each space between its lowest and highest score (thesis, Eq. 3.16).

    Lowest and highest of: the whole matrix ("matrix", published; every score depends on all queries and items), each
    row ("query"), or training batches ("train", given as `ranges`, rows latent and concept, columns lowest and highest;
    scores may then leave [0, 1]).
    """
    match normalise:
        case "matrix":
            bounds = [torch.stack([scores.min(), scores.max()]) for scores in (latent, concept)]
        case "query":
            bounds = [torch.stack([scores.amin(1), scores.amax(1)], dim=1).unsqueeze(1) for scores in (latent, concept)]
        case "train":
            assert ranges is not None, "training ranges are needed"
            bounds = list(ranges.to(latent))
        case _:
            assert_never(normalise)
    return combined(latent, concept, weight, bounds)


def combined(
    latent: Float[Tensor, "*scores"], concept: Float[Tensor, "*scores"], weight: float, bounds: Sequence[Tensor]
) -> Float[Tensor, "*scores"]:
    """α · latent + (1 − α) · concept, each rescaled so that its lowest score is 0 and its highest 1.

    The one hybrid score of evaluation, search, serving, explanations and analyses.
    bounds: of each space lowest and highest, as the last dimension. Scores of a space that are all the same become 0.
    """
    spaces = (
        torch.where(high > low, (scores - low) / torch.where(high > low, high - low, 1), 0)
        for scores, (low, high) in zip((latent, concept), (both.unbind(-1) for both in bounds), strict=True)
    )
    return weight * next(spaces) + (1 - weight) * next(spaces)


def contributions(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"], similarity: Comparison
) -> Float[Tensor, "pairs concepts"]:
    """w_i(v, s), the share of concept i in the similarity of a video v and a caption s; row by row they sum to 1.

    jaccard: min(g_i(v), g_i(s)) / Σ_j min(g_j(v), g_j(s)).     cosine, dot: |h_i(v) h_i(s)| / Σ_j |h_j(v) h_j(s)|.
    A pair that shares nothing has contributions 0. Source: thesis, equation 5.3.

    dot is the similarity Σ_i z_i q_i itself, in which a concept of a negative term lowers the similarity. Its share is
    of all that moves the similarity up or down, not of the difference that is left, which may be 0 or negative; so
    shares stay in [0, 1], and C@k grows with k, as under the other two. `raising` leaves out what lowers it.
    """
    match similarity:
        case "jaccard":
            shared = torch.minimum(video, text)
        case "cosine" | "dot":
            shared = (video * text).abs()
        case _:
            assert_never(similarity)
    total = shared.sum(dim=1, keepdim=True)
    return shared / torch.where(total > 0, total, 1)


def raising(
    video: Float[Tensor, "pairs concepts"], text: Float[Tensor, "pairs concepts"]
) -> Float[Tensor, "pairs concepts"]:
    """The contributions under "dot" of the concepts that raise the similarity; 0 of those that lower it."""
    return torch.where(video * text > 0, contributions(video, text, "dot"), 0)
