"""Loss configurations."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.captioner import CaptioningLossConfig
from vtr_core.config.dual_encoder import DualTripletConfig
from vtr_core.config.granularity import GranularityMarginConfig
from vtr_core.config.settings import PositiveInt, Settings
from vtr_core.config.siamese import PairContrastiveConfig, PairDoubleMarginConfig


class ConstantMargin(Settings):
    """The margin stays as it is."""

    kind: Literal["constant"] = "constant"
    value: NonNegativeFloat = 0.001
    """δ."""


class GeometricMargin(Settings):
    """The margin is multiplied by `factor` every `every` steps."""

    kind: Literal["geometric"] = "geometric"
    initial: PositiveFloat = 0.001
    """δ at step 0."""
    factor: PositiveFloat = 1.002
    """What δ is multiplied by."""
    every: PositiveInt = 1000
    """Steps between two multiplications."""


class LinearMargin(Settings):
    """The margin grows linearly from `initial` to `final` over `steps` steps and stays there."""

    kind: Literal["linear"] = "linear"
    initial: NonNegativeFloat = 0.0
    """δ at step 0."""
    final: NonNegativeFloat = 0.001
    """δ from step `steps` on."""
    steps: PositiveInt = 10000
    """Steps of growth."""


class AdaptiveMargin(Settings):
    """Row i has the margin scale · (S_ii − mean over j ≠ i of S_ij), detached."""

    kind: Literal["adaptive"] = "adaptive"
    scale: NonNegativeFloat = 0.5
    """α."""


MarginConfig = Annotated[ConstantMargin | GeometricMargin | LinearMargin | AdaptiveMargin, Field(discriminator="kind")]


class KeepSameVideo(Settings):
    """Other clips of the same video are negatives like all others."""

    kind: Literal["keep"] = "keep"


class MaskSameVideo(Settings):
    """Other clips of the same video are no negatives."""

    kind: Literal["mask"] = "mask"


class WeightSameVideo(Settings):
    """HowTo100M's weighting: a fixed share of every row's weight goes to the clips of the same video."""

    kind: Literal["weight"] = "weight"
    hard_rate: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """h, the share of the same video's clips."""


SameVideo = Annotated[KeepSameVideo | MaskSameVideo | WeightSameVideo, Field(discriminator="kind")]


class ContrastiveLossConfig(Settings):
    """What every contrastive loss has."""

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
    """What every softmax loss with a temperature has."""

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


LossConfig = Annotated[
    MaskedMarginSoftmaxConfig
    | InfoNceConfig
    | MilNceConfig
    | MaxMarginRankingConfig
    | SigmoidConfig
    | GramVolumeConfig
    | DualTripletConfig
    | PairContrastiveConfig
    | PairDoubleMarginConfig
    | CaptioningLossConfig,
    Field(discriminator="kind"),
]


def margin_of(loss: LossConfig) -> GranularityMarginConfig | None:
    """The loss's margin from the captions' granularity; None where it has none, or can have none."""
    return None if isinstance(loss, PairContrastiveConfig | PairDoubleMarginConfig) else loss.granularity_margin
