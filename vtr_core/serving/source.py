"""A shard of an index, loaded with its model."""

from dataclasses import dataclass, replace

from vtr_core.data.manifest import Manifest
from vtr_core.data.shards.thumbnails import Thumbnails
from vtr_core.errors import ConfigError
from vtr_core.retrieval.index.index import IndexRecord, VideoIndex, load_index
from vtr_core.retrieval.search.index import SearchOptions, check_data, searcher
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
        """Shard `number` of `shards`, the same number of items each, but for one. Raises what loading raises."""
        whole = load_index(locate(self.index))
        index = part_of(whole, number, shards)
        loaded = load_model(self.checkpoint or index.record.checkpoint, self.device)
        return Shard(index.record, searcher(index, loaded, SearchOptions()), Catalogue(index.items, None))


def part_of(index: VideoIndex, number: int, shards: int) -> VideoIndex:
    """The items of one of `shards` equal parts of an index, in its order."""
    first, end = (len(index.items) * bound // shards for bound in (number, number + 1))
    return replace(
        index,
        record=replace(index.record, num_items=end - first),
        tensors={name: tensor[first:end] for name, tensor in index.tensors.items()},
        items=index.items[first:end],
        candidates=index.candidates if shards == 1 else None,
    )


def check_shards(record: IndexRecord, shards: int) -> None:
    """ConfigError for an index that cannot be searched in `shards` parts with the same result."""
    if shards == 1:
        return
    if record.kind == "dual":
        raise ConfigError("the scores of a dual encoder are scaled over all items; leave out --shards")
    if record.backend == "faiss":
        raise ConfigError("the graph of an index by faiss is of all items; leave out --shards, or index with exact")
    if shards > record.num_items:
        raise ConfigError(f"--shards is {shards}, the index has {record.num_items} items")


def thumbnails_of(record: IndexRecord) -> Thumbnails | None:
    """The thumbnails of the indexed data set, where it is still there; DatasetError where it has changed."""
    return Thumbnails(Manifest.load(record.data)) if check_data(record) else None
