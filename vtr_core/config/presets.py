"""Presets: a name is a function that returns a complete configuration; a variant changes a few lines of another."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from vtr_core.config.model import CapsuleNetConfig, SelfAttentionRouting, WordEncoderConfig
from vtr_core.config.train import BatchConfig, OptimizerConfig, ScalingConfig, TrainConfig, TrainingConfig
from vtr_core.errors import ConfigError


def capsule_howto() -> TrainConfig:
    """The capsule paper's main model on HowTo100M: C = 128, d1 = 32, d2 = 256, D = 4096, batch 4096, 20 epochs."""
    return TrainConfig(preset="capsule-howto")


def capsule_howto_tiny() -> TrainConfig:
    """The same network small enough for two CPU cores and a minute.

    In so few steps the paper's routing stays near uniform and its poses nearly equal, so f_out sees the primary ones.
    """
    return TrainConfig(
        preset="capsule-howto-tiny",
        model=CapsuleNetConfig(
            num_capsules=32,
            primary_dim=16,
            routing=SelfAttentionRouting(pose_dim=32, mlp_dim=128, num_heads=2),
            words=WordEncoderConfig(hidden_dim=256),
            embedding_dim=256,
            projected_poses="primary",
            activation_scale="num_capsules",
            standardize=True,
        ),
        batch=BatchConfig(videos=32, clips_per_video=4),
        optimizer=OptimizerConfig(learning_rate=3e-3),
        training=TrainingConfig(epochs=10),
        scaling=ScalingConfig(workers=2),
    )


PRESETS: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        "capsule-howto": capsule_howto,
        "capsule-howto-tiny": capsule_howto_tiny,
    }
)


def preset(name: str) -> TrainConfig:
    """The configuration of the preset `name`; ConfigError lists the known ones."""
    if name not in PRESETS:
        raise ConfigError(f"no preset {name!r}; presets: {', '.join(PRESETS)}")
    return PRESETS[name]()
