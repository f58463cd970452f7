"""Primary capsules: poses and activations from a feature vector."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.capsules.capsules import Capsules


class PrimaryCapsules(nn.Module):
    """C poses and C activations from one linear layer over the feature vector.

    xᵢ = (W f + b)ᵢ ∈ R^d1,  pᵢ = sigmoid((W′ f + b′)ᵢ) ∈ [0, 1]        (Duarte et al., section 3.2)
    """

    def __init__(self, feature_dim: int, num_capsules: int, pose_dim: int) -> None:
        super().__init__()
        self.num_capsules = num_capsules
        self.linear = nn.Linear(feature_dim, num_capsules * (pose_dim + 1))

    def forward(self, features: Float[Tensor, "batch feature"]) -> Capsules:
        """The capsules of each row."""
        values = self.linear(features).unflatten(1, (self.num_capsules, -1))
        return Capsules(poses=values[..., :-1], activations=torch.sigmoid(values[..., -1]))
