"""Siamese networks: one tower encodes both images of a pair, and the distance of the encodings."""

from dataclasses import dataclass
from typing import Literal, assert_never

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.towers import CapsuleTower
from vtr_core.data.batches import ImageBatch
from vtr_core.nn.capsules.capsule_tower import CapsuleFaces
from vtr_core.nn.precision import full_precision
from vtr_core.nn.towers import build_tower
from vtr_core.systems.siamese.config import SiameseConfig
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
        return Encodings(
            vectors=vectors, penalty=self._penalty(), reconstruction=self._reconstruction(features, images)
        )

    def decides_at(self, threshold: float) -> None:
        """Stores the threshold found in validation."""
        self.threshold.fill_(threshold)

    def _encoded(self, features: Float[Tensor, "batch features"]) -> Float[Tensor, "batch dim"]:
        return self._scaled(self.head(features).float())

    def _scaled(self, vectors: Float[Tensor, "batch dim"]) -> Float[Tensor, "batch dim"]:
        return normalize(vectors, dim=1) if self.config.normalize else vectors

    def _penalty(self) -> Float[Tensor, ""]:
        tower = self.tower
        if isinstance(tower, CapsuleFaces) and tower.concrete is not None:
            return tower.concrete.penalty(self.head.weight)
        return self.head.weight.new_zeros(())

    def _reconstruction(self, features: Tensor, images: Tensor) -> Float[Tensor, " batch"]:
        if self.decoder is None:
            return features.new_zeros(len(features), dtype=torch.float32)
        assert isinstance(self.config.tower, CapsuleTower)
        error = (self.decoder(features).float() - images.flatten(1)).square().sum(dim=1)
        return self.config.tower.reconstruction_weight * error


def _decoder(config: SiameseConfig, dim: int) -> nn.Module | None:
    """Two hidden layers with ReLU, and a linear layer to the pixels of the tower's input."""
    if not isinstance(config.tower, CapsuleTower) or config.tower.reconstruction_weight == 0:
        return None
    rows, columns = config.grid
    first, second = DECODER_DIMS
    return nn.Sequential(
        nn.Linear(dim, first),
        nn.ReLU(),
        nn.Linear(first, second),
        nn.ReLU(),
        nn.Linear(second, rows * columns * config.image.channels),
    )
