"""Sequence models over tokens and frames: the learners, MUSE's frame block, temporal levels."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat

from vtr_core.config.settings import PositiveInt, Settings

ScanBackend = Literal["auto", "kernel", "reference"]


Aggregation = Literal["scale", "frame", "spatial"]


NormPlace = Literal["before", "after"]
"""Where a layer's LayerNorm is: before the sequence model, or after it."""


class MambaLearner(Settings):
    """A selective state space model over the sequence (Gu and Dao 2023; both directions: Zhu et al. 2024)."""

    kind: Literal["mamba"] = "mamba"
    layers: PositiveInt = 4
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
    layers: PositiveInt = 4
    """Number of layers."""
    num_heads: PositiveInt = 8
    """Attention heads; the scale is 1/sqrt(head width)."""


class FlashLearner(Settings):
    """The same self-attention by torch's fused operation, which does not hold that matrix."""

    kind: Literal["flash"] = "flash"
    layers: PositiveInt = 4
    """Number of layers."""
    num_heads: PositiveInt = 8
    """Attention heads; the scale is 1/sqrt(head width)."""


class MambaOutLearner(Settings):
    """Mamba without the state space model: a gated convolution (Yu and Wang 2024)."""

    kind: Literal["mamba_out"] = "mamba_out"
    layers: PositiveInt = 4
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


class FrameBlock(Settings):
    """Frame vectors plus the gated residual of a sequence learner over them (Tang et al. 2025)."""

    learner: LearnerConfig = MambaLearner()
    initial_gate: NonNegativeFloat = 0.1
    """Initial gates; with 0 the model starts as it is without the block."""
    norm: NormPlace = "before"
    """The LayerNorm of each layer: before the learner, as in the published code, or after it, as in Eq. 7."""


KernelSizes = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class TemporalLevelsConfig(Settings):
    """Levels 2 and 3 of a sequence: a bidirectional GRU, and convolutions over its outputs."""

    hidden_dim: PositiveInt = 512
    """Units of the GRU in each direction."""
    num_filters: PositiveInt = 512
    """Filters of each convolution."""
    kernel_sizes: KernelSizes = (2, 3, 4, 5)
    """Kernel widths, one convolution each."""
