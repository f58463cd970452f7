"""Blocks of a model: towers, routings, sequence models."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from vtr_core.config.override import Depth, PositiveInt, Probability, Settings

OverComponents = Literal["sum", "mean"]


class RoutingSettings(Settings):
    """Settings of every routing from C primary to C secondary capsules."""

    one_to_one: ClassVar[bool] = False
    """Whether secondary capsule i belongs to primary capsule i."""
    competing: ClassVar[bool] = True
    """Whether activations are a softmax over the capsules."""


class SelfAttentionRouting(RoutingSettings):
    """Routing by self-attention (Duarte et al., Eq. 1 and appendix B)."""

    one_to_one = True
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


class NoRouting(RoutingSettings):
    """The ablation without routing: an MLP on every capsule by itself gives its pose and activation (Table 3)."""

    one_to_one = True
    kind: Literal["none"] = "none"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the poses after the MLP."""
    carried_presence: NonNegativeFloat = 0.0
    """γ, as self-attention has it."""
    mlp_dim: PositiveInt = 1024
    """Hidden width of the MLP."""
    dropout: Probability = 0.1
    """Dropout in that MLP."""


class DynamicRouting(RoutingSettings):
    """Routing by agreement (Sabour et al. 2017); its weights and votes grow with the square of the capsules."""

    kind: Literal["dynamic"] = "dynamic"
    pose_dim: PositiveInt = 16
    """d2, the dimension of the routed poses (Table 3's; every pair of capsules has a d1 × d2 matrix of its own)."""
    num_iterations: Depth = 3
    """Number of routing iterations."""
    agreement: OverComponents = "sum"
    """Of a vote with a pose, over the products of their d2 components. "sum" is the dot product of Sabour et al. By
    "mean" coupling coefficients stay soft at the start of training, whatever d2 is."""
    recompute: bool = False
    """Compute the votes anew in the backward pass in place of keeping them: those of one modality at a time are held,
    and every modality's are computed twice."""


class EmRouting(RoutingSettings):
    """EM routing of matrix capsules (Hinton et al. 2018); weights and votes grow with the square of the capsules."""

    removed: ClassVar[Mapping[str, Any]] = {"density": "mean"}
    competing = False

    kind: Literal["em"] = "em"
    pose_dim: PositiveInt = 16
    """d2, a square number, and the same as `primary_dim`: poses are matrices √d2 × √d2."""
    num_iterations: Depth = 3
    """Number of M-steps; an E-step lies between two of them."""
    inverse_temperature: PositiveFloat = 1.0
    """λ of the last iteration; iteration t of T has λ·t/T."""
    components: OverComponents = "mean"
    """Of the cost and of the log density, over the d2 components. "sum" is procedure 1 of Hinton et al., with gradients
    through the E-steps. "mean" keeps responsibilities soft at the start of training, whatever d2 is, and takes them as
    constants."""


class SetTransformerRouting(RoutingSettings):
    """Learned seeds that attend to the primary capsules (Lee et al. 2019, as stacked capsule autoencoders use it)."""

    kind: Literal["set_transformer"] = "set_transformer"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the routed poses."""
    num_heads: PositiveInt = 1
    """Attention heads; the scale is 1/sqrt(head width)."""


RoutingConfig = Annotated[
    SelfAttentionRouting | NoRouting | DynamicRouting | EmRouting | SetTransformerRouting, Field(discriminator="kind")
]


ScanBackend = Literal["auto", "kernel", "reference"]


Aggregation = Literal["scale", "frame", "spatial"]


NormPlace = Literal["before", "after"]
"""Where a layer's LayerNorm is: before the sequence model, or after it."""


class MambaLearner(Settings):
    """A selective state space model over the sequence (Gu and Dao 2023; both directions: Zhu et al. 2024)."""

    kind: Literal["mamba"] = "mamba"
    layers: Depth = 4
    """Number of layers L (Table 8)."""
    expansion: PositiveInt = 1
    """Inner channels per channel of the tokens."""
    state: PositiveInt = 16
    """State dimension of each inner channel."""
    conv: PositiveInt = 4
    """Width of the causal convolution before the scan."""
    scan: Literal["none", "v1", "v2"] = "v2"
    """Directions of the scan: one; both with shared projections; both with projections of their own (Table 5)."""
    scan_backend: ScanBackend = "auto"
    """`kernel`: mamba-ssm's, on a GPU; `reference`: plain torch; `auto`: the kernel where it can run."""
    recompute: bool = False
    """Recompute convolutions and scans in the backward pass: 0.7 times the memory for 1.17 times the time on a CPU."""


class TransformerLearner(Settings):
    """Self-attention that holds the matrix of all pairs of tokens."""

    kind: Literal["transformer"] = "transformer"
    layers: Depth = 4
    """Number of layers."""
    num_heads: PositiveInt = 8
    """Attention heads; the scale is 1/sqrt(head width)."""


class FlashLearner(Settings):
    """The same self-attention by torch's fused operation, which does not hold that matrix."""

    kind: Literal["flash"] = "flash"
    layers: Depth = 4
    """Number of layers."""
    num_heads: PositiveInt = 8
    """Attention heads; the scale is 1/sqrt(head width)."""


