"""A contrastive loss of a batch: a sum over groups of modalities, in blocks and in shares of workers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import log
from typing import ClassVar, assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.losses import (
    AdaptiveMargin,
    ConstantMargin,
    ContrastiveLossConfig,
    GeometricMargin,
    KeepAll,
    KeepSameVideo,
    LinearMargin,
    MarginConfig,
    MaskSameVideo,
    SameVideo,
    TemperatureConfig,
    WeightSameVideo,
)
from vtr_core.data.batches import RowKeys
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.nn.precision import at_least_float32

FIRST = (TEXT, "video", "audio")
"""The order of modalities in the name of a group; further ones follow by name."""


@dataclass(frozen=True)
class Group:
    """The vectors to contrast, one tensor per modality, and the rows that take part; `name` joins modalities by "_"."""

    name: str
    modalities: tuple[Float[Tensor, "batch ..."], ...]
    rows: Bool[Tensor, " batch"]


def modality_pairs(embeddings: Embeddings) -> list[Group]:
    """Every pair of modalities (text_video, text_audio, video_audio, …) over the rows where both are present."""
    present, vectors = embeddings.present, embeddings.vectors
    return [
        Group(f"{a}_{b}", (vectors[a], vectors[b]), present[a] & present[b])
        for a, b in combinations(in_order(vectors), 2)
    ]


def in_order(modalities: Mapping[str, Tensor]) -> list[str]:
    """The names of modalities in the order of FIRST."""
    return sorted(modalities, key=lambda name: (FIRST.index(name), "") if name in FIRST else (len(FIRST), name))


@dataclass(frozen=True)
class Share:
    """Worker `rank` of `world` computes the terms of its rows; the shares of all workers add up to the whole loss."""

    rank: int = 0
    world: int = 1

    def rows(self, total: int) -> range:
        """The rows of `total` whose terms this share holds; shares differ by a row where `world` does not divide it."""
        return range(self.rank * total // self.world, (self.rank + 1) * total // self.world)


WHOLE = Share()


def negative_weights(
    keys: RowKeys, block: slice, same_video: SameVideo, dtype: torch.dtype
) -> Float[Tensor, "block batch"]:
    """The weight w[i, j] of the entry that compares the block's row i with row j, the same for rows and for columns.

    Rows that show the same clip or have the same caption text are no negatives of each other: w = 0, but 1 at [i, i].
    Other clips of the same video have, by `same_video`: keep w = 1, mask w = 0, weight the w of `hard_rate_weights`.
    With keep_all every w is 1, that of the same clip or caption, too (Duarte et al., Eq. 5).
    """
    own = torch.arange(len(keys.clip), device=keys.clip.device)
    is_self = _equal(own, block)
    counts = ~same_caption(keys, block) | is_self
    is_same_video = _equal(keys.video, block)
    match same_video:
        case KeepAll():
            return torch.ones_like(counts, dtype=dtype)
        case KeepSameVideo():
            return counts.to(dtype)
        case MaskSameVideo():
            return (counts & (~is_same_video | is_self)).to(dtype)
        case WeightSameVideo():
            return hard_rate_weights(counts, is_same_video | is_self, same_video.hard_rate, dtype)
        case _:
            assert_never(same_video)


def same_caption(keys: RowKeys, block: slice) -> Bool[Tensor, "block batch"]:
    """The rows that show the same clip as the block's row i or have its caption text, itself among them."""
    return _equal(keys.clip, block) | _equal(keys.caption, block)


def hard_rate_weights(
    counts: Bool[Tensor, "block batch"],
    is_same_video: Bool[Tensor, "block batch"],
    hard_rate: float,
    dtype: torch.dtype,
) -> Float[Tensor, "block batch"]:
    """h·N/n_same for the entries of the same video, (1 − h)·N/n_other for the others; the mean weight of a row is 1.

    N = n_same + n_other is the number of a row's entries that count, of the same video (n_same ≥ 1, as its own entry is
    one) and of others; entries that do not count weigh 0. With V videos of P clips each the weights are h·V and
    (1 − h)·V/(V − 1), those of the published code of Miech et al. 2019. In a row without clips of other videos all
    entries that count weigh 1.
    """
    same, other = counts & is_same_video, counts & ~is_same_video
    n_same, n_other = same.sum(dim=1, keepdim=True).to(dtype), other.sum(dim=1, keepdim=True).to(dtype)
    total = n_same + n_other
    hard = torch.where(n_other > 0, hard_rate * total / n_same, 1.0)
    easy = (1 - hard_rate) * total / n_other.clamp(min=1)
    return hard * same + easy * other


def _equal(key: Int64[Tensor, " batch"], block: slice) -> Bool[Tensor, "block batch"]:
    return key[block].unsqueeze(1) == key


