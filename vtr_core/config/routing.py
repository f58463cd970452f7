"""How primary capsules become secondary ones: one class per routing, a tagged union over them."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from vtr_core.config.settings import PositiveInt, Probability, Settings

OverComponents = Literal["sum", "mean"]


class SelfAttentionRouting(Settings):
    """Routing by self-attention (Duarte et al., Eq. 1 and appendix B)."""

    kind: Literal["self_attention"] = "self_attention"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the routed poses."""
    num_heads: PositiveInt = 1
    """Attention heads; the scale is 1/sqrt(head width)."""
    initial_gain: PositiveFloat = 1.0
    """Factor of the initial query and key weights, so that attention logits have standard deviation gain²; with torch's
    initialisation both layers of queries, keys and values are used, whose attention is nearly uniform at 1."""
    carried_presence: NonNegativeFloat = 0.0
    """γ: γ log pᵢ of the primary activation is added to the secondary logits, so that a capsule's activation reflects
    how much of it the features show; 0 is the paper's Equation 2."""
    mlp_dim: PositiveInt = 1024
    """Hidden width of the MLP after the attention."""
    dropout: Probability = 0.1
    """Dropout in that MLP."""


class NoRouting(Settings):
    """The ablation without routing: an MLP on every capsule by itself gives its pose and activation (Table 3)."""

    kind: Literal["none"] = "none"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the poses after the MLP."""
    carried_presence: NonNegativeFloat = 0.0
    """γ, as self-attention has it."""
    mlp_dim: PositiveInt = 1024
    """Hidden width of the MLP."""
    dropout: Probability = 0.1
    """Dropout in that MLP."""


class DynamicRouting(Settings):
    """Routing by agreement (Sabour et al. 2017); its weights and votes grow with the square of the capsules."""

    kind: Literal["dynamic"] = "dynamic"
    pose_dim: PositiveInt = 16
    """d2, the dimension of the routed poses (Table 3's; every pair of capsules has a d1 × d2 matrix of its own)."""
    num_iterations: PositiveInt = 3
    """Number of routing iterations."""
    agreement: OverComponents = "sum"
    """Of a vote with a pose, over the products of their d2 components. "sum" is the dot product of Sabour et al. By
    "mean" coupling coefficients stay soft at the start of training, whatever d2 is."""
    recompute: bool = False
    """Compute the votes anew in the backward pass in place of keeping them: those of one modality at a time are held,
    and every modality's are computed twice."""


class EmRouting(Settings):
    """EM routing of matrix capsules (Hinton et al. 2018); weights and votes grow with the square of the capsules."""

    kind: Literal["em"] = "em"
    pose_dim: PositiveInt = 16
    """d2, a square number, and the same as `primary_dim`: poses are matrices √d2 × √d2."""
    num_iterations: PositiveInt = 3
    """Number of M-steps; an E-step lies between two of them."""
    inverse_temperature: PositiveFloat = 1.0
    """λ of the last iteration; iteration t of T has λ·t/T."""
    density: OverComponents = "sum"
    """Of the logarithm of a Gaussian's density at a vote, over the d2 components. "sum" is that of Hinton et al. By
    "mean", as the cost always is, responsibilities stay soft at the start of training, whatever d2 is."""


class SetTransformerRouting(Settings):
    """Learned seeds that attend to the primary capsules (Lee et al. 2019, as stacked capsule autoencoders use it)."""

    kind: Literal["set_transformer"] = "set_transformer"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the routed poses."""
    num_heads: PositiveInt = 1
    """Attention heads; the scale is 1/sqrt(head width)."""


RoutingConfig = Annotated[
    SelfAttentionRouting | NoRouting | DynamicRouting | EmRouting | SetTransformerRouting, Field(discriminator="kind")
]
