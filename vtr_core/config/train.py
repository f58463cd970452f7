"""The complete configuration of a training run."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, model_validator

from vtr_core.config.loss import LossConfig, MaskedMarginSoftmaxConfig
from vtr_core.config.model import CapsuleNetConfig, ModelConfig
from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

OnBadShard = Literal["fail", "skip"]
ReadingNodes = Literal["auto", "labelled", "any"]
NumWorkers = Annotated[int, Field(gt=0, le=2**16)]
Share = Annotated[float, Field(gt=0.0, le=1.0)]
Normalisation = Literal["matrix", "query", "train"]


class BatchConfig(Settings):
    """What one global batch holds, whatever the number of workers."""

    videos: PositiveInt = 128
    """Videos in a batch."""
    clips_per_video: PositiveInt = 32
    """Clips sampled of each video, or captions where rows are whole videos; with replacement where it has fewer."""
    candidates: PositiveInt = 1
    """Captions in a clip's bag, its own and the nearest in time of its video, for losses over bags (mil_nce)."""
    max_frames: PositiveInt = 64
    """Frames kept of a video, the first ones, where rows are whole videos; their mean is of all frames all the same."""
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
    learner_factor: PositiveFloat = 1.0
    """What the rate is multiplied by for what learns over given tokens: MUSE's pyramid, temporal scales and learner."""
    weight_decay: NonNegativeFloat = 0.0
    """Decoupled (AdamW) where it is not 0."""
    amsgrad: bool = False
    """Steps are divided by the largest mean of squared gradients so far and not by the present one (Reddi et al. 2018,
    AMSGrad)."""
    schedule: Literal["constant", "cosine", "inverse_sqrt"] = "cosine"
    """`inverse_sqrt`: the rate over √t, t the steps since the warm-up, counted from 1."""
    warmup_steps: NonNegativeInt = 0
    epoch_decay: Share = 1.0
    """What the rate is multiplied by after every `decay_epochs` epochs, beside the schedule."""
    decay_epochs: PositiveInt = 1
    plateau_decay: Share = 1.0
    """What the rate is multiplied by after `plateau_patience` validations without a gain at the same rate."""
    plateau_patience: PositiveInt | None = None
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

    workers: Annotated[int, Field(ge=0, le=2**16)] = 1
    """Train workers; the batch is divided among them. 0: train in the process of the command, without Ray."""
    min_workers: NumWorkers | None = None
    """Go on with as few as this when nodes leave, and with more again, up to `workers`, when they return (None: never).
    The batch stays whole: only numbers of workers that divide its rows are used. Dropout differs with their number."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """`auto`: one GPU per worker where the cluster has GPUs."""
    cpus_per_worker: PositiveFloat = 1.0
    """CPUs reserved for a train worker."""
    reading_cpus: PositiveFloat = 1.0
    """CPUs that must remain free for Ray Data's reading tasks, on the nodes that `reading_nodes` allows."""
    reading_nodes: ReadingNodes = "auto"
    """Where reading tasks run. `labelled`: only on nodes with the label vtr-role=reading (`ray start --labels
    vtr-role=reading`), and workers only on the others. `any`: wherever CPUs are free. `auto`: as `labelled` where the
    cluster has such nodes when a group of workers begins, else as `any`; the run says which."""
    prefetch_batches: PositiveInt = 2
    """Batches fetched ahead by every worker, at least; they come in whole windows (batch.window)."""
    max_restarts: NonNegativeInt = 3
    """Restarts in a row from the same checkpoint after a lost worker or node; a new checkpoint renews them. Restarts
    for a node that is taken away with notice, or for more workers, do not count."""
    resources_timeout_s: PositiveFloat = 1800.0
    """How long a run that has lost its workers waits for room to go on; at its beginning it waits without end."""
    collective_timeout_s: PositiveFloat = 600.0
    """How long workers wait for each other in one step before the silent ones count as lost."""
    resize_interval_s: PositiveFloat = 60.0
    """How long a group of fewer than `workers` goes on at least, before it ends to take in more."""

    @property
    def fewest(self) -> int:
        """The fewest workers that the run goes on with."""
        return self.workers if self.min_workers is None else self.min_workers

    @property
    def cpus(self) -> float:
        """CPUs of a cluster that a run takes, reading included; without Ray's workers its own process reads."""
        return self.workers * self.cpus_per_worker + self.reading_cpus if self.workers else self.cpus_per_worker

    @property
    def span(self) -> str:
        """The numbers of workers for people: 4, or 1-4."""
        return str(self.workers) if self.fewest == self.workers else f"{self.fewest}-{self.workers}"

    @model_validator(mode="after")
    def _min_is_not_above(self) -> "ScalingConfig":
        if self.fewest > self.workers:
            raise ValueError(
                f"scaling.min_workers = {self.min_workers} is more than scaling.workers = {self.workers}; "
                "scaling.workers is the largest number of workers"
            )
        return self


class EvaluationConfig(Settings):
    """How embeddings are compared at validation and test."""

    similarity: Literal["dot", "cosine", "neg_euclidean", "neg_volume"] = "dot"
    batch_rows: PositiveInt = 1024
    """Rows embedded at once."""
    latent_weight: Annotated[float, Field(ge=0.0, le=1.0)] = 0.6
    """α of a hybrid score: α · latent + (1 − α) · concept, each rescaled to [0, 1]."""
    normalise: Normalisation = "matrix"
    """By which lowest and highest score a hybrid score rescales: those of all queries and items (published; depends on
    the whole test set), of the query alone, or of the training batches, which the model keeps."""


class TrainConfig(Settings):
    """Everything a run needs but its data: a preset is a function that returns one of these."""

    preset: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")] = "custom"
    """The preset that this configuration started from; it becomes part of file names."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Of the initial weights, the batches and dropout."""
    on_bad_shard: OnBadShard = "fail"
    """When a shard's row group cannot be read or fails its checksum: `fail` ends the run, `skip` puts rows of the
    batch's next row group in place of its rows, and counts them."""
    model: ModelConfig = CapsuleNetConfig()
    loss: LossConfig = MaskedMarginSoftmaxConfig()
    batch: BatchConfig = BatchConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    scaling: ScalingConfig = ScalingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @property
    def worker_counts(self) -> tuple[int, ...]:
        """The numbers of workers that the run may go on with, ascending: those that divide a batch's rows."""
        span = range(max(1, self.scaling.fewest), self.scaling.workers + 1)
        return tuple(count for count in span if self.batch.rows % count == 0)

    @model_validator(mode="after")
    def _rows_divide(self) -> "TrainConfig":
        for name, count in (("workers", self.scaling.workers), ("min_workers", self.scaling.fewest)):
            if count and self.batch.rows % count:
                divisors = [n for n in range(1, min(self.batch.rows, 4 * count) + 1) if self.batch.rows % n == 0]
                near = sorted(divisors, key=lambda n: abs(n - count))[:3]
                raise ValueError(
                    f"batch.videos × batch.clips_per_video = {self.batch.rows} rows cannot be divided by "
                    f"scaling.{name} = {count}; choose a batch size that is a multiple of the workers, "
                    f"or {', '.join(map(str, sorted(near)))} workers"
                )
        return self
