"""Loss configurations."""

from typing import Literal

from pydantic import NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.config.losses.margins import ConstantMargin, MarginConfig
from vtr_core.config.losses.same_video import KeepSameVideo, SameVideo
from vtr_core.config.settings import PositiveInt, Settings


class ContrastiveLossConfig(Settings):
    """Settings of every contrastive loss."""

    same_video: SameVideo = KeepSameVideo()
    """How other clips of the same video count as negatives."""
    block_rows: PositiveInt | None = None
    """Rows of the similarity matrix computed at once, which bounds memory (default: all of the worker's share)."""
    granularity_margin: GranularityMarginConfig | None = None
    """Add L_b and L_mcl, a contrastive loss of video and text whose margin is the granularity bias (None: neither)."""


class MaskedMarginSoftmaxConfig(ContrastiveLossConfig):
    """MMS on dot products, the capsule paper's loss."""

    kind: Literal["masked_margin_softmax"] = "masked_margin_softmax"
    margin: MarginConfig = ConstantMargin()


class TemperatureConfig(ContrastiveLossConfig):
    """Settings of every softmax loss with a temperature."""

    temperature: PositiveFloat = 0.07
    """τ, which similarities are divided by; where it is learned, its initial value."""
    learnable_temperature: bool = False
    """Learn log(1/τ) with the model."""
    max_scale: PositiveFloat = 100.0
    """The largest 1/τ that a learned temperature may reach."""

    @model_validator(mode="after")
    def _starts_below_the_largest_scale(self) -> "TemperatureConfig":
        if self.learnable_temperature and self.temperature * self.max_scale < 1:
            least = f"1/max_scale = {1 / self.max_scale:g}"
            raise ValueError(f"a learned temperature starts at {least} or above; raise temperature or max_scale")
        return self


class InfoNceConfig(TemperatureConfig):
    """InfoNCE on L2-normalised embeddings with a temperature."""

    kind: Literal["info_nce"] = "info_nce"


class MilNceConfig(ContrastiveLossConfig):
    """MIL-NCE on dot products: a clip's caption and its further candidates are one bag of positives."""

    kind: Literal["mil_nce"] = "mil_nce"


class MaxMarginRankingConfig(ContrastiveLossConfig):
    """HowTo100M's ranking loss on L2-normalised embeddings."""

    kind: Literal["max_margin_ranking"] = "max_margin_ranking"
    margin: NonNegativeFloat = 0.1
    """δ, by which a match should beat every negative."""


class SigmoidConfig(ContrastiveLossConfig):
    """SigLIP on L2-normalised embeddings: every pair is a binary decision."""

    kind: Literal["sigmoid"] = "sigmoid"
    scale: PositiveFloat = 10.0
    """t, which similarities are multiplied by; where it is learned, its initial value."""
    bias: float = -10.0
    """b, which is added to them; where it is learned, its initial value."""
    learnable: bool = True
    """Learn log t and b with the model."""


class GramVolumeConfig(TemperatureConfig):
    """GRAM: InfoNCE on the volume that a clip's L2-normalised modalities span; text is the anchor."""

    kind: Literal["gram_volume"] = "gram_volume"
    pair_weight: NonNegativeFloat = 1.0
    """Weight of InfoNCE between text and each other modality. 0 is the published loss, which goes on with aligned
    encoders: between orthogonal directions, where untrained ones are, the volume is flat, and it sees no sign."""


ObjectiveConfig = (
    MaskedMarginSoftmaxConfig | InfoNceConfig | MilNceConfig | MaxMarginRankingConfig | SigmoidConfig | GramVolumeConfig
)
"""The losses of one joint space, which any system of one can take."""
