"""A captioner with Video Swin within: tokens, gradients against frozen ones, what is frozen, rates, weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from vtr_core.config.override import ModelInputs, override
from vtr_core.config.run import OptimizerConfig
from vtr_core.data.batches import FrameBatch, PictureBatch
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.nn.video_swin import DEVIATION, MEAN, VideoSwin, stretched
from vtr_core.run.inputs import check_parts
from vtr_core.run.presets import preset
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.generated_captions import as_given, column
from vtr_core.systems.captioning.model import Captioned, Captioner
from vtr_core.systems.captioning.task import IMPLEMENTATION
from vtr_core.train.optimizer import build_optimizer

WORDS, SIDE, FRAMES, PLACES = 7, 16, 4, 2 * 2 * 2
SWIN = {"image_size": SIDE, "frames": FRAMES, "width": 4, "depths": (1, 1), "heads": (1, 2)}


def config(**swin: Any) -> CaptionerConfig:
    small = {"hidden_dim": 8, "layers": 2, "heads": 2, "mlp_dim": 16, "max_tokens": 6, "dropout": 0.0}
    inputs = ModelInputs(num_words=WORDS, max_words=5)
    return CaptionerConfig(**{"inputs": inputs, "backbone": {**SWIN, **swin}, "stored_size": SIDE, **small})


def captioner(**swin: Any) -> Captioner:
    torch.manual_seed(0)
    return Captioner(config(**swin)).eval()


def batch() -> PictureBatch:
    draws = torch.Generator().manual_seed(1)
    keys = torch.arange(3)
    return PictureBatch(
        frames=torch.randint(0, 256, (3, FRAMES, 3, SIDE, SIDE), dtype=torch.uint8, generator=draws),
        mask=torch.arange(FRAMES) < torch.tensor([[4], [2], [0]]),
        tokens=torch.tensor([[1, 4, 7, 0], [2, 0, 0, 0], [3, 3, 0, 0]]),
        clip_key=keys,
        video_key=keys,
        caption_key=keys,
    )


def loss(model: nn.Module, given: PictureBatch | FrameBatch) -> Captioned:
    hidden = torch.rand(3, 6, generator=torch.Generator().manual_seed(2))
    found = model(given, hidden, contrasted=True)
    assert isinstance(found, Captioned)
    return found


def test_short_clips_are_stretched_and_what_is_not_there_is_not_seen() -> None:
    given = batch()
    whole = stretched(given.frames, given.mask, 6)
    for row, places in enumerate([[0, 0, 1, 2, 2, 3], [0, 0, 0, 1, 1, 1]]):
        assert torch.equal(whole[row], given.frames[row, places])
    assert not whole[2].any()
    model = captioner()
    tokens, known = model.video_tokens(given.frames, given.mask)
    assert known.sum(dim=1).tolist() == [PLACES, PLACES, 0]
    given.frames[~given.mask] = 255
    assert torch.equal(model.video_tokens(given.frames, given.mask)[0], tokens)
    alone, _ = model.video_tokens(given.frames[1:2, :2], given.mask[1:2, :2])
    assert torch.allclose(alone[0], tokens[1], atol=1e-6)


def frozen_tokens(model: Captioner, given: PictureBatch) -> FrameBatch:
    """Features of the model's own backbone, computed before, as `vtr extract` stores them but in full precision."""
    assert model.backbone is not None
    pixels = (given.frames.double() / 255).numpy()
    seen = (pixels - np.array(MEAN)[:, None, None]) / np.array(DEVIATION)[:, None, None]
    index = torch.arange(FRAMES) * given.mask.sum(dim=1, keepdim=True) // FRAMES
    values = torch.from_numpy(np.stack([seen[row, index[row]] for row in range(3)])).float()
    with torch.no_grad():
        rows = model.backbone(values.movedim(2, 1)).flatten(1, 3)
    mask = given.mask.any(dim=1, keepdim=True).expand(-1, PLACES)
    return FrameBatch(
        frames={"video": rows},
        mask={"video": mask},
        mean={"video": rows.mean(dim=1)},
        present={"video": mask.any(dim=1)},
        tokens=given.tokens,
        clip_key=given.clip_key,
        video_key=given.video_key,
        caption_key=given.caption_key,
    )


