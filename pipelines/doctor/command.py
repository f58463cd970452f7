"""`vtr doctor`: what is installed and works here, and what to do where it does not."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.arguments import parse, print_help, wants_help

HELP = """\
usage: vtr doctor [flags]

Python, packages, GPUs, the selective scan, memory and disk as Ray wants them, the MLflow store, the Ray cluster.
Marks: - not installed and not needed, ! works worse than it could, ✗ broken. Exit code 1 where anything is broken.

"""


@dataclass(frozen=True)
class DoctorFlags:
    """What to print."""

    json: bool = False
    """Print JSON instead: {"healthy": …, "findings": [{"section", "name", "state", "what", "remedy"}, …]}."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print(HELP, end="")
        print_help("vtr doctor", DoctorFlags)
        return
    flags = parse(DoctorFlags, argv, "vtr doctor")
    from pipelines.doctor.findings import as_json, as_text, is_healthy
    from pipelines.doctor.machine import machine_findings
    from pipelines.doctor.packages import package_findings
    from pipelines.doctor.services import service_findings
    from pipelines.doctor.torch_finding import torch_findings

    findings = [*package_findings(), *torch_findings(), *machine_findings(), *service_findings(os.environ)]
    print(json.dumps(as_json(findings), indent=1) if flags.json else as_text(findings))
    if not is_healthy(findings):
        sys.exit(1)
