"""A run in Weights & Biases: on its server, or with WANDB_MODE=offline in a folder that `wandb sync` uploads later."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from vtr_core.tracking.also.run_page import RunPage
from vtr_core.tracking.run import Point, Status

_EXIT_CODES: dict[Status, int] = {"FINISHED": 0, "FAILED": 1, "KILLED": 255}


class WandbRun:
    """A run whose project is MLflow's experiment. Its files are in the folder `wandb` of a local run folder.

    With a run folder on an object store they are in WANDB_DIR, or `wandb` in the working directory.
    """

    def __init__(self, page: RunPage) -> None:
        import wandb

        local = page.folder.is_local
        self._run: Any = wandb.init(
            project=page.experiment,
            id=page.identity,
            name=page.name,
            group=page.group,
            notes=page.note,
            config=dict(page.settings),
            resume="allow",
            reinit="create_new",  # the trials of a sweep are several runs in one process
            dir=page.folder.path if local else None,
            settings=wandb.Settings(
                silent=True,
                console="off",
                disable_git=True,
                save_code=False,
                x_disable_stats=True,  # the points include the utilisation of the machine that trains
            ),
        )
        self._before = int(self._run.starting_step)

    def steps(self, name: str) -> set[int]:  # noqa: ARG002
        """The steps that the server has from before a resume; none offline, with a folder per process."""
        return set(range(self._before))

    def log_points(self, points: Sequence[Point]) -> None:
        """Write points, which must be grouped by step."""
        for (step, time_ms), found in groupby(points, key=lambda point: (point.step, point.time_ms)):
            values = {point.name: point.value for point in found}
            self._run.log({**values, "_timestamp": time_ms / 1000}, step=step)

    def finish(self, status: Status) -> None:
        """Close the run; W&B shows an exit code other than 0 as failed."""
        self._run.finish(exit_code=_EXIT_CODES[status])
