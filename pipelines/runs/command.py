"""`vtr runs list|delete`: the runs and sweeps in a folder, without MLflow."""

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
       vtr runs delete RUN                       remove a run that never finished, and that nobody writes

`mlflow ui` shows a run's settings, metrics and events, and compares runs.
"""


@dataclass(frozen=True)
class ListFlags:
    """Flags of `vtr runs list`."""

    folder: Annotated[str, tyro.conf.Positional] = "runs"
    """Folder or URI with runs and sweeps directly in it."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class DeleteFlags:
    """Flags of `vtr runs delete`."""

    run: Annotated[str, tyro.conf.Positional]
    """Run folder or URI."""


_FLAGS: Mapping[str, type] = MappingProxyType({"list": ListFlags, "delete": DeleteFlags})
ACTIONS = tuple(_FLAGS)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    given = parse_action(argv, "runs", _FLAGS, HELP)
    if given is not None:
        _run(given)


def _run(given: object) -> None:
    from pipelines.runs.stored_runs import delete_unfinished, listed, runs_in, sweeps_in

    match given:
        case ListFlags(folder=folder):
            _print(listed(runs_in(folder), sweeps_in(folder), folder), given.json)
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