class MambaOutLearner(Settings):
    """Mamba without the state space model: a gated convolution (Yu and Wang 2024)."""

    kind: Literal["mamba_out"] = "mamba_out"
    layers: Depth = 4
    """Number of layers."""
    expansion: PositiveInt = 1
    """Inner channels per channel of the tokens."""
    conv: PositiveInt = 7
    """Width of the non-causal convolution."""


class NoLearner(Settings):
    """Tokens as they are: mean pooling of the frames."""

    kind: Literal["none"] = "none"


LearnerConfig = Annotated[
    MambaLearner | TransformerLearner | FlashLearner | MambaOutLearner | NoLearner, Field(discriminator="kind")
]


KernelSizes = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class TemporalLevelsConfig(Settings):
    """Levels 2 and 3 of a sequence: a bidirectional GRU, and convolutions over its outputs."""

    hidden_dim: PositiveInt = 512
    """Units of the GRU in each direction."""
    num_filters: PositiveInt = 512
    """Filters of each convolution."""
    kernel_sizes: KernelSizes = (2, 3, 4, 5)
    """Kernel widths, one convolution each."""


Nonlinearity = Literal["tanh", "squash"]


Couplings = Literal["outputs", "inputs"]


class PlainDropout(Settings):
    """Dropout at one rate on every layer of the tower but the last."""

    kind: Literal["plain"] = "plain"
    rate: Probability = 0.2
    """Probability of dropping a value."""


class ConcreteDropout(Settings):
    """Plain dropout below the face capsules, and on these a rate that each capsule learns (Gal et al. 2017)."""

    kind: Literal["concrete"] = "concrete"
    rate: Probability = 0.2
    """Dropout rate of the layers below."""
    initial_rate: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.1
    """The rate of every face capsule before training."""
    temperature: PositiveFloat = 0.1
    """Temperature t of the relaxed mask; smaller values make it closer to binary."""
    weight_penalty: NonNegativeFloat = 1e-4
    """Weight of the squared weights that read a capsule, over 1 − p."""
    entropy_penalty: NonNegativeFloat = 1e-3
    """Weight of the negative entropy of the capsules' dropout rates, which draws them towards 1/2."""
    compat: Literal["none", "paper"] = "none"
    """`paper`: Equations 2 and 3 as printed: the temperature divides the logit of p alone, and entropy is added with
    the sign that drives it down."""


DropoutConfig = Annotated[PlainDropout | ConcreteDropout, Field(discriminator="kind")]


class CapsuleTower(Settings):
    """Convolution, primary capsules, face capsules by routing (Siamese Capsule Networks, section 4)."""

    kind: Literal["capsules"] = "capsules"
    channels: PositiveInt = 256
    """Channels of the first convolution, 9 × 9 with stride 3."""
    primary_types: PositiveInt = 32
    """Primary capsules per grid position."""
    primary_dim: PositiveInt = 8
    """Pose dimension of the primary capsules: one convolution (9 × 9, stride 2) per dimension."""
    num_face_capsules: PositiveInt = 32
    """Number of face capsules: 32 as in the text (512 inputs to the last layer); 10 gives the published parameter
    count, 5,898,240."""
    face_dim: PositiveInt = 16
    """Pose dimension of a face capsule."""
    iterations: Depth = 4
    """Number of routing iterations: 4 on AT&T, 6 on LFW."""
    couplings: Couplings = "outputs"
    """Axis of the softmax of the routing coefficients: the face capsules of a primary capsule, or (`inputs`) the
    primary capsules of a face capsule."""
    nonlinearity: Nonlinearity = "tanh"
    """Nonlinearity of the poses: elementwise tanh, or squashing (Sabour et al.)."""
    dropout: DropoutConfig = PlainDropout()
    reconstruction_weight: NonNegativeFloat = 0.0
    """Weight λ of the squared error of the reconstruction from the face capsules; 0: no decoder."""


class LeNetTower(Settings):
    """LeNet-5's two convolutions and two layers (LeCun et al. 1998), with ReLU and maximum pooling."""

    kind: Literal["lenet"] = "lenet"
    dropout: Probability = 0.2
    """Dropout rate before each fully connected layer but the last."""


class AlexNetTower(Settings):
    """AlexNet's five convolutions and two layers (Krizhevsky et al. 2012), of one column."""

    kind: Literal["alexnet"] = "alexnet"
    hidden_dim: PositiveInt = 4096
    """Width of the fully connected layers."""
    dropout: Probability = 0.2
    """Dropout rate before each fully connected layer but the last."""


class ResNetTower(Settings):
    """ResNet-34 (He et al. 2016)."""

    kind: Literal["resnet34"] = "resnet34"
    dropout: Probability = 0.2
    """Dropout rate of the pooled features."""


class InceptionTower(Settings):
    """InceptionV3 (Szegedy et al. 2016) with six inception modules, as the paper's baseline."""

    kind: Literal["inception_v3"] = "inception_v3"
    dropout: Probability = 0.2
    """Dropout rate of the pooled features."""


TowerConfig = Annotated[
    CapsuleTower | LeNetTower | AlexNetTower | ResNetTower | InceptionTower, Field(discriminator="kind")
]
