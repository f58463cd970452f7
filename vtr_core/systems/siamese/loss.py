"""The pairs of a batch of faces, their weights, and their loss in shares of workers."""

from dataclasses import dataclass
from typing import assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from vtr_core.losses.objective import WHOLE, Share
from vtr_core.losses.pair import contrastive, double_margin
from vtr_core.nn.precision import full_precision
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig
from vtr_core.systems.siamese.model import pair_distance

PairLossConfig = PairContrastiveConfig | PairDoubleMarginConfig


def margin_of(config: PairLossConfig) -> float:
    """The distance beyond which different faces have no loss."""
    match config:
        case PairContrastiveConfig():
            return config.margin
        case PairDoubleMarginConfig():
            return config.margin_positive
        case _:
            assert_never(config)


@dataclass(frozen=True)
class PairKinds:
    """Masks of the entries (i, j), i < j, of a batch's pair matrix: matching and different pairs."""

    matching: Bool[Tensor, "batch batch"]
    different: Bool[Tensor, "batch batch"]


def pair_kinds(image: Int64[Tensor, " batch"], subject: Int64[Tensor, " batch"]) -> PairKinds:
    """Every pair of two images once; an image that was drawn twice forms no pair with itself."""
    later = torch.ones(len(image), len(image), dtype=torch.bool, device=image.device).triu(diagonal=1)
    same_face = subject[:, None] == subject[None]
    return PairKinds(later & same_face & (image[:, None] != image[None]), later & ~same_face)


def pair_weights(kinds: PairKinds, distance: Float[Tensor, "batch batch"], policy: str) -> Float[Tensor, "batch batch"]:
    """The weights of the pairs' terms, of sum 1: `PairContrastiveConfig.pairs`.

    If a batch has pairs of one kind only, these have all the weight; without any pair all weights are 0.
    """
    different = kinds.different
    if policy == "all":
        chosen = (kinds.matching | different).to(distance)
        return chosen / chosen.sum().clamp(min=1)
    if policy == "hardest":
        different = _nearest(different, distance, int(kinds.matching.sum()))
    parts = [part.to(distance) / part.sum() for part in (kinds.matching, different) if part.any()]
    return sum(parts, torch.zeros_like(distance)) / max(1, len(parts))


def _nearest(
    different: Bool[Tensor, "batch batch"], distance: Float[Tensor, "batch batch"], count: int
) -> Bool[Tensor, "batch batch"]:
    """The `count` different pairs of smallest distance, at least one, or all if there are fewer; ties: the first."""
    order = distance.masked_fill(~different, torch.inf).flatten().argsort(stable=True)
    nearest = torch.zeros_like(different).flatten()
    nearest[order[: max(1, count)]] = True
    return nearest.view_as(different) & different


@dataclass(frozen=True)
class BatchPairLoss:
    """The loss of the pairs whose first image is in the share, and metrics to log, equal on all workers."""

    total: Float[Tensor, ""]
    metrics: dict[str, Float[Tensor, ""]]


class PairObjective(nn.Module):
    """L = Σ over pairs i < j of w_ij ℓ(D_ij): Equation 4 or 5 with pairs weighted as configured.

    The mean over balanced pairs, in which matching and different pairs have equal total weight, is the expectation of
    the loss of a balanced list of pairs; all pairs of a batch cost one encoding per image.
    """

    def __init__(self, config: PairLossConfig) -> None:
        super().__init__()
        self.config = config

    @full_precision
    def forward(
        self,
        encodings: Float[Tensor, "batch dim"],
        image: Int64[Tensor, " batch"],
        subject: Int64[Tensor, " batch"],
        share: Share = WHOLE,
    ) -> BatchPairLoss:
        """The part `share` of the loss of the whole batch; shares sum to it."""
        distance = pair_distance(encodings[:, None], encodings[None], self.config.distance)
        kinds = pair_kinds(image, subject)
        weights = pair_weights(kinds, distance.detach(), self.config.pairs)
        rows = share.rows(len(encodings))
        own = slice(rows.start, rows.stop)
        terms = self._terms(distance[own], kinds.different[own])
        metrics = {
            "matching_distance": _mean(distance, kinds.matching),
            "different_distance": _mean(distance, kinds.different),
        }
        return BatchPairLoss((weights[own] * terms).sum(), metrics)

    def _terms(
        self, distance: Float[Tensor, "rows batch"], different: Bool[Tensor, "rows batch"]
    ) -> Float[Tensor, "rows batch"]:
        flat, apart = distance.flatten(), different.flatten()
        match self.config:
            case PairContrastiveConfig():
                terms = contrastive(flat, apart, self.config.margin, "none")
            case PairDoubleMarginConfig():
                margins = self.config.margin_positive, self.config.margin_negative
                terms = double_margin(flat, apart, *margins, "none")
            case _:
                assert_never(self.config)
        return terms.view_as(distance)


def _mean(values: Float[Tensor, "batch batch"], chosen: Bool[Tensor, "batch batch"]) -> Float[Tensor, ""]:
    """The detached mean of the selected values; 0 if none is selected."""
    picked = values.detach()[chosen]
    return picked.mean() if len(picked) else values.new_zeros(())
