"""The last step of routings without iterations: an MLP on each pose, and activations from the new poses."""

from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.capsules.capsules import Capsules


def pose_mlp(in_dim: int, hidden_dim: int, out_dim: int, dropout: float) -> nn.Sequential:
    """Two linear layers with GELU between them and dropout behind them, applied to every capsule by itself."""
    return nn.Sequential(nn.Linear(in_dim, hidden_dim), nn.GELU(), nn.Linear(hidden_dim, out_dim), nn.Dropout(dropout))


class SecondaryActivations(nn.Module):
    """Activations of given poses, a softmax over the capsules: they compete, and sum to 1.

    p̂ᵢ = exp(x̂ᵢ W_p + b_p) / Σⱼ exp(x̂ⱼ W_p + b_p)        (Duarte et al., Eq. 2 with x̂ for x)
    """

    def __init__(self, pose_dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(pose_dim, 1)

    def forward(self, poses: Float[Tensor, "batch capsules dim"]) -> Capsules:
        """The poses with their activations."""
        return Capsules(poses=poses, activations=self.linear(poses).squeeze(-1).softmax(dim=1))
