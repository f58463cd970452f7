"""TensorBoard and Weights & Biases beside MLflow: threads of the driver that send the points of metrics.jsonl."""

import importlib.util
import json
import logging
import os
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vtr_core import storage
from vtr_core.config.run import TrackerKind
from vtr_core.errors import ConfigError
from vtr_core.patience import TRACKER
from vtr_core.redaction import redact
from vtr_core.storage import Location
from vtr_core.tracking.run import Status
from vtr_core.tracking.run_log import Line, read_lines

logger = logging.getLogger(__name__)
SEND_EVERY_S = 10.0


@dataclass(frozen=True)
class RunPage:
    """A run's folder, an identity that a resumed run keeps, names, its sweep, a note in Markdown, settings by name."""

    folder: Location
    identity: str
    name: str
    experiment: str
    group: str | None
    note: str
    settings: Mapping[str, Any]


def require_trackers(kinds: Sequence[TrackerKind]) -> None:
    """ConfigError where a tracker cannot be used here, or is named twice."""
    if len(set(kinds)) < len(kinds):
        raise ConfigError(f"--also {' '.join(kinds)} names a tracker twice; name each once")
    if "wandb" in kinds:
        if importlib.util.find_spec("wandb") is None:
            raise ConfigError("--also wandb needs Weights & Biases: pip install 'vtr-ray[wandb]'")
        import wandb

        if os.environ.get("WANDB_MODE", "online") == "online" and not wandb.api.api_key:
            raise ConfigError("--also wandb: no key is known; set WANDB_API_KEY, or WANDB_MODE=offline for a folder")


class Followers:
    """The other trackers of one run, from its start to its end. A failing one costs its curves, never the run."""

    def __init__(self, kinds: Sequence[TrackerKind], page: RunPage) -> None:
        self._patience_s, self._page, self._ending = TRACKER.seconds(), page, threading.Event()
        self._status: Status = "FAILED"
        self._threads = [threading.Thread(target=self._follow, args=(k,), name=k, daemon=True) for k in kinds]

    def begin(self) -> None:
        """Open the trackers, in the background."""
        for thread in self._threads:
            thread.start()

    def end(self, status: Status) -> None:
        """Send what is missing and close the trackers, waiting at most VTR_TRACKER_PATIENCE_S for each."""
        self._status = status
        self._ending.set()
        for thread in self._threads:
            thread.join(self._patience_s)
            if thread.is_alive():
                logger.warning("%s was slower than %g s (%s)", thread.name, self._patience_s, TRACKER.variable)

    def _follow(self, kind: TrackerKind) -> None:
        sent: set[tuple[str, ...]] = set()  # step and names: after a fault a step is repeated with the same values
        try:
            tracker, is_last = open_tracker(kind, self._page), False
            while not is_last:
                is_last = self._ending.wait(SEND_EVERY_S)
                try:
                    for line in read_lines(self._page.folder / "metrics.jsonl"):
                        if (key := (str(line["step"]), *sorted(line))) not in sent:
                            tracker.log(line)
                            sent.add(key)
                except Exception:  # tried again, and reported at the end
                    if is_last:
                        raise
            tracker.finish(self._status)
        except Exception as error:  # a service may raise anything; the run must not end for it
            logger.warning("%s did not take everything: %s", kind, redact(" ".join(str(error).split()))[:300])


class EventFiles:
    """TensorBoard's files in RUN/tensorboard, written anew by a resumed run; of a remote run uploaded at its end."""

    def __init__(self, page: RunPage) -> None:
        from tensorboardX import SummaryWriter

        self._folder = page.folder / "tensorboard"
        storage.delete_folder(self._folder)
        self._local = Path(self._folder.path if self._folder.is_local else tempfile.mkdtemp())
        self._writer = SummaryWriter(str(self._local), flush_secs=int(SEND_EVERY_S))
        settings = json.dumps(dict(page.settings), indent=1, default=str)
        self._writer.add_text("run", f"{page.note}\n\n```json\n{settings}\n```", 0)

    def log(self, line: Line) -> None:
        """Write the values of a line of metrics.jsonl, at its own time."""
        for name, value in _values(line).items():
            self._writer.add_scalar(name, value, line["step"], walltime=line["time"])

    def finish(self, status: Status) -> None:
        """Close the files, with the run's status as the text `status`."""
        self._writer.add_text("status", status, 0)
        self._writer.close()
        for file in () if self._folder.is_local else self._local.iterdir():
            storage.write_bytes(self._folder / file.name, file.read_bytes())


class WandbRun:
    """A run of W&B whose project is MLflow's experiment; files in RUN/wandb, of a remote run in WANDB_DIR."""

    def __init__(self, page: RunPage) -> None:
        import wandb

        self._run: Any = wandb.init(
            project=page.experiment,
            id=page.identity,
            name=page.name,
            group=page.group,
            notes=page.note,
            config=dict(page.settings),
            resume="allow",
            reinit="create_new",  # the trials of a sweep are several runs in one process
            dir=page.folder.path if page.folder.is_local else None,
            settings=wandb.Settings(silent=True, console="off", disable_git=True, x_disable_stats=True),
        )
        self._first = int(self._run.starting_step)

    def log(self, line: Line) -> None:
        """Log the values of a line of metrics.jsonl, unless the server has its step from before a resume."""
        if line["step"] >= self._first:
            self._run.log({**_values(line), "_timestamp": line["time"]}, step=line["step"])

    def finish(self, status: Status) -> None:
        """Close the run; W&B shows an exit code other than 0 as failed."""
        self._run.finish(exit_code={"FINISHED": 0, "FAILED": 1, "KILLED": 255}[status])


def _values(line: Line) -> dict[str, float]:
    return {name: value for name, value in line.items() if name not in ("step", "time")}


def open_tracker(kind: TrackerKind, page: RunPage) -> EventFiles | WandbRun:
    """A run of the tracker, new or, for a resumed run, the same again; no secrets are passed to it."""
    shown = {name: redact(value) if isinstance(value, str) else value for name, value in page.settings.items()}
    page = replace(page, note=redact(page.note), settings=shown)
    return WandbRun(page) if kind == "wandb" else EventFiles(page)
