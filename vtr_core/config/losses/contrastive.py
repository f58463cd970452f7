"""Loss configurations."""

from typing import ClassVar, Literal

from pydantic import NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.config.losses.margins import ConstantMargin, MarginConfig
from vtr_core.config.losses.same_video import KeepSameVideo, SameVideo
from vtr_core.config.settings import PositiveInt, Settings

SimilarityPrecision = Literal["float32", "tf32", "bf16x3", "bf16"]


class ContrastiveLossConfig(Settings):
    """Settings of every contrastive loss."""

    similarity: ClassVar[Literal["dot", "cosine", "neg_volume"]] = "cosine"
    """The similarity that it compares."""
    same_video: SameVideo = KeepSameVideo()
    """Weighting of other clips of the same video as negatives."""
    block_rows: PositiveInt | None = None
    """Rows of the similarity matrix that are held at once, to bound memory (default: all of the worker's share)."""
    similarity_precision: SimilarityPrecision = "float32"
    """Precision of the factors of the similarities' products, which are summed in float32; volumes of gram_volume stay
    float32. Of losses that were seen `bf16x3` is off by less than 1e-5 of them, `tf32` by 1e-4, `bf16` by 1e-3."""
    granularity_margin: GranularityMarginConfig | None = None
    """Add L_b and L_mcl, a contrastive loss of video and text with the granularity bias as its margin (None:
    neither)."""


class MaskedMarginSoftmaxConfig(ContrastiveLossConfig):
    """MMS on dot products, the capsule paper's loss."""

    similarity = "dot"
    kind: Literal["masked_margin_softmax"] = "masked_margin_softmax"
    margin: MarginConfig = ConstantMargin()


class TemperatureConfig(ContrastiveLossConfig):
    """Settings of every softmax loss with a temperature."""

    temperature: PositiveFloat = 0.07
    """Temperature τ, or its initial value where it is learned."""
    learnable_temperature: bool = False
    """Learn log(1/τ) with the model."""
    max_scale: PositiveFloat = 100.0
    """Upper bound of a learned 1/τ."""

    @model_validator(mode="after")
    def _starts_below_the_largest_scale(self) -> "TemperatureConfig":
        if self.learnable_temperature and self.temperature * self.max_scale < 1:
            least = f"1/max_scale = {1 / self.max_scale:g}"
            raise ValueError(f"a learned temperature starts at {least} or above; raise temperature or max_scale")
        return self


class InfoNceConfig(TemperatureConfig):
    """InfoNCE on L2-normalised embeddings with a temperature."""

    kind: Literal["info_nce"] = "info_nce"
    positives: Literal["match", "same_caption"] = "match"
    """What a row is drawn to: its own match, or every row of the batch with its caption's text or its clip, the mean of
    their terms. Neither treats such rows as negatives."""


class MilNceConfig(ContrastiveLossConfig):
    """MIL-NCE on dot products: a clip's caption and its further candidates are one bag of positives."""

    similarity = "dot"
    kind: Literal["mil_nce"] = "mil_nce"


class MaxMarginRankingConfig(ContrastiveLossConfig):
    """HowTo100M's ranking loss on L2-normalised embeddings."""

    kind: Literal["max_margin_ranking"] = "max_margin_ranking"
    margin: NonNegativeFloat = 0.1
    """Margin δ."""


class SigmoidConfig(ContrastiveLossConfig):
    """SigLIP on L2-normalised embeddings: every pair is a binary decision."""

    kind: Literal["sigmoid"] = "sigmoid"
    scale: PositiveFloat = 10.0
    """Scale t of similarities, or its initial value where it is learned."""
    bias: float = -10.0
    """Bias b added to them, or its initial value where it is learned."""
    learnable: bool = True
    """Learn log t and b with the model."""


class GramVolumeConfig(TemperatureConfig):
    """GRAM: InfoNCE on the volume that a clip's L2-normalised modalities span; text is the anchor."""

    similarity = "neg_volume"
    kind: Literal["gram_volume"] = "gram_volume"
    pair_weight: NonNegativeFloat = 1.0
    """Weight of InfoNCE between text and each other modality. The published loss has 0 and starts from aligned
    encoders: for nearly orthogonal vectors, as of untrained encoders, the volume is flat, and it does not depend on
    signs."""


ObjectiveConfig = (
    MaskedMarginSoftmaxConfig | InfoNceConfig | MilNceConfig | MaxMarginRankingConfig | SigmoidConfig | GramVolumeConfig
)
"""The losses of one joint space, which any system of one can take."""
