"""`vtr sweep <space> --data URI --num-samples N`: hyperparameter search with Ray Tune; `--resume OUT` resumes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.arguments import parse, parse_with_changes, print_help, wants_help, with_joined_data
from pipelines.report.json_result import json_alone, print_json
from pipelines.sweep.flags import SweepFlags
from tune_spaces.build import build_space, describe_space, describe_spaces
from vtr_core.run.presets import preset

if TYPE_CHECKING:
    from vtr_core.storage import Location

HELP = f"""\
usage: vtr sweep <space> --data URI --num-samples N [flags]     start a sweep
       vtr sweep --resume OUT                                   resume an interrupted sweep
       vtr sweep <space> --help                                 the settings of the space and of its preset

search spaces and their settings:
{describe_spaces()}
"""


@dataclass(frozen=True)
class ResumeFlags:
    """Flags of `vtr sweep --resume`."""

    resume: str
    """Sweep folder or URI."""
    json: bool = False
    """Print what was made as JSON, and everything else on standard error."""
    worker_logs: bool = False
    """Show the logs of Ray's workers."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or argv[0] in ("-h", "--help"):
        print(HELP, end="")
    elif any(word.partition("=")[0] == "--resume" for word in argv):
        resumed = parse(ResumeFlags, argv, "vtr sweep --resume OUT")
        from pipelines.sweep.run import resume

        with json_alone(resumed.json):
            folder = resume(resumed.resume, resumed.worker_logs)
        if resumed.json:
            _print_best(folder)
    else:
        _new(argv)


def _new(argv: Sequence[str]) -> None:
    space, prog = build_space(argv[0]), f"vtr sweep {argv[0]}"
    if wants_help(argv):
        print_help(prog, SweepFlags, preset(space.preset))
        print(f"searched, of preset {space.preset}:\n{describe_space(space)}")
        return
    flags, changes = parse_with_changes(SweepFlags, with_joined_data(argv[1:]), prog, preset(space.preset).model_dump())
    from pipelines.sweep.run import sweep

    with json_alone(flags.json):
        folder = sweep(space.name, flags, changes)
    if flags.json:
        _print_best(folder)


def _print_best(folder: "Location") -> None:
    """The sweep and its best trials, as in best_trials.json."""
    from vtr_core import storage

    print_json({"sweep": folder.uri, "best_trials": storage.read_json(folder / "best_trials.json")})
