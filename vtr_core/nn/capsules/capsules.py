"""Capsules: poses and activations, from a feature vector, from new poses, and to the joint space."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn


@dataclass(frozen=True)
class Capsules:
    """`capsules` poses and activations per row; activations lie in [0, 1]."""

    poses: Float[Tensor, "batch capsules dim"]
    activations: Float[Tensor, "batch capsules"]

    def weighted_poses(self) -> Float[Tensor, "batch capsules dim"]:
        """pᵢ·xᵢ: poses of absent entities vanish."""
        return self.poses * self.activations.unsqueeze(-1)


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


class CapsuleProjection(nn.Module):
    """f_out: one linear layer over the concatenation of the C activation-weighted poses.

    f = W [s·p̂₁x₁, …, s·p̂_C x_C] + b        (Duarte et al., Eq. 3; the poses x are the secondary or the primary ones)

    activation_scale: "none" is s = 1, as in the paper. "num_capsules" is s = C, which makes up for activations that
    are a softmax and thus about 1/C.
    """

    def __init__(
        self, num_capsules: int, pose_dim: int, embedding_dim: int, activation_scale: Literal["none", "num_capsules"]
    ) -> None:
        super().__init__()
        self.scale = num_capsules if activation_scale == "num_capsules" else 1
        self.linear = nn.Linear(num_capsules * pose_dim, embedding_dim)

    def forward(self, capsules: Capsules) -> Float[Tensor, "batch embedding"]:
        """The embedding of each row."""
        return self.linear(self.scale * capsules.weighted_poses().flatten(1))


_PRESENCE_FLOOR = 1e-6
"""Lower bound on primary activations before their logarithm is taken."""


def pose_mlp(in_dim: int, hidden_dim: int, out_dim: int, dropout: float) -> nn.Sequential:
    """Two linear layers with GELU between them and dropout after them, applied to every capsule separately."""
    return nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, out_dim), nn.Dropout(dropout))


class SecondaryActivations(nn.Module):
    """Activations of given poses, a softmax over the capsules: they compete, and sum to 1.

    p̂ᵢ = exp(zᵢ) / Σⱼ exp(zⱼ),  zᵢ = x̂ᵢ W_p + b_p + γ log pᵢ        (Duarte et al., Eq. 2 with x̂ for x; γ = 0 there)

    With γ > 0 the activation of secondary capsule i also depends on that of primary capsule i, which reads the features
    with weights of its own, whereas W_p is shared by all capsules and reads the poses after attention. γ > 0 needs a
    routing that maps primary capsule i to secondary capsule i.
    """

    def __init__(self, pose_dim: int, carried_presence: float = 0.0) -> None:
        super().__init__()
        self.carried_presence = carried_presence
        self.linear = nn.Linear(pose_dim, 1)

    def forward(
        self, poses: Float[Tensor, "batch capsules dim"], presence: Float[Tensor, "batch capsules"] | None = None
    ) -> Capsules:
        """The poses with their activations; presence: the primary activations p, which are used where γ > 0."""
        logits = self.linear(poses).squeeze(-1)
        if self.carried_presence and presence is not None:
            logits = logits + self.carried_presence * presence.clamp(min=_PRESENCE_FLOOR).log()
        return Capsules(poses=poses, activations=logits.softmax(dim=1))
