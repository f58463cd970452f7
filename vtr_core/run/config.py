"""The complete configuration of a training run, and the union of all loss configurations in it."""

import operator
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import Field, model_validator

from vtr_core.config.caption_text import CaptionText, ConceptText
from vtr_core.config.data_sets import BatchConfig, OnBadShard
from vtr_core.config.losses import MaskedMarginSoftmaxConfig, ObjectiveConfig
from vtr_core.config.settings import Settings
from vtr_core.config.training import EvaluationConfig, OptimizerConfig, ScalingConfig, TrainingConfig
from vtr_core.run.models import ModelConfig, default_model
from vtr_core.systems.all import SYSTEMS

if TYPE_CHECKING:

    class LossConfig(Protocol):
        """Interface of a loss's configuration in code that knows no system."""

        @property
        def kind(self) -> str:
            """The tag of the loss in the union."""
            ...
else:
    _OWN = [loss for system in SYSTEMS for loss in system.losses]
    LossConfig = Annotated[reduce(operator.or_, _OWN, ObjectiveConfig), Field(discriminator="kind")]
    """The union of all losses, tagged by `kind`."""


class TrainConfig(Settings):
    """The configuration of a run, without its data; presets are functions that return one."""

    preset: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$")] = "custom"
    """The preset that this configuration started from; it becomes part of file names."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    """Random seed of the initial weights, the batches and dropout."""
    on_bad_shard: OnBadShard = "fail"
    """When a shard's row group cannot be read or fails its checksum: `fail` ends the run, `skip` puts rows of the
    batch's next row group in place of its rows, and counts them."""
    model: ModelConfig = default_model()
    loss: LossConfig = MaskedMarginSoftmaxConfig()
    batch: BatchConfig = BatchConfig()
    optimizer: OptimizerConfig = OptimizerConfig()
    training: TrainingConfig = TrainingConfig()
    scaling: ScalingConfig = ScalingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    captions: CaptionText = CaptionText()
    """How the training data's captions must have become words."""
    concepts: ConceptText = ConceptText()
    """How the concept table must have been made."""

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
