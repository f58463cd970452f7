"""`vtr analyze`: the first argument selects the analysis, each with its own module and flags."""

from collections.abc import Callable, Sequence
from importlib import import_module

from pipelines.arguments import run_subcommand
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import nearest
from vtr_core.systems.system import Subcommand


def _main(analysis: str) -> Callable[[Sequence[str]], None]:
    """The command of an analysis, whose module is imported when it runs."""
    return lambda argv: import_module(f"pipelines.analyze.{analysis}").main(argv)


ANALYSES: tuple[Subcommand, ...] = (
    *(analysis for system in SYSTEMS for analysis in system.analyses),
    Subcommand(
        "information",
        "information content of the captions of a corpus, by CIDEr or idf: its distribution, and the captions at\n"
        "both ends; takes a data set or annotations instead of checkpoints",
        _main("information"),
    ),
    Subcommand(
        "cooccurrence",
        "concepts that videos have together, by correlation, and the videos that a concept is learned from; takes a\n"
        "data set instead of checkpoints",
        _main("cooccurrence"),
    ),
)
_LINES = "\n".join(f"  {each.name:18}" + each.summary.replace("\n", "\n" + " " * 20) for each in ANALYSES)
HELP = f"""\
usage: vtr analyze <analysis> CHECKPOINT… [flags]      vtr analyze <analysis> --help

{_LINES}
"""


def main(argv: Sequence[str]) -> None:
    """Run the analysis that the first argument names."""
    run_subcommand(argv, ANALYSES, HELP, _unknown)


def _unknown(word: str) -> str:
    names = [each.name for each in ANALYSES]
    hint = nearest(word, names, f"analyses: {', '.join(names)}")
    return f"vtr analyze {word}: there is no such analysis; {hint}"
