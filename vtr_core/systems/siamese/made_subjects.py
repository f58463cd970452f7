"""Augmentation by new identities: mirrored or stretched faces count as other subjects."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.systems.siamese.config import Augmentation

_KEY_STEP = 0x5851F42D4C957F2D
"""Between the keys of what is made of one subject."""
_DRAWS = 2**30
"""Numbers that a subject may draw."""


@dataclass(frozen=True)
class MadeSubjects:
    """What each image's subject becomes."""

    key: Int64[Tensor, " batch"]
    """The subject's own where its faces stay as they are."""
    mirror: Float[Tensor, " batch"]
    """−1 for faces that are mirrored."""
    stretch: Float[Tensor, " batch"]


def make_subjects(subject: Int64[Tensor, " batch"], settings: Augmentation, generator: torch.Generator) -> MadeSubjects:
    """What the generator makes of each subject of a batch, in all of its images wherever they stand.

    subject: 64-bit hashes, on the CPU. The upper bits of their products with an odd number drawn at random choose
    whether faces are mirrored, by the odds of a coin, and by what they are stretched: a share `stretched` of subjects
    by one of the factors, each as likely as the others.
    """
    factors = torch.tensor([1.0, *settings.stretch_subjects])
    sides = 2 if settings.mirror_subjects else 1
    odd = 2 * int(torch.randint(2**62, (), generator=generator)) + 1
    drawn = ((subject * odd) >> 33) % _DRAWS
    side, place = drawn % sides, _place(drawn // sides, _DRAWS // sides, settings)
    return MadeSubjects(
        key=subject ^ (side + sides * place) * _KEY_STEP,
        mirror=1.0 - 2.0 * side,
        stretch=factors[place],
    )


def _place(drawn: Int64[Tensor, " batch"], below: int, settings: Augmentation) -> Int64[Tensor, " batch"]:
    """0 for a subject that keeps its proportions, else the number of its factor from 1; drawn: evenly below `below`."""
    count = len(settings.stretch_subjects)
    share = settings.stretched * below
    if count == 0 or share == 0:
        return torch.zeros_like(drawn)
    place = (drawn.double() * (count / share)).long() + 1
    return torch.where(drawn < share, place.clamp(max=count), 0)
