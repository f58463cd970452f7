"""Presets of the adapter, and what `vtr sweep` varies."""

from vtr_core.config.data_sets import BatchConfig
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.run import EvaluationConfig, OptimizerConfig, Row, ScalingConfig, TrainingConfig
from vtr_core.config.search_space import Choice, LogUniform, Parameter, Space, Uniform
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.system import Presets

ADAPTER_PRESETS = Presets(
    bases={
        # Rows are standardised and of length 1; steps are small and few: the encoder knows more than the captions tell.
        "adapter": Row(
            about="projections of a pretrained encoder's frozen vectors: seconds on two cores",
            starter=True,
            model=AdapterConfig(),
            loss=InfoNceConfig(temperature=0.05, positives="same_caption"),
            batch=BatchConfig(videos=64, clips_per_video=1),
            optimizer=OptimizerConfig(learning_rate=1e-3),
            training=TrainingConfig(epochs=15, precision="float32"),
            scaling=ScalingConfig(workers=0),
            evaluation=EvaluationConfig(similarity="cosine"),
        ),
    },
    variants={
        "attention": Row(
            about="whole videos, whose rows are weighted by a trained softmax", model=AdapterConfig(frames="attention")
        ),
    },
    spaces=(
        # What small data decides: how far and how fast the projections may leave the encoder, and by which contrast.
        Space(
            "adapter",
            "adapter",
            {
                "optimizer.learning_rate": Parameter(LogUniform(1e-4, 1e-2)),
                "optimizer.weight_decay": Parameter(LogUniform(1e-4, 1.0)),
                "model.dropout": Parameter(Uniform(0.0, 0.9)),
                "loss.temperature": Parameter(LogUniform(0.02, 0.3)),
                "training.epochs": Parameter(Choice((5, 15, 50))),
            },
        ),
    ),
    most_used=("loss.temperature", "loss.positives", "optimizer.weight_decay", "batch.micro_rows"),
)
