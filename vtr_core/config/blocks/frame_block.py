"""MUSE's block over the frame vectors of another model, before it pools them."""

from pydantic import NonNegativeFloat

from vtr_core.config.blocks.learners import LearnerConfig, MambaLearner, NormPlace
from vtr_core.config.settings import PositiveInt, Settings


class FrameBlock(Settings):
    """Frame vectors plus the gated residual of a sequence learner over them (Tang et al. 2025)."""

    learner: LearnerConfig = MambaLearner()
    initial_gate: NonNegativeFloat = 0.1
    """Initial gates; with 0 the model starts as it is without the block."""
    norm: NormPlace = "before"
    """The LayerNorm of each layer: before the learner, as in the published code, or after it, as in Eq. 7."""


class VectorFrameBlock(FrameBlock):
    """The same for clips, whose frames lie one after another in a feature vector."""

    feature: str = "video"
    """The feature column whose vectors are frames."""
    frames: PositiveInt
    """Equal parts of such a vector, in the order of time: as many frames."""
