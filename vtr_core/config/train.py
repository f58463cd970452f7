"""The complete configuration of a training run."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from vtr_core.config.loss import LossConfig, MaskedMarginSoftmaxConfig
from vtr_core.config.model import CapsuleNetConfig, ModelConfig
from vtr_core.config.settings import Settings


class BatchConfig(Settings):
    """What one global batch holds, whatever the number of workers."""

    videos: PositiveInt = 128
    """Videos in a batch."""
    clips_per_video: PositiveInt = 32
    """Clips sampled of each video, with replacement where it has fewer."""
    candidates: PositiveInt = 1
    """Captions in a clip's bag, its own and the nearest in time of its video, for losses over bags (mil_nce)."""
    micro_rows: PositiveInt | None = None
    """Rows that a worker takes through the model at once; the rest of its part waits (gradient caching)."""
    window: PositiveInt = 4
    """Videos are shuffled within windows of this many batches, windows and row groups over the whole epoch."""

    @property
    def rows(self) -> int:
        """Clips in a global batch."""
        return self.videos * self.clips_per_video


class OptimizerConfig(Settings):
    """Adam with an optional warm-up and a schedule over all steps."""

    learning_rate: PositiveFloat = 1e-3
    weight_decay: NonNegativeFloat = 0.0
    """Decoupled (AdamW) where it is not 0."""
    schedule: Literal["constant", "cosine"] = "cosine"
    warmup_steps: NonNegativeInt = 0
    gradient_clip: PositiveFloat | None = None
    """Largest norm of the whole gradient."""


class TrainingConfig(Settings):
    """How long to train and how often to look."""

    epochs: PositiveInt = 20
    """Passes over all videos."""
    max_steps: PositiveInt | None = None
    """Stop after this many optimiser steps in all, whatever `epochs` says."""
    log_every: PositiveInt = 10
    """Steps between two logged points."""
    checkpoint_every: PositiveInt | None = None
    """Steps between two checkpoints, beside the one at every validation."""
    keep_checkpoints: PositiveInt = 2
    """Newest checkpoints kept; the best one is kept besides."""
    validate_every: PositiveInt = 1
    """Epochs between two validations."""
    metric: str = "val/t2v/sum_r"
    """The validation metric that chooses the best checkpoint (higher is better)."""
    patience: PositiveInt | None = None
    """Stop after this many validations without a gain."""
    max_nonfinite: PositiveInt = 10
    """Steps with a non-finite loss in a row that end the run."""
    ema_decay: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Keep an exponential moving average of the weights, which is what is validated and saved as the model."""
    precision: Literal["auto", "bf16", "float32"] = "auto"
    """`auto`: bf16 where the device has it. Similarities and losses are float32 either way."""


class ScalingConfig(Settings):
    """Workers and what each of them takes of the cluster."""

    workers: PositiveInt = 1
    """Train workers; the batch is divided among them."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """`auto`: one GPU per worker where the cluster has GPUs."""
    cpus_per_worker: PositiveFloat = 1.0
    """CPUs reserved for a train worker."""
    reading_cpus: PositiveFloat = 1.0
    """CPUs that must remain free, in the whole cluster, for Ray Data's reading tasks."""
    prefetch_batches: PositiveInt = 2
    """Batches fetched ahead by every worker."""
    max_restarts: NonNegativeInt = 3
    """Restarts from the last checkpoint after a lost worker or node."""


class EvaluationConfig(Settings):
    """How embeddings are compared at validation and test."""

    similarity: Literal["dot", "cosine", "neg_euclidean", "neg_volume"] = "dot"
    batch_rows: PositiveInt = 1024
    """Rows embedded at once."""


class TrainConfig(Settings):
    """Everything a run needs but its data: a preset is a function that returns one of these."""

    preset: str = "custom"
    """The preset that this configuration started from."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of the initial weights, the batches and dropout."""
    model: ModelConfig = CapsuleNetConfig()
    loss: LossConfig = MaskedMarginSoftmaxConfig()
    batch: BatchConfig = BatchConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    scaling: ScalingConfig = ScalingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _rows_divide(self) -> "TrainConfig":
        if self.batch.rows % self.scaling.workers:
            raise ValueError(
                f"batch.videos × batch.clips_per_video = {self.batch.rows} rows cannot be divided by "
                f"scaling.workers = {self.scaling.workers}; choose a batch size that is a multiple of the workers"
            )
        return self
