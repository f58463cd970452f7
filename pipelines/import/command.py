"""`vtr import`: checkpoints of other projects; the first argument names the project."""

from collections.abc import Sequence

from pipelines.subcommands import run_subcommand
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.subcommands import Subcommand

IMPORTS: tuple[Subcommand, ...] = tuple(one for system in SYSTEMS for one in system.imports)
_LINES = "\n".join(f"  {one.name:18}{one.summary}" for one in IMPORTS)
HELP = f"""\
usage: vtr import <kind> FILE --out URI [flags]      vtr import <kind> --help

{_LINES}
"""


def main(argv: Sequence[str]) -> None:
    """Run the import that the first argument names."""
    names = ", ".join(one.name for one in IMPORTS)
    run_subcommand(
        argv,
        IMPORTS,
        HELP,
        lambda word: f"vtr import {word}: there is no such kind of checkpoint; kinds: {names}",
    )
