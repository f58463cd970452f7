"""`vtr doctor`: checks of packages, hardware and services, with remedies."""

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pipelines.arguments import parse, print_help, print_json, wants_help

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
    from pipelines.doctor import findings as checks

    findings = [
        *checks.package_findings(),
        *checks.weights_findings(),
        *checks.torch_findings(),
        *checks.machine_findings(),
        *checks.service_findings(os.environ),
    ]
    healthy = all(finding.state != "broken" for finding in findings)
    if flags.json:
        print_json({"healthy": healthy, "findings": [asdict(finding) for finding in findings]})
    else:
        print(checks.as_text(findings))
    if not healthy:
        sys.exit(1)
