"""The objective that a configuration names."""

from typing import assert_never

from vtr_core.config.losses.contrastive import (
    GramVolumeConfig,
    InfoNceConfig,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    SigmoidConfig,
)
from vtr_core.errors import ConfigError
from vtr_core.losses.objectives.gram_volume import GramVolume
from vtr_core.losses.objectives.info_nce import InfoNce
from vtr_core.losses.objectives.masked_margin_softmax import MaskedMarginSoftmax
from vtr_core.losses.objectives.max_margin_ranking import MaxMarginRanking
from vtr_core.losses.objectives.mil_nce import MilNce
from vtr_core.losses.objectives.objective import Objective
from vtr_core.losses.objectives.sigmoid import Sigmoid
from vtr_core.run.losses import LossConfig
from vtr_core.systems.captioning.config import CaptioningLossConfig
from vtr_core.systems.dual.config import DualTripletConfig
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig


def build_objective(config: LossConfig) -> Objective:
    """The loss of a batch's embeddings in one joint space, with its learnable parameters where it has any.

    Raises ConfigError for a loss of two spaces, or of pairs of images.
    """
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
        case DualTripletConfig():
            raise ConfigError("loss.kind = 'dual_triplet' is for model.kind = 'hybrid_encoder'; choose another loss")
        case PairContrastiveConfig() | PairDoubleMarginConfig():
            raise ConfigError(f"loss.kind = {config.kind!r} is for model.kind = 'siamese'; choose another loss")
        case CaptioningLossConfig():
            raise ConfigError("loss.kind = 'captioning' is for model.kind = 'captioner'; choose another loss")
        case _:
            assert_never(config)
