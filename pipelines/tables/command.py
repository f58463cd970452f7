"""`vtr tables <paper>`: a paper's tables with published and reproduced results, measured where data is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from pipelines.arguments import parse_with_changes, print_help, run_subcommand, wants_help, written_as_json
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import nearest


@dataclass(frozen=True)
class PaperTablesFlags:
    """Flags of `vtr tables`; settings of all runs are given as --a.b value."""

    only: tuple[int | str, ...] = ()
    """Numbers of the tables (default: all)."""
    preset: str = ""
    """Base preset, whose variants are the rows."""
    data: str | None = None
    """Training data set, or a folder with the splits train and val. Without it nothing is trained."""
    validation: str | None = None
    """Validation data set, which selects the best checkpoints (default: the split val beside train)."""
    test: tuple[str, ...] = ()
    """Test sets as name=URI; those of the paper fill its columns, others get additional columns."""
    seeds: int = 3
    """Number of training seeds per row."""
    out: str = "runs/tables"
    """Folder of the runs and tables; finished runs are reused, interrupted ones resumed."""
    experiment: str = "vtr-tables"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def run_paper(argv: Sequence[str], paper: str, options: type[PaperTablesFlags], module: str) -> None:
    """Parse the flags of `vtr tables <paper>`, and print the page that the function `tables` of a module makes, which
    is imported only then; or the help.
    """
    prog = f"vtr tables {paper}"
    if wants_help(argv):
        print_help(prog, options)
        return
    flags, changes = parse_with_changes(options, argv, prog)
    with written_as_json(flags.json, flags.out, "tables.md", "tables.json"):
        print(import_module(module).tables(flags, changes))


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
