"""`vtr sweep <space> --data URI --num-samples N`: hyperparameter search with Ray Tune; `--resume OUT` resumes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.arguments import (
    json_alone,
    parse,
    parse_with_changes,
    print_json,
    wants_help,
    with_joined_data,
)
from pipelines.commands import HELP_WORDS
from pipelines.systems.registry import SYSTEMS
from pipelines.train.command import DataFlags, ResumedFlags
from pipelines.train.preset_help import ALL, print_preset_help
from tune_spaces.spaces import build_space, describe_space, describe_spaces
from vtr_core.config.search_space import SchedulerKind, SearchKind
from vtr_core.run.presets import preset

if TYPE_CHECKING:
    from vtr_core.storage import Location


@dataclass(frozen=True)
class SweepFlags(DataFlags):
    """Flags of `vtr sweep`. A setting given as --a.b value is fixed, not searched."""

    num_samples: int = 12
    """Number of trials; for a grid the maximum."""
    scheduler: SchedulerKind | None = None
    """asha stops bad trials early; none trains all to their ends (default: asha, and none for a grid, whose curves need
    every point)."""
    search: SearchKind = "optuna"
    """Search algorithm. A grid takes all choices and 3 values of each number."""
    max_concurrent: int | None = None
    """Maximum number of concurrent trials (default: as many as fit into the cluster)."""
    only: tuple[str, ...] = ()
    """Settings of the space that are searched (default: all); the others keep the preset's values."""
    search_seed: int = 0
    """Random seed of the search."""
    out: str | None = None
    """Sweep folder or URI, reachable from every node (default: runs/sweep-<space>-<time>)."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


HELP = f"""\
usage: vtr sweep <space> --data URI --num-samples N [flags]     start a sweep
       vtr sweep --resume OUT                                   resume an interrupted sweep
       vtr sweep <space> --help                                 the space, and its preset's most used settings;
                                                                --help-all: all of them

search spaces and their settings:
{describe_spaces(SYSTEMS)}
"""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or argv[0] in HELP_WORDS:
        print(HELP, end="")
    elif any(word.partition("=")[0] == "--resume" for word in argv):
        resumed = parse(ResumedFlags, argv, "vtr sweep --resume OUT")
        from pipelines.sweep.run import resume

        with json_alone(resumed.json):
            folder = resume(resumed.resume, resumed.worker_logs, resumed.places)
        if resumed.json:
            _print_best(folder)
    else:
        _new(argv)


def _new(argv: Sequence[str]) -> None:
    space, prog = build_space(argv[0], SYSTEMS), f"vtr sweep {argv[0]}"
    if wants_help(argv):
        print_preset_help(prog, SweepFlags, preset(space.preset), ALL in argv)
        print(f"searched, of preset {space.preset}:\n{describe_space(space)}")
        return
    flags, changes = parse_with_changes(SweepFlags, with_joined_data(argv[1:]), prog, preset(space.preset).model_dump())
    from pipelines.sweep.run import sweep

    with json_alone(flags.json):
        folder = sweep(space.name, flags, changes)
    if flags.json:
        _print_best(folder)


def _print_best(folder: "Location") -> None:
    from vtr_core import storage

    print_json({"sweep": folder.uri, "best_trials": storage.read_json(folder / "best_trials.json")})
