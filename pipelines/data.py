"""`vtr data show|check`: what a data set holds, without a model."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Annotated, Any

import pyarrow as pa
import tyro
from rich.table import Table
from rich.text import Text

from pipelines.arguments import check_counts, parse_action
from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.shard_file import check_files
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import DatasetError, one_line

_NOT_SHOWN = ("tokens", "candidate_tokens", "clip_key", "video_key", "caption_key", "caption_keys", "pixels", "frames")
_LONGEST = 200
"""Letters of a cell in a table."""

Row = dict[str, Any]


def shown_columns(manifest: Manifest) -> list[str]:
    """The columns whose values a reader understands: neither keys, tokens, features' values nor pictures."""
    hidden = {*_NOT_SHOWN, *(feature.name for feature in manifest.schema.features)}
    return [name for name in manifest.schema.arrow().names if name not in hidden]


def first_rows(manifest: Manifest, count: int) -> list[Row]:
    """The shown columns of the first `count` rows in file order, or of all where there are fewer. DamagedShard."""
    reader, rows = RowGroupReader(manifest, shown_columns(manifest)), list[Row]()
    for place in row_groups(manifest):
        if len(rows) < count:
            rows += pa.table(reader.read_arrow(place)).to_pylist()
    return rows[:count]


def rows_table(manifest: Manifest, rows: Sequence[Row]) -> Table:
    """The rows with a column for each value: texts as they are, control characters escaped, other values as JSON."""
    title = f"{manifest.uri}: {len(rows)} of {manifest.rows:,} rows, {manifest.schema.label()}"
    table = Table(title=Text(title), title_justify="left")
    for name in shown_columns(manifest):
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        cells = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in row.values())
        table.add_row(*(Text(one_line(cell if len(cell) <= _LONGEST else f"{cell[:_LONGEST]}…")) for cell in cells))
    return table


@dataclass(frozen=True)
class Checked:
    """What reading a data set from its first to its last page found."""

    uri: str
    rows: int
    """Rows that were read."""
    row_groups: int
    faults: tuple[str, ...]
    """A line for each file or row group that cannot be read."""
    dropped: dict[str, int]
    """Rows that the ingest left out, by reason: no fault of the files."""

    def lines(self) -> list[str]:
        """For a terminal."""
        state = f"{len(self.faults)} faults" if self.faults else "as its manifest says"
        lines = [f"{self.uri}: {self.rows:,} rows in {self.row_groups:,} row groups read, {state}"]
        lines += [f"  {fault}" for fault in self.faults]
        if self.dropped:
            dropped = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
            lines.append(f"  dropped by the ingest: {dropped}")
        return lines


def check(manifest: Manifest) -> Checked:
    """Read everything; what cannot be read is a fault, and the rest is read all the same."""
    faults = []
    for look in (lambda: check_files(manifest), lambda: WordTable.load(manifest)):
        try:
            look()
        except DatasetError as error:
            faults.append(str(error))
    reader, rows = RowGroupReader(manifest, manifest.schema.arrow().names), 0
    for place in row_groups(manifest):
        try:
            columns = reader.read_arrow(place)
        except DatasetError as error:
            faults.append(str(error))
        else:
            rows += len(next(iter(columns.values())))
    return Checked(manifest.uri, rows, len(row_groups(manifest)), tuple(faults), dict(manifest.dropped))


HELP = """\
usage: vtr data show DATA [--rows N] [--json]         the first rows: captions, times, features
       vtr data check DATA [--json]                   reads every page and compares checksums; exit code 1 for faults
"""


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


_FLAGS: Mapping[str, type] = MappingProxyType({"show": ShowFlags, "check": CheckFlags})
ACTIONS = tuple(_FLAGS)


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    prog = f"vtr data {argv[0] if argv else ''}"
    match parse_action(argv, "data", _FLAGS, HELP):
        case ShowFlags() as flags:
            check_counts(prog, rows=flags.rows)
            _show(flags)
        case CheckFlags() as flags:
            _check(flags)


def _show(flags: ShowFlags) -> None:
    from pipelines.report.figures import show

    manifest = Manifest.load(flags.data)
    rows = first_rows(manifest, flags.rows)
    if flags.json:
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
    else:
        show([rows_table(manifest, rows)])


def _check(flags: CheckFlags) -> None:
    results = [check(Manifest.load(place)) for place in splits(flags.data).values() or [flags.data]]
    if flags.json:
        print(json.dumps([asdict(checked) for checked in results], indent=1))
    else:
        print("\n".join(line for checked in results for line in checked.lines()))
    if any(checked.faults for checked in results):
        sys.exit(1)


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("data")
