"""Losses: contrastive objectives, their margins, granularity bias, and clips of the same video."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.override import NonNegativeInt, PositiveInt, Settings


class KeepAll(Settings):
    """All other rows are negatives, even those that show the same clip or have the same caption, as published."""

    kind: Literal["keep_all"] = "keep_all"


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
    """h, the share of clips from the same video."""


SameVideo = Annotated[KeepAll | KeepSameVideo | MaskSameVideo | WeightSameVideo, Field(discriminator="kind")]


class ConstantMargin(Settings):
    """The margin stays as it is."""

    kind: Literal["constant"] = "constant"
    value: NonNegativeFloat = 0.001
    """Margin δ."""


class GeometricMargin(Settings):
    """The margin is multiplied by `factor` every `every` steps."""

    kind: Literal["geometric"] = "geometric"
    initial: PositiveFloat = 0.001
    """δ at step 0."""
    factor: PositiveFloat = 1.002
    """Factor by which δ grows every `every` steps."""
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
    """Scale α."""


MarginConfig = Annotated[ConstantMargin | GeometricMargin | LinearMargin | AdaptiveMargin, Field(discriminator="kind")]


Reading = Literal["leave_one_out", "corpus", "idf"]
"""The definition of a caption's information content, see vtr_core.text.statistics."""
MarginCompat = Literal["none", "bcloss"]


class GranularityMarginConfig(Settings):
    """L_b and L_mcl: a bias extractor learns how well a caption's information content fits its video's; the angle that
    it finds is the margin of the pair."""

    reading: Reading = "leave_one_out"
    """Definition of the information content of a caption."""
    codebook_dim: PositiveInt = 64
    """Dimension of the embedding of a bin."""
    bias_temperature: PositiveFloat = 0.2
    """τ₁, the temperature of L_b."""
    temperature: PositiveFloat = 0.07
    """τ₃, the temperature of L_mcl."""
    warmup_steps: NonNegativeInt = 14000
    """Steps of L_b before L_mcl begins: 14,000 on MSR-VTT, 6,000 on MSVD."""
    freeze_bias: bool = True
    """Freeze the bias extractor after the warm-up."""
    detach: bool = True
    """Stop the gradient at the margin."""
    weight: NonNegativeFloat = 1.0
    """Weight of L_mcl."""
    compat: MarginCompat = "none"
    """`bcloss`: the positive in the denominator has no margin, as in the published code of BC loss."""


class FusionConfig(Settings):
    """L_bfc, and the score of a pair that L_mcl uses too."""

    score: Literal["fusion", "cosine"] = "fusion"
    """Scoring of a pair: `fusion` is self-attention over both sequences and an MLP; `cosine` compares their means."""
    temperature: PositiveFloat = 1.0
    """τ₂, the temperature of L_bfc."""
    weight: NonNegativeFloat = 1.0
    """Weight of L_bfc; at 0 the score is used by L_mcl only."""
    heads: PositiveInt = 8
    """Attention heads of the fusion."""
    pooled: bool = False
    """Fuse the means of both sequences (two tokens) instead of the sequences."""
    block_pairs: Annotated[int, Field(gt=0)] = 1024
    """Pairs fused at once, to bound memory."""


class ContrastiveLossConfig(Settings):
    """Settings of every contrastive loss."""

    removed: ClassVar[Mapping[str, Any]] = {"similarity_precision": "float32", "granularity_margin": None}

    similarity: ClassVar[Literal["dot", "cosine"]] = "cosine"
    """The similarity that it compares."""
    same_video: SameVideo = KeepSameVideo()
    """Weighting of other clips of the same video as negatives; all but `keep_all` leave out rows of the same clip or
    caption."""
    block_rows: PositiveInt | None = None
    """Rows of the similarity matrix that are held at once, to bound memory (default: all of the worker's share)."""


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


ObjectiveConfig = MaskedMarginSoftmaxConfig | InfoNceConfig | MilNceConfig | MaxMarginRankingConfig | SigmoidConfig
"""The losses of one joint space, which any system of one can take."""
