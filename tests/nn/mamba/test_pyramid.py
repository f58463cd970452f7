"""Scales of frames in space and time, and the order of their tokens."""

import pytest
import torch

from tests.reference.muse import pooled_grid, refined, upsampled
from vtr_core.errors import ConfigError
from vtr_core.nn.mamba.pyramid import Pyramid, ScaledFrames, TemporalScale, TemporalTokens, aggregate, learned_changes

DIM = 8


def _pyramid(grid, scales, dim=DIM):
    torch.manual_seed(0)
    pyramid = Pyramid(dim, grid, scales).double()
    with torch.no_grad():
        for parameter in pyramid.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return pyramid


def _patches(grid, frames=3):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(frames, grid**2, DIM, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize(("grid", "scale"), [(7, 3), (7, 5), (4, 2), (5, 5), (3, 6)])
def test_a_scale_equals_slow_code(grid, scale):
    pyramid, patches = _pyramid(grid, [scale]), _patches(grid)
    (found,) = pyramid(patches)
    layers = list(pyramid.scales[str(scale)])
    for frame, tokens in zip(patches, found, strict=True):
        resampled = frame
        if scale < grid:
            resampled = pooled_grid(frame, grid, scale)
        if scale > grid:
            resampled = upsampled(frame, grid, layers[0])
        expected = refined(resampled, scale, layers[-5:-3], layers[-2:])
        torch.testing.assert_close(tokens, expected, atol=1e-10, rtol=0)


def test_other_scales_are_refused():
    with pytest.raises(ConfigError, match=r"scale 10 cannot be made of a 7 × 7 grid; 1, …, 7, 14 and 28 can"):
        Pyramid(DIM, 7, (1, 10))


FRAME_DIM = 4


def _scale(width):
    torch.manual_seed(0)
    return TemporalScale(FRAME_DIM, width).double()


def _frames(count=7):
    return torch.randn(2, count, FRAME_DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("width", [2, 3, 20])
def test_padding_changes_nothing(width):
    scale, frames = _scale(width), _frames()
    expected = scale(frames[:, :5], torch.ones(2, 5, dtype=torch.bool)).tokens
    held = frames.masked_fill((torch.arange(7) >= 5)[:, None], torch.nan)
    found = scale(held, (torch.arange(7) < 5).expand(2, 7))
    assert found.mask.sum(dim=1).tolist() == [-(-5 // width)] * 2
    torch.testing.assert_close(found.tokens[:, : expected.shape[1]], expected, atol=1e-12, rtol=0)


ROWS, FRAMES, TOKEN_DIM = 2, 3, 1
MASK = torch.tensor([[True, True, True], [True, False, False]])


def _scaled(temporal=False):
    """Token values say where they are from: 100 · scale + 10 · frame + cell."""

    def grid(scale, cells):
        frame, cell = torch.arange(FRAMES)[:, None, None], torch.arange(cells)[None, :, None]
        return (100.0 * scale + 10 * frame + cell).expand(ROWS, -1, -1, -1)

    there = torch.tensor([[True, True], [True, False]])
    windows = TemporalTokens(torch.tensor([[[901.0], [902.0]]]).expand(ROWS, -1, -1), there)
    return ScaledFrames(grid(1, 1)[:, :, 0], MASK, [grid(2, 4), grid(3, 9)], [windows] if temporal else [])


def test_scale_by_scale():
    sequence = aggregate(_scaled(temporal=True), "scale")
    cells = [100.0 * scale + 10 * frame + cell for scale in (1, 2, 3) for frame in range(3) for cell in range(scale**2)]
    assert sequence.tokens[0, :, 0].tolist() == [*cells, 901, 902]
    assert sequence.anchors.tolist() == [0, 1, 2]
    first = [value % 100 < 10 for value in cells]
    assert sequence.mask.tolist() == [[True] * len(first) + [True, True], [*first, True, False]]


@pytest.mark.parametrize("kept_last", [False, True])
def test_frame_by_frame(kept_last):
    sequence = aggregate(_scaled(temporal=True), "frame", kept_last)
    scales = (3, 2, 1) if kept_last else (1, 2, 3)
    cells = [100.0 * scale + 10 * frame + cell for frame in range(3) for scale in scales for cell in range(scale**2)]
    expected = [901, 902, *cells] if kept_last else [*cells, 901, 902]
    assert sequence.tokens[0, :, 0].tolist() == expected
    assert sequence.tokens[0, sequence.anchors, 0].tolist() == [100, 110, 120]
    assert sequence.mask[1].sum() == 14 + 1


@pytest.mark.parametrize("kept_last", [False, True])
def test_mean_over_time(kept_last):
    sequence = aggregate(_scaled(), "spatial", kept_last)
    scales = (3, 2, 1) if kept_last else (1, 2, 3)
    cells = [100.0 * scale + cell for scale in scales for cell in range(scale**2)]
    torch.testing.assert_close(sequence.tokens[0, :, 0], torch.tensor([value + 10 for value in cells]))
    torch.testing.assert_close(sequence.tokens[1, :, 0], torch.tensor(cells))  # of its one frame
    assert sequence.mask.all()
    assert sequence.anchors.tolist() == [13 if kept_last else 0]


@pytest.mark.parametrize("order", ["scale", "frame", "spatial"])
def test_a_change_of_the_kept_tokens_is_one_of_the_frames(order):
    scaled = _scaled()
    kept = aggregate(scaled, order).anchors
    assert torch.equal(
        learned_changes(scaled, order, lambda tokens, _: tokens), torch.zeros(ROWS, len(kept), TOKEN_DIM)
    )
    moved = learned_changes(scaled, order, lambda tokens, _: tokens + 0.5)
    torch.testing.assert_close(moved, torch.full((ROWS, len(kept), TOKEN_DIM), 0.5))

    def others_alone(tokens, _):
        rest = torch.ones(tokens.shape[1], dtype=torch.bool).index_fill(0, kept, False)
        return torch.where(rest[:, None], tokens + 1, tokens)

    assert not learned_changes(scaled, order, others_alone).any()


def test_a_video_without_frames_has_no_tokens():
    scaled = _scaled()
    nothing = ScaledFrames(scaled.frames, torch.zeros_like(MASK), scaled.spatial)
    for order in ("scale", "frame", "spatial"):
        sequence = aggregate(nothing, order)
        assert not sequence.mask.any()
        assert torch.isfinite(sequence.tokens).all()
