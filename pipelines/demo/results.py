"""Where the results of a demonstration are: the learning curve's file, and the run in MLflow."""

from typing import TYPE_CHECKING

from vtr_core.uris import below

if TYPE_CHECKING:
    from pipelines.train.finished import Finished


def learning_curve_file(data: str, finished: "Finished") -> str:
    """Write the learning curve into the run's folder; returns its location."""
    from pipelines.analyze.files import write_figure
    from pipelines.demo.learning_curve import learning_curve
    from vtr_core.data.manifest import Manifest
    from vtr_core.storage import locate
    from vtr_core.tracking.json_lines import read_lines

    run = locate(finished.run)
    place = run / "learning_curve.png"
    chance = min(100.0, 100 * 10 / Manifest.load(below(data, "val")).rows)
    write_figure(place, learning_curve(read_lines(run / "metrics.jsonl"), chance))
    return str(place)


def mlflow_page(finished: "Finished") -> str:
    """Instructions for viewing the run in MLflow."""
    from pipelines.train.command import TrainFlags
    from vtr_core.tracking.run import TrackedRun, full_tracking_uri
    from vtr_core.tracking.run_page import has_server, run_page

    if finished.mlflow_run_id is None:
        return f"MLflow did not take the run: everything is in {finished.run}"
    page = run_page(TrackedRun(full_tracking_uri(finished.tracking_uri), TrainFlags.experiment, finished.mlflow_run_id))
    if has_server(finished.tracking_uri):
        return page
    return f"mlflow ui --backend-store-uri {finished.tracking_uri}\n                then {page}"
