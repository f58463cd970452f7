"""The interface of trackers beside MLflow, the list of them, and whether they can be used here."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, assert_never, runtime_checkable

from vtr_core.config.trackers import TrackerKind
from vtr_core.errors import ConfigError
from vtr_core.tracking.also.run_page import RunPage
from vtr_core.tracking.redaction import redact
from vtr_core.tracking.run import Status
from vtr_core.tracking.sending import PointStore


@runtime_checkable
class Tracker(PointStore, Protocol):
    """A run in some tracker, open; `vtr_core.tracking.run.TrackedRun` has the same methods."""

    def finish(self, status: Status) -> None:
        """Close the run."""


def open_tracker(kind: TrackerKind, page: RunPage) -> Tracker:
    """A run of the tracker, new or, for a resumed run, the same again; no secrets are passed to it."""
    shown = {name: redact(value) if isinstance(value, str) else value for name, value in page.settings.items()}
    page = replace(page, note=redact(page.note), settings=shown)
    match kind:
        case "tensorboard":
            from vtr_core.tracking.also.tensorboard import EventFiles

            return EventFiles(page)
        case "wandb":
            from vtr_core.tracking.also.wandb import WandbRun

            return WandbRun(page)
        case _:
            assert_never(kind)


def require_trackers(kinds: Sequence[TrackerKind]) -> None:
    """ConfigError where a tracker cannot be used here, or is named twice."""
    if len(set(kinds)) < len(kinds):
        raise ConfigError(f"--also {' '.join(kinds)} names a tracker twice; name each once")
    if "wandb" not in kinds:
        return
    if importlib.util.find_spec("wandb") is None:
        raise ConfigError("--also wandb needs Weights & Biases: pip install 'vtr-ray[wandb]'")
    import wandb

    if os.environ.get("WANDB_MODE", "online") == "online" and not wandb.api.api_key:
        raise ConfigError(
            "--also wandb: no key for Weights & Biases is known here; set WANDB_API_KEY, or WANDB_MODE=offline to "
            "write a folder that wandb sync sends later"
        )
