"""Presets of the adapter."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vtr_core.config.batch import BatchConfig
from vtr_core.config.evaluation import EvaluationConfig
from vtr_core.config.losses.contrastive import InfoNceConfig
from vtr_core.config.optimizer import OptimizerConfig
from vtr_core.config.scaling import ScalingConfig
from vtr_core.config.training import TrainingConfig
from vtr_core.run.config import TrainConfig
from vtr_core.systems.adapter.config import AdapterConfig


def adapter() -> TrainConfig:
    """Trains in seconds on two cores, in the process of the command."""
    return TrainConfig(
        preset="adapter",
        model=AdapterConfig(),
        loss=InfoNceConfig(temperature=0.05),
        batch=BatchConfig(videos=32, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=1e-3),
        training=TrainingConfig(epochs=20),
        scaling=ScalingConfig(workers=0),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


ADAPTER_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType({"adapter": adapter})


def no_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The adapter has no variants."""
    raise AssertionError(f"{base.preset} has no variant {name}")
