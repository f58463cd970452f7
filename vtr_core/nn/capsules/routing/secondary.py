"""The last step of routings without iterations: an MLP on each pose, and activations from the new poses."""

from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.capsules.capsules import Capsules

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
