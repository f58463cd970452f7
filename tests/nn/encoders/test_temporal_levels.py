"""Levels 2 and 3 of a sequence equal those of each row by itself, without padding."""

import pytest
import torch
from torch import Tensor

from tests.reference import dual as reference
from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.nn.multi_level_encoding import TemporalLevels

DIM, STEPS = 6, 7
LENGTHS = (3, 7, 0, 1, 5)
SMALL = TemporalLevelsConfig(hidden_dim=4, num_filters=3, kernel_sizes=(2, 3, 5))


def _levels(reads_padding: bool = False, padded_windows: bool = False, dropout: float = 0.0) -> TemporalLevels:
    torch.manual_seed(0)
    return TemporalLevels(DIM, SMALL, dropout, reads_padding, padded_windows).double()


def _batch(steps: int = STEPS) -> tuple[Tensor, Tensor]:
    values = torch.randn(len(LENGTHS), STEPS, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    values = torch.cat([values, torch.full((len(LENGTHS), steps - STEPS, DIM), torch.nan)], dim=1)
    return values, torch.arange(steps) < torch.tensor(LENGTHS).unsqueeze(1)


def test_every_row_equals_the_row_by_itself() -> None:
    levels, (values, mask) = _levels(), _batch()
    found = levels(values, mask)
    assert found.shape == (len(LENGTHS), levels.out_dim)
    for row, length in enumerate(LENGTHS):
        expected = reference.temporal_levels(levels, values[row, :length]) if length else torch.zeros(levels.out_dim)
        torch.testing.assert_close(found[row], expected.to(found))


@pytest.mark.parametrize("steps", [8, 20])
def test_padding_changes_nothing_whatever_it_holds(steps: int) -> None:
    levels = _levels()
    torch.testing.assert_close(levels(*_batch(steps)), levels(*_batch()), rtol=0, atol=1e-14)


def test_neither_do_the_gradients() -> None:
    gradients = []
    for steps in (STEPS, 12):
        levels = _levels()
        levels(*_batch(steps)).square().sum().backward()
        gradients.append([parameter.grad for parameter in levels.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert one is not None
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_the_published_code_reads_the_padding() -> None:
    ours, published = _levels(), _levels(reads_padding=True)
    found, expected = published(*_batch()), ours(*_batch())
    torch.testing.assert_close(found[1], expected[1])  # a row without padding
    forward, backward = slice(0, SMALL.hidden_dim), slice(SMALL.hidden_dim, 2 * SMALL.hidden_dim)
    torch.testing.assert_close(found[0, forward], expected[0, forward])
    assert not torch.allclose(found[0, backward], expected[0, backward])
    assert (found[2] == 0).all()


def test_the_published_code_takes_windows_of_padding_into_the_maximum() -> None:
    """Weights that silence every window with the one step of row 3: only windows of padding respond, with the bias."""
    values, mask = _batch()
    for padded_windows, expected in ((False, 0.0), (True, 1.0)):
        levels = _levels(padded_windows=padded_windows)
        with torch.no_grad():
            hidden = levels.gru(values[3:4, :1])[0][0, 0]
            for convolution in levels.convolutions:
                convolution.bias.fill_(1.0)
                convolution.weight.copy_((-100 * hidden / hidden.square().sum()).reshape(1, -1, 1))
        assert (levels(values, mask)[3, -9:] == expected).all()
