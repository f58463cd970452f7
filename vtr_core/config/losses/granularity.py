"""Granularity bias as the margin of a contrastive loss (Gu and Yao 2023)."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

Reading = Literal["leave_one_out", "corpus", "idf"]
"""The definition of a caption's information content, see vtr_core.text.statistics.information."""
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
