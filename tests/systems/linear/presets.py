"""Whole configurations, a variant, and what a sweep varies."""

from tests.systems.linear.config import LinearConfig, LogisticRankingConfig
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.domains import Choice, LogUniform
from vtr_core.config.override import override
from vtr_core.config.search_space import Parameter, Space
from vtr_core.config.training import EvaluationConfig, OptimizerConfig, TrainingConfig
from vtr_core.run.config import TrainConfig


def linear_tiny() -> TrainConfig:
    """Trains in seconds."""
    return TrainConfig(
        preset="linear-tiny",
        model=LinearConfig(),
        loss=LogisticRankingConfig(),
        batch=BatchConfig(videos=16, clips_per_video=2),
        optimizer=OptimizerConfig(learning_rate=1e-2),
        training=TrainingConfig(epochs=10),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


def wide(base: TrainConfig, name: str) -> TrainConfig:
    """The one variant: twice the dimensions."""
    return override(base, {"model.embedding_dim": 2 * base.model.embedding_dim, "preset": f"{base.preset}-{name}"})


def linear_space() -> Space:
    """Size and rate."""
    return Space(
        name="linear-tiny",
        preset="linear-tiny",
        parameters={
            "model.embedding_dim": Parameter(Choice((16, 64))),
            "optimizer.learning_rate": Parameter(LogUniform(1e-3, 1e-1)),
        },
    )
