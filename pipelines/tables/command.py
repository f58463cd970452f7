"""`vtr tables <paper>`: a paper's tables with published and reproduced results, measured where data is given."""

from collections.abc import Sequence

from pipelines.subcommands import run_subcommand
from vtr_core.errors import nearest
from pipelines.systems.registry import SYSTEMS

PAPERS = sorted((tables for system in SYSTEMS for tables in system.tables), key=lambda tables: tables.name)
_NAMES = ", ".join(paper.name for paper in PAPERS)
_LINES = "\n".join(f"  {paper.name:11}{paper.summary}" for paper in PAPERS)
HELP = f"""\
usage: vtr tables <paper> [flags]      vtr tables <paper> --help

{_LINES}

papers: {_NAMES}
"""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_subcommand(argv, PAPERS, HELP, _unknown)


def _unknown(word: str) -> str:
    hint = nearest(word, (paper.name for paper in PAPERS), f"papers: {_NAMES}")
    return f"there are no tables of {word!r}; {hint}"
