"""Trials as Ray Tune actors, each of which starts its own worker group and reports validations.

The actor requests no CPU, which its workers and reading tasks do, as in vtr train; with `scaling.workers 0` it trains
itself. When Tune stops the actor, `cleanup` first ends the training and its processes.
"""

import json
import time
from pathlib import Path
from typing import Any

from ray.tune import PlacementGroupFactory, Trainable

from pipelines.sweep.folder import SweepFolder, TrialRow, space_of
from tune_spaces.schedulers import OBJECTIVE, TIME, VALUE
from vtr_core import storage
from vtr_core.config.scaling import ScalingConfig
from vtr_core.ray_private import HEAD
from vtr_core.storage import locate
from vtr_core.train.checkpoint.run_folder import RunFolder, RunRecord
from vtr_core.train.fleet.faults import first_line
from vtr_core.train.fleet.reservation import worker_bundle
from vtr_core.train.trial import Standing, Trial

_HEAD = {HEAD: 0.001}
"""A nominal resource, as Tune requires one. It is the head node's, where trials survive the loss of other nodes."""
_SOURCE = "source.json"


def trial_bundle(scaling: ScalingConfig, gpu: bool) -> dict[str, float]:
    """The resources of a trial's actor: nominal where it starts workers, else those of one worker."""
    return dict(_HEAD) if scaling.workers else worker_bundle(scaling, gpu)


class TrialTrainable(Trainable):
    """A trial. config: "sweep", the sweep's URI; "takes", the actor's resources; "trial", its number and point."""

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> PlacementGroupFactory:
        """The resources of the actor itself."""
        return PlacementGroupFactory([config["takes"]])

    def setup(self, config: dict[str, Any]) -> None:
        """Claim the trial's run folder, or reopen it. Errors are reported as the result of the first step."""
        self._trial: Trial | None = None
        self._fault: Exception | None = None
        try:
            self._begin(config)
        except Exception as error:  # an exception in setup would end the actor without a reason
            self._fault = error

    def _begin(self, config: dict[str, Any]) -> None:
        sweep = SweepFolder(locate(config["sweep"]))
        record, base = sweep.read()
        row = TrialRow(config["trial"]["number"], config["trial"]["point"])
        folder = sweep.run(row)
        trial_config = space_of(record, base).applied(base, row.point)
        self._trial = Trial(folder, record.provenance, pauses=record.scheduler == "pbt")
        if storage.exists(folder.location / "run.json"):
            folder.write_config(trial_config)  # under population-based training settings may have changed
            return
        run = RunRecord(
            data=record.data,
            validation=record.validation,
            data_fingerprint=record.data_fingerprint,
            tracking_uri=record.tracking_uri,
            experiment=record.experiment,
            started=time.time(),
            concepts=record.concepts,
            also=record.also,
        )
        folder.claim(run, trial_config)

    def step(self) -> dict[str, Any]:
        """Wait for the next validation; returns it as plain numbers, as required by Tune and its schedulers.

        Errors of the training are returned as results too: as exceptions Tune would pickle them.
        """
        try:
            now = self._next()
        except Exception as error:  # any error ends this trial only, not the sweep
            return {"failed": f"{type(error).__name__}: {first_line(error)}", "done": True}
        return {
            TIME: now.epoch,
            OBJECTIVE: now.objective,
            VALUE: now.value,
            "step": now.step,
            "finished": now.finished,
            "done": now.finished,
        }

    def _next(self) -> Standing:
        if self._fault is not None:
            raise self._fault
        assert self._trial is not None
        return self._trial.next()

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        """Save a reference to the checkpoint, without the weights, for population-based training."""
        assert self._trial is not None
        source = {"run": self._trial.folder.location.uri, "checkpoint": self._trial.checkpoint().name}
        Path(checkpoint_dir, _SOURCE).write_text(json.dumps(source))

    def load_checkpoint(self, checkpoint: Any) -> None:
        """Continue from another trial's weights; a reference to the trial's own checkpoint is ignored."""
        source = json.loads(Path(checkpoint, _SOURCE).read_text())
        if self._trial is not None and source["run"] != self._trial.folder.location.uri:
            self._trial.adopt(RunFolder.at(source["run"]), source["checkpoint"])

    def cleanup(self) -> None:
        """End the worker group, before Tune ends this actor."""
        if self._trial is not None:
            self._trial.stop()
