"""The objective that a configuration names."""

from typing import assert_never

from vtr_core.config.captioner import CaptioningLossConfig
from vtr_core.config.dual_encoder import DualTripletConfig
from vtr_core.config.loss import (
    GramVolumeConfig,
    InfoNceConfig,
    LossConfig,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    SigmoidConfig,
)
from vtr_core.config.siamese import PairContrastiveConfig, PairDoubleMarginConfig
from vtr_core.errors import ConfigError
from vtr_core.losses.gram_volume import GramVolume
from vtr_core.losses.info_nce import InfoNce
from vtr_core.losses.masked_margin_softmax import MaskedMarginSoftmax
from vtr_core.losses.max_margin_ranking import MaxMarginRanking
from vtr_core.losses.mil_nce import MilNce
from vtr_core.losses.objective import Objective
from vtr_core.losses.sigmoid import Sigmoid


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
