"""Whole configurations, a variant, and what a sweep varies."""

from tests.systems.linear.config import LinearConfig, LogisticRankingConfig
from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.run import Change, EvaluationConfig, OptimizerConfig, Row, TrainingConfig
from vtr_core.config.search_space import Choice, LogUniform, Parameter, Space
from vtr_core.systems.system import Presets

LINEAR_PRESETS = Presets(
    bases={
        "linear-tiny": Row(
            about="two linear towers: trains in seconds",
            starter=True,
            model=LinearConfig(),
            loss=LogisticRankingConfig(),
            batch=BatchConfig(videos=16, clips_per_video=2),
            optimizer=OptimizerConfig(learning_rate=1e-2),
            training=TrainingConfig(epochs=10),
            evaluation=EvaluationConfig(similarity="cosine"),
        ),
    },
    variants={
        "wide": Row(
            about="twice the dimensions",
            of_model=lambda model: Change(model=LinearConfig(embedding_dim=2 * model.embedding_dim)),
        ),
    },
    spaces=(
        Space(
            "linear-tiny",
            "linear-tiny",
            {
                "model.embedding_dim": Parameter(Choice((16, 64))),
                "optimizer.learning_rate": Parameter(LogUniform(1e-3, 1e-1)),
            },
        ),
    ),
)
