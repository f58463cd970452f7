"""The union of all systems' loss configurations."""

from typing import Annotated

from pydantic import Field

from vtr_core.config.losses.contrastive import (
    GramVolumeConfig,
    InfoNceConfig,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    SigmoidConfig,
)
from vtr_core.config.losses.granularity import GranularityMarginConfig
from vtr_core.systems.captioning.config import CaptioningLossConfig
from vtr_core.systems.dual.config import DualTripletConfig
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig

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
