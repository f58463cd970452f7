"""Mirrored and stretched faces are other people's, evenly and in all images of a subject."""

import pytest
import torch

from vtr_core.systems.siamese.config import Augmentation
from vtr_core.systems.siamese.face_images import new_identities

SETTINGS = Augmentation(mirror_subjects=True, stretch_subjects=(0.8, 1.25), stretched=2 / 3)


def test_every_image_of_a_subject_becomes_the_same_and_every_choice_is_as_likely():
    subject = torch.randint(-(2**63), 2**63 - 1, (500,), generator=torch.Generator().manual_seed(0))
    kinds, keys = torch.zeros(2, 3), set()
    for seed in range(20):
        made = new_identities(subject.repeat_interleave(2), SETTINGS, torch.Generator().manual_seed(seed))
        for values in (made.key, made.mirror, made.stretch):
            assert torch.equal(values[::2], values[1::2])
        assert torch.equal(made.key == subject.repeat_interleave(2), (made.mirror == 1) & (made.stretch == 1))
        for side, mirror in enumerate((1, -1)):
            for place, stretch in enumerate((1.0, 0.8, 1.25)):
                kinds[side, place] += ((made.mirror == mirror) & (made.stretch == torch.tensor(stretch))).float().mean()
        keys |= set(made.key.tolist())
    assert ((kinds / 20 - 1 / 6).abs() < 0.02).all()
    assert 0.95 * 6 * 500 < len(keys) <= 6 * 500, "nobody is two people at once, and nearly all were made"


def test_without_settings_everybody_stays():
    subject = torch.arange(7)
    made = new_identities(subject, Augmentation(mirror=True), torch.Generator())
    assert torch.equal(made.key, subject)
    assert made.mirror.eq(1).all()
    assert made.stretch.eq(1).all()


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_of_the_subjects_is_stretched_by_every_factor_as_often(share: float):
    subject = torch.randint(-(2**63), 2**63 - 1, (20_000,), generator=torch.Generator().manual_seed(0))
    settings = Augmentation(stretch_subjects=(0.7, 0.8, 1.25), stretched=share)
    stretch = new_identities(subject, settings, torch.Generator().manual_seed(1)).stretch
    found = [float((stretch == torch.tensor(factor)).float().mean()) for factor in (1.0, 0.7, 0.8, 1.25)]
    assert found == pytest.approx([1 - share, *[share / 3] * 3], abs=0.02)
