"""Every mechanism of the knock-outs exists in its preset's model, and can be left out of its training."""

import pytest

from benchmarks.knock_outs.mechanisms import MECHANISMS
from benchmarks.knock_outs.worlds import WORLDS
from tests.builders.made_batch import made_batch
from vtr_core.config.override import override
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_can_be_switched_off_and_left_out(name: str) -> None:
    one = MECHANISMS[name]
    assert one.world in WORLDS
    config = override(preset(one.preset), one.changes)
    if one.without is not None:
        assert override(config, one.without).model != config.model or name == "captions-margin"
    made = (
        config if config.model.system().records(config.model) == "images" else made_batch(config, "unit", rows=4).config
    )
    offered = config.model.system().implementation().knock_outs(build_model(made.model))
    assert set(one.knock_out) <= set(offered)
