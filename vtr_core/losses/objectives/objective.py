"""A contrastive loss of a batch's embeddings: a sum over groups of modalities, in blocks and in shares of workers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.losses.contrastive import ContrastiveLossConfig
from vtr_core.data.batches.rows import RowKeys
from vtr_core.losses.groups import Group, modality_pairs
from vtr_core.losses.negatives import negative_weights
from vtr_core.losses.products import product
from vtr_core.losses.share import WHOLE, Share
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.precision import at_least_float32

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
        self._multiply = product(config.similarity_precision)

    @abstractmethod
    def item_terms(
        self,
        modalities: tuple[Float[Tensor, "items ..."], ...],
        step: int,
        keys: RowKeys,
    ) -> ItemTerms:
        """The function that computes the terms of any block of a group's items, whose keys are `keys`."""

    def groups(self, embeddings: Embeddings) -> list[Group]:
        """The groups of modalities; every pair of them unless the loss says otherwise."""
        return modality_pairs(embeddings)

    @abstractmethod
    def scores(self, a: Float[Tensor, "rows dim"], b: Float[Tensor, "items dim"]) -> Float[Tensor, "rows items"]:
        """Similarities of two modalities as the loss sees them: in units of its temperature or its margin."""

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
            part = _recomputed(block_sum, block) if len(starts) > 1 else block_sum(block)
            loss = loss + part / items
        return loss

    def _zero(self, modalities: tuple[Tensor, ...]) -> Float[Tensor, ""]:
        """0 as a function of the embeddings and the parameters, so that their gradients are 0 and not None."""
        empty = [vectors[:0].sum() for vectors in modalities]
        nothing = [*empty, *(p.reshape(-1)[:0].sum() for p in self.parameters())]
        return torch.stack([value.to(modalities[0]) for value in nothing]).sum()


def _recomputed(block_sum: Callable[[slice], Tensor], block: slice) -> Tensor:
    result = checkpoint(block_sum, block, use_reentrant=False, preserve_rng_state=False)
    assert isinstance(result, Tensor)
    return result
