"""Checks of the MLflow store and of the Ray cluster."""

from collections.abc import Mapping

from pipelines.doctor.findings import Finding
from vtr_core.errors import VtrError

SECTION = "services"
_OWN = ("", "local")


def service_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Findings on both services."""
    return [store_finding(), cluster_finding(environ)]


def store_finding() -> Finding:
    """Whether the MLflow store of runs answers; a file that does not exist yet is fine."""
    from vtr_core.tracking.redaction import redact
    from vtr_core.tracking.run import default_tracking_uri
    from vtr_core.tracking.store_check import store_fault

    uri = default_tracking_uri()
    fault = store_fault(uri)
    if fault is None:
        return Finding(SECTION, "MLflow", "ok", redact(uri))
    return Finding(SECTION, "MLflow", "broken", f"{redact(uri)} cannot be used ({fault})", "set MLFLOW_TRACKING_URI")


def cluster_finding(environ: Mapping[str, str]) -> Finding:
    """Whether the cluster of RAY_ADDRESS or RAY_API_SERVER_ADDRESS answers, accepts the token and has the same Ray."""
    from pipelines.submit.server import address, connect

    if environ.get("RAY_ADDRESS", "") in _OWN and not environ.get("RAY_API_SERVER_ADDRESS"):
        return Finding(SECTION, "Ray cluster", "ok", "RAY_ADDRESS names none: each command starts its own here")
    try:
        url = address(None, environ)
        connect(url)
    except VtrError as error:
        remedy = "or unset RAY_ADDRESS and RAY_API_SERVER_ADDRESS"
        return Finding(SECTION, "Ray cluster", "broken", str(error), remedy)
    return Finding(SECTION, "Ray cluster", "ok", f"{url} answers, with our version of Ray")
