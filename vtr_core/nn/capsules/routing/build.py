"""The routing that a configuration names."""

from typing import assert_never

from torch import nn

from vtr_core.config.model import NoRouting, RoutingConfig, SelfAttentionRouting
from vtr_core.nn.capsules.routing.no_routing import Unrouted
from vtr_core.nn.capsules.routing.self_attention import SelfAttention


def build_routing(primary_dim: int, config: RoutingConfig) -> nn.Module:
    """A module from primary `Capsules` of dimension `primary_dim` to secondary ones of dimension `config.pose_dim`."""
    match config:
        case SelfAttentionRouting():
            return SelfAttention(primary_dim, config)
        case NoRouting():
            return Unrouted(primary_dim, config)
        case _:
            assert_never(config)
