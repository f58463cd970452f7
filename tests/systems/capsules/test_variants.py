"""Every row of the paper's tables can be trained: its preset builds a model, whose parameters all get a gradient."""

import pytest
import torch

from tests.builders.clip_batches import INPUTS, clips
from vtr_core.config.override import override
from vtr_core.losses.contrastive import build_objective
from vtr_core.run.build import build_model
from vtr_core.run.inputs import text_encoder_changes
from vtr_core.run.presets import preset
from vtr_core.systems.capsules.presets import CAPSULE_PRESETS


@pytest.mark.parametrize("name", ["", *(f"-{variant}" for variant in CAPSULE_PRESETS.variants)])
@pytest.mark.parametrize("base", ["capsule-howto-tiny", "capsule-msrvtt"])
def test_a_variant_takes_a_step(base: str, name: str) -> None:
    config = override(preset(base + name), {"model.inputs": INPUTS.model_dump()})
    config = override(config, text_encoder_changes(config.model))
    assert config.preset == base + name
    torch.manual_seed(0)
    model, batch = build_model(config.model), clips(extra=config.batch.candidates - 1 or None)
    build_objective(config.loss)(model(batch), batch.keys, 0).total.backward()
    without = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert without == []


def test_the_papers_rows() -> None:
    """Table 3: C = 64, d1 = d2 = 16; Table 4: C = 32, 64, 256 with the other settings of the main model."""
    for kind in ("none", "dynamic", "em", "set_transformer", "self_attention"):
        model = preset(f"capsule-howto-routing-{kind.replace('_', '-')}").model
        assert (model.num_capsules, model.primary_dim, model.routing.pose_dim) == (64, 16, 16)
        assert model.routing.kind == kind
        assert (model.projected_poses == "primary") == (kind in ("none", "self_attention"))
    main = preset("capsule-howto").model
    for name, count in (("quarter", 32), ("half", 64), ("double", 256)):
        assert preset(f"capsule-howto-capsules-{name}").model == main.model_copy(update={"num_capsules": count})
    assert preset("capsule-howto-mil-nce").batch.candidates == 5


@pytest.mark.parametrize("base", ["capsule-howto", "capsule-howto-tiny", "capsule-msrvtt"])
def test_published_is_the_papers_letter_whatever_the_base_adds(base: str) -> None:
    model = preset(f"{base}-published").model
    assert model.routing.carried_presence == 0
    assert not model.words.layer_norm
    assert model.activation_scale == "none"


def test_baselines_are_those_that_were_published() -> None:
    """HT100M: video, text, gated units, 1e-4; AVLnet: three modalities, 2.5e-4; MIL-NCE: 1e-3; multi-head attention."""
    ht100m, avlnet, mil_nce = (preset(f"capsule-howto-{name}") for name in ("max-margin", "avlnet", "mil-nce"))
    assert (ht100m.model.layers, ht100m.model.modalities) == ("gated_unit", ("video",))
    assert (ht100m.optimizer.learning_rate, ht100m.loss.kind) == (1e-4, "max_margin_ranking")
    assert (avlnet.model.layers, avlnet.model.modalities) == ("gated_unit", ())
    assert (avlnet.optimizer.learning_rate, avlnet.loss.kind) == (2.5e-4, "masked_margin_softmax")
    assert (mil_nce.optimizer.learning_rate, mil_nce.optimizer.warmup_steps) == (1e-3, 24)
    assert (mil_nce.model.modalities, preset("capsule-howto-video").model.modalities) == (("video",), ("video",))
    assert preset("capsule-howto-published").model.routing.num_heads == 4
    assert preset("capsule-howto-self-attention").model.num_heads == 4
