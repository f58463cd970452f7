"""`vtr evaluate`: `--task` selects the evaluation, each with its own module and flags."""

import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from pipelines.arguments import json_alone, parse, print_help, print_json, wants_help
from pipelines.evaluate.evaluation_flags import EvaluateFlags, LocalizationFlags
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.errors import ConfigError, nearest
from vtr_core.storage import check_file_writable, locate
from vtr_core.systems.system import Subcommand


def _retrieval(argv: Sequence[str]) -> None:
    if not argv or wants_help(argv):
        print(HELP, end="")
        print_help("vtr evaluate", EvaluateFlags)
        return
    flags = parse(EvaluateFlags, argv, "vtr evaluate")
    from pipelines.evaluate.retrieval import evaluate

    evaluate(flags)


def _localization(argv: Sequence[str]) -> None:
    prog = "vtr evaluate --task localization"
    if not argv or wants_help(argv):
        print_help(prog, LocalizationFlags)
        return
    flags = parse(LocalizationFlags, argv, prog)
    from pipelines.evaluate.localization import evaluate

    evaluate(flags)


TASKS: tuple[Subcommand, ...] = (
    Subcommand(
        "retrieval", "(default) text->video and video->text retrieval of clips or whole videos; flags below", _retrieval
    ),
    Subcommand(
        "localization",
        "zero-shot localisation of ordered steps in untrimmed videos; vtr evaluate --task localization --help",
        _localization,
    ),
    *(evaluation for system in SYSTEMS for evaluation in system.evaluations),
)
_NAMES = [task.name for task in TASKS]
HELP = "\n".join(
    [
        f"usage: vtr evaluate CHECKPOINT --data URI… [--task {'|'.join(_NAMES)}] [flags]",
        "",
        *(f"  --task {task.name:15}{task.summary}" for task in TASKS),
        "\n",
    ]
)


def main(argv: Sequence[str]) -> None:
    """Run the task of `--task`, by default retrieval, with the other arguments."""
    name, rest = split_task(argv)
    for task in TASKS:
        if task.name == name:
            _run(task, rest)
            return
    hint = nearest(name, _NAMES, f"tasks: {', '.join(_NAMES)}")
    raise ConfigError(f"there is no task {name!r}; {hint}")


def _run(task: Subcommand, argv: Sequence[str]) -> None:
    """Run the task; with `--json` its metrics are printed, and all else goes to standard error."""
    for word, following in pairwise(argv):
        if word == "--json" and following.endswith(".json"):
            raise ConfigError(f"vtr evaluate: --json takes no file, it prints; give --out {following}")
    out = _out(argv)
    if out and not wants_help(argv):
        check_file_writable(locate(out))
    if "--json" not in argv or wants_help(argv):
        task.run(argv)
        return
    with tempfile.TemporaryDirectory(prefix="vtr-evaluate-") as folder:
        file = str(Path(folder) / "metrics.json")
        with json_alone(True):
            task.run(argv if out is not None else [*argv, "--out", file])
        _print_metrics(out or file)


def _print_metrics(file: str) -> None:
    print_json(storage.read_json(locate(file)))


def _out(words: Sequence[str]) -> str | None:
    """The value of `--out`."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == "--out":
            return following
        if word.startswith("--out="):
            return word.partition("=")[2]
    return None


def split_task(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The value of `--task` (the last one given, by default "retrieval"), and the arguments without it."""
    task, rest = "retrieval", []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name != "--task":
            rest.append(word)
            continue
        task = value if equals else next(words, "")
        if not task:
            raise ConfigError(f"vtr evaluate: --task needs a value; tasks: {', '.join(_NAMES)}")
    return task, rest
