"""Siamese capsule networks and their losses."""

from dataclasses import dataclass
from typing import Literal, assert_never

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.towers import CapsuleTower
from vtr_core.data.batches import ImageBatch
from vtr_core.losses.objective import WHOLE, Share
from vtr_core.losses.pair import contrastive, double_margin
from vtr_core.nn.capsules.capsule_tower import CapsuleFaces
from vtr_core.nn.precision import full_precision
from vtr_core.nn.towers import build_tower
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig, SiameseConfig
from vtr_core.systems.siamese.face_images import AffineTransforms, prepared, transformed

PairDistance = Literal["euclidean", "manhattan", "cosine"]


@full_precision
def pair_distance(
    first: Float[Tensor, "... dim"], second: Float[Tensor, "... dim"], kind: PairDistance
) -> Float[Tensor, "..."]:
    """The distance D of encodings, row by row; leading axes broadcast.

    euclidean   ‖a − b‖₂²                in [0, 4] of vectors of length 1
    manhattan   1 − exp(−‖a − b‖₁²)      in [0, 1)
    cosine      1 − a·b / (‖a‖ ‖b‖)      in [0, 2]; a zero vector is at distance 1 of everything

    The paper's exp(−‖·‖₁²) and cosine are similarities; here all three are distances, so that the same losses and
    thresholding rule apply to them. Source: Siamese Capsule Networks, section 4.1.
    """
    match kind:
        case "euclidean":
            return (first - second).square().sum(dim=-1)
        case "manhattan":
            return -torch.expm1(-(first - second).abs().sum(dim=-1).square())
        case "cosine":
            return 1 - (normalize(first, dim=-1) * normalize(second, dim=-1)).sum(dim=-1)
        case _:
            assert_never(kind)


DECODER_DIMS = (512, 1024)
"""Hidden layers of the decoder (Sabour et al. 2017)."""


@dataclass(frozen=True)
class Encodings:
    """The network's output: encodings, and penalties of the tower."""

    vectors: Float[Tensor, "batch dim"]
    """Unit vectors, unless the model does not normalise."""
    penalty: Float[Tensor, ""]
    """Penalty of concrete dropout; 0 without it."""
    reconstruction: Float[Tensor, " batch"]
    """λ times the squared error of each image, summed over its pixels; 0 without a decoder."""


class Siamese(nn.Module):
    """images → standardised and resized → tower → linear → unit length.

    `threshold` is the equal-error threshold of the validation pairs, NaN before validation; it is saved with the
    weights. A zero vector stays zero. Raises ValueError for images that are too small for the tower.
    """

    threshold: Tensor

    def __init__(self, config: SiameseConfig) -> None:
        super().__init__()
        self.config = config
        self.tower = build_tower(config.tower, config.image.channels, config.grid)
        self.head = nn.Linear(self.tower.dim, config.encoding_dim)
        nn.init.zeros_(self.head.bias)  # a random bias would dominate every encoding, because face capsules start small
        self.decoder = _decoder(config, self.tower.dim)
        self.register_buffer("threshold", torch.tensor(float("nan")))
        for module in self.modules():  # channels last, as in the towers
            if isinstance(module, nn.Conv2d):
                module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)

    def forward(self, batch: ImageBatch, transforms: AffineTransforms | None = None) -> Encodings:
        """The encodings of a batch, whose images are transformed first if `transforms` are given."""
        images = prepared(batch.pixels, self.config.grid)
        if transforms is not None:
            images = transformed(images, transforms)
        features = self.tower(images)
        vectors = self._encoded(features)
        if self.config.mirror_average and not self.training:
            mirrored = self._encoded(self.tower(images.flip(-1)))
            vectors = self._scaled((vectors + mirrored) / 2)
        tower, penalty = self.tower, self.head.weight.new_zeros(())
        if isinstance(tower, CapsuleFaces) and tower.concrete is not None:
            penalty = tower.concrete.penalty(self.head.weight)
        reconstruction = features.new_zeros(len(features), dtype=torch.float32)
        if self.decoder is not None:
            assert isinstance(self.config.tower, CapsuleTower)
            error = (self.decoder(features).float() - images.flatten(1)).square().sum(dim=1)
            reconstruction = self.config.tower.reconstruction_weight * error
        return Encodings(vectors, penalty, reconstruction)

    def _encoded(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch dim"]:
        return self._scaled(self.head(features).float())

    def _scaled(self, vectors: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch dim"]:
        return normalize(vectors, dim=1) if self.config.normalize else vectors


def _decoder(config: SiameseConfig, dim: int) -> nn.Module | None:
    """Two hidden layers with ReLU, and a linear layer to the pixels of the tower's input."""
    if not isinstance(config.tower, CapsuleTower) or config.tower.reconstruction_weight == 0:
        return None
    rows, columns = config.grid
    first, second = DECODER_DIMS
    pixels = rows * columns * config.image.channels
    hidden = (nn.Linear(dim, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(second, pixels))


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
        # As many of the smallest distance as there are matching pairs, at least one, or all; ties: the first.
        order = distance.masked_fill(~different, torch.inf).flatten().argsort(stable=True)
        nearest = torch.zeros_like(different).flatten()
        nearest[order[: max(1, int(kinds.matching.sum()))]] = True
        different = nearest.view_as(different) & different
    parts = [part.to(distance) / part.sum() for part in (kinds.matching, different) if part.any()]
    return sum(parts, torch.zeros_like(distance)) / max(1, len(parts))


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
