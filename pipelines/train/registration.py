"""The trained model in MLflow's registry."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.tracking.run import TrackedRun


def check_name(name: str | None) -> None:
    """ConfigError unless `name` can name a registered model, where there is one."""
    if name is not None:
        from vtr_core.tracking.models.registry import check_model_name

        check_model_name(name)


def register_best(tracked: "TrackedRun | None", checkpoint: str, name: str, run: str) -> str | None:
    """Register the checkpoint; returns the model's URI, or None, with printed instructions, where MLflow fails."""
    from vtr_core.errors import CheckpointError
    from vtr_core.tracking.models.registry import CHAMPION, register_checkpoint

    try:
        if tracked is None:
            raise CheckpointError("MLflow did not take the run")
        version = register_checkpoint(tracked, checkpoint, name)
    except CheckpointError as error:
        print(f"not registered: {error}; vtr train --resume {run} --register {name} tries again")
        return None
    print(f"registered  models:/{name}/{version}, which is {name}@{CHAMPION} now")
    return f"models:/{name}/{version}"
