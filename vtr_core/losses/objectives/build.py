"""The objective that a configuration names."""

from typing import assert_never

from vtr_core.config.losses.contrastive import (
    GramVolumeConfig,
    InfoNceConfig,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    ObjectiveConfig,
    SigmoidConfig,
)
from vtr_core.losses.objectives.gram_volume import GramVolume
from vtr_core.losses.objectives.info_nce import InfoNce
from vtr_core.losses.objectives.masked_margin_softmax import MaskedMarginSoftmax
from vtr_core.losses.objectives.max_margin_ranking import MaxMarginRanking
from vtr_core.losses.objectives.mil_nce import MilNce
from vtr_core.losses.objectives.objective import Objective
from vtr_core.losses.objectives.sigmoid import Sigmoid


def build_objective(config: ObjectiveConfig) -> Objective:
    """The loss of a batch's embeddings in one joint space, with its learnable parameters where it has any."""
    match config:
        case MaskedMarginSoftmaxConfig():
            return MaskedMarginSoftmax(config)
        case InfoNceConfig():
            return InfoNce(config)
        case MilNceConfig():
            return MilNce(config)
        case MaxMarginRankingConfig():
            return MaxMarginRanking(config)
        case SigmoidConfig():
            return Sigmoid(config)
        case GramVolumeConfig():
            return GramVolume(config)
        case _:
            assert_never(config)
