"""`vtr data list|show|check|statistics`: what a data set holds, without a model."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated

import tyro

from pipelines.arguments import check_counts, parse_action
from vtr_core.errors import one_line

HELP = """\
usage: vtr data list [FOLDER] [--json]                the data sets below a folder
       vtr data show DATA [--rows N] [--json]         the first rows: captions, times, features
       vtr data check DATA [--json]                   reads every page and compares checksums; exit code 1 for faults
       vtr data statistics DATA [--top N] [--json]    captions, words, lengths, missing features
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


@dataclass(frozen=True)
class StatisticsFlags:
    """Flags of `vtr data statistics`."""

    data: Annotated[str, tyro.conf.Positional]
    """Data set."""
    top: int = 20
    """Number of most frequent words."""
    json: bool = False
    """Print JSON."""


_FLAGS: Mapping[str, type] = MappingProxyType(
    {"list": ListFlags, "show": ShowFlags, "check": CheckFlags, "statistics": StatisticsFlags}
)
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
        case StatisticsFlags() as flags:
            check_counts(prog, top=flags.top)
            _statistics(flags)


def _list(flags: ListFlags) -> None:
    from pipelines.data.contents import data_sets, listing_table
    from pipelines.report.printed_page import show

    found = data_sets(flags.folder)
    if flags.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        show([listing_table(found) if found else f"there is no data set in {flags.folder}"])


def _show(flags: ShowFlags) -> None:
    from pipelines.data.contents import first_rows, rows_table
    from pipelines.report.printed_page import show
    from vtr_core.data.manifest import Manifest

    manifest = Manifest.load(flags.data)
    found = first_rows(manifest, flags.rows)
    if flags.json:
        for row in found:
            print(json.dumps(row, ensure_ascii=False))
    else:
        show([rows_table(manifest, found)])


def _check(flags: CheckFlags) -> None:
    from pipelines.data.contents import check_data

    found = check_data(flags.data)
    if flags.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
    else:
        for one in found:
            print("\n".join(one.lines()))
    if any(one.faults for one in found):
        sys.exit(1)


def _statistics(flags: StatisticsFlags) -> None:
    from pipelines.data.contents import statistics, statistics_lines
    from vtr_core.data.manifest import Manifest

    counts = statistics(Manifest.load(flags.data), flags.top)
    lines = map(one_line, statistics_lines(counts))  # words may hold characters that control a terminal
    print(json.dumps(counts, ensure_ascii=False, indent=1) if flags.json else "\n".join(lines))
