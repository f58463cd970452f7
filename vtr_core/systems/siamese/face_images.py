"""Images of faces: resizing, standardisation, augmentation in training, also to new identities."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample, interpolate

from vtr_core.systems.siamese.config import Augmentation

_DEVIATION_FLOOR = 1e-5


def prepared(
    pixels: UInt8[Tensor, "batch channels height width"], grid: tuple[int, int]
) -> Float[Tensor, "batch channels rows columns"]:
    """The images resized to `grid` (rows, columns) by antialiased bilinear interpolation, and standardised.

    Each image has mean 0 and standard deviation 1 over its pixels of all colours, which removes brightness and
    contrast; a uniform image is 0.
    """
    values = pixels.float() / 255
    if tuple(values.shape[2:]) != grid:
        values = interpolate(values, grid, mode="bilinear", antialias=True, align_corners=False)
    centred = values - values.mean(dim=(1, 2, 3), keepdim=True)
    return centred / (centred.square().mean(dim=(1, 2, 3), keepdim=True).sqrt() + _DEVIATION_FLOOR)


@dataclass(frozen=True)
class AffineTransforms:
    """The affine transform of each image of a batch: rotation (radians), scale, mirroring (−1 or 1), shift (shares of
    the side), and stretch: taller by a factor above 1, wider by the inverse of one below."""

    angle: Float[Tensor, " batch"]
    scale: Float[Tensor, " batch"]
    mirror: Float[Tensor, " batch"]
    shift: Float[Tensor, "batch 2"]
    stretch: Float[Tensor, " batch"]

    def __getitem__(self, rows: slice) -> "AffineTransforms":
        """The transforms of some of the images."""
        return AffineTransforms(
            self.angle[rows], self.scale[rows], self.mirror[rows], self.shift[rows], self.stretch[rows]
        )


def draw_transforms(count: int, settings: Augmentation, generator: torch.Generator) -> AffineTransforms:
    """Affine transforms of `count` images, drawn uniformly within the settings; none is stretched."""
    draws = torch.rand(count, 5, generator=generator)
    signed = 2 * draws - 1
    return AffineTransforms(
        angle=signed[:, 0] * math.radians(settings.rotation),
        scale=1 + signed[:, 1] * settings.zoom,
        mirror=torch.where(draws[:, 2] < 0.5 * settings.mirror, -1.0, 1.0),
        shift=signed[:, 3:] * settings.shift,
        stretch=torch.ones(count),
    )


def transformed(
    images: Float[Tensor, "batch channels rows columns"], transforms: AffineTransforms
) -> Float[Tensor, "batch channels rows columns"]:
    """The transformed images, rotated about their centre; border pixels are repeated beyond the border."""
    cos, sin = transforms.angle.cos() / transforms.scale, transforms.angle.sin() / transforms.scale
    rows, columns = images.shape[2:]
    theta = torch.zeros(len(images), 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = cos * transforms.mirror, -sin * rows / columns
    theta[:, 1, 0], theta[:, 1, 1] = sin * transforms.mirror * columns / rows, cos
    theta[:, 0] /= (1 / transforms.stretch).clamp(min=1).unsqueeze(1)
    theta[:, 1] /= transforms.stretch.clamp(min=1).unsqueeze(1)
    theta[:, :, 2] = -2 * transforms.shift  # sides go from -1 to 1
    grid = affine_grid(theta.to(images), list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode="bilinear", padding_mode="border", align_corners=False)


_KEY_STEP = 0x5851F42D4C957F2D
"""Difference between the keys of two identities made of one subject."""
_DRAWS = 2**30
"""Range of the pseudo-random integer of a subject."""


@dataclass(frozen=True)
class NewIdentities:
    """The identity, mirroring and stretch of each image."""

    key: Int64[Tensor, " batch"]
    """The subject's own key where its faces are neither mirrored nor stretched."""
    mirror: Float[Tensor, " batch"]
    """−1 where the face is mirrored, else 1."""
    stretch: Float[Tensor, " batch"]


def new_identities(
    subject: Int64[Tensor, " batch"], settings: Augmentation, generator: torch.Generator
) -> NewIdentities:
    """A random identity for each subject of a batch, the same for all of its images.

    subject: 64-bit hashes, on the CPU. Faces are mirrored with probability 1/2 and stretched with probability
    `stretched`, by a factor drawn uniformly. The draws are the upper bits of the product of the hash and a random odd
    number (multiplicative hashing).
    """
    factors = torch.tensor([1.0, *settings.stretch_subjects])
    mirrorings = 2 if settings.mirror_subjects else 1
    odd = 2 * int(torch.randint(2**62, (), generator=generator)) + 1
    drawn = ((subject * odd) >> 33) % _DRAWS
    mirrored, place = drawn % mirrorings, _place(drawn // mirrorings, _DRAWS // mirrorings, settings)
    return NewIdentities(
        key=subject ^ (mirrored + mirrorings * place) * _KEY_STEP,
        mirror=1.0 - 2.0 * mirrored,
        stretch=factors[place],
    )


def _place(drawn: Int64[Tensor, " batch"], below: int, settings: Augmentation) -> Int64[Tensor, " batch"]:
    """0 for an unstretched subject, else the number of its factor from 1; drawn: uniform in [0, below)."""
    count = len(settings.stretch_subjects)
    share = settings.stretched * below
    if count == 0 or share == 0:
        return torch.zeros_like(drawn)
    place = (drawn.double() * (count / share)).long() + 1
    return torch.where(drawn < share, place.clamp(max=count), 0)
