"""The model that a configuration names."""

from typing import assert_never

from torch import nn

from vtr_core.config.model import CapsuleNetConfig, ModelConfig
from vtr_core.models.capsule_net import CapsuleNet


def build_model(config: ModelConfig) -> nn.Module:
    """A module from a batch to `Embeddings`, its fresh weights drawn from torch's global generator.

    Raises ConfigError where the parts of `config` do not fit together.
    """
    match config:
        case CapsuleNetConfig():
            return CapsuleNet(config)
        case _:
            assert_never(config)
