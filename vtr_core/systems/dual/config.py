"""The dual encoder's configurations: a latent space, a concept space, or both; and the `System` of it."""

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.data_sets import ConceptSimilarity
from vtr_core.config.override import ModelInputs, PositiveInt, Probability, Settings
from vtr_core.config.pretrained import TextEncoder
from vtr_core.config.run import ModelConfig
from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.errors import ConfigError
from vtr_core.systems.system import System, columns, imported

if TYPE_CHECKING:
    from vtr_core.config.run import TrainConfig


Compat = Literal["none", "hybrid_space"]


class HybridEncoderConfig(ModelConfig):
    """Dual encoding (Dong et al. 2021) with a latent space, a concept space, or both (the hybrid)."""

    removed: ClassVar[Mapping[str, Any]] = {"frame_block": None, "concept_prior": None}

    kind: Literal["hybrid_encoder"] = "hybrid_encoder"
    inputs: ModelInputs = ModelInputs(word_dim=500)
    feature: str = "video"
    """The feature column whose frames are encoded."""
    latent_dim: PositiveInt | None = 1536
    """Dimension of the latent space (None: no latent space)."""
    num_concepts: PositiveInt | None = 512
    """K, the number of concepts of the concept space, the most frequent of the training captions (None: no concept
    space).
    """
    concept_similarity: ConceptSimilarity = "jaccard"
    """Similarity of concepts: generalised Jaccard of probabilities, or cosine of scores (before the sigmoid)."""
    video: TemporalLevelsConfig = TemporalLevelsConfig()
    text: TemporalLevelsConfig = TemporalLevelsConfig(kernel_sizes=(2, 3, 4))
    text_encoder: TextEncoder = None
    """A pretrained encoder whose vector of the whole caption, which is not trained, is a fourth level of the text."""
    dropout: Probability = 0.2
    """Dropout on levels 2 to 4, and in the latent head."""
    train_vectors: bool = True
    """Train given word vectors too; without given ones a vocabulary's vectors are always trained."""
    initialization: Literal["normal", "hybrid_space"] = "normal"
    """Initial word vectors and concept heads. `normal`: N(0, 1), and Glorot's uniform rule with b = 0, as in the latent
    heads; `hybrid_space`: U(±0.1), and U(±1/√in), as in the published code.
    """
    compat: Compat = "none"
    """`hybrid_space`: padding counts as in the published code: the backward GRU over frames starts in it, and windows
    of padding alone take part in the maximum over time.
    """

    @classmethod
    def system(cls) -> System:
        """The system of this model."""
        return DUAL

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature,)

    @property
    def space(self) -> Literal["hybrid", "latent", "concept"]:
        """The space of its scores: both together where it has both."""
        if self.latent_dim is not None and self.num_concepts is not None:
            return "hybrid"
        return "concept" if self.latent_dim is None else "latent"

    @model_validator(mode="after")
    def _has_a_space(self) -> "HybridEncoderConfig":
        if self.latent_dim is None and self.num_concepts is None:
            raise ValueError("latent_dim and num_concepts are both None; the model needs at least one space")
        return self


class DualTripletConfig(Settings):
    """Triplet losses with the hardest negatives in each space, and the detection of concepts."""

    removed: ClassVar[Mapping[str, Any]] = {
        "granularity_margin": None,
        "concept_weight_factor": 1.0,
        "causality_weight": 0.0,
        "causality_concepts": 10,
    }

    kind: Literal["dual_triplet"] = "dual_triplet"
    margin: PositiveFloat = 0.2
    """m, the margin of a match over the hardest negative."""
    negatives: Literal["hardest", "all"] = "hardest"
    """The negatives of a row and of a column that have a loss."""
    concept_weight: NonNegativeFloat | None = None
    """B, the weight of the mean binary cross-entropy of the concepts (None: the number of rows of the batch, so that it
    is a sum over rows); 0 makes the concept space a second latent one.
    """
    labels: Literal["soft", "binary"] = "soft"
    """Concept labels of a video: count relative to the largest one, or 1 for every concept that it keeps."""
    ranks_concepts: bool = True
    """Whether the concept space has a triplet loss as well; without it concepts are learned by detection alone."""
    compat: Compat = "none"
    """`hybrid_space`: captions of the same video and identical captions are negatives, as in the published code."""


def _check(config: "TrainConfig") -> None:
    if config.batch.micro_rows is not None:
        raise ConfigError(
            "batch.micro_rows with model.kind = 'hybrid_encoder': its batch normalisation needs all rows at once; "
            "leave it out, and lower batch.videos or batch.max_frames where memory is short"
        )


def _trained_vectors(model: HybridEncoderConfig) -> str:  # noqa: ARG001  any of them has it
    return "model.train_vectors"


def _reads_texts(model: HybridEncoderConfig) -> bool:
    return model.text_encoder is not None


def _usual_features(model: HybridEncoderConfig) -> "Mapping[str, int]":
    """ResNeXt-101's and ResNet-152's features of frames, concatenated."""
    return {model.feature: 4096}


DUAL = System(
    name="dual",
    configs=(HybridEncoderConfig,),
    losses=(DualTripletConfig,),
    used_by="vtr evaluate, vtr index, vtr search, vtr explain and vtr analyze",
    reads="videos",
    implementation=imported("vtr_core.systems.dual.task", "IMPLEMENTATION"),
    presets=imported("vtr_core.systems.dual.presets", "DUAL_PRESETS"),
    check=_check,
    trained_vectors=_trained_vectors,
    reads_unknown_words=True,
    reads_texts=_reads_texts,
    reads_words_too=True,
    text_encoder="model.text_encoder",
    num_concepts=attrgetter("num_concepts"),
    usual_features=_usual_features,
    reads_features=columns,
)
