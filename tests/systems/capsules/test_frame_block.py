"""MUSE's block over the frames of the capsule network's feature vectors."""

from typing import Any

import pytest
import torch

from tests.builders.clip_batches import INPUTS, clips
from vtr_core.config.caption_text import WordEncoderConfig
from vtr_core.config.routing import SelfAttentionRouting
from vtr_core.config.sequence_models import MambaLearner, VectorFrameBlock
from vtr_core.errors import ConfigError
from vtr_core.run.build import build_model
from vtr_core.systems.capsules.config import CapsuleNetConfig
from vtr_core.systems.capsules.model import CapsuleNet

DIM, FRAMES = INPUTS.features["video"], 2
CONFIG = CapsuleNetConfig(
    inputs=INPUTS,
    num_capsules=4,
    primary_dim=3,
    routing=SelfAttentionRouting(pose_dim=8, mlp_dim=16, num_heads=2),
    words=WordEncoderConfig(hidden_dim=12),
    embedding_dim=16,
)


def block(frames: int, **changes: Any) -> VectorFrameBlock:
    return VectorFrameBlock(frames=frames, learner=MambaLearner(layers=1, state=4), **changes)


def built(frame_block: VectorFrameBlock | None) -> CapsuleNet:
    torch.manual_seed(0)
    model = build_model(CONFIG.model_copy(update={"frame_block": frame_block}))
    assert isinstance(model, CapsuleNet)
    return model.eval()


def test_it_is_off_by_default_and_closed_gates_change_nothing() -> None:
    plain, closed = built(None), built(block(FRAMES, initial_gate=0.0))
    assert CapsuleNetConfig(inputs=INPUTS).frame_block is None
    weights = plain.state_dict()
    assert not [name for name in weights if "block" in name]
    added = closed.load_state_dict(weights, strict=False)
    assert not added.unexpected_keys
    assert all(name.startswith("inputs.frame_blocks.video.block.") for name in added.missing_keys)
    for name, vectors in plain(clips()).vectors.items():
        assert torch.equal(closed(clips()).vectors[name], vectors)


def test_every_weight_of_it_learns_and_other_features_stay() -> None:
    model, plain, batch = built(block(FRAMES)), built(None), clips()
    model.load_state_dict(plain.state_dict(), strict=False)
    found, without = model(batch).vectors, plain(batch).vectors
    assert not torch.allclose(found["video"][batch.present["video"]], without["video"][batch.present["video"]])
    assert torch.equal(found["audio"], without["audio"])
    found["video"].square().sum().backward()
    added = [value for name, value in model.named_parameters() if "frame_blocks" in name]
    assert added
    assert all(value.grad is not None and value.grad.abs().sum() > 0 for value in added)


def test_frames_influence_each_other_and_a_missing_feature_stays_exactly_zero() -> None:
    changed = built(block(FRAMES)).inputs.frame_blocks["video"]
    vectors = torch.randn(3, DIM, requires_grad=True)
    (gradient,) = torch.autograd.grad(changed(vectors)[0, 0], vectors)
    assert (gradient[0].unflatten(0, (FRAMES, -1)).abs().sum(dim=1) > 0).all()
    assert not gradient[1:].any()
    assert not changed(torch.zeros(2, DIM)).any()


def test_vectors_of_another_number_of_frames_and_unknown_features_are_refused() -> None:
    with pytest.raises(ConfigError, match="not as many equal parts"):
        built(block(DIM + 1))
    with pytest.raises(ConfigError, match="the model's features: video, audio"):
        built(block(1, feature="sound"))
