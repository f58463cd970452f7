"""Configurations of the capsule network and its baselines, and the `System` of them."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, ClassVar, Literal

from vtr_core.config.data_sets import WordEncoderConfig
from vtr_core.config.override import ModelInputs, PositiveInt, Probability
from vtr_core.config.run import ModelConfig
from vtr_core.config.towers import RoutingConfig, SelfAttentionRouting
from vtr_core.systems.system import System, columns, imported


class JointSpaceSettings(ModelConfig):
    """Settings of all models that embed captions and features in a joint space."""

    removed: ClassVar[Mapping[str, Any]] = {"frame_block": None}

    inputs: ModelInputs = ModelInputs()
    modalities: tuple[str, ...] = ()
    """Feature columns that the model takes (default: all of the training data's): `video` trains on video and text."""
    words: WordEncoderConfig = WordEncoderConfig()
    embedding_dim: PositiveInt = 4096
    """D, the dimension of the joint space."""
    normalize: bool = False
    """L2-normalise the embeddings (with a temperature loss); the paper uses plain dot products."""
    standardize: bool = False
    """Standardise features per dimension with the training data's mean and standard deviation, which the model
    keeps.
    """
    input_dropout: Probability = 0.0
    """Dropout on the input features."""
    initialization: Literal["scaled", "torch"] = "scaled"
    """`scaled`: each layer's initial weights are scaled to the size of its inputs, see `initialization.py`; `torch`:
    PyTorch's defaults, whose biases dominate features of small values.
    """

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return CAPSULES

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return tuple(self.inputs.features)


class CapsuleNetConfig(JointSpaceSettings):
    """Multimodal capsule network with routing by self-attention."""

    kind: Literal["capsule_net"] = "capsule_net"
    num_capsules: PositiveInt = 128
    """C, the number of capsules per modality."""
    primary_dim: PositiveInt = 32
    """d1, the dimension of the primary poses."""
    routing: RoutingConfig = SelfAttentionRouting()
    projected_poses: Literal["secondary", "primary"] = "secondary"
    """The poses that the secondary activations weight in Equation 3: x̂, or x as the paper prints it. `primary` needs a
    routing whose secondary capsule i belongs to primary capsule i: self_attention or none."""
    activation_scale: Literal["none", "num_capsules"] = "none"
    """The softmax over capsules scales poses by about 1/C; `num_capsules` multiplies them by C. EM routing has no
    softmax.
    """
    share_weights: bool = True
    """Routing and projection shared by all modalities (Table 6)."""


class FullyConnectedConfig(JointSpaceSettings):
    """Baseline: two linear layers with ReLU per modality (Duarte et al., Table 5), or a gated unit (Table 1)."""

    kind: Literal["fully_connected"] = "fully_connected"
    hidden_dim: PositiveInt = 4096
    """Width between the two layers; a gated unit has none."""
    layers: Literal["two_layers", "gated_unit"] = "two_layers"
    """`two_layers`: linear, ReLU, linear. `gated_unit`: y = Wx + b, times σ(W'y + b'), the embedding of HowTo100M's
    model (Miech et al. 2019, section 4) and of AVLnet (Rouditchenko et al. 2021).
    """


class SelfAttentionBaselineConfig(JointSpaceSettings):
    """Baseline: self-attention over pieces of the feature vector, without capsules (Duarte et al., Table 5)."""

    kind: Literal["self_attention_baseline"] = "self_attention_baseline"
    num_tokens: PositiveInt = 128
    """Number of equal tokens that a feature vector is cut into, zero-padded to a multiple."""
    attention_dim: PositiveInt = 32
    """Width of queries, keys, values and of the output tokens."""
    num_heads: PositiveInt = 1
    """Attention heads; the scale is 1/sqrt(head width)."""


def _trained_vectors(model: JointSpaceSettings) -> str | None:
    return None if _reads_texts(model) else "model.words.train_vectors"


def _reads_texts(model: JointSpaceSettings) -> bool:
    return model.words.encoder is not None


def _usual_features(model: JointSpaceSettings) -> "Mapping[str, int]":
    """HowTo100M's features: concatenated 2D and 3D features, and DAVEnet's; of the model's modalities."""
    dims = {"video": 4096, "audio": 1024}
    return {name: dim for name, dim in dims.items() if name in (model.modalities or dims)}


CAPSULES = System(
    name="capsules",
    configs=(CapsuleNetConfig, FullyConnectedConfig, SelfAttentionBaselineConfig),
    reads="clips",
    implementation=imported("vtr_core.systems.capsules.task", "IMPLEMENTATION"),
    presets=imported("vtr_core.systems.capsules.presets", "CAPSULE_PRESETS"),
    trained_vectors=_trained_vectors,
    reads_texts=_reads_texts,
    text_encoder="model.words.encoder",
    standardizes=attrgetter("standardize"),
    usual_features=_usual_features,
    takes=attrgetter("modalities"),
    reads_features=columns,
)
