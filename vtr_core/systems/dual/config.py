"""The dual encoder's configurations: frames and sentences in a latent space, a concept space, or both."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.blocks.frame_block import FrameBlock
from vtr_core.config.blocks.temporal_levels import TemporalLevelsConfig
from vtr_core.config.blocks.text_encoder import TextEncoder
from vtr_core.config.concept_similarity import ConceptSimilarity
from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.config.model_inputs import ModelInputs, Probability
from vtr_core.config.settings import PositiveInt, Settings

Compat = Literal["none", "hybrid_space"]


class HybridEncoderConfig(Settings):
    """Dual encoding (Dong et al. 2021) with a latent space, a concept space, or both (the hybrid)."""

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
    concept_prior: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Initial probability of every concept, about its base rate (None: about a half, published)."""
    frame_block: FrameBlock | None = None
    """MUSE's block over the frames before they are encoded (None: frames as they are, published)."""
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

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that the model reads."""
        return (self.feature,)

    @model_validator(mode="after")
    def _has_a_space(self) -> "HybridEncoderConfig":
        if self.latent_dim is None and self.num_concepts is None:
            raise ValueError("latent_dim and num_concepts are both None; the model needs at least one space")
        return self


class DualTripletConfig(Settings):
    """Triplet losses with the hardest negatives in each space, and the detection of concepts."""

    kind: Literal["dual_triplet"] = "dual_triplet"
    margin: PositiveFloat = 0.2
    """m, the margin of a match over the hardest negative."""
    negatives: Literal["hardest", "all"] = "hardest"
    """The negatives of a row and of a column that have a loss."""
    concept_weight: NonNegativeFloat | None = None
    """B, the weight of the mean binary cross-entropy of the concepts (None: the number of rows of the batch, so that it
    is a sum over rows); 0 makes the concept space a second latent one.
    """
    concept_weight_factor: PositiveFloat = 1.0
    """Factor of B, independent of the batch size."""
    labels: Literal["soft", "binary"] = "soft"
    """Concept labels of a video: count relative to the largest one, or 1 for every concept that it keeps."""
    ranks_concepts: bool = True
    """Whether the concept space has a triplet loss as well; without it concepts are learned by detection alone."""
    causality_weight: NonNegativeFloat = 0.0
    """Weight of Σ (1 − c_k), the share of a matched pair's similarity outside its strongest k concepts; 0: no such
    term.
    """
    causality_concepts: PositiveInt = 10
    """k, the number of concepts that a matched pair's similarity should come from."""
    granularity_margin: GranularityMarginConfig | None = None
    """Add L_b and L_mcl, a contrastive loss of video and text whose margin is the granularity bias (None: neither)."""
    compat: Compat = "none"
    """`hybrid_space`: captions of the same video and identical captions are negatives, as in the published code."""
