"""Images of faces: preparation, transforms, made identities."""

import pytest
import torch

from vtr_core.systems.siamese.config import Augmentation
from vtr_core.systems.siamese.face_images import (
    AffineTransforms,
    draw_transforms,
    new_identities,
    prepared,
    transformed,
)


def test_prepared_has_mean_0_and_deviation_1_and_the_size_asked_for():
    pixels = torch.randint(256, (3, 1, 40, 30), dtype=torch.uint8)
    found = prepared(pixels, (20, 20))
    assert found.shape == (3, 1, 20, 20)
    torch.testing.assert_close(found.mean(dim=(1, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(found.square().mean(dim=(1, 2, 3)), torch.ones(3), atol=1e-3, rtol=0)
    assert prepared(torch.full((1, 1, 8, 8), 9, dtype=torch.uint8), (8, 8)).abs().max() < 1e-3


def affine(angle=0.0, scale=1.0, mirror=1.0, shift=(0.0, 0.0), stretch=1.0) -> AffineTransforms:
    return AffineTransforms(*(torch.tensor([value]) for value in (angle, scale, mirror, shift, stretch)))


def test_affine():
    images = torch.rand(1, 1, 10, 10)
    torch.testing.assert_close(transformed(images, affine()), images, atol=1e-5, rtol=0)
    torch.testing.assert_close(transformed(images, affine(mirror=-1.0)), images.flip(3), atol=1e-5, rtol=0)
    right = transformed(images, affine(shift=(0.2, 0.0)))
    torch.testing.assert_close(right[..., 2:], images[..., :-2], atol=1e-5, rtol=0)
    quarter = transformed(images, affine(angle=torch.pi / 2))
    same = [torch.allclose(quarter, images.rot90(k, (2, 3)), atol=1e-4) for k in (1, 3)]
    assert any(same)


def test_a_quarter_turn_of_an_oblong_image_stays_a_turn():
    images = torch.zeros(1, 1, 21, 11)
    images[0, 0, 10, 5:9] = 1.0
    turned = transformed(images, affine(angle=torch.pi / 2))
    assert float(turned.sum()) > 3
    assert float(turned[0, 0, :, 5].sum()) > 3


def test_draws_lie_within_the_settings_and_depend_on_the_seed():
    settings = Augmentation(shift=0.1, rotation=10, zoom=0.2, mirror=True)
    found = draw_transforms(1000, settings, torch.Generator().manual_seed(1))
    again = draw_transforms(1000, settings, torch.Generator().manual_seed(1))
    assert found.shift.abs().max() <= 0.1
    assert float(found.angle.abs().max()) <= torch.pi / 18 + 1e-6
    assert (found.scale - 1).abs().max() <= 0.2 + 1e-6
    assert set(found.mirror.tolist()) == {-1.0, 1.0}
    torch.testing.assert_close(found.angle, again.angle)
    still = draw_transforms(5, Augmentation(), torch.Generator())
    assert still.mirror.eq(1).all()
    assert still.shift.eq(0).all()


@pytest.mark.parametrize(("stretch", "rows", "columns"), [(1.5, 6, 4), (1 / 1.5, 4, 6), (1.0, 4, 4)])
def test_a_stretched_face_is_longer_or_wider(stretch: float, rows: int, columns: int):
    images = torch.zeros(1, 1, 12, 12)
    images[0, 0, 4:8, 4:8] = 1.0
    found = transformed(images, affine(stretch=stretch))[0, 0] > 0.5
    assert (int(found.any(dim=1).sum()), int(found.any(dim=0).sum())) == (rows, columns)


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


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_share_of_the_subjects_is_stretched_by_every_factor_as_often(share: float):
    subject = torch.randint(-(2**63), 2**63 - 1, (20_000,), generator=torch.Generator().manual_seed(0))
    settings = Augmentation(stretch_subjects=(0.7, 0.8, 1.25), stretched=share)
    stretch = new_identities(subject, settings, torch.Generator().manual_seed(1)).stretch
    found = [float((stretch == torch.tensor(factor)).float().mean()) for factor in (1.0, 0.7, 0.8, 1.25)]
    assert found == pytest.approx([1 - share, *[share / 3] * 3], abs=0.02)
