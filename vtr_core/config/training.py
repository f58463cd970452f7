"""Length of training, validation interval, early stopping."""

from typing import Annotated, Literal

from pydantic import Field

from vtr_core.config.settings import PositiveInt, Settings


class TrainingConfig(Settings):
    """Length of training, intervals of logging, checkpoints and validation, early stopping, precision."""

    epochs: PositiveInt = 20
    """Passes over all videos."""
    max_steps: PositiveInt | None = None
    """Maximum number of optimiser steps, whatever `epochs` is."""
    log_every: PositiveInt = 10
    """Steps between two logged points."""
    checkpoint_every: PositiveInt | None = None
    """Steps between two checkpoints, in addition to those at validations."""
    checkpoint_minutes: Annotated[float, Field(gt=0.0)] | None = 15.0
    """Minutes after which another checkpoint is written, wherever the run is then; None: only those of steps and
    validations."""
    keep_checkpoints: PositiveInt = 2
    """Number of newest checkpoints kept, in addition to the best one."""
    validate_every: PositiveInt = 1
    """Epochs between two validations."""
    metric: str = "val/t2v/sum_r"
    """Validation metric that selects the best checkpoint (higher is better)."""
    patience: PositiveInt | None = None
    """Early stopping: stop after this many validations without a gain."""
    max_nonfinite: PositiveInt = 10
    """Number of consecutive steps with a non-finite loss that ends the run."""
    ema_decay: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    """Decay of an exponential moving average of the weights, which is validated and saved as the model."""
    compile: Literal["auto", "on", "off"] = "off"
    """Compile the model with torch.compile, which takes a minute or more at the first step; `off` by default, since it
    was tried on a CPU alone, not yet on a GPU. `auto`: on a GPU, the capsule network with routing by self-attention,
    the one model that a test compares with the plain one."""
    precision: Literal["auto", "bf16", "float32"] = "auto"
    """`auto`: bf16 where the device supports it. Similarities and losses are float32 in any case."""
