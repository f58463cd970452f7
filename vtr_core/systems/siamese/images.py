"""Image preprocessing: resizing, standardisation, and augmentation in training."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, interpolate

from vtr_core.systems.siamese.config import Augmentation

_DEVIATION_FLOOR = 1e-5


def prepared(
    pixels: UInt8[Tensor, "batch channels height width"], grid: tuple[int, int]
) -> Float[Tensor, "batch channels rows columns"]:
    """The images in rows and columns of `grid`, by bilinear interpolation over what a place covers, standardised.

    Each image has mean 0 and deviation 1 over its pixels of all colours, which takes out brightness and contrast; an
    image of one colour throughout is 0.
    """
    values = pixels.float() / 255
    if tuple(values.shape[2:]) != grid:
        values = interpolate(values, grid, mode="bilinear", antialias=True, align_corners=False)
    centred = values - values.mean(dim=(1, 2, 3), keepdim=True)
    return centred / (centred.square().mean(dim=(1, 2, 3), keepdim=True).sqrt() + _DEVIATION_FLOOR)


@dataclass(frozen=True)
class Moves:
    """How each image of a batch is moved: turned (radians), scaled, mirrored (−1 or 1), shifted (shares of a side), and
    stretched: longer by a factor above 1, wider by the inverse of one below."""

    angle: Float[Tensor, " batch"]
    scale: Float[Tensor, " batch"]
    mirror: Float[Tensor, " batch"]
    shift: Float[Tensor, "batch 2"]
    stretch: Float[Tensor, " batch"]

    def __getitem__(self, rows: slice) -> "Moves":
        """The moves of some of the images."""
        return Moves(self.angle[rows], self.scale[rows], self.mirror[rows], self.shift[rows], self.stretch[rows])


def draw_moves(count: int, settings: Augmentation, generator: torch.Generator) -> Moves:
    """Moves of `count` images, uniform within the settings; none is stretched."""
    draws = torch.rand(count, 5, generator=generator)
    signed = 2 * draws - 1
    return Moves(
        angle=signed[:, 0] * math.radians(settings.rotation),
        scale=1 + signed[:, 1] * settings.zoom,
        mirror=torch.where(draws[:, 2] < 0.5 * settings.mirror, -1.0, 1.0),
        shift=signed[:, 3:] * settings.shift,
        stretch=torch.ones(count),
    )


def moved(
    images: Float[Tensor, "batch channels rows columns"], moves: Moves
) -> Float[Tensor, "batch channels rows columns"]:
    """The images turned about their centre, scaled, mirrored, stretched and shifted; an edge goes on beyond it."""
    cos, sin = moves.angle.cos() / moves.scale, moves.angle.sin() / moves.scale
    rows, columns = images.shape[2:]
    theta = torch.zeros(len(images), 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = cos * moves.mirror, -sin * rows / columns
    theta[:, 1, 0], theta[:, 1, 1] = sin * moves.mirror * columns / rows, cos
    theta[:, 0] /= (1 / moves.stretch).clamp(min=1).unsqueeze(1)
    theta[:, 1] /= moves.stretch.clamp(min=1).unsqueeze(1)
    theta[:, :, 2] = -2 * moves.shift  # sides go from -1 to 1
    grid = affine_grid(theta.to(images), list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)
