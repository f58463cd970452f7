"""Progress of work that reads a data set row group by row group."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import overload

from pipelines.progress import Meter
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup


class RowsRead:
    """Tells, in a with-statement, how many of a data set's rows have been worked on: a bar, or lines in a log.

    Nothing is told of row groups that are not watched, such as those whose embeddings are read from elsewhere.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest, self._stack = manifest, ExitStack()
        self._meter: Meter | None = None
        self._done = 0

    def __enter__(self) -> "RowsRead":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def watch(self, places: Sequence[RowGroup]) -> Sequence[RowGroup]:
        """The row groups; each counts as worked on when the next one is asked for."""
        self._meter = self._meter or self._stack.enter_context(Meter(self._manifest.rows, "rows"))
        return _Watched(places, self)

    def passed(self, place: RowGroup) -> None:
        """The rows of one more row group are done."""
        self._done += sum(self._manifest.shards[place.shard].row_groups[place.index])
        if self._meter is not None:
            self._meter.tell(self._done)


@dataclass(frozen=True)
class _Watched(Sequence[RowGroup]):
    """Row groups that tell when they have been passed."""

    places: Sequence[RowGroup]
    by: RowsRead

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, index: int) -> RowGroup: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[RowGroup]: ...

    def __getitem__(self, index: int | slice) -> RowGroup | Sequence[RowGroup]:
        return self.places[index]

    def __iter__(self) -> Iterator[RowGroup]:
        for place in self.places:
            yield place
            self.by.passed(place)
