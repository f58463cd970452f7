"""Model configurations: one class per system, a tagged union over them."""

from typing import Annotated, Literal, assert_never

from pydantic import Field, PositiveFloat

from vtr_core.config.captioner import CaptionerConfig
from vtr_core.config.dual_encoder import HybridEncoderConfig
from vtr_core.config.model_inputs import ModelInputs, Probability
from vtr_core.config.muse import MuseConfig, TextWords
from vtr_core.config.settings import PositiveInt, Settings
from vtr_core.config.siamese import SiameseConfig


class SelfAttentionRouting(Settings):
    """Routing by self-attention (Duarte et al., Eq. 1 and appendix B)."""

    kind: Literal["self_attention"] = "self_attention"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the routed poses."""
    num_heads: PositiveInt = 1
    """Attention heads; the scale is 1/sqrt(head width)."""
    initial_gain: PositiveFloat = 1.0
    """What the first weights of queries, keys and values are multiplied by. At 1 attention, and with it the
    activations, begins nearly uniform, and a short training leaves it so; at 3 capsules differ from the start."""
    mlp_dim: PositiveInt = 1024
    """Hidden width of the MLP after the attention."""
    dropout: Probability = 0.1
    """Dropout in that MLP."""


class NoRouting(Settings):
    """The ablation without routing: an MLP on every capsule by itself gives its pose and activation (Table 3)."""

    kind: Literal["none"] = "none"
    pose_dim: PositiveInt = 256
    """d2, the dimension of the poses after the MLP."""
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
    """Rounds of agreement."""


class EmRouting(Settings):
    """EM routing of matrix capsules (Hinton et al. 2018); weights and votes grow with the square of the capsules."""

    kind: Literal["em"] = "em"
    pose_dim: PositiveInt = 16
    """d2, a square number, and the same as `primary_dim`: poses are matrices √d2 × √d2."""
    num_iterations: PositiveInt = 3
    """M-steps; an E-step lies between two of them."""
    inverse_temperature: PositiveFloat = 1.0
    """λ of the last iteration; iteration t of T has λ·t/T."""


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


class WordEncoderConfig(Settings):
    """Caption words to one vector: word vectors, a linear layer with ReLU, pooling under the padding mask."""

    hidden_dim: PositiveInt = 4096
    """Width of the linear layer."""
    pooling: Literal["max", "mean", "max_mean"] = "max"
    """How words are pooled; `max_mean` is both side by side, twice as wide."""
    word_dropout: Probability = 0.0
    """Share of words dropped in training (never all of a caption)."""
    dropout: Probability = 0.0
    """Dropout on the pooled words."""
    train_vectors: bool = False
    """Train the word vectors too. A vocabulary without given vectors is always trained."""


class JointSpaceSettings(Settings):
    """What every model that embeds captions and features in a joint space has."""

    inputs: ModelInputs = ModelInputs()
    words: WordEncoderConfig = WordEncoderConfig()
    embedding_dim: PositiveInt = 4096
    """D, the joint space."""
    normalize: bool = False
    """L2-normalise the embeddings (with a temperature loss); the paper uses plain dot products."""
    standardize: bool = False
    """Features standardised per dimension with the training data's mean and deviation, which the model keeps."""
    input_dropout: Probability = 0.0
    """Dropout on the input features."""


class CapsuleNetConfig(JointSpaceSettings):
    """Multimodal capsule network with routing by self-attention."""

    kind: Literal["capsule_net"] = "capsule_net"
    num_capsules: PositiveInt = 128
    """C, capsules per modality."""
    primary_dim: PositiveInt = 32
    """d1, the dimension of the primary poses."""
    routing: RoutingConfig = SelfAttentionRouting()
    projected_poses: Literal["secondary", "primary"] = "secondary"
    """The poses that the secondary activations weight in Equation 3: x̂, or x as the paper prints it. `primary` needs a
    routing whose secondary capsule i belongs to primary capsule i: self_attention or none."""
    activation_scale: Literal["none", "num_capsules"] = "none"
    """The softmax over capsules scales poses by about 1/C; `num_capsules` undoes it. EM routing has no softmax."""
    share_weights: bool = True
    """Routing and projection shared by all modalities (Table 6)."""


class FullyConnectedConfig(JointSpaceSettings):
    """Baseline: two linear layers with ReLU per modality (Duarte et al., Table 5)."""

    kind: Literal["fully_connected"] = "fully_connected"
    hidden_dim: PositiveInt = 4096
    """Width between the two layers."""


class SelfAttentionBaselineConfig(JointSpaceSettings):
    """Baseline: self-attention over pieces of the feature vector, without capsules (Duarte et al., Table 5)."""

    kind: Literal["self_attention_baseline"] = "self_attention_baseline"
    num_tokens: PositiveInt = 128
    """Equal pieces that a feature vector is cut into; zeros are appended where they do not come out even."""
    attention_dim: PositiveInt = 32
    """Width of queries, keys, values and of the attended tokens."""
    num_heads: PositiveInt = 1
    """Attention heads; the scale is 1/sqrt(head width)."""


ModelConfig = Annotated[
    CapsuleNetConfig
    | FullyConnectedConfig
    | SelfAttentionBaselineConfig
    | HybridEncoderConfig
    | MuseConfig
    | SiameseConfig
    | CaptionerConfig,
    Field(discriminator="kind"),
]
"""The union of all systems' models, tagged by `kind`."""


def trained_vectors(model: ModelConfig) -> str | None:
    """The dotted name of the setting that says whether word vectors are trained, which data without vectors sets.

    None for a model that reads no given word vectors.
    """
    match model:
        case HybridEncoderConfig():
            return "model.train_vectors"
        case MuseConfig():
            return "model.text.train_vectors" if isinstance(model.text, TextWords) else None
        case CapsuleNetConfig() | FullyConnectedConfig() | SelfAttentionBaselineConfig():
            return "model.words.train_vectors"
        case SiameseConfig() | CaptionerConfig():
            return None
        case _:
            assert_never(model)


def reads_videos(model: ModelConfig) -> bool:
    """Whether the model reads whole videos with their frames, and not clips."""
    return isinstance(model, HybridEncoderConfig | MuseConfig | CaptionerConfig)


def reads_images(model: ModelConfig) -> bool:
    """Whether the model reads images of subjects."""
    return isinstance(model, SiameseConfig)


def standardizes(model: ModelConfig) -> bool:
    """Whether the model keeps the training data's mean and deviation of its features."""
    return isinstance(model, JointSpaceSettings | CaptionerConfig) and model.standardize
