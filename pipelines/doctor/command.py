"""`vtr doctor`: checks of packages, hardware and services, with remedies."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipelines.arguments import parse, print_help, wants_help
from pipelines.doctor.findings import Finding
from vtr_core.errors import VtrError

HELP = """\
usage: vtr doctor [flags]

Checks Python, packages, bundled weights, GPUs, the selective scan, memory and disk for Ray, the MLflow store and the
Ray cluster.
Marks: - not installed and optional, ! works with a drawback, ✗ broken. Exit code 1 where anything is broken.

"""


@dataclass(frozen=True)
class DoctorFlags:
    """Flags of `vtr doctor`."""

    json: bool = False
    """Print JSON: {"healthy": …, "findings": [{"section", "name", "state", "what", "remedy"}, …]}."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print(HELP, end="")
        print_help("vtr doctor", DoctorFlags)
        return
    flags = parse(DoctorFlags, argv, "vtr doctor")
    from pipelines.doctor.findings import as_json, as_text, is_healthy, package_findings, weights_findings
    from pipelines.doctor.machine import machine_findings
    from pipelines.doctor.torch_finding import torch_findings

    findings = [*package_findings(), *weights_findings(), *torch_findings(), *machine_findings()]
    findings += service_findings(os.environ)
    print(json.dumps(as_json(findings), indent=1) if flags.json else as_text(findings))
    if not is_healthy(findings):
        sys.exit(1)


SECTION = "services"
_OWN = ("", "local")


def service_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Findings on both services."""
    return [store_finding(), cluster_finding(environ)]


def store_finding() -> Finding:
    """Whether the MLflow store of runs answers; a file that does not exist yet is fine."""
    from vtr_core.tracking.presentation import redact
    from vtr_core.tracking.run import default_tracking_uri, store_fault

    uri = default_tracking_uri()
    fault = store_fault(uri)
    if fault is None:
        return Finding(SECTION, "MLflow", "ok", redact(uri))
    return Finding(SECTION, "MLflow", "broken", f"{redact(uri)} cannot be used ({fault})", "set MLFLOW_TRACKING_URI")


def cluster_finding(environ: Mapping[str, str]) -> Finding:
    """Whether the cluster of RAY_ADDRESS or RAY_API_SERVER_ADDRESS answers, accepts the token and has the same Ray."""
    from pipelines.submit.job_server import address, connect

    if environ.get("RAY_ADDRESS", "") in _OWN and not environ.get("RAY_API_SERVER_ADDRESS"):
        return Finding(SECTION, "Ray cluster", "ok", "RAY_ADDRESS names none: each command starts its own here")
    try:
        url = address(None, environ)
        connect(url)
    except VtrError as error:
        remedy = "or unset RAY_ADDRESS and RAY_API_SERVER_ADDRESS"
        return Finding(SECTION, "Ray cluster", "broken", str(error), remedy)
    return Finding(SECTION, "Ray cluster", "ok", f"{url} answers, with our version of Ray")
