"""`vtr runs list|delete`: the runs and sweeps in a folder, without MLflow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

import tyro

from pipelines.arguments import parse_action, print_json

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
    action = parse_action(argv, "runs", _FLAGS, HELP)
    if action is not None:
        _run(action)


def _run(action: object) -> None:
    from pipelines.report.figures import show
    from pipelines.runs.stored_runs import delete_unfinished, runs_in, tables

    match action:
        case ListFlags(folder=folder, json=as_json):
            rows = runs_in(folder)
            if as_json:
                print_json(rows)
            else:
                show(tables(rows) or [f"there is no run and no sweep in {folder}"])
        case DeleteFlags(run=run):
            delete_unfinished(run)
            print(f"deleted {run}")
