"""Presets of the adapter, and what `vtr sweep` varies."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, LogUniform, Uniform
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import override
from vtr_core.config.run import TrainConfig
from vtr_core.config.search_space import Parameter, Space
from vtr_core.config.training import EvaluationConfig, OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.systems.adapter.config import AdapterConfig


def adapter() -> TrainConfig:
    """Linear projections beside frozen vectors: trains in seconds on two cores, in the process of the command.

    Rows are standardised and of length 1; steps are small and few, since the encoder knows more than the captions tell.
    """
    return TrainConfig(
        preset="adapter",
        model=AdapterConfig(),
        loss=InfoNceConfig(temperature=0.05, positives="same_caption"),
        batch=BatchConfig(videos=64, clips_per_video=1),
        optimizer=OptimizerConfig(learning_rate=1e-3),
        training=TrainingConfig(epochs=15, precision="float32"),
        scaling=ScalingConfig(workers=0),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


def adapter_variant(base: TrainConfig, name: str) -> TrainConfig:
    """The variant `name` of `base`; its preset is called `<base>-<name>`."""
    return override(base, {**ADAPTER_VARIANTS[name], "preset": f"{base.preset}-{name}"})


def _space() -> Space:
    """What small data decides: how far and how fast the projections may leave the encoder, and by which contrast."""
    return Space(
        name="adapter",
        preset="adapter",
        parameters={
            "optimizer.learning_rate": Parameter(LogUniform(1e-4, 1e-2)),
            "optimizer.weight_decay": Parameter(LogUniform(1e-4, 1.0)),
            "model.dropout": Parameter(Uniform(0.0, 0.9)),
            "loss.temperature": Parameter(LogUniform(0.02, 0.3)),
            "training.epochs": Parameter(Choice((5, 15, 50))),
        },
        cost="weights",
    )


ADAPTER_BASES: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType({"adapter": adapter})
ADAPTER_VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"attention": {"model.frames": "attention"}})
"""attention: whole videos, whose rows are weighted by a trained softmax."""
SPACES: Mapping[str, Callable[[], Space]] = MappingProxyType({"adapter": _space})
