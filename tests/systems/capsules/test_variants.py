"""Every row of the paper's tables can be trained: its preset builds a model, whose parameters all get a gradient."""

import pytest
import torch

from tests.builders.clip_batches import INPUTS, clips
from vtr_core.config.override import override
from vtr_core.losses.objectives.build import build_objective
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset
from vtr_core.systems.capsules.variants import VARIANTS


@pytest.mark.parametrize("name", ["", *(f"-{variant}" for variant in VARIANTS)])
@pytest.mark.parametrize("base", ["capsule-howto-tiny", "capsule-msrvtt"])
def test_a_variant_takes_a_step(base: str, name: str) -> None:
    config = override(preset(base + name), {"model.inputs": INPUTS.model_dump()})
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
