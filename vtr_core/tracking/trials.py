"""A sweep as an MLflow run: the parent of its trials, opened and closed by the driver."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from vtr_core.data.manifest import Manifest
from vtr_core.tracking.environment import environment
from vtr_core.tracking.presentation import redact
from vtr_core.tracking.run import Status, TrackedRun, failures, open_run, reopen_run

logger = logging.getLogger(__name__)
PARENT = "mlflow.parentRunId"
STOPPED_EARLY = "stopped_early"


@dataclass(frozen=True)
class SweepPage:
    """The description of a sweep's MLflow run at its start."""

    name: str
    tags: Mapping[str, str]
    params: Mapping[str, Any]
    inputs: Mapping[str, Manifest]
    """The data sets of all trials, by what they are for: "training", "validation"."""


@dataclass(frozen=True)
class Outcome:
    """The result of a sweep."""

    metrics: Mapping[str, float]
    """The best trial's, by name."""
    step: int
    tags: Mapping[str, str]
    artifacts: Mapping[str, str]
    """Texts (CSV, JSON, SVG) by artifact path."""


def open_sweep(tracking_uri: str, experiment: str, run_id: str | None, page: SweepPage) -> TrackedRun | None:
    """The sweep's run, new or, for a resumed sweep, the same again; None where the store cannot be reached."""
    if run_id is not None:
        return reopen_run(tracking_uri, experiment, run_id)
    run = open_run(tracking_uri, experiment, page.name, {**page.tags, "stage": "sweep"})
    if run is not None:
        _quietly(run, partial(_describe, run, page))
    return run


def _describe(run: TrackedRun, page: SweepPage) -> None:
    run.log_params(page.params)
    run.log_json("environment.json", environment())
    for context, manifest in page.inputs.items():
        run.log_input(manifest, context)


def close_sweep(run: TrackedRun, status: Status, outcome: Outcome | None, children: Sequence[str]) -> bool:
    """Log the sweep's outcome, set `run` as the parent of those of the `children` that lack it, and close it.

    Returns whether the store took everything.
    """

    def write() -> None:
        for child in children:
            if run.client.get_run(child).data.tags.get(PARENT) != run.run_id:
                TrackedRun(run.tracking_uri, run.experiment, child).set_tags({PARENT: run.run_id})
        if outcome is not None:
            run.log_metrics(outcome.metrics, outcome.step, int(time.time() * 1000))
            run.set_tags(outcome.tags)
            for path, text in outcome.artifacts.items():
                run.log_text(path, text)
        run.finish(status)

    return _quietly(run, write)


def _quietly(run: TrackedRun, write: Any) -> bool:
    """Whether `write` succeeded; an unreachable store costs the log, not the sweep."""
    try:
        write()
    except failures() as error:
        logger.warning(
            "MLflow at %s did not take everything: %s", run.store, redact(" ".join(str(error).split()))[:300]
        )
        return False
    return True
