"""`vtr analyze`: the first argument selects the analysis, each with its own module and flags."""

from collections.abc import Sequence

from pipelines.arguments import run_subcommand
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import nearest
from vtr_core.systems.system import Subcommand, called

ANALYSES: tuple[Subcommand, ...] = (
    *(analysis for system in SYSTEMS for analysis in system.analyses),
    Subcommand(
        "information",
        "information content of the captions of a corpus, by CIDEr or idf: its distribution, and the captions at\n"
        "both ends; takes a data set or annotations instead of checkpoints",
        called("pipelines.analyze.information", "main"),
    ),
    Subcommand(
        "cooccurrence",
        "concepts that videos have together, by correlation, and the videos that a concept is learned from; takes a\n"
        "data set instead of checkpoints",
        called("pipelines.analyze.cooccurrence", "main"),
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
