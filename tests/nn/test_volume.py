from math import sqrt

import pytest
import torch
from torch.autograd import gradcheck

from tests.reference import losses as reference
from vtr_core.nn.embeddings import pair_volume, triple_volume


def _draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


TEXT, VIDEO, AUDIO = _draw(3, 5), _draw(4, 5, seed=1), _draw(4, 5, seed=2)


def test_volumes_equal_loops():
    pairs, triples = pair_volume(TEXT, VIDEO), triple_volume(TEXT, VIDEO, AUDIO)
    for i in range(3):
        for j in range(4):
            text, video, audio = TEXT[i].tolist(), VIDEO[j].tolist(), AUDIO[j].tolist()
            assert pairs[i, j].item() == pytest.approx(reference.volume(text, video), abs=1e-12)
            assert triples[i, j].item() == pytest.approx(reference.volume(text, video, audio), abs=1e-12)


def test_known_volumes():
    x, y, z = torch.eye(3, dtype=torch.float64).split(1)
    assert triple_volume(x, 2 * y, 3 * z).item() == 1.0
    assert pair_volume(x, x + y).item() == pytest.approx(sqrt(0.5))
    # Three vectors with angles of 60° between each other: det = 1 + 2/8 − 3/4.
    assert triple_volume(x + y, y + z, x + z).item() == pytest.approx(sqrt(0.5))
    assert triple_volume(x, y, x + y).item() == pytest.approx(1e-3)


def test_gradients_equal_finite_differences():
    inputs = [vectors.clone().requires_grad_() for vectors in (TEXT, VIDEO, AUDIO)]
    assert gradcheck(pair_volume, tuple(inputs[:2]))
    assert gradcheck(triple_volume, tuple(inputs))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_no_volume_are_zero_not_infinite(dtype):
    text = TEXT.to(dtype).requires_grad_()
    (pair_volume(text, text).diagonal().sum() + triple_volume(text, text, text).diagonal().sum()).backward()
    assert (text.grad == 0).all()
