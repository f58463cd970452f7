"""The URL of a run's page in MLflow."""

from vtr_core.tracking.run import TrackedRun

LOCAL_SERVER = "http://127.0.0.1:5000"
"""The default address of `mlflow ui`."""


def has_server(tracking_uri: str) -> bool:
    """Whether the store is a server with pages of its own; a database needs `mlflow ui` to be viewed."""
    return tracking_uri.startswith(("http://", "https://"))


def run_page(run: TrackedRun) -> str:
    """The address of the run's page: on its server, or in an `mlflow ui` started on this machine."""
    server = run.store.rstrip("/") if has_server(run.store) else LOCAL_SERVER
    experiment_id = run.client.get_run(run.run_id).info.experiment_id
    return f"{server}/#/experiments/{experiment_id}/runs/{run.run_id}"
