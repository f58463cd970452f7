"""`vtr data list|show|check`: what a data set holds, without a model."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated

import tyro

from pipelines.arguments import check_counts, parse_action

HELP = """\
usage: vtr data list [FOLDER] [--json]                the data sets below a folder
       vtr data show DATA [--rows N] [--json]         the first rows: captions, times, features
       vtr data check DATA [--json]                   reads every page and compares checksums; exit code 1 for faults
"""


@dataclass(frozen=True)
class ListFlags:
    """Flags of `vtr data list`."""

    folder: Annotated[str, tyro.conf.Positional] = "data"
    """Folder or URI; data sets directly in it, and splits in those, are listed."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ShowFlags:
    """Flags of `vtr data show`."""

    data: Annotated[str, tyro.conf.Positional]
    """Data set."""
    rows: int = 10
    """Number of rows."""
    json: bool = False
    """Print JSON lines."""


@dataclass(frozen=True)
class CheckFlags:
    """Flags of `vtr data check`."""

    data: Annotated[str, tyro.conf.Positional]
    """Data set, or a folder of splits."""
    json: bool = False
    """Print JSON."""


_FLAGS: Mapping[str, type] = MappingProxyType({"list": ListFlags, "show": ShowFlags, "check": CheckFlags})
ACTIONS = tuple(_FLAGS)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    prog = f"vtr data {argv[0] if argv else ''}"
    match parse_action(argv, "data", _FLAGS, HELP):
        case ListFlags() as flags:
            _list(flags)
        case ShowFlags() as flags:
            check_counts(prog, rows=flags.rows)
            _show(flags)
        case CheckFlags() as flags:
            _check(flags)


def _list(flags: ListFlags) -> None:
    from pipelines.data.contents import data_sets, listing_table
    from pipelines.report.figures import show

    sets = data_sets(flags.folder)
    if flags.json:
        print(json.dumps([asdict(listed) for listed in sets], indent=1))
    else:
        show([listing_table(sets) if sets else f"there is no data set in {flags.folder}"])


def _show(flags: ShowFlags) -> None:
    from pipelines.data.contents import first_rows, rows_table
    from pipelines.report.figures import show
    from vtr_core.data.manifest import Manifest

    manifest = Manifest.load(flags.data)
    rows = first_rows(manifest, flags.rows)
    if flags.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    else:
        show([rows_table(manifest, rows)])


def _check(flags: CheckFlags) -> None:
    from pipelines.data.contents import check_data

    results = check_data(flags.data)
    if flags.json:
        print(json.dumps([asdict(checked) for checked in results], indent=1))
    else:
        for checked in results:
            print("\n".join(checked.lines()))
    if any(checked.faults for checked in results):
        sys.exit(1)
