"""Whether a data set can be read: its files against the manifest, and every page against its checksum."""

from dataclasses import asdict, dataclass
from typing import Any

from vtr_core.data.manifest import Manifest, splits
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.shards.checks import check_files
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import DatasetError


@dataclass(frozen=True)
class Checked:
    """What reading a data set from its first to its last page found."""

    uri: str
    rows: int
    """Rows that were read."""
    row_groups: int
    faults: tuple[str, ...]
    """One line for each file or row group that cannot be read."""
    dropped: dict[str, int]
    """Rows that the ingest left out, by reason: no fault of the files."""

    def as_json(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)

    def lines(self) -> list[str]:
        """For a terminal."""
        state = f"{len(self.faults)} faults" if self.faults else "as its manifest says"
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.items())
        head = f"{self.uri}: {self.rows:,} rows in {self.row_groups:,} row groups read, {state}"
        return [
            head,
            *(f"  {fault}" for fault in self.faults),
            *([f"  dropped by the ingest: {dropped}"] if dropped else []),
        ]


def check_data(uri: str) -> list[Checked]:
    """The data set at `uri`, or each split below it. DatasetError where there is none."""
    return [check(Manifest.load(place)) for place in splits(uri).values() or [uri]]


def check(manifest: Manifest) -> Checked:
    """Read everything; what cannot be read is a fault, and the rest is read all the same."""
    faults = []
    for look in (lambda: check_files(manifest), lambda: WordTable.load(manifest)):
        try:
            look()
        except DatasetError as error:
            faults.append(str(error))
    read, found = _read_all(manifest)
    return Checked(manifest.uri, read, len(row_groups(manifest)), (*faults, *found), dict(manifest.dropped))


def _read_all(manifest: Manifest) -> tuple[int, list[str]]:
    reader = RowGroupReader(manifest, manifest.schema.arrow().names)
    rows, faults = 0, []
    for place in row_groups(manifest):
        try:
            columns = reader.read_arrow(place)
        except DatasetError as error:
            faults.append(str(error))
        else:
            rows += len(next(iter(columns.values())))
    return rows, faults
