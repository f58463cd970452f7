"""Windows of patches, the mask of shifted ones by slow code, and a checkpoint's names."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vtr_core.backbones import swin
from vtr_core.backbones.swin import SwinExtractor
from vtr_core.backbones.weights import load_state, read_state
from vtr_core.errors import CheckpointError
from vtr_core.nn.video_swin import VideoSwin, fitting, relative_positions, shift_mask, unwindowed, windows


def small() -> VideoSwin:
    torch.manual_seed(0)
    network = VideoSwin(width=16, depths=(2, 2), heads=(2, 4)).eval()
    for name, values in network.named_parameters():
        if "bias_table" in name:
            torch.nn.init.normal_(values)
    return network


def test_windows_are_cut_and_put_together() -> None:
    seen = torch.arange(2 * 4 * 6 * 6 * 3).reshape(2, 4, 6, 6, 3).float()
    cut = windows(seen, (2, 3, 2))
    assert cut.shape == (2 * 2 * 2 * 3, 12, 3)
    assert torch.equal(cut[1], seen[0, :2, :3, 2:4].reshape(12, 3))
    assert torch.equal(unwindowed(cut, (2, 3, 2), (4, 6, 6)), seen)


@pytest.mark.parametrize("shift", [(1, 1, 1), (0, 1, 1), (0, 0, 1)])
def test_patches_from_opposite_sides_do_not_see_each_other(shift: tuple[int, int, int]) -> None:
    """As published: regions numbered by three slices of each axis, the last assignment to a place counts."""
    sizes, window = (4, 6, 4), (2, 3, 2)
    region, number = torch.zeros(sizes), 0
    cuts = [(slice(-side), slice(-side, -step), slice(-step, None)) for side, step in zip(window, shift, strict=True)]
    for first in cuts[0]:
        for second in cuts[1]:
            for third in cuts[2]:
                region[first, second, third] = number
                number += 1
    cut = windows(region[None, ..., None], window)[..., 0]
    for place, mask in zip(cut, shift_mask(sizes, window, shift), strict=True):
        for i, one in enumerate(place):
            for j, other in enumerate(place):
                assert mask[i, j] == (0.0 if one == other else -100.0)


def test_relative_positions_tell_every_pair_of_patches() -> None:
    index = relative_positions((2, 3, 2))
    places = [(t, h, w) for t in range(2) for h in range(3) for w in range(2)]
    for i, (t, h, w) in enumerate(places):
        for j, (s, g, v) in enumerate(places):
            assert index[i, j] == (t - s + 1) * 5 * 3 + (h - g + 2) * 3 + (w - v + 1)


def test_short_sides_are_one_window() -> None:
    assert fitting((16, 14, 7), is_shifted=True) == ((8, 7, 7), (4, 3, 0))
    assert fitting((4, 14, 5), is_shifted=False) == ((4, 7, 5), (0, 0, 0))


def test_every_place_has_a_row_and_sees_what_is_near() -> None:
    see = SwinExtractor(small(), "cpu")
    frames = np.random.default_rng(0).integers(0, 256, (20, 60, 64, 3), np.uint8)
    rows = see(frames)
    assert rows.shape == (10 * 8 * 8, 32)
    changed = frames.copy()
    changed[:2, :4, :4] = 0
    apart = np.abs(see(changed) - rows).max(axis=1).reshape(10, 8, 8)
    assert apart[0, 0, 0] > 10 * apart[9, 7, 7]


def test_a_checkpoint_has_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {f"backbone.{name}": values for name, values in small().state_dict().items()}
    for name in ("layers.1.blocks.1.attn.relative_position_index", "layers.0.downsample.reduction.weight", "norm.bias"):
        assert f"backbone.{name}" in state
    torch.save({"state_dict": {**state, "cls_head.fc_cls.weight": torch.zeros(3, 32)}}, tmp_path / "swin.pth")
    monkeypatch.setattr(swin, "VideoSwin", small)
    assert swin.load(str(tmp_path / "swin.pth"), "cpu")(np.zeros((2, 32, 32, 3), np.uint8)).shape == (16, 32)
    with pytest.raises(CheckpointError, match=r"lacks patch_embed\.proj\.weight"):
        load_state(small(), read_state(tmp_path / "swin.pth"), "the file")
