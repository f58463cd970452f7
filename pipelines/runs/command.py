"""`vtr runs list|show|compare|delete`: the runs and sweeps in a folder, without MLflow."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import tyro

from pipelines.arguments import parse_action

if TYPE_CHECKING:
    from pipelines.runs.stored_runs import Found

HELP = """\
usage: vtr runs list [FOLDER] [--json]           the runs and sweeps in a folder: state, how far, best validation
       vtr runs show RUN [--json]                one run: data, settings that differ from its preset, events
       vtr runs compare RUN RUN… [--json]        the settings in which runs differ, and their last validations
       vtr runs delete RUN                       remove a run that never finished, and that nobody writes
"""


@dataclass(frozen=True)
class ListFlags:
    """Flags of `vtr runs list`."""

    folder: Annotated[str, tyro.conf.Positional] = "runs"
    """Folder or URI with runs and sweeps directly in it."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ShowFlags:
    """Flags of `vtr runs show`."""

    run: Annotated[str, tyro.conf.Positional]
    """Run folder or URI."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class CompareFlags:
    """Flags of `vtr runs compare`."""

    runs: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Run folders or URIs."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class DeleteFlags:
    """Flags of `vtr runs delete`."""

    run: Annotated[str, tyro.conf.Positional]
    """Run folder or URI."""


_FLAGS: Mapping[str, type] = MappingProxyType(
    {"list": ListFlags, "show": ShowFlags, "compare": CompareFlags, "delete": DeleteFlags}
)
ACTIONS = tuple(_FLAGS)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    given = parse_action(argv, "runs", _FLAGS, HELP)
    if given is not None:
        _run(given)


def _run(given: object) -> None:
    from pipelines.runs.stored_runs import compared, delete_unfinished, listed, runs_in, shown, stored_run, sweeps_in

    match given:
        case ListFlags(folder=folder):
            _print(listed(runs_in(folder), sweeps_in(folder), folder), given.json)
        case ShowFlags(run=run):
            _print(shown(stored_run(run)), given.json)
        case CompareFlags(runs=runs):
            _print(compared([stored_run(run) for run in runs]), given.json)
        case DeleteFlags(run=run):
            delete_unfinished(run)
            print(f"deleted {run}")


def _print(found: "Found", as_json: bool) -> None:
    """The values as JSON, or the tables and lines."""
    from pipelines.report.printed_page import show

    values, parts = found
    if as_json:
        print(json.dumps(values, indent=1))
    else:
        show(parts)
