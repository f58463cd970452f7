"""A sweep as an MLflow run: the parent of its trials, opened and closed by the driver."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.sweep.folder import SweepFolder, SweepRecord
from vtr_core.data.manifest import Manifest
from vtr_core.fingerprint import short
from vtr_core.tracking.environment import environment
from vtr_core.tracking.presentation import code, page_tags
from vtr_core.tracking.run import Status, TrackedRun, open_run, quietly, reopen_run

PARENT = "mlflow.parentRunId"


@dataclass(frozen=True)
class Outcome:
    """The result of a sweep."""

    metrics: Mapping[str, float]
    """The best trial's, by name."""
    step: int
    tags: Mapping[str, str]
    artifacts: Mapping[str, str]
    """Texts (CSV, JSON, SVG) by artifact path."""


def note(folder: SweepFolder, record: SweepRecord) -> str:
    """The description of the run, in Markdown, before there are results."""
    return (
        f"Sweep over {code(record.space)} on {code(record.data)}, compared by {code(record.metric)} on "
        f"{code(record.validation)}.\n\n- go on: {code(f'vtr sweep --resume {folder.location.uri}')}\n"
    )


def open_parent(folder: SweepFolder, record: SweepRecord, varied: Sequence[str], uri: str) -> TrackedRun | None:
    """The run, new or, for a resumed sweep, the same again; None where the store `uri` cannot be reached.

    varied: the names of the settings that trials differ in.
    """
    if record.mlflow_run_id is not None:
        return reopen_run(uri, record.experiment, record.mlflow_run_id)
    tags = {
        **page_tags(record.provenance, "vtr sweep", note(folder, record)),
        "stage": "sweep",
        "space": record.space,
        "sweep.folder": folder.location.uri,
        "data.fingerprint": short(record.data_fingerprint),
    }
    run = open_run(uri, record.experiment, f"sweep-{record.space}", tags)
    if run is None:
        return None
    names = ("space", "scheduler", "search", "num_samples", "search_seed", "metric")
    params: dict[str, Any] = {name: getattr(record, name) for name in names}
    with quietly(run):
        run.log_params({**params, "varied": ", ".join(varied), **record.changes})
        run.log_json("environment.json", environment())
        run.log_input(Manifest.load(record.validation), "validation")
        run.log_input(Manifest.load(record.data), "training")
    return run


def close_parent(run: TrackedRun, status: Status, outcome: Outcome | None, children: Sequence[str]) -> None:
    """Log the outcome, set `run` as the parent of those of the `children` that lack it, and close it."""
    with quietly(run):
        for child in children:
            if run.client.get_run(child).data.tags.get(PARENT) != run.run_id:
                TrackedRun(run.tracking_uri, run.experiment, child).set_tags({PARENT: run.run_id})
        if outcome is not None:
            run.log_metrics(outcome.metrics, outcome.step, int(time.time() * 1000))
            run.set_tags(outcome.tags)
            for path, text in outcome.artifacts.items():
                run.log_text(path, text)
        run.finish(status)