def test_gradients_of_the_captioner_are_those_of_frozen_tokens() -> None:
    """And the backbone has gradients of its own."""
    model, given = captioner(), batch()
    features = ModelInputs(features={"video": 8}, num_words=WORDS, max_words=5)
    plain = config().model_copy(update={"backbone": None, "grid": 2, "inputs": features})
    frozen = Captioner(plain).eval()
    own = {name: value for name, value in model.state_dict().items() if not name.startswith("backbone.")}
    frozen.load_state_dict(own)
    found, expected = loss(model, given), loss(frozen, frozen_tokens(model, given))
    assert found.present.tolist() == [True, True, False]
    assert torch.allclose(found.loss, expected.loss, atol=1e-5)
    for one in (found, expected):
        assert one.videos is not None
        (one.loss.sum() + one.videos.mean().square().sum()).backward()
    theirs = dict(frozen.named_parameters())
    assert set(theirs) == set(own)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if name in theirs:
            grad = theirs[name].grad
            assert grad is not None
            assert torch.allclose(parameter.grad, grad, atol=1e-4), name
        else:
            assert parameter.grad.abs().sum() > 0, name


def test_recomputation_gives_the_same_gradients() -> None:
    found = []
    for recompute in (False, True):
        model = captioner(recompute=recompute)
        loss(model, batch()).loss.sum().backward()
        assert model.backbone is not None
        found.append([one.grad for one in model.backbone.parameters()])
    for plain, again in zip(*found, strict=True):
        assert plain is not None
        assert torch.equal(plain, again)


def test_layers_are_frozen_and_have_rates_by_depth() -> None:
    def trained(freeze: int | str) -> set[str]:
        network = captioner(freeze=freeze).backbone
        assert network is not None
        return {name for name, one in network.named_parameters() if one.requires_grad}

    every = trained(0)
    assert trained("all") == set()
    assert every - trained(1) == {n for n in every if n.startswith(("patch_embed", "layers.0."))}
    model = captioner()
    groups = build_optimizer(
        model, OptimizerConfig(backbone_factor=0.1, layer_decay=0.5, weight_decay=0.2)
    ).param_groups
    names = {id(one): name for name, one in model.named_parameters()}
    rates = {names[id(one)]: group["rate_factor"] for group in groups for one in group["params"]}
    assert rates["backbone.norm.weight"] == pytest.approx(0.1)
    assert rates["backbone.layers.1.blocks.0.attn.qkv.weight"] == pytest.approx(0.05)
    assert rates["backbone.layers.0.downsample.reduction.weight"] == pytest.approx(0.025)
    assert rates["backbone.patch_embed.proj.weight"] == pytest.approx(0.0125)
    assert rates["frames.0.weight"] == 1
    decayed = {names[id(one)] for group in groups if group["weight_decay"] for one in group["params"]}
    assert "backbone.layers.0.blocks.0.attn.proj.weight" in decayed
    assert "backbone.layers.0.blocks.0.attn.relative_position_bias_table" not in decayed


def test_published_names_load_and_other_files_are_refused(tmp_path: Path) -> None:
    torch.manual_seed(5)
    given = VideoSwin(4, (1, 1), (1, 2))
    file = str(tmp_path / "swin.safetensors")
    save_file({f"backbone.{name}": value.contiguous() for name, value in given.state_dict().items()}, file)
    model = captioner(weights=file)
    IMPLEMENTATION.pretrained(model)
    assert model.backbone is not None
    for name, value in model.backbone.state_dict().items():
        assert torch.equal(value, given.state_dict()[name]), name
    with pytest.raises(CheckpointError, match="there is no file of weights nowhere"):
        IMPLEMENTATION.pretrained(captioner(weights="nowhere"))
    with pytest.raises(CheckpointError, match="of another network"):
        IMPLEMENTATION.pretrained(captioner(weights=file, depths=(1, 2)))


def test_pixels_of_a_table_are_frames() -> None:
    given = batch().frames[:1]
    flat = given.permute(0, 1, 3, 4, 2).flatten(2).float()
    assert torch.equal(as_given(flat, config()), given)
    assert column(config()) == ("frames", SIDE * SIDE * 3)
    row = pd.DataFrame(dict(IMPLEMENTATION.signature(config()).example_row))
    assert len(row["frames"][0][0]) == SIDE * SIDE * 3


def test_settings_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match=r"16 frames are read of a clip, and model\.backbone\.frames = 8"):
        check_parts(override(preset("caption-swin-tiny"), {"batch.max_frames": 16}))
    for change, message in (
        ({"model.grid": 7}, "grid and standardize are for features"),
        ({"model.stored_size": 16}, r"frames of 16 pixels are smaller than backbone\.image_size = 32"),
        ({"model.backbone.image_size": 30}, "image_size = 30 and frames = 8 must be multiples of 8 and 2"),
        ({"model.backbone.heads": (2,)}, "different numbers of stages"),
        ({"model.backbone.heads": (2, 5)}, "the width of stage 2, 64, is no multiple of 5"),
        ({"model.backbone.freeze": "some"}, "give the number of first layers"),
    ):
        with pytest.raises(ConfigError, match=message):
            override(preset("caption-swin-tiny"), change)
