"""A pretrained encoder as it is: an adapter in which nothing was trained."""

from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.run import TrainConfig
from vtr_core.config.settings import ModelInputs
from vtr_core.config.training import EvaluationConfig
from vtr_core.encoders.encoder import Encoder
from vtr_core.encoders.frozen_text import encoder_record
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.text.tokens.vocabulary import TEXT_BYTES


def zero_shot_config(encoder: Encoder) -> TrainConfig:
    """The configuration of the encoder's untrained adapter, for clips whose rows are pooled by their mean."""
    inputs = ModelInputs(features={"video": encoder.feature_dim}, num_words=256, max_words=TEXT_BYTES)
    return TrainConfig(
        preset="adapter",
        model=AdapterConfig(inputs=inputs, encoder=encoder_record(encoder)),
        loss=InfoNceConfig(),
        evaluation=EvaluationConfig(similarity="cosine"),
    )
