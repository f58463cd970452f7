"""`vtr evaluate`: the first thing to know is the task; each has a module and flags of its own."""

from collections.abc import Sequence

from pipelines.arguments import wants_help
from vtr_core.errors import ConfigError

TASKS = ("retrieval", "localization", "verification", "captioning")
HELP = """\
usage: vtr evaluate CHECKPOINT --data URI… [--task retrieval|localization|verification|captioning] [flags]

  --task retrieval      (default) text->video and video->text on clips or whole videos; its flags are below
  --task localization   steps in time of untrimmed videos; vtr evaluate --task localization --help shows its flags
  --task verification   whether pairs of images show the same face; vtr evaluate --task verification --help
  --task captioning     generated captions of whole videos; vtr evaluate --task captioning --help

"""


def main(argv: Sequence[str]) -> None:
    """Run the task that `--task` names, retrieval without one, with the other words."""
    task, rest = split_task(argv)
    match task:
        case "retrieval":
            from pipelines.evaluate import retrieval as evaluate_retrieval

            if not rest or wants_help(rest):
                print(HELP, end="")
            evaluate_retrieval.main(rest)
        case "localization":
            from pipelines.evaluate import localization as evaluate_localization

            evaluate_localization.main(rest)
        case "verification":
            from vtr_core.systems.siamese.commands import evaluate as evaluate_verification

            evaluate_verification.main(rest)
        case "captioning":
            from vtr_core.systems.captioning.commands import evaluate as evaluate_captioning

            evaluate_captioning.main(rest)
        case _:
            raise ConfigError(f"there is no task {task!r}; tasks: {', '.join(TASKS)}")


def split_task(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The value of `--task` (the last one given, "retrieval" without any), and the words without it."""
    task, rest = "retrieval", []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name != "--task":
            rest.append(word)
            continue
        task = value if equals else next(words, "")
        if not task:
            raise ConfigError(f"vtr evaluate: --task needs a value; tasks: {', '.join(TASKS)}")
    return task, rest
