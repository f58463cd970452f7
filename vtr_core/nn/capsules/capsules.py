"""A set of capsules: pose (properties of an entity) and activation (its presence)."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True)
class Capsules:
    """`capsules` poses and activations per row; activations lie in [0, 1]."""

    poses: Float[Tensor, "batch capsules dim"]
    activations: Float[Tensor, "batch capsules"]

    def weighted_poses(self) -> Float[Tensor, "batch capsules dim"]:
        """pᵢ·xᵢ: poses of absent entities vanish."""
        return self.poses * self.activations.unsqueeze(-1)
