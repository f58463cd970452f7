"""Preprocessing of pictures: from uint8 with channels last to normalised floats with channels first."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor

from vtr_core.nn.video_swin import DEVIATION, MEAN


@dataclass(frozen=True)
class Normalization:
    """(value / divisor − mean) / deviation, per channel (red, green, blue)."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]
    divisor: float = 255.0


_AT_ONCE_CPU, _AT_ONCE_GPU = 4, 32
IMAGENET = Normalization(MEAN, DEVIATION)


def to_floats(
    pixels: UInt8[np.ndarray, "frames height width 3"], how: Normalization, device: str
) -> Float[Tensor, "frames 3 height width"]:
    """Normalised pictures; conversion happens on the device, so that uint8 is transferred."""
    values = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2).float()
    mean, deviation = (torch.tensor(three, device=device).view(3, 1, 1) for three in (how.mean, how.deviation))
    return values.div_(how.divisor).sub_(mean).div_(deviation)


@dataclass(frozen=True)
class PictureExtractor:
    """Features of pictures by a network from (frames, 3, height, width) to (frames, dim).

    Batches are small on a CPU, for its caches, and large on a GPU.
    """

    network: Callable[[Tensor], Tensor]
    normalization: Normalization
    device: str

    def __call__(self, values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """One row per picture."""
        with torch.inference_mode():
            parts = torch.from_numpy(values).split(_AT_ONCE_CPU if self.device == "cpu" else _AT_ONCE_GPU)
            rows = [self.network(to_floats(part.numpy(), self.normalization, self.device)) for part in parts]
            return torch.cat(rows).float().cpu().numpy()
