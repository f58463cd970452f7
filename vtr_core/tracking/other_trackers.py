"""Trackers beside MLflow, TensorBoard and Weights & Biases, which the driver sends a run's points to."""

import importlib.util
import json
import logging
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, assert_never, runtime_checkable

from vtr_core import storage
from vtr_core.config.training import TrackerKind
from vtr_core.errors import ConfigError
from vtr_core.patience import TRACKER
from vtr_core.storage import Location
from vtr_core.tracking.json_lines import read_lines
from vtr_core.tracking.metric_log import PointSender, PointStore
from vtr_core.tracking.presentation import redact
from vtr_core.tracking.run import Point, Status


@dataclass(frozen=True)
class RunPage:
    """The description of a run that a tracker gets at its start."""

    folder: Location
    """The run's folder."""
    identity: str
    """The same for a resumed run, another for every other run."""
    name: str
    experiment: str
    group: str | None
    """The sweep that the run is a trial of."""
    note: str
    """A description in Markdown."""
    settings: Mapping[str, Any]
    """Flat names to values."""


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
            return EventFiles(page)
        case "wandb":
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


logger = logging.getLogger(__name__)
SEND_EVERY_S = 10.0


class Followers:
    """The other trackers of one run, from its start to its end. A failing one costs its curves, never the run."""

    def __init__(self, kinds: Sequence[TrackerKind], page: RunPage) -> None:
        self._patience_s = TRACKER.seconds()
        self._followers = [_Follower(kind, page) for kind in kinds]

    def begin(self) -> None:
        """Open the trackers, in the background."""
        for follower in self._followers:
            follower.thread.start()

    def end(self, status: Status) -> None:
        """Send what is missing and close the trackers, waiting at most VTR_TRACKER_PATIENCE_S for each."""
        for follower in self._followers:
            follower.status = status
            follower.ending.set()
        for follower in self._followers:
            follower.thread.join(self._patience_s)
            if follower.thread.is_alive():
                what = follower.kind, self._patience_s, TRACKER.variable
                logger.warning("%s did not take everything in %g s (%s)", *what)


class _Follower:
    def __init__(self, kind: TrackerKind, page: RunPage) -> None:
        self.kind, self._page = kind, page
        self._metrics: Location = page.folder / "metrics.jsonl"
        self.ending = threading.Event()
        self.status: Status = "FAILED"
        self.thread = threading.Thread(target=self._follow, name=kind, daemon=True)

    def _follow(self) -> None:
        try:
            tracker = open_tracker(self.kind, self._page)
            sender = PointSender(tracker)
            while not self.ending.wait(SEND_EVERY_S):
                self._send(sender)
            sender.send(read_lines(self._metrics))
            tracker.finish(self.status)
        except Exception as error:  # a service may raise anything; the run must not end for it
            logger.warning("%s did not take everything: %s", self.kind, redact(" ".join(str(error).split()))[:300])

    def _send(self, sender: PointSender) -> None:
        try:
            sender.send(read_lines(self._metrics))
        except Exception as error:  # tried again, and reported at the end
            logger.info("%s did not take the points yet: %s", self.kind, redact(str(error)))


FOLDER = "tensorboard"


class EventFiles:
    """Event files of a run. They have the same points as metrics.jsonl: a resumed run writes them anew.

    On an object store they lag one upload behind until the run ends.
    """

    def __init__(self, page: RunPage) -> None:
        from tensorboardX import SummaryWriter

        self._place = page.folder / FOLDER
        storage.delete_folder(self._place)
        self._local = Path(self._place.path if self._place.is_local else tempfile.mkdtemp())
        self._writer = SummaryWriter(str(self._local))
        settings = json.dumps(dict(page.settings), indent=1, default=str)
        self._writer.add_text("run", f"{page.note}\n\n```json\n{settings}\n```", 0)

    def steps(self, name: str) -> set[int]:  # noqa: ARG002
        """An empty set: a resumed run writes its files anew."""
        return set()

    def log_points(self, points: Sequence[Point]) -> None:
        """Write points, each at its own time."""
        self._publish()  # first, so that points which the store refuses are not written twice
        for point in points:
            self._writer.add_scalar(point.name, point.value, point.step, walltime=point.time_ms / 1000)
        self._writer.flush()

    def finish(self, status: Status) -> None:
        """Close the files, with the run's status as the text `status`."""
        self._writer.add_text("status", status, 0)
        self._writer.close()
        self._publish()

    def _publish(self) -> None:
        if not self._place.is_local:
            for file in self._local.iterdir():
                storage.write_bytes(self._place / file.name, file.read_bytes())


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
