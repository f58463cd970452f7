"""Identity augmentation: mirrored or stretched faces are trained as further subjects."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.systems.siamese.config import Augmentation

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
