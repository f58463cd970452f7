"""The complete configuration of a training run, under the name by which notebooks and scripts import it."""

from vtr_core.config.run import LossConfig, ModelConfig, TrainConfig

__all__ = ["LossConfig", "ModelConfig", "TrainConfig"]
