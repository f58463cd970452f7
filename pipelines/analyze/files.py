"""Output of an analysis: JSON, HTML page and figures, also logged as an MLflow run."""

import io
import time
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from pipelines.report.links import print_link
from pipelines.report.logged_run import log_run
from pipelines.report.printed_page import Printed, page
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.storage import Location, locate
from vtr_core.tracking.run import TrackedRun
from vtr_core.train.checkpoint.load import LoadedModel

_DOTS_PER_INCH = 150


def write_analysis(
    analysis: str,
    out: str,
    experiment: str,
    models: Sequence[LoadedModel],
    data: Mapping[str, Manifest],
    values: Mapping[str, Any],
    metrics: Mapping[str, float],
    parts: Sequence[Printed],
    figures: Mapping[str, Figure],
    settings: Mapping[str, object],
) -> None:
    """Write `<analysis>.json`, report.html and figures/<name>.png into `out`, and log them with the metrics.

    The run is a child of the first model's run; the other models are among its parameters.
    """
    folder, report = locate(out), page(parts)
    storage.write_json(folder / f"{analysis}.json", dict(values))
    storage.write_bytes(folder / "report.html", report.encode())
    for name, figure in figures.items():
        write_figure(folder / "figures" / f"{name}.png", figure)
    print(f"written     {folder.uri}: {analysis}.json, report.html, {len(figures)} figures")
    print_link(folder / "report.html")
    now = int(time.time() * 1000)

    def write(tracked: TrackedRun) -> None:
        checkpoints = [model.uri for model in models]
        tracked.log_params(
            {"analysis": analysis, "checkpoint": checkpoints, "data": [one.uri for one in data.values()], **settings}
        )
        for manifest in data.values():
            tracked.log_input(manifest, "analysing")
        tracked.log_metrics(dict(metrics), models[0].progress.step, now)
        tracked.log_json(f"{analysis}.json", dict(values))
        tracked.log_text("report.html", report)
        for name, figure in figures.items():
            tracked.log_figure(f"figures/{name}.png", figure)

    log_run(experiment, "analyze", models[0], list(data), write)


def write_figure(place: Location, figure: Figure) -> None:
    """Write a figure as PNG."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=_DOTS_PER_INCH)
    storage.write_bytes(place, image.getvalue())
