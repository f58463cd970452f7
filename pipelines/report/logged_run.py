"""Results of a checkpoint as an MLflow run, and the output of an analysis: JSON and figures."""

import io
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from pipelines.report.figures import print_link
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.storage import Location, locate
from vtr_core.tracking.environment import environment, provenance
from vtr_core.tracking.run import TrackedRun, code, open_run, page_tags
from vtr_core.tracking.store import default_tracking_uri, trouble
from vtr_core.train.checkpoint.trained_model import LoadedModel


@dataclass(frozen=True)
class EvaluatedSet:
    """A data set, its name in metrics, and its metrics by full name."""

    name: str
    manifest: Manifest
    metrics: Mapping[str, float]


def log_run(
    experiment: str, stage: str, loaded: LoadedModel, sets: Sequence[str], write: Callable[[TrackedRun], None]
) -> None:
    """Open a run of `stage` on the data sets with these names, fill it by `write`, and print its address.

    An unreachable store costs the log, not the results.
    """
    preset, parent = loaded.config.preset, loaded.provenance.get("mlflow.run_id")
    note = f"vtr {stage} of the checkpoint {code(loaded.uri)} ({code(preset)}) on {', '.join(map(code, sets))}."
    tags = {**page_tags(provenance(), f"vtr {stage}", note), "stage": stage, "checkpoint": loaded.uri, "preset": preset}
    if parent:
        tags["mlflow.parentRunId"] = parent
    tracked = open_run(default_tracking_uri(), experiment, f"{stage}-{'+'.join(sets)}-{preset}"[:_LONGEST_NAME], tags)
    if tracked is None:
        return
    try:
        write(tracked)
        tracked.log_json("config.json", loaded.config.model_dump(mode="json"))
        tracked.log_json("environment.json", environment())
        tracked.finish("FINISHED")
        print(f"MLflow run  {tracked.run_id} in {tracked.store}")
    except Exception as error:
        print(f"MLflow did not take it: {trouble(error)}")


_LONGEST_NAME = 120


def log_evaluation(
    experiment: str,
    loaded: LoadedModel,
    sets: Sequence[EvaluatedSet],
    settings: Mapping[str, object],
    values: Mapping[str, object],
    page: str,
    out: str | None,
) -> None:
    """Write the values to the file `out`, where there is one; then log them, settings, data sets, and metrics.

    Metrics are logged at the checkpoint's step, the values and the printed tables as files.
    """
    now = int(time.time() * 1000)

    def write(tracked: TrackedRun) -> None:
        tracked.log_params({"checkpoint": loaded.uri, "data": [data_set.manifest.uri for data_set in sets], **settings})
        for data_set in sets:
            tracked.log_input(data_set.manifest, "testing")
            tracked.log_metrics(dict(data_set.metrics), loaded.progress.step, now)
        tracked.log_json("evaluation.json", dict(values))
        tracked.log_text("report.html", page)

    try:
        if out is not None:
            storage.write_json(locate(out), dict(values))
            print_link(locate(out))
    finally:  # a full disk loses no run
        log_run(experiment, "evaluate", loaded, [data_set.name for data_set in sets], write)


_DOTS_PER_INCH = 150


def write_analysis(
    analysis: str,
    out: str,
    experiment: str,
    models: Sequence[LoadedModel],
    data: Mapping[str, Manifest],
    values: Mapping[str, Any],
    metrics: Mapping[str, float],
    figures: Mapping[str, Figure],
    settings: Mapping[str, object],
) -> None:
    """Write `<analysis>.json` and figures/<name>.png into `out`, and log them with the metrics.

    The run is a child of the first model's run; the other models are among its parameters.
    """
    folder = locate(out)
    storage.write_json(folder / f"{analysis}.json", dict(values))
    for name, figure in figures.items():
        write_figure(folder / "figures" / f"{name}.png", figure)
    print(f"written     {folder.uri}: {analysis}.json, {len(figures)} figures")
    print_link(folder / f"{analysis}.json")
    now = int(time.time() * 1000)

    def write(tracked: TrackedRun) -> None:
        checkpoints = [model.uri for model in models]
        tracked.log_params(
            {
                "analysis": analysis,
                "checkpoint": checkpoints,
                "data": [manifest.uri for manifest in data.values()],
                **settings,
            }
        )
        for manifest in data.values():
            tracked.log_input(manifest, "analysing")
        tracked.log_metrics(dict(metrics), models[0].progress.step, now)
        tracked.log_json(f"{analysis}.json", dict(values))
        for name, figure in figures.items():
            tracked.log_figure(f"figures/{name}.png", figure)

    log_run(experiment, "analyze", models[0], list(data), write)


def write_figure(place: Location, figure: Figure) -> None:
    """Write a figure as PNG."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=_DOTS_PER_INCH)
    storage.write_bytes(place, image.getvalue())
