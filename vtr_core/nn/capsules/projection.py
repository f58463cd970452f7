"""Projection of capsules to the joint space (f_out)."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.capsules.capsules import Capsules


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