Modalities = tuple[Float[Tensor, "items ..."], ...]
"""The vectors of a group's items, one tensor for each modality."""
ItemTerms = Callable[[slice, Float[Tensor, "block items"]], Float[Tensor, " block"]]
"""(block, weights of its entries) → the term of every item of the block; the loss is the mean of all items' terms."""


@dataclass(frozen=True)
class PairLosses:
    """The total loss, its terms by pair of modalities ("text_video", "text_audio", …), and metrics to log.

    Losses are those of the share that was asked for; the shares of all workers add up. Metrics are the same on all.
    """

    total: Float[Tensor, ""]
    by_pair: dict[str, Float[Tensor, ""]]
    metrics: dict[str, Float[Tensor, ""]]


class Objective(nn.Module, ABC):
    """L = Σ over groups g of (1/n_g) Σ_i term_i: by default L_va + L_ta + L_vt (Duarte et al., Eq. 4).

    Item i's term needs its row S[i, :] and its column S[:, i] of the group's similarities, and no others. So the terms
    are computed in blocks of `block_rows` items, recomputed in the backward pass where there is more than one block:
    no B × B matrix is ever held. A share of the terms is what one worker computes.

    A group's loss is over the rows that have all its modalities: a missing one is neither a positive nor a negative.
    With fewer than two such rows there is nothing to contrast: the group contributes exactly 0, with zero gradients,
    and stays part of the graph. The values of missing modalities, NaN too, reach neither loss nor gradient. Losses are
    float32 under autocast, float64 of float64 embeddings.
    """

    is_bounded: ClassVar[bool] = False
    """Whether the loss compares unit vectors with a margin rather than with a temperature."""
    guesses_alike: ClassVar[bool] = True
    """Whether the loss of identical vectors is its chance level."""

    def __init__(self, config: ContrastiveLossConfig) -> None:
        super().__init__()
        self._same_video = config.same_video
        self._block_rows = config.block_rows

    @abstractmethod
    def item_terms(self, modalities: Modalities, step: int, keys: RowKeys) -> ItemTerms:
        """The function that computes the terms of any block of a group's items, whose keys are `keys`."""

    def groups(self, embeddings: Embeddings) -> list[Group]:
        """The groups of modalities; every pair of them unless the loss says otherwise."""
        return modality_pairs(embeddings)

    def compared(self, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors whose dot products the loss compares; those of the model unless the loss says otherwise."""
        return a, b

    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Similarities of two modalities as the loss sees them: in units of its temperature or its margin."""
        a, b = self.compared(a, b)
        return a @ b.T

    @torch.no_grad()
    def chance(self, embeddings: Embeddings, keys: RowKeys, step: int) -> float | None:
        """The loss of a batch whose vectors are all identical; None where that is not the chance level."""
        if not self.guesses_alike:
            return None
        vectors = {name: torch.zeros_like(values) for name, values in embeddings.vectors.items()}
        candidates = None if embeddings.candidates is None else torch.zeros_like(embeddings.candidates)
        return float(self(replace(embeddings, vectors=vectors, candidates=candidates), keys, step).total)

    def metrics(self, step: int) -> dict[str, Tensor]:  # noqa: ARG002  a schedule depends on it
        """The values that change in training (margin, temperature) at `step`, detached."""
        return {}

    def forward(self, embeddings: Embeddings, keys: RowKeys, step: int, share: Share = WHOLE) -> PairLosses:
        """The part `share` of the loss of the whole batch at `step`, counted from 0."""
        with torch.autocast(keys.clip.device.type, enabled=False):
            groups = self.groups(embeddings)
            by_pair = {group.name: self._loss(group, keys, step, share) for group in groups}
        return PairLosses(torch.stack(list(by_pair.values())).sum(), by_pair, self.metrics(step))

    def _loss(self, group: Group, keys: RowKeys, step: int, share: Share) -> Float[Tensor, ""]:
        modalities = tuple(at_least_float32(vectors[group.rows]) for vectors in group.modalities)
        items, loss = len(modalities[0]), self._zero(modalities)
        own = share.rows(items)
        if items < 2 or not own:
            return loss
        present = keys[group.rows]
        terms = self.item_terms(modalities, step, present)

        def block_sum(block: slice) -> Tensor:
            return terms(block, negative_weights(present, block, self._same_video, loss.dtype)).sum()

        size = self._block_rows or len(own)
        starts = own[::size]
        for start in starts:
            block = slice(start, min(start + size, own.stop))
            if len(starts) > 1:
                part = checkpoint(block_sum, block, use_reentrant=False, preserve_rng_state=False)
                assert isinstance(part, Tensor)
            else:
                part = block_sum(block)
            loss = loss + part / items
        return loss

    def _zero(self, modalities: tuple[Tensor, ...]) -> Float[Tensor, ""]:
        """0 as a function of the embeddings and the parameters, so that their gradients are 0 and not None."""
        empty = [vectors[:0].sum() for vectors in modalities]
        nothing = [*empty, *(p.reshape(-1)[:0].sum() for p in self.parameters())]
        return torch.stack([value.to(modalities[0]) for value in nothing]).sum()


def in_both_directions(
    a: Float[Tensor, "items dim"],
    b: Float[Tensor, "items dim"],
    one_direction: Callable[[Tensor, Tensor, slice], Float[Tensor, " block"]],
) -> ItemTerms:
    """The sum of `one_direction` of the rows S[i, :] and of the columns S[:, i]ᵀ of S = a bᵀ.

    one_direction: (similarities, weights, block) → its items' terms. A block of all items is multiplied once.
    """

    def terms(block: slice, weights: Tensor) -> Tensor:
        rows = a[block] @ b.T
        columns = rows.T if len(rows) == len(a) else b[block] @ a.T
        return one_direction(rows, weights, block) + one_direction(columns, weights, block)

    return terms


def is_match(block: Float[Tensor, "block items ..."], first: int) -> Bool[Tensor, "block items"]:
    """True at the match of every item of a block that starts with item `first`."""
    rows, items = block.shape[:2]
    own = torch.arange(first, first + rows, device=block.device)
    return own.unsqueeze(1) == torch.arange(items, device=block.device)


def log_weights(
    weights: Float[Tensor, "block items"], first: int, at_match: float | Float[Tensor, "block 1"] = 0.0
) -> Float[Tensor, "block items"]:
    """log w of the negatives, −∞ where their weight is 0, and `at_match` (default log 1) at the matches."""
    return torch.where(is_match(weights, first), at_match, weights.log())


def whole_weights(
    negatives: Bool[Tensor, "batch batch"] | None, similarity: Float[Tensor, "batch ..."]
) -> Float[Tensor, "batch batch"]:
    """Weight 1 for the negatives and the diagonal, 0 for the rest; 1 throughout without a mask."""
    size = len(similarity)
    if negatives is None:
        return similarity.new_ones((size, size))
    return (negatives | torch.eye(size, dtype=torch.bool, device=negatives.device)).to(similarity.dtype)


class Temperature(nn.Module):
    """1/τ, as a constant or as exp of the parameter log(1/τ), which never exceeds log(max_scale) (Radford et al. 2021).

    The parameter itself is clamped in place before every use, as in CLIP: if only its value in the loss were clamped, a
    parameter above the limit would get no gradient and never come back below it.
    """

    def __init__(self, config: TemperatureConfig) -> None:
        super().__init__()
        self._fixed = config.temperature
        self._max_log_scale = log(config.max_scale)
        self.log_scale: nn.Parameter | None
        if config.learnable_temperature:
            self.log_scale = nn.Parameter(torch.tensor(-log(config.temperature)))
        else:
            self.register_parameter("log_scale", None)

    def forward(self, like: Tensor) -> Float[Tensor, ""]:
        """1/τ in the precision and on the device of `like`."""
        if self.log_scale is None:
            return like.new_tensor(1 / self._fixed)
        with torch.no_grad():
            self.log_scale.clamp_(max=self._max_log_scale)
        return self.log_scale.to(like).exp()

    def metrics(self) -> dict[str, Tensor]:
        """τ, where it is learned."""
        return {} if self.log_scale is None else {"temperature": (-self.log_scale.detach()).exp()}


def margin_at(
    config: MarginConfig, step: int, a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"]
) -> float | Float[Tensor, " batch"]:
    """δ at `step` (counted from 0): a number, or one per row where the margin adapts to the similarities of a and b.

    See `scheduled_margin` for the numbers and `adaptive_margin` for the margins per row.
    """
    match config:
        case ConstantMargin() | GeometricMargin() | LinearMargin():
            return scheduled_margin(config, step)
        case AdaptiveMargin():
            return adaptive_margin(a, b, config.scale)
        case _:
            assert_never(config)


def scheduled_margin(config: ConstantMargin | GeometricMargin | LinearMargin, step: int) -> float:
    """δ at `step`, counted from 0.

    constant: value.   geometric: initial · factor^⌊step / every⌋.
    linear: initial + (final − initial) · min(step / steps, 1).
    """
    match config:
        case ConstantMargin():
            return config.value
        case GeometricMargin():
            return config.initial * config.factor ** (step // config.every)
        case LinearMargin():
            return config.initial + (config.final - config.initial) * min(step / config.steps, 1.0)
        case _:
            assert_never(config)


def adaptive_margin(
    a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"], scale: float
) -> Float[Tensor, " batch"]:
    """α · (S_ii − mean over j ≠ i of S_ij) of S = a bᵀ, detached: no gradient flows through a margin.

    The mean is over the whole row except the diagonal, including entries that are no negatives; with a single row it
    is 0.
    Σ_j S_ij = a_i · Σ_j b_j, so the matrix itself is not needed.
    """
    a, b = a.detach(), b.detach()
    matches = (a * b).sum(dim=1)
    return scale * (matches - (a @ b.sum(dim=0) - matches) / max(len(a) - 1, 1))
