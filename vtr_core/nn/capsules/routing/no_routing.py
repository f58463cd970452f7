"""The ablation without routing: each secondary capsule is computed from its own primary capsule alone."""

from torch import nn

from vtr_core.config.blocks.routing import NoRouting
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing.secondary import SecondaryActivations, pose_mlp


class Unrouted(nn.Module):
    """x̂ᵢ = LayerNorm(MLP(pᵢxᵢ)), p̂ = softmax over the capsules of x̂ W_p + b_p (Duarte et al., section 4.4, Table 3)."""

    def __init__(self, primary_dim: int, config: NoRouting) -> None:
        super().__init__()
        self.mlp = pose_mlp(primary_dim, config.mlp_dim, config.pose_dim, config.dropout)
        self.norm_poses = nn.LayerNorm(config.pose_dim)
        self.activations = SecondaryActivations(config.pose_dim, config.carried_presence)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        return self.activations(self.norm_poses(self.mlp(capsules.weighted_poses())), capsules.activations)
