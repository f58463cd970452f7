"""The trackers that a run can have beside MLflow."""

from typing import Literal

TrackerKind = Literal["tensorboard", "wandb"]
