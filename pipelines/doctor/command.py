"""`vtr doctor`: what is installed and works here, and what to do where it does not."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.arguments import parse, print_help, wants_help
from vtr_core.errors import ConfigError

HELP = """\
usage: vtr doctor [flags]

Python, packages, GPUs, the selective scan, memory and disk as Ray wants them, the MLflow store, the Ray cluster.
Marks: - not installed and not needed, ! works worse than it could, ✗ broken. Exit code 1 where anything is broken.

vtr doctor --model PRESET [--data URI] [--set NAME=VALUE …]: how much of what differs between rows reaches the outputs
of a model with fresh weights, how far similarities deviate, how even gradients are, and where a signal dies. Exit code
1 where any of it is out of bounds.

"""


@dataclass(frozen=True)
class DoctorFlags:
    """What to print."""

    json: bool = False
    """Print JSON instead: {"healthy": …, "findings": [{"section", "name", "state", "what", "remedy"}, …]}."""
    model: str | None = None
    """Instead of the machine look at a model with fresh weights: a preset, or a run's config.json."""
    data: str | None = None
    """With --model: at a batch of this data set, and not at invented rows."""
    set: tuple[str, ...] = ()
    """With --model: settings that differ, NAME=VALUE."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if wants_help(argv):
        print(HELP, end="")
        print_help("vtr doctor", DoctorFlags)
        return
    flags = parse(DoctorFlags, argv, "vtr doctor")
    if flags.model is not None:
        _look_at_model(flags.model, flags)
        return
    if flags.data is not None or flags.set:
        raise ConfigError("vtr doctor: --data and --set go with --model PRESET")
    from pipelines.doctor.findings import as_json, as_text, is_healthy
    from pipelines.doctor.machine import machine_findings
    from pipelines.doctor.packages import package_findings
    from pipelines.doctor.services import service_findings
    from pipelines.doctor.torch_finding import torch_findings

    findings = [*package_findings(), *torch_findings(), *machine_findings(), *service_findings(os.environ)]
    print(json.dumps(as_json(findings), indent=1) if flags.json else as_text(findings))
    if not is_healthy(findings):
        sys.exit(1)


def _look_at_model(model: str, flags: DoctorFlags) -> None:
    from pipelines.doctor.signal_table import as_table, configuration, looks

    found = list(looks(configuration(model, flags.set), flags.data))
    if flags.json:
        print(json.dumps([look.as_json() for look in found], indent=1))
    else:
        print("\n\n".join(map(as_table, found)))
    if any(look.signal.faults() for look in found):
        sys.exit(1)
