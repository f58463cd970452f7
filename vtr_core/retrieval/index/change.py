"""Changes of an index without embedding its items again: items are added, replaced and deleted.

Only shards that change are written anew, with their candidates.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool

from vtr_core.data.manifest import Manifest
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.index.build import SHARD_ITEMS
from vtr_core.retrieval.index.index import Shard, VideoIndex
from vtr_core.retrieval.index.record import IndexRecord
from vtr_core.retrieval.index.shards import merged, selected

_NAMES = ("item_id", "video_id")


def check_extends(record: IndexRecord, added: IndexRecord) -> None:
    """DatasetError unless both indexes are of the same model, compared alike."""
    if record.model_fingerprint != added.model_fingerprint or record.similarity != added.similarity:
        raise DatasetError(
            f"the index is of the model {short(record.model_fingerprint)}, compared by {record.similarity}, the "
            f"checkpoint is {short(added.model_fingerprint)}, compared by {added.similarity}: their vectors cannot be "
            "compared; give the index's own checkpoint, or make a new index"
        )


def extended(index: VideoIndex, added: VideoIndex, both: Manifest) -> VideoIndex:
    """`index` with the items of `added` after its own, of which those with the same ids are replaced.

    both: the data sets of the two, joined. An added shard is merged with the last ones that are not larger, so that
    their number grows with the logarithm of the items however often items are added; with a dual encoder's always.
    """
    check_extends(index.record, added.record)
    ids = added.items.table.column("item_id")
    shards = _kept(index, [_among(shard, ids, "item_id") for shard in index.shards])
    for shard in added.shards:
        last = shard
        while shards and _belong(index.record, shards[-1], last):
            last = merged(shards.pop(), last, index.record.backend)
        shards.append(last)
    record = replace(index.record, data=both.uri, data_fingerprint=both.fingerprint)
    return VideoIndex.of(record, *shards, concepts=index.concepts)


def without(index: VideoIndex, ids: Collection[str]) -> VideoIndex:
    """`index` without the items with these ids, and without the clips of videos with these ids.

    ConfigError for an id that is neither, and where no item would be left.
    """
    asked = pa.chunked_array([sorted(set(ids))], pa.string())
    known = [pc.is_in(asked, value_set=index.items.table.column(name)) for name in _NAMES]
    unknown = asked.filter(pc.invert(pc.or_(*known))).to_pylist()
    if unknown:
        others = f" (nor {len(unknown) - 1} others)" if len(unknown) > 1 else ""
        raise ConfigError(f"--delete {unknown[0]}: the index has no such item or video{others}")
    kept = _kept(index, [_among(shard, asked, *_NAMES) for shard in index.shards])
    if not kept:
        raise ConfigError("--delete names every item of the index; delete its folder instead")
    return VideoIndex.of(index.record, *kept, concepts=index.concepts)


def _belong(record: IndexRecord, last: Shard, added: Shard) -> bool:
    small = len(last.items) <= len(added.items) and len(last.items) + len(added.items) <= SHARD_ITEMS
    return small or record.kind == "dual"


def _among(shard: Shard, ids: pa.ChunkedArray, *columns: str) -> Bool[np.ndarray, " items"]:
    """The items of which one of the columns is among `ids`."""
    found = [pc.is_in(shard.items.table.column(name), value_set=ids).to_numpy() for name in columns]
    return np.logical_or.reduce(found).astype(np.bool_)


def _kept(index: VideoIndex, gone: Sequence[Bool[np.ndarray, " _items"]]) -> list[Shard]:
    """The shards without the items of the masks, and without shards that are left empty."""
    parts = zip(index.shards, gone, strict=True)
    return [kept for shard, mask in parts if (kept := selected(shard, ~mask, index.record.backend)) is not None]
