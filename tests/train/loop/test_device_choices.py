"""A compiled model trains as the plain one does; which runs compile."""

import pytest
import torch

from vtr_core.config.override import override
from vtr_core.run.presets import preset
from vtr_core.train.loop.learner import compiles

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize(
    ("name", "asked", "device", "expected"),
    [
        ("capsule-howto", "auto", GPU, True),
        ("capsule-howto", "auto", CPU, False),
        ("capsule-howto-routing-dynamic", "auto", GPU, False),
        ("capsule-howto-fully-connected", "auto", GPU, False),
        ("hybrid-msrvtt", "auto", GPU, False),
        ("hybrid-msrvtt", "on", CPU, True),
        ("capsule-howto", "off", GPU, False),
        ("capsule-howto", None, GPU, False),  # off unless asked for
    ],
)
def test_auto_compiles_on_a_gpu_what_is_compared_below(
    name: str, asked: str | None, device: torch.device, expected: bool
) -> None:
    config = override(preset(name), {} if asked is None else {"training.compile": asked})
    assert compiles(config, config.model.system().implementation(), device) is expected
