"""Inputs common to evaluations: device, names of data sets, knock-outs, and the progress of the rows read."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from pipelines.progress import Meter
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.systems.loaded_model import KnockOuts
    from vtr_core.train.checkpoint.trained_model import LoadedModel


def device() -> str:
    """The first GPU if there is one, else the CPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def short_names(manifests: "Sequence[Manifest]") -> list[str]:
    """A short name for each data set: its folder's, preceded by as many parents' as tell them apart.

    The settings of a store, after `?`, are left out, and what MLflow takes in no name becomes `_`. Data sets that are
    given twice are numbered.
    """
    parts = [re.sub(r"[^\w.\- /]", "_", manifest.uri.partition("?")[0]).strip("/").split("/") for manifest in manifests]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        short = ["-".join(part[-depth:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{'-'.join(part[-2:])}-{number}" for number, part in enumerate(parts, start=1)]


def asked_knock_outs(loaded: "LoadedModel", names: Sequence[str]) -> "KnockOuts":
    """The knock-outs of `--knock-out`; ConfigError for those that the model does not support."""
    offered = loaded.config.model.system().implementation().knock_outs(loaded.model)
    for name in names:
        if name not in offered:
            known = ", ".join(offered) or "none"
            raise ConfigError(f"vtr evaluate: --knock-out {name}: {loaded.config.model.kind!r} can go without {known}")
    return {name: offered[name] for name in names}


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


class _Watched(list[RowGroup]):
    """Row groups that tell when they have been passed."""

    def __init__(self, places: Sequence[RowGroup], rows: RowsRead) -> None:
        super().__init__(places)
        self._rows = rows

    def __iter__(self) -> Iterator[RowGroup]:
        for place in super().__iter__():
            yield place
            self._rows.passed(place)
