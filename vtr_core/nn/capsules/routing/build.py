"""The routing that a configuration names."""

from typing import assert_never

from torch import nn

from vtr_core.config.blocks.routing import (
    DynamicRouting,
    EmRouting,
    NoRouting,
    RoutingConfig,
    SelfAttentionRouting,
    SetTransformerRouting,
)
from vtr_core.nn.capsules.routing.dynamic import Dynamic
from vtr_core.nn.capsules.routing.em import Em
from vtr_core.nn.capsules.routing.no_routing import Unrouted
from vtr_core.nn.capsules.routing.self_attention import SelfAttention
from vtr_core.nn.capsules.routing.set_transformer import SetTransformer


def build_routing(num_capsules: int, primary_dim: int, config: RoutingConfig) -> nn.Module:
    """A module from `num_capsules` primary `Capsules` of dimension `primary_dim` to as many secondary ones.

    The secondary ones have dimension `config.pose_dim`. Raises ConfigError where `config` does not fit the capsules.
    """
    match config:
        case SelfAttentionRouting():
            return SelfAttention(primary_dim, config)
        case NoRouting():
            return Unrouted(primary_dim, config)
        case DynamicRouting():
            return Dynamic(num_capsules, primary_dim, config)
        case EmRouting():
            return Em(num_capsules, primary_dim, config)
        case SetTransformerRouting():
            return SetTransformer(num_capsules, primary_dim, config)
        case _:
            assert_never(config)
