"""A shard of an index, loaded with its model."""

from dataclasses import dataclass

from vtr_core.errors import ConfigError
from vtr_core.retrieval.index.index import load_index
from vtr_core.retrieval.index.record import IndexRecord
from vtr_core.retrieval.search.index import searcher
from vtr_core.retrieval.search.searcher import SearchOptions
from vtr_core.serving.catalogue import Catalogue
from vtr_core.serving.engine import Shard
from vtr_core.storage import locate
from vtr_core.train.checkpoint.load import load_model


@dataclass(frozen=True)
class Source:
    """Where an index and its model lie, for every process that loads a shard of it."""

    index: str
    checkpoint: str | None = None
    """The checkpoint, where it is no longer where the index says."""
    device: str = "cpu"

    def shard(self, number: int = 0, shards: int = 1) -> Shard:
        """Part `number` of `shards` of the index's shards, of which no others are read. Raises what loading raises."""
        index = load_index(locate(self.index), number, shards)
        loaded = load_model(self.checkpoint or index.record.checkpoint, self.device)
        return Shard(index.record, searcher(index, loaded, SearchOptions()), Catalogue(index, None))


def check_shards(record: IndexRecord, shards: int) -> None:
    """ConfigError for an index that cannot be searched in `shards` parts with the same result."""
    if shards == 1:
        return
    if record.kind == "dual":
        raise ConfigError("the scores of a dual encoder are scaled over all items; leave out --shards")
    if shards > len(record.shards):
        raise ConfigError(
            f"--shards is {shards}, the index is in {len(record.shards)}; give no more, or vtr index --shards {shards}"
        )
