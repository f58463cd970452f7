"""Three orders of one sequence, and the frames that come out of it."""

import pytest
import torch

from vtr_core.nn.mamba.pyramid import ScaledFrames, TemporalTokens, aggregate, learned_changes

ROWS, FRAMES, DIM = 2, 3, 1
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
    assert torch.equal(learned_changes(scaled, order, lambda tokens, _: tokens), torch.zeros(ROWS, len(kept), DIM))
    moved = learned_changes(scaled, order, lambda tokens, _: tokens + 0.5)
    torch.testing.assert_close(moved, torch.full((ROWS, len(kept), DIM), 0.5))

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
