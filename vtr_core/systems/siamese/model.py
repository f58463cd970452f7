"""Siamese networks: one tower encodes both images of a pair."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize

from vtr_core.config.blocks.towers import CapsuleTower
from vtr_core.data.batches.images import ImageBatch
from vtr_core.nn.fan_in import fan_in_linear
from vtr_core.nn.towers.build import build_tower
from vtr_core.nn.towers.capsules import CapsuleFaces
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.images import AffineTransforms, prepared, transformed

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
        self.head = fan_in_linear(self.tower.dim, config.encoding_dim)
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
        fan_in_linear(dim, first),
        nn.ReLU(),
        fan_in_linear(first, second),
        nn.ReLU(),
        fan_in_linear(second, rows * columns * config.image.channels),
    )
