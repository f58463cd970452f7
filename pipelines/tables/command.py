"""`vtr tables <paper>`: a paper's tables with published and reproduced results, measured where data is given."""

from collections.abc import Sequence

from vtr_core.errors import ConfigError
from vtr_core.systems.all import SYSTEMS

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
    name = argv[0] if argv else "--help"
    if name in ("-h", "--help"):
        print(HELP, end="")
        return
    for paper in PAPERS:
        if paper.name == name:
            paper.run(argv[1:])
            return
    raise ConfigError(f"there are no tables of {name!r}; papers: {_NAMES}")
