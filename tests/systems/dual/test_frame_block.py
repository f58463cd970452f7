"""MUSE's block over the dual encoder's frames."""

import torch

from tests.builders.frame_batches import SMALL, videos
from vtr_core.config.towers import FrameBlock, MambaLearner
from vtr_core.run.build import build_model
from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.dual.model import HybridEncoder


def built(initial_gate: float | None) -> HybridEncoder:
    torch.manual_seed(0)
    learner = MambaLearner(layers=1, state=4)
    block = None if initial_gate is None else FrameBlock(learner=learner, initial_gate=initial_gate)
    model = build_model(SMALL.model_copy(update={"frame_block": block, "dropout": 0.0}))
    assert isinstance(model, HybridEncoder)
    return model.eval()


def encoded(model: HybridEncoder, no_video: tuple[int, ...] = ()) -> torch.Tensor:
    found = model(videos(no_video))
    assert found.latent is not None
    assert found.concept is not None
    return torch.cat([space.vectors["video"] for space in (found.latent, found.concept)], dim=1)


def test_it_is_off_by_default_and_closed_gates_change_nothing() -> None:
    plain, closed = built(None), built(0.0)
    assert HybridEncoderConfig().frame_block is None
    weights = plain.state_dict()
    assert not [name for name in weights if "block" in name]
    added = closed.load_state_dict(weights, strict=False)
    assert not added.unexpected_keys
    assert all(name.startswith("frames.block.") for name in added.missing_keys)
    assert torch.equal(encoded(closed), encoded(plain))


def test_every_weight_of_it_learns() -> None:
    model, plain = built(0.1), built(None)
    model.load_state_dict(plain.state_dict(), strict=False)
    assert not torch.allclose(encoded(model), encoded(plain))
    encoded(model).square().sum().backward()
    added = [value for name, value in model.named_parameters() if name.startswith("frames.block.")]
    assert added
    assert all(value.grad is not None and value.grad.abs().sum() > 0 for value in added)


def test_frames_beyond_those_read_keep_their_part_in_the_mean() -> None:
    """The mean is of all frames; the block adds the mean change of those it reads."""
    model, batch = built(0.1), videos()
    frames, mask, mean = batch.frames["video"].float(), batch.mask["video"], batch.mean["video"]
    shifted = model.frames(frames, mask, mean + 1) - model.frames(frames, mask, mean)
    assert torch.allclose(shifted[:, : mean.shape[1]], torch.ones_like(mean), atol=1e-5)
    assert model.frames.block is not None
    changed = model.frames.block(frames, None, mask)
    expected = torch.stack([changed[row, : int(mask[row].sum())].mean(dim=0) for row in range(len(mask))])
    assert torch.allclose(model.frames(frames, mask, mean)[:, : mean.shape[1]], expected, atol=1e-5)


def test_a_video_without_frames_stays_exactly_zero_and_influences_no_other() -> None:
    model = built(0.1)
    found, whole = encoded(model, no_video=(1,)), encoded(model)
    assert not found[1].any()
    others = torch.arange(len(whole)) != 1
    assert torch.allclose(found[others], whole[others], atol=1e-5)
