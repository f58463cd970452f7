"""Knock-outs: each mechanism is one of its preset's model, and the page says what it costs, seed by seed."""

from typing import Any

import pytest

from benchmarks.knock_outs import MECHANISMS, WORLDS, markdown
from tests.builders.made_batch import made_batch
from vtr_core.config.override import override
from vtr_core.run.build import build_model
from vtr_core.run.presets import preset

ROW: dict[str, Any] = {
    "system": "muse",
    "preset": "muse-tokens-tiny",
    "data": "small-things",
    "what": "a scale",
    "figure": "R@1",
    "settings": ["training.epochs=4"],
    "with": [30.0, 34.0],
    "switched_off": [10.0, 10.0],
    "trained_without": None,
    "machine": "a machine",
}


def test_costs_are_those_of_the_same_seed() -> None:
    page = markdown({"muse-scale-4": ROW})
    assert "| 32.0 ± 2.8 | 10.0 ± 0.0 (+22.0 ± 25.4) | – | 2 |" in page
    assert "all runs with `training.epochs=4`" in page
    assert "Rows: mean ± standard deviation over seeds; differences in brackets, what it costs: ± half" in page
    assert page.count("not run") == len(MECHANISMS) - 1


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_can_be_switched_off_and_left_out(name: str) -> None:
    mechanism = MECHANISMS[name]
    assert mechanism.world in WORLDS
    config = override(preset(mechanism.preset), mechanism.changes)
    if mechanism.without is not None:
        assert override(config, mechanism.without).model != config.model or name == "captions-margin"
    made = (
        config if config.model.system().records(config.model) == "images" else made_batch(config, "unit", rows=4).config
    )
    offered = config.model.system().implementation().knock_outs(build_model(made.model))
    assert set(mechanism.knock_out) <= set(offered)
